"""Become another program that ends when the process which started it ends.

Run as a file: `python -I -S leash.py PARENT SIGNAL UID GID PROGRAM ARGUMENT…`. The signal arrives
when the *thread* that started us dies (Linux, prctl(2) PR_SET_PDEATHSIG); elsewhere the next start
of the embedded default removes what was left behind. A wrapper instead of `preexec_fn`, which
is unsafe in a process with threads (https://docs.python.org/3/library/subprocess.html).
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Drop to UID and GID (-1: stay), tie our life to PARENT, become PROGRAM."""
    parent, death_signal, uid, gid = (int(word) for word in arguments[:4])
    program = arguments[4:]
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.umask(0o077)
    if sys.platform == "linux":
        # After the change of user: the kernel forgets the signal when credentials change.
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
        if os.getppid() != parent:
            sys.exit(1)
    for blocked in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(blocked, signal.SIG_DFL)
    os.execvp(program[0], program)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
