"""Short judgements about names and comments: logical name, test code, public."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

_SENTENCE = re.compile(r"(.+?(?:。|[.!?](?=\s|$)|(?=\n\s*\n)|$))", re.DOTALL)
_MAX_SUMMARY = 160
#: OrderServiceTest.java, OrderTests.cs
_TEST_CLASS = re.compile(r"[a-z0-9]Tests?$")
_TEST_FOLDERS = frozenset({"tests", "test", "testing"})
#: a reStructuredText role such as :class:`~package.Name`
_ROLE = re.compile(r":(?:\w+:)?\w+:`[~.!]?([^`<]+?)(?:\s*<[^`>]*>)?`")
_FIELD_START = re.compile(
    r"^\s*(?::(?:param|return|raise|type|rtype|arg|var|yield)|\.\. |Args:|Returns:|Parameters\b"
    r"|>>>|@param)",
    re.MULTILINE,
)


def summary_of(doc: str | None) -> str | None:
    """Return the first sentence of a comment: the logical name (論理名) of what it stands at."""
    if not doc:
        return None
    if "`" in doc:
        doc = _ROLE.sub(lambda match: match.group(1).rsplit(".", 1)[-1], doc).replace("``", "")
    field = _FIELD_START.search(doc)
    text = doc[: field.start()] if field else doc
    match = _SENTENCE.match(text.strip())
    if match is None:
        return None
    sentence = " ".join(match.group(1).split()).removesuffix("。").strip()
    if len(sentence) > _MAX_SUMMARY:
        sentence = sentence[: _MAX_SUMMARY - 1] + "…"
    return sentence or None


@lru_cache(maxsize=4096)
def is_test(path: str) -> bool:
    """Say whether a file is test code, by its folder or its name."""
    *folders, name = path.split("/")
    stem = posixpath.splitext(name)[0]
    return (
        not _TEST_FOLDERS.isdisjoint(folders)
        or stem.startswith("test_")
        or stem.endswith(("_test", "_spec", ".test", ".spec"))
        or _TEST_CLASS.search(stem) is not None
        or stem == "conftest"
    )


def is_public(qualified: str) -> bool:
    """Say whether no part of a qualified name is private by its underscore."""
    if "_" not in qualified:
        return True
    return all(
        not part.startswith("_") or (part.startswith("__") and part.endswith("__"))
        for part in qualified.split(".")
    )
