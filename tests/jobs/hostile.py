"""Parsers that do what the first line of their file says: the hostile double of jobs.parsing.

Loaded by the sandbox's helper instead of jobs.parsing; same interface.
"""

import ctypes
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

PARSER_VERSION = "1"
DRAWN = frozenset({"text/drawn"})


@dataclass(frozen=True)
class ParseError(Exception):
    code: str
    message: str


def machine() -> dict[str, str | None]:
    return {"japanese_font": None}


def preload(type_name: str) -> None:
    """Nothing heavy here."""


def parse(
    type_name: str,
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    progress: Callable[[int, int | None], None],
) -> Iterator[dict[str, Any]]:
    command, *words = path.read_text().split("\n")[0].split(" ")
    progress(0, 1)
    if command == "pictures":
        yield from pages(type_name, int(words[0]))
        return
    yield document(type_name)
    text = DEEDS[command](*words) or file_name
    progress(1, 1)
    yield {"page": {"number": 1, "text": text, "markdown": text, "tables": [], "warnings": []}}


def pages(type_name: str, count: int) -> Iterator[dict[str, Any]]:
    line = document(type_name)
    line["document"] |= {"detected_type": "text/drawn", "page_count": count}
    yield line
    for number in range(1, count + 1):
        page = {"number": number, "text": "t", "markdown": "t", "tables": [], "warnings": []}
        yield {"page": page}


def draw(
    path: Path,
    *,
    file_name: str,
    options: Mapping[str, Any],
    first: int,
    cpu_seconds: float,
    progress: Callable[[int, int | None], None],
) -> Iterator[Any]:
    """`pictures 5 segfault 2 loop 4` draws pages 1, 3 and 5 and does these deeds for 2 and 4."""
    _, count, *rest = path.read_text().split("\n")[0].split(" ")
    deeds = {int(page): DEEDS[deed] for deed, page in zip(rest[::2], rest[1::2], strict=True)}
    for number in range(first, int(count) + 1):
        if number in deeds:
            deeds[number]()
        yield SimpleNamespace(number=number, data=webp(number + 10, 20))
        progress(number, int(count))


def webp(width: int, height: int, more: bytes = b"") -> bytes:
    """The smallest bytes that pass for a lossy WebP of a size."""
    frame = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height) + more
    body = b"WEBPVP8 " + struct.pack("<I", len(frame)) + frame
    return b"RIFF" + struct.pack("<I", len(body)) + body


def document(type_name: str) -> dict[str, Any]:
    return {
        "document": {
            "schema": 1,
            "type": type_name,
            "parser_version": PARSER_VERSION,
            "detected_type": "text/plain",
            "page_count": 1,
            "warnings": [],
        }
    }


def fail(code: str) -> None:
    raise ParseError(code, "said so")


def loop() -> None:
    while True:
        pass


def stubborn_loop() -> None:
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    loop()


def hog() -> None:
    held = []
    while True:
        held.append(bytearray(16 << 20))


def abort_hungry() -> None:
    os.write(2, b"memory allocation of 68719476736 bytes failed\n")
    os.abort()


def segfault() -> None:
    ctypes.string_at(0)


def flood() -> None:
    block = "x" * (1 << 20)
    raise_on = 10 << 30
    with os.fdopen(3, "wb", closefd=False) as output:
        for _ in range(raise_on >> 20):
            output.write(block.encode())


def attempt(deed: Callable[[], object]) -> str:
    try:
        return f"done: {deed()!r}"
    except OSError as error:
        return f"refused: {type(error).__name__}"


def fork_bomb() -> str:
    return attempt(os.fork)


def connect(port: str) -> str:
    return attempt(lambda: socket.create_connection(("127.0.0.1", int(port)), timeout=2))


def execute() -> str:
    return attempt(lambda: os.execv("/bin/sh", ["sh", "-c", "true"]))


def read(path: str) -> str:
    return attempt(lambda: Path(path).read_bytes())


def write(path: str) -> str:
    return attempt(lambda: Path(path).write_bytes(b"was here"))


def kill(pid: str) -> str:
    return attempt(lambda: os.kill(int(pid), signal.SIGTERM))


def environment() -> str:
    return " ".join(sorted(os.environ))


def descriptors() -> str:
    found = []
    for number in range(64):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(str(number))
    return " ".join(found)


def sleep(seconds: str) -> None:
    time.sleep(float(seconds))


def leave(status: str) -> None:
    os._exit(int(status))


def text(*words: str) -> str:
    return " ".join(words)


DEEDS: Mapping[str, Callable[..., str | None]] = {
    deed.__name__: deed
    for deed in (
        fail,
        loop,
        stubborn_loop,
        hog,
        abort_hungry,
        segfault,
        flood,
        fork_bomb,
        connect,
        execute,
        read,
        write,
        kill,
        environment,
        descriptors,
        sleep,
        leave,
        text,
    )
}
