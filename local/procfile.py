"""Read the Procfile, the one list of what the product runs."""

import re
from pathlib import Path

_LINE = re.compile(r"^([A-Za-z0-9_-]+):\s*(.+)$")


def read_procfile(path: Path) -> dict[str, str]:
    """Return the shell command of each process type, in the order of the file."""
    commands = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = _LINE.match(line)
        if match:
            commands[match.group(1)] = match.group(2)
    return commands
