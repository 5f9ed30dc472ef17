"""The file wall of the sandbox: Landlock, the kernel's unprivileged access rules.

https://www.kernel.org/doc/html/latest/userspace-api/landlock.html
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable
from pathlib import Path

#: The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_CREATE_VERSION = 1

_EXECUTE, _READ_FILE, _READ_DIR = 1, 1 << 2, 1 << 3
#: ABI version → the highest file right it knows (a right handled but never granted is refused).
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_BIND_AND_CONNECT = 0b11
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def version() -> int:
    """Return the kernel's Landlock ABI, 0 when there is none."""
    if platform.system() != "Linux":
        return 0
    return max(_syscall(_CREATE_RULESET, None, 0, _CREATE_VERSION), 0)


def restrict(readable: Iterable[Path], executable: Iterable[Path] = ()) -> None:
    """Leave this process nothing of the file system but reading `readable`, files or trees.

    `executable` are files that it may also run.
    Descriptors already open stay usable. Needs no_new_privs. Raises OSError when the kernel
    refuses; paths that do not exist are passed over.
    """
    abi = version()
    if abi < 1:
        raise OSError("no Landlock in this kernel")
    attributes = _attributes(abi)
    ruleset = _checked(_syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for path in readable:
            _allow(ruleset, path, _READ_FILE | _READ_DIR)
        for path in executable:
            _allow(ruleset, path, _READ_FILE | _EXECUTE)
        _checked(_syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _attributes(abi: int) -> bytes:
    rights = (1 << _RIGHTS[min(abi, max(_RIGHTS))]) - 1
    if abi < 4:
        return struct.pack("<Q", rights)
    if abi < 6:
        return struct.pack("<QQ", rights, _NET_BIND_AND_CONNECT)
    return struct.pack("<QQQ", rights, _NET_BIND_AND_CONNECT, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not path.is_dir():
            rights &= ~_READ_DIR
        rule = struct.pack("<Qi", rights, descriptor)
        _checked(_syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(descriptor)


def _syscall(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(libc.syscall(ctypes.c_long(number), *converted))


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
