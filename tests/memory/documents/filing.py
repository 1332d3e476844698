"""Documents made for tests: their fields, and their files."""

import json
import os
from pathlib import Path
from typing import Any

from gateway.memory.documents.document import Document, document_of

NOON = 1_795_176_000_000
"""2026-11-20T12:00:00Z in Unix milliseconds."""
LONG_AGO = 1_700_000_000


def fields(content: str = "用网格排版，留白要多。", **more: Any) -> dict[str, Any]:
    """The fields of a document as its file names them."""
    return {
        "type": "skill",
        "content": content,
        "skill": "标志设计",
        "createdAt": "2026-11-01T08:00:00Z",
        "updatedAt": NOON,
        **more,
    }


def document(content: str = "用网格排版，留白要多。", **more: Any) -> Document:
    return document_of(fields(content, **more), NOON)


def write_json(folder: Path, name: str, content: dict[str, Any] | str) -> Path:
    """A file that has long been there."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return write_text(folder, name, text)


def write_text(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path
