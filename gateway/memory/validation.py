"""Validation of a new memory: defaults, cleaning and refusals. Pure."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway import lexical
from gateway.errors import InvalidRequest
from gateway.lexical import plain_form
from gateway.memory.passages import passages
from gateway.messages import clean_text
from gateway.storage.memories import (
    MAX_TOOLS,
    Indexed,
    MemoryRow,
    MemorySource,
    MemoryType,
    Origin,
    OwnerType,
    Scope,
    Visibility,
)
from gateway.tools.wrapping import visible

MAX_CONTENT = 8_000
"""Characters of one memory: what is longer is a document."""
MAX_SUMMARY = 200
MAX_TAG = 64
MAX_TAGS = 20
MAX_REFS = 20
MAX_REF = 1_000
MAX_NAME = 256
MAX_METADATA = 4_096
"""Bytes of JSON, as much as a tool may give (`tools.result.METADATA_SIZE`)."""
WORK_TYPES: tuple[MemoryType, ...] = (
    "project_decision",
    "discussion_conclusion",
    "action_item",
    "constraint",
    "risk",
)
"""What is about work: it belongs to a project, and may follow from other memories."""
ORIGINS: Mapping[MemorySource, Origin] = {
    "user": "user",
    "conversation": "user",
    "import": "user",
    "model": "model",
    "skill": "tool",
}
"""Who stated a memory, as far as its source alone shows; a document is an operator's."""

_WRITES = {
    "user": "leave owner_id out to write for yourself.",
    "household": "GATEWAY_HOUSEHOLDS does not list you among its members.",
    "role": "that is for who asks in that role. Leave owner_id out, or ask with that role_id.",
    "session": "that is for who asks in that session. Leave owner_id out, or ask with that session_id.",
}
"""The advice when the owner is not the scope's to write for."""

_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?])\s|\n")


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to be stored. None means a default: the owner is the user, the summary the beginning of the
    content, the visibility follows from the owner, the origin from the source."""

    content: str
    type: MemoryType = "fact"
    summary: str | None = None
    owner_type: OwnerType = "user"
    owner_id: str | None = None
    visibility: Visibility | None = None
    source: MemorySource = "user"
    importance: int = 3
    confidence: float = 1.0
    tags: Sequence[str] = ()
    pinned: bool = False
    quarantined: bool = False
    context: str | None = None
    decisions: Sequence[str] = ()
    refs: Sequence[str] = ()
    skill: str | None = None
    reference: str | None = None
    metadata: Mapping[str, Any] | None = None
    origin: Origin | None = None
    tools: Sequence[str] = ()


def make(new: NewMemory, scope: Scope, memory_id: str, at: int) -> MemoryRow:
    """The first version of a memory of `scope`'s user.

    Who sees it unless a visibility is given: a memory about the user, all roles (global); a role's own, that
    role (private); a project's, all roles in it (project); a session's, that session alone; a household's,
    its members.

    Raises:
        InvalidRequest: (memory_content_missing) there is no content; (memory_invalid) it is too long, a
            number is out of range, or the owner is not one that the scope may write for.
    """
    owner_type = new.owner_type
    owner_id = checked_owner(owner_type, new.owner_id or default_owner(owner_type, scope), scope)
    visibility = new.visibility or default_visibility(owner_type)
    project_id = owner_id if owner_type == "project" else scope.project_id
    if visibility == "project" and project_id is None:
        raise _invalid("A memory for a project needs a project_id.")
    content = checked_content(new.content)
    return MemoryRow(
        id=memory_id,
        user_id=scope.user_id,
        owner_type=owner_type,
        owner_id=owner_id,
        role_id=owner_id if owner_type == "role" else scope.role_id,
        project_id=project_id,
        content=content,
        summary=checked_summary(new.summary, content),
        digest=digest_of(content),
        visibility=visibility,
        origin=new.origin or ORIGINS.get(new.source),
        tools=tuple(new.tools)[:MAX_TOOLS],
        created_at=at,
        updated_at=at,
        last_used=at,
        **checked_fields({name: getattr(new, name) for name in _TAKEN}),
    )


def checked_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a memory by name, cleaned. Raises InvalidRequest when one is too long or out of range."""
    if not (1 <= fields.get("importance", 3) <= 5 and 0 <= fields.get("confidence", 1) <= 1):
        raise _invalid("importance is 1 to 5, confidence 0 to 1.")
    return {name: _CHECKS[name](value) if name in _CHECKS else value for name, value in fields.items()}


def default_owner(owner_type: OwnerType, scope: Scope) -> str:
    """The owner's id when only the owner's type is given. Raises InvalidRequest when it is unknown."""
    if owner_type == "household" and len(scope.households) == 1:
        return scope.households[0]
    known = {
        "user": scope.user_id,
        "role": scope.role_id,
        "project": scope.project_id,
        "session": scope.session_id,
        "task": scope.task_id,
        "group": scope.group_id,
    }
    found = known.get(owner_type)
    if found is None:
        if owner_type == "household" and not scope.households:
            raise _invalid("You are in no household: GATEWAY_HOUSEHOLDS says who is in which.")
        named = f": {', '.join(scope.households)}" if owner_type == "household" else ""
        raise _invalid(f"A memory of a {owner_type} needs its owner_id{named}.")
    return found


def checked_owner(owner_type: OwnerType, owner_id: str, scope: Scope) -> str:
    """Raises InvalidRequest for an owner that is not the scope's to write for: a role writes for no other
    one, and a session likewise."""
    own = {"user": (scope.user_id,), "household": scope.households}.get(owner_type)
    here = {"role": scope.role_id, "session": scope.session_id}.get(owner_type)
    own = (here,) if here is not None else own
    if own is not None and owner_id not in own:
        raise _invalid(f"You cannot write for the {owner_type} {owner_id[:64]!r}: {_WRITES[owner_type]}")
    return checked_name(owner_id) or owner_id


def checked_name(name: str | None) -> str | None:
    """A name of something else: one line, at most MAX_NAME characters. Raises InvalidRequest."""
    cleaned = " ".join(clean(name or "").split())
    if len(cleaned) > MAX_NAME:
        raise _invalid(f"A name has at most {MAX_NAME} characters.")
    return cleaned or None


def checked_context(text: str | None) -> str | None:
    """Raises InvalidRequest when it is too long."""
    cleaned = clean(text or "")
    if len(cleaned) > MAX_CONTENT:
        raise _invalid(f"The context has {len(cleaned)} characters, at most {MAX_CONTENT} are kept.")
    return cleaned or None


def default_visibility(owner_type: OwnerType) -> Visibility:
    match owner_type:
        case "project":
            return "project"
        case "role" | "session":
            return "private"
        case _:
            return "global"


def digest_of(content: str) -> str:
    """SHA-256 in hex of the content's plain form: the same for texts with the same words."""
    return hashlib.sha256(plain_form(content).encode()).hexdigest()


def indexed(row: MemoryRow) -> list[Indexed]:
    """The index entries of a memory: the search tokens of its content, summary, tags and names, or of a long
    one those of each passage with its headings. All passages have the words of the subject, so that their
    differences decide which of them is found; a document's description goes with the first."""
    named = "\n".join(filter(None, (row.summary, *row.tags, row.skill, row.reference, row.owner_id)))
    about = row.context if row.source == "document" and row.context else ""
    parts = passages(row.content)
    if not parts:
        return [Indexed(lexical.indexed(f"{row.content}\n{named}\n{about}"))]
    return [
        Indexed(
            lexical.indexed("\n".join((row.content[part.begin : part.end], *part.headings, named, more))),
            part,
        )
        for part, more in zip(parts, (about, *[""] * (len(parts) - 1)), strict=True)
    ]


def clean(text: str) -> str:
    """`text` without invisible and control characters and lone surrogates, fit to be stored and shown."""
    return visible(clean_text(text)).strip()


def checked_content(text: str) -> str:
    """Raises InvalidRequest when it is empty or too long."""
    if len(text) > 4 * MAX_CONTENT or len(content := clean(text)) > MAX_CONTENT:
        raise _invalid(
            f"The content has {len(text)} characters, at most {MAX_CONTENT} are kept. Save what matters of "
            "it, in several memories if need be."
        )
    if not content:
        raise InvalidRequest(
            "content is missing: say what is to be remembered, in one sentence.",
            code="memory_content_missing",
        )
    return content


def checked_summary(given: str | None, content: str) -> str:
    """At most MAX_SUMMARY characters on one line: as given, or the content, or its beginning."""
    line = " ".join(clean(given or "").split())
    if len(line) > MAX_SUMMARY:
        raise _invalid(f"The summary has {len(line)} characters, at most {MAX_SUMMARY} are kept.")
    if line or len(line := " ".join(content.split())) <= MAX_SUMMARY:
        return line
    first = " ".join(next(part for part in _SENTENCE.split(content) if part.strip()).split())
    return first if len(first) <= MAX_SUMMARY else first[: MAX_SUMMARY - 1].rstrip() + "…"


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    kept = tuple(dict.fromkeys(tag for tag in (" ".join(clean(each).split()) for each in tags) if tag))
    if len(kept) > MAX_TAGS or any(len(tag) > MAX_TAG for tag in kept):
        raise _invalid(f"At most {MAX_TAGS} tags of {MAX_TAG} characters are kept.")
    return kept


def checked_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Decisions and references: at most MAX_REFS, each of at most MAX_REF characters."""
    kept = tuple(line for line in map(clean, lines) if line)
    if len(kept) > MAX_REFS or any(len(line) > MAX_REF for line in kept):
        raise _invalid(f"At most {MAX_REFS} decisions or refs of {MAX_REF} characters are kept.")
    return kept


def checked_metadata(given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """JSON that a tool gave, at most MAX_METADATA bytes. Raises InvalidRequest."""
    if given and len(orjson.dumps(given)) > MAX_METADATA:
        raise _invalid(f"The metadata is over {MAX_METADATA} bytes.")
    return given or None


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "tags": checked_tags,
    "context": checked_context,
    "decisions": checked_lines,
    "refs": checked_lines,
    "skill": checked_name,
    "reference": checked_name,
    "metadata": checked_metadata,
}
_TAKEN = (*_CHECKS, "type", "source", "importance", "confidence", "pinned", "quarantined")
"""What a row takes over from a `NewMemory`."""


def _invalid(message: str) -> InvalidRequest:
    return InvalidRequest(message, code="memory_invalid")
