"""`references/*.md`: Markdown with YAML front matter as a documented memory of type reference. Pure.

    ---
    skill: logo-design           absent: references
    reference: brand/colours     absent: the file's name
    name: Brand colours          or title
    description: …               or summary, snippet
    updatedAt: 2026-11-20
    ---
    The content.

Front matter may say more, for other programs: that is left alone.
"""

import re
from pathlib import PurePath
from typing import Any

import yaml

from gateway.memory.documents.document import Document, document_of

MAX_FRONT_MATTER = 8_192
"""Characters."""
DEFAULT_SKILL = "references"

_DELIMITER = re.compile(r"^---[ \t]*$", re.MULTILINE)
_KNOWN = {
    "id": "id",
    "skill": "skill",
    "skillDescription": "skillDescription",
    "skill_description": "skillDescription",
    "reference": "reference",
    "snippet": "snippet",
    "createdAt": "createdAt",
    "created_at": "createdAt",
    "updatedAt": "updatedAt",
    "updated_at": "updatedAt",
}


def reference_of(content: bytes, file: str, at: int) -> Document:
    """The document that a file says; times that it does not tell are `at`, Unix milliseconds.

    Raises:
        ValueError: it is not UTF-8, has no front matter, or this is no plain YAML mapping; or see
            `document_of`.
    """
    front, body = _split(_text(content))
    given = _mapping(front)
    fields: dict[str, Any] = {_KNOWN[name]: value for name, value in given.items() if name in _KNOWN}
    fields.setdefault("skill", DEFAULT_SKILL)
    fields.setdefault("reference", PurePath(file).stem)
    named = given.get("name") or given.get("title") or ""
    described = given.get("description") or given.get("summary") or ""
    meta = {"name": named, "description": described}
    return document_of({**fields, "type": "reference", "content": body, "meta": meta}, at)


def _text(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text at byte {error.start}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str) -> tuple[str, str]:
    first = _DELIMITER.match(text)
    if first is None:
        raise ValueError("it does not begin with front matter: a line ---, then for example name: …")
    last = _DELIMITER.search(text, first.end(), first.end() + MAX_FRONT_MATTER)
    if last is None:
        raise ValueError(
            f"its front matter does not end: a second line --- is missing in its first {MAX_FRONT_MATTER} "
            "characters"
        )
    return text[first.end() : last.start()], text[last.end() :]


def _mapping(front: str) -> dict[str, str]:
    """Its scalars, as the text that was written: no number, date or object is made of them."""
    try:
        found = yaml.load(front, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text
    except yaml.MarkedYAMLError as error:
        line = 1 + error.problem_mark.line if error.problem_mark else 1
        raise ValueError(f"line {line}: {error.problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise ValueError("its front matter is not YAML") from None
    if not isinstance(found, dict):
        raise ValueError("its front matter is not a list of `key: value` lines")
    return {name: value for name, value in found.items() if isinstance(name, str) and isinstance(value, str)}
