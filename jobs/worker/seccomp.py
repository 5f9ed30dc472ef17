"""The base wall of the sandbox: a system call filter, written out as a BPF program.

Needs no privilege and no library beyond libc's prctl. Refused calls answer EPERM, so that a parser
that tries one gets an ordinary error. Layout of the data a filter sees and of its return values:
https://www.kernel.org/doc/html/latest/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from types import MappingProxyType

#: name → number on (x86_64, aarch64); None where the architecture does not have the call.
#: Network, other programs, other processes, mounts and namespaces, kernel keys and programs,
#: shared memory that outlives us, clocks, ownership and identity.
DENIED = MappingProxyType(
    {
        "socket": (41, 198),
        "socketpair": (53, 199),
        "connect": (42, 203),
        "bind": (49, 200),
        "listen": (50, 201),
        "accept": (43, 202),
        "accept4": (288, 242),
        "sendto": (44, 206),
        "sendmsg": (46, 211),
        "sendmmsg": (307, 269),
        "recvfrom": (45, 207),
        "recvmsg": (47, 212),
        "recvmmsg": (299, 243),
        "shutdown": (48, 210),
        "execve": (59, 221),
        "execveat": (322, 281),
        "fork": (57, None),
        "vfork": (58, None),
        "setpgid": (109, 154),
        "setsid": (112, 157),
        "ptrace": (101, 117),
        "process_vm_readv": (310, 270),
        "process_vm_writev": (311, 271),
        "kcmp": (312, 272),
        "pidfd_open": (434, 434),
        "pidfd_getfd": (438, 438),
        "pidfd_send_signal": (424, 424),
        "rt_sigqueueinfo": (129, 138),
        "rt_tgsigqueueinfo": (297, 240),
        "process_madvise": (440, 440),
        "process_mrelease": (448, 448),
        "migrate_pages": (256, 238),
        "move_pages": (279, 239),
        "mount": (165, 40),
        "umount2": (166, 39),
        "pivot_root": (155, 41),
        "chroot": (161, 51),
        "move_mount": (429, 429),
        "open_tree": (428, 428),
        "fsopen": (430, 430),
        "fsmount": (432, 432),
        "fsconfig": (431, 431),
        "fspick": (433, 433),
        "mount_setattr": (442, 442),
        "unshare": (272, 97),
        "setns": (308, 268),
        "name_to_handle_at": (303, 264),
        "open_by_handle_at": (304, 265),
        "keyctl": (250, 219),
        "add_key": (248, 217),
        "request_key": (249, 218),
        "bpf": (321, 280),
        "perf_event_open": (298, 241),
        "userfaultfd": (323, 282),
        "io_uring_setup": (425, 425),
        "io_uring_enter": (426, 426),
        "io_uring_register": (427, 427),
        "memfd_secret": (447, 447),
        "shmget": (29, 194),
        "shmat": (30, 196),
        "semget": (64, 190),
        "semop": (65, 193),
        "msgget": (68, 186),
        "msgsnd": (69, 189),
        "mq_open": (240, 180),
        "inotify_init": (253, None),
        "inotify_init1": (294, 26),
        "fanotify_init": (300, 262),
        "init_module": (175, 105),
        "finit_module": (313, 273),
        "delete_module": (176, 106),
        "kexec_load": (246, 104),
        "kexec_file_load": (320, 294),
        "reboot": (169, 142),
        "swapon": (167, 224),
        "swapoff": (168, 225),
        "acct": (163, 89),
        "quotactl": (179, 60),
        "quotactl_fd": (443, 443),
        "syslog": (103, 116),
        "personality": (135, 92),
        "sethostname": (170, 161),
        "setdomainname": (171, 162),
        "settimeofday": (164, 170),
        "clock_settime": (227, 112),
        "clock_adjtime": (305, 266),
        "adjtimex": (159, 171),
        "iopl": (172, None),
        "ioperm": (173, None),
        "modify_ldt": (154, None),
        "mknod": (133, None),
        "mknodat": (259, 33),
        "chmod": (90, None),
        "fchmod": (91, 52),
        "fchmodat": (268, 53),
        "chown": (92, None),
        "fchown": (93, 55),
        "lchown": (94, None),
        "fchownat": (260, 54),
        "setxattr": (188, 5),
        "lsetxattr": (189, 6),
        "fsetxattr": (190, 7),
        "removexattr": (197, 14),
        "lremovexattr": (198, 15),
        "fremovexattr": (199, 16),
        "setuid": (105, 146),
        "setgid": (106, 144),
        "setreuid": (113, 145),
        "setregid": (114, 143),
        "setresuid": (117, 147),
        "setresgid": (119, 149),
        "setgroups": (116, 159),
        "setfsuid": (122, 151),
        "setfsgid": (123, 152),
        "capset": (126, 91),
    }
)

#: Allowed on oneself only: abort() needs them.
_SIGNALS = MappingProxyType({"kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131)})
_PRLIMIT64 = (302, 261)
_CLONE = (56, 220)
_CLONE3 = 435

_AUDIT_ARCH = MappingProxyType({"x86_64": 0xC000003E, "aarch64": 0xC00000B7})
_X32_BIT = 0x40000000
_CLONE_THREAD = 0x00010000

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OFFSET_NUMBER, _OFFSET_ARCH, _OFFSET_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

_MAX_INSTRUCTIONS = 4096


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install(*, may_execute: bool = False) -> None:
    """Filter this process from here on, and everything it may start. Cannot be undone.

    With `may_execute` it may turn into another program, under the same filter.
    Raises OSError when the kernel refuses or there is no filter for this machine. Call it when
    single-threaded.
    """
    if platform.machine() not in _AUDIT_ARCH:
        raise OSError(errno.ENOSYS, "no filter for this machine")
    code = build(platform.machine(), os.getpid(), may_execute=may_execute)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    _prctl(libc, _PR_SET_NO_NEW_PRIVS, 1)
    _prctl(libc, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program))


def build(machine: str, pid: int, *, may_execute: bool = False) -> bytes:
    """Return the BPF program for a machine and the process that will run under it."""
    column = list(_AUDIT_ARCH).index(machine)
    eperm, enosys = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    code = [
        _step(_LOAD, 0, 0, _OFFSET_ARCH),
        _step(_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]),
        _step(_RETURN, 0, 0, _KILL),
        _step(_LOAD, 0, 0, _OFFSET_NUMBER),
    ]
    if machine == "x86_64":
        code += [_step(_JUMP_AT_LEAST, 0, 1, _X32_BIT), _step(_RETURN, 0, 0, eperm)]
    for name, numbers in DENIED.items():
        if numbers[column] is not None and not (may_execute and name == "execve"):
            code += _answer(numbers[column], eperm)
    # glibc falls back to clone(), whose flags a filter can see.
    code += _answer(_CLONE3, enosys)
    code += _only_if(_CLONE[column], _JUMP_ANY_BIT, _CLONE_THREAD)
    for signal_call in _SIGNALS.values():
        code += _only_if(signal_call[column], _JUMP_EQUAL, pid)
    code += _only_if(_PRLIMIT64[column], _JUMP_EQUAL, 0)
    code.append(_step(_RETURN, 0, 0, _ALLOW))
    if len(code) > _MAX_INSTRUCTIONS:
        raise ValueError("filter is too long for the kernel")
    return b"".join(code)


def _answer(number: int | None, verdict: int) -> list[bytes]:
    return [_step(_JUMP_EQUAL, 0, 1, number or 0), _step(_RETURN, 0, 0, verdict)]


def _only_if(number: int, test: int, operand: int) -> list[bytes]:
    """Allow call `number` when its first argument passes `test`; the last step of its path."""
    return [
        _step(_JUMP_EQUAL, 0, 4, number),
        _step(_LOAD, 0, 0, _OFFSET_FIRST_ARGUMENT),
        _step(test, 1, 0, operand),
        _step(_RETURN, 0, 0, _ERRNO | errno.EPERM),
        _step(_RETURN, 0, 0, _ALLOW),
    ]


def _step(code: int, if_true: int, if_false: int, operand: int) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, operand)


def _prctl(libc: ctypes.CDLL, option: int, *arguments: object) -> None:
    padding = [ctypes.c_ulong(0)] * (4 - len(arguments))
    if libc.prctl(option, *arguments, *padding) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
