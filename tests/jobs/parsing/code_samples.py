"""What is known by hand, or from a compiler, about the sample source trees."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

CODE = Path(__file__).resolve().parents[2] / "corpus" / "files" / "code"


def expected(name: str) -> dict[str, Any]:
    """Return the facts about a sample."""
    return json.loads((CODE / "EXPECTED.json").read_text("utf-8"))[name]


def archive(files: dict[str, str | bytes]) -> bytes:
    """Return a ZIP of the files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in files.items():
            out.writestr(name, content)
    return stream.getvalue()


def design(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the model of result lines."""
    return next(line["design"] for line in lines if "design" in line)


def markdown(lines: list[dict[str, Any]]) -> dict[str, str]:
    """Return the documents of result lines by language."""
    return next(line["markdown"] for line in lines if "markdown" in line)


def tail(identifier: str) -> str:
    """Return the readable part of an identifier."""
    return identifier.split("#")[-1]


def edges(model: dict[str, Any], kind: str) -> set[tuple[str, str, str]]:
    """Return (from, to, confidence) of the relations of one kind, by readable names."""
    found = [r for r in model["relations"] if r["kind"] == kind]
    return {(tail(r["from"]), tail(r["to"]), r["confidence"]) for r in found}


def routes(model: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (method, path) of all endpoints."""
    return [(e["method"], e["path"]) for e in model["endpoints"]]
