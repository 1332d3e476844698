"""A document: the fields of its file, and the memory made of them. Pure.

{
  "id": "d_0f3a…",                   absent: made of skill, type and reference
  "type": "skill" | "reference",
  "content": "…",                    at most 200,000 characters
  "snippet": "…",                    absent: the beginning of the content
  "skill": "…",
  "skillDescription": "…",
  "reference": "…",                  what it is about; a file's path or an address, as a rule
  "createdAt": 1795161600000,        Unix milliseconds or seconds, or ISO 8601; absent: the file's time
  "updatedAt": 1795161600000,        likewise
  "meta": {"name": "…", "description": "…"}
}
"""

import hashlib
import json
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer
from pydantic import ValidationError as Misfit
from pydantic.alias_generators import to_camel

from gateway.errors import plain_words
from gateway.ids import is_id
from gateway.memory.validation import MAX_SUMMARY, checked_summary, clean, digest_of
from gateway.storage.memories import MemoryRow

DocumentType = Literal["skill", "reference"]

MAX_CONTENT = 200_000
"""Characters of a document's content."""
NO_USER = ""
"""Whose a document is: it is no id, so that no user has it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = 253_402_300_799_999  # the end of the year 9999 in Unix milliseconds
_SECONDS = 100_000_000_000
"""A number below it is no time in milliseconds, which would be before 1973, but one in seconds."""
_MAX_PROBLEMS = 5
_MAX_NAME = 180
"""Bytes of the skill's part of a file's name in UTF-8: file systems allow 255 for the whole."""


class Key(NamedTuple):
    """The key that versions of one memory share; of these the newest counts."""

    skill: str
    type: DocumentType
    reference: str

    @property
    def digest(self) -> str:
        """64 bits in hex: at the 2,000 documents there may be, two share it once in 10^13 folders."""
        return hashlib.sha256("\0".join(self).encode()).hexdigest()[:16]


def milliseconds(value: Any) -> int:
    """Unix milliseconds of such a number, of one in seconds, or of a date in ISO 8601; without a zone it is
    UTC.

    Raises:
        ValueError: it is none of them, or before 1970.
    """
    moment = value.strip() if isinstance(value, str) else value
    if isinstance(moment, str) and moment.isdecimal() and len("20261120") < len(moment) < 20:
        moment = int(moment)
    if isinstance(moment, str):
        try:
            date = datetime.fromisoformat(moment)
            date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
            moment = (date - _EPOCH) // timedelta(milliseconds=1)
        except (ValueError, OverflowError):
            moment = None
    elif isinstance(moment, int | float) and not isinstance(moment, bool) and 0 <= moment <= _LAST:
        moment = int(moment * 1000 if moment < _SECONDS else moment)
    if isinstance(moment, bool) or not isinstance(moment, int) or not 0 <= moment <= _LAST:
        raise ValueError("must be a date such as 2026-11-20T08:00:00Z, or Unix milliseconds or seconds")
    return moment


def iso(at: int) -> str:
    """Unix milliseconds as ISO 8601 in UTC, to the millisecond."""
    date = _EPOCH + timedelta(milliseconds=at)
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(at: int) -> int | str:
    """Its form in a file: the number, or a date where the number would be read as seconds."""
    return at if at >= _SECONDS else iso(at)


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _at_most(characters: int) -> AfterValidator:
    def check(text: str) -> str:
        if len(text) > characters:
            raise ValueError(f"must have at most {characters:,} characters")
        return text

    return AfterValidator(check)


def is_document_id(given: object) -> bool:
    """Whether it can be a document's id: those that begin with m_ are of memories that are none."""
    return isinstance(given, str) and is_id(given) and not given.startswith("m_")


def _document_id(text: str) -> str:
    if not is_document_id(text):
        raise ValueError("must be 1 to 64 letters, digits, _ and -, and not begin with m_")
    return text


Line = Annotated[str, AfterValidator(_line)]
Text = Annotated[str, AfterValidator(clean)]
Time = Annotated[int, BeforeValidator(milliseconds), PlainSerializer(_number)]


class _Form(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=False, validate_by_alias=True
    )


class Meta(_Form):
    """Its name and description for people."""

    name: Annotated[Line, _at_most(200)] = ""
    description: Annotated[Line, _at_most(2_000)] = ""


class Document(_Form):
    """A document. Times are Unix milliseconds."""

    id: Annotated[str, AfterValidator(_document_id)]
    type: DocumentType
    content: Annotated[Text, _at_most(MAX_CONTENT), AfterValidator(_not_empty)]
    snippet: Annotated[Line, _at_most(2_000)] = ""
    skill: Annotated[Line, _at_most(200), AfterValidator(_not_empty)]
    skill_description: Annotated[Text, _at_most(10_000)] = ""
    reference: Annotated[Line, _at_most(1_000)] = ""
    created_at: Time
    updated_at: Time
    meta: Meta

    @property
    def key(self) -> Key:
        return Key(self.skill, self.type, self.reference)

    @property
    def as_row(self) -> MemoryRow:
        """The memory that it is: everybody sees it (`MemoryRow.audience`)."""
        snippet = self.snippet or self.meta.description
        if len(snippet) > MAX_SUMMARY:
            snippet = snippet[: MAX_SUMMARY - 1].rstrip() + "…"
        name = "" if self.meta.name in {self.reference, self.skill} else self.meta.name
        context = "\n".join(filter(None, (name, self.meta.description, self.skill_description)))
        return MemoryRow(
            id=self.id,
            user_id=NO_USER,
            owner_type="project",
            owner_id=self.skill,
            type=self.type,
            content=self.content,
            summary=checked_summary(snippet, self.content),
            digest=digest_of(self.content),
            visibility="global",
            source="document",
            context=context or None,
            skill=self.skill,
            reference=self.reference or None,
            created_at=self.created_at,
            updated_at=self.updated_at,
            last_used=self.updated_at,
        )


def document_of(fields: dict[str, Any], at: int) -> Document:
    """The document of these fields, as its file names them. Null is absent; what may be absent is filled in,
    times with `at`.

    Raises:
        ValueError: a field is missing, unknown or wrong; the message names them.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    given.setdefault("createdAt", given.get("updatedAt", iso(at)))
    given.setdefault("updatedAt", given["createdAt"])
    given.setdefault("meta", {})
    if isinstance(given["meta"], dict):
        given["meta"] = {name: value for name, value in given["meta"].items() if value is not None}
    without_id = "id" not in given
    try:
        document = Document.model_validate({"id": "d_", **given})
    except Misfit as misfit:
        raise ValueError(_problems_of(misfit)) from None
    if without_id:
        document = document.model_copy(update={"id": f"d_{document.key.digest}"})
    if not document.meta.name:
        meta = document.meta.model_copy(update={"name": (document.reference or document.skill)[:200]})
        document = document.model_copy(update={"meta": meta})
    return document


def modern_name(name: str) -> str:
    """skillDescription for skill_description."""
    return to_camel(name) if "_" in name else name


def fields_of(content: bytes) -> dict[str, Any]:
    """The fields of a JSON file. Raises ValueError when it is not JSON, or no object."""
    try:
        fields = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: it is not valid JSON: {error.msg}") from None
    if not isinstance(fields, dict):
        raise ValueError("it is not a JSON object")
    return fields


def file_name(key: Key) -> str:
    """Letters, digits and marks of any script stay as they are, the rest of a skill's name is `_`. What the
    hash is of is the name as it was written, so that two skills never share a file."""
    return f"{_short(key.skill)}-{key.type}-{key.digest}.json"


def name_by_content(key: Key, content: str) -> str:
    """The name derived from the content, by the first 8 hex digits of its SHA-256. It is read and checked,
    not written: two contents of one skill, type and reference are versions of one document."""
    digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{_short(key.skill)}__{key.type}__{digest}.json"


def as_bytes(document: Document) -> bytes:
    """Its file: always the same bytes for the same document, and no larger than a file may be."""
    fields = document.model_dump(by_alias=True)
    return (json.dumps(fields, ensure_ascii=False, indent=2) + "\n").encode()


def _problems_of(misfit: Misfit) -> str:
    """The errors of the fields, without their values."""
    problems: list[str] = []
    hint = ": `gateway documents migrate` brings older files to today's form"
    for each in misfit.errors(include_input=False, include_url=False):
        name = clean(".".join(str(part) for part in each["loc"])[:64])
        if each["type"] == "missing":
            problems.append(f"{name} is missing")
        elif each["type"] == "extra_forbidden":
            problems.append(f"{name} is no field of a document{hint}")
        else:
            problems.append(f"{name}: {plain_words(each['type'], each['msg'], unknown='')}")
    more = len(problems) - _MAX_PROBLEMS
    return "; ".join(problems[:_MAX_PROBLEMS]) + (f"; and {more} more" if more > 0 else "")


def _short(skill: str) -> str:
    plain = "".join(
        sign if sign in "-_." or unicodedata.category(sign)[0] in "LNM" else "_"
        for sign in unicodedata.normalize("NFC", skill)
    )
    return plain.lstrip(".-").encode()[:_MAX_NAME].decode(errors="ignore") or "_"
