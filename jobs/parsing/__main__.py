"""Parse one file by hand: `python -m jobs.parsing TYPE FILE [--name NAME]`.

Prints the result lines as JSON on stdout. A file that cannot be taken in gives one JSON line with
its code, and exit status 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from jobs.parsing import READERS, ParseError, parse


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m jobs.parsing", description=__doc__)
    parser.add_argument("type", choices=sorted(READERS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--name", help="name to take the file for (default: its own)")
    parser.add_argument("--encoding", help="force a text encoding")
    chosen = parser.parse_args(arguments)
    if not chosen.file.is_file():
        parser.error(f"no such file: {chosen.file}")
    options = {"encoding": chosen.encoding} if chosen.encoding else {}
    lines = parse(
        chosen.type,
        chosen.file,
        file_name=chosen.name or chosen.file.name,
        options=options,
        progress=lambda _done, _total: None,
    )
    try:
        for line in lines:
            _write(line)
    except ParseError as error:
        _write({"error": {"code": error.code, "message": error.message}})
        return 1
    return 0


def _write(line: dict[str, Any]) -> None:
    text = json.dumps(line, sort_keys=True, ensure_ascii=False, allow_nan=False)
    sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
