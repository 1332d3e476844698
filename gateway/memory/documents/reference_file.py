"""`references/*.md`: Markdown with YAML front matter as a document of type reference. Pure.

    ---
    skill: logo-design           absent: references
    reference: brand/colours     absent: the file's name
    name: Brand colours          or title
    description: …               or summary, snippet
    updatedAt: 2026-11-20
    ---
    The content.

Front matter may have more fields, for other programs: they are left alone.
"""

import re
from pathlib import PurePath
from typing import Any

from gateway.files.confined_read import as_text
from gateway.files.front_matter import parse, split
from gateway.memory.documents.document import Document, document_of, modern_name

DEFAULT_SKILL = "references"
_HEADING = re.compile(r"^# +(\S.*)$", re.MULTILINE)

_NAMES = {"id", "skill", "skillDescription", "reference", "snippet", "createdAt", "updatedAt"}


def reference_of(content: bytes, file: str, at: int, *, of_skill: str = "") -> Document:
    """The document in a file; times that it does not contain are `at`, Unix milliseconds. With `of_skill` it
    is of that skill in any case, its reference is `file`, as read_skill takes it, and it needs no front
    matter.

    Raises:
        ValueError: see `confined_read.as_text`, `files.front_matter` and `document_of`.
    """
    text = as_text(content)
    front, body = ("", text.strip()) if of_skill and not text.startswith("---") else split(text)
    # Scalars are the text that was written: no number, date or object is made of them.
    read = parse(front) if front else {}
    given = {name: value for name, value in read.items() if isinstance(value, str)}
    named = {modern_name(name): value for name, value in given.items()}
    fields: dict[str, Any] = {name: value for name, value in named.items() if name in _NAMES}
    if of_skill:
        fields |= {"skill": of_skill, "reference": file}
    fields.setdefault("skill", DEFAULT_SKILL)
    fields.setdefault("reference", PurePath(file).stem)
    heading = _HEADING.search(body) if of_skill else None
    meta = {
        "name": given.get("name") or given.get("title") or (heading[1][:200] if heading else ""),
        "description": given.get("description") or given.get("summary") or "",
    }
    return document_of({**fields, "type": "reference", "content": body, "meta": meta}, at)
