"""The kind and the mime type of a content. What is declared is believed only where the bytes agree."""

import re

import orjson

from gateway.artifacts.content import Measured
from gateway.artifacts.kinds.languages import language_of, suffix_of
from gateway.artifacts.kinds.magic import UNKNOWN, format_of
from gateway.artifacts.kinds.tables import head_text, looks_like_a_table, table_of
from gateway.storage.artifacts import Kind

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What the Messages API takes as an image."""

_MIME = re.compile(r"[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}")
_PLAIN_MIMES: dict[Kind, str] = {"json": "application/json", "csv": "text/csv", "markdown": "text/markdown"}
_MARKDOWN = (".md", ".markdown")
_TABLES = (".csv", ".tsv", ".tab")
_TABLE_MIMES = ("text/csv", "application/csv", "text/tab-separated-values")
_CUT_LITERAL = 12  # bytes: the longest that JSON cannot be without, a pair of escaped surrogates
_LINES = 50  # that are looked at
_LEVEL = re.compile(
    r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)\b|\blevel\W{1,4}\w"
)
_TIME = re.compile(r"\d\d:\d\d:\d\d")
_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_MARKUP = re.compile(r"^(?:##|```)|\]\(", re.MULTILINE)


def kind_of(measured: Measured, name: str | None, mime: str | None) -> tuple[Kind, str]:
    """The kind of a content and a mime type without parameters that claims no more than is known: code of any
    language is text/plain. `name` and `mime` are what its source declared, of any form."""
    found = format_of(measured.head, measured.tail)
    if found.mime == "application/pdf" and b"%%EOF" in measured.tail:
        return "pdf", found.mime
    if measured.lines is None or (measured.damaged and found is not UNKNOWN):
        return ("image" if found.mime in IMAGES else "binary"), found.mime
    return _text_kind(measured, name, plain_mime(mime))


def plain_mime(declared: str | None) -> str | None:
    """A declared mime type without parameters and in lower case; None where it is none."""
    essence = (declared or "").split(";", 1)[0].strip().lower()
    return essence if _MIME.fullmatch(essence) else None


def _text_kind(measured: Measured, name: str | None, mime: str | None) -> tuple[Kind, str]:
    text, suffix = head_text(measured), suffix_of(name)
    table = table_of(measured)
    kind: Kind = "text"
    if not measured.damaged and _is_json(measured):
        kind = "json"
    elif suffix in _MARKDOWN or mime == "text/markdown":
        kind = "markdown"
    elif suffix == ".log":
        kind = "log"
    elif table and (suffix in _TABLES or mime in _TABLE_MIMES):
        kind = "csv"
    elif language_of(name, mime, text):
        kind = "code"
    elif _is_log(text):
        kind = "log"
    elif table and looks_like_a_table(table):
        kind = "csv"
    elif len(_HEADING.findall(text)) > 1 and _MARKUP.search(text):
        kind = "markdown"
    if table and kind == "csv" and table.separator == "\t":
        return kind, "text/tab-separated-values"
    return kind, _PLAIN_MIMES.get(kind, "text/plain")


def _is_json(measured: Measured) -> bool:
    """Whether it is an object or an array; of a large one, and of one deeper than a parser goes, whether it
    begins as one."""
    head = measured.head.removeprefix(b"\xef\xbb\xbf")
    if not head.lstrip().startswith((b"{", b"[")):
        return False
    whole = measured.size <= len(measured.head)
    text = head.decode("utf-8", "ignore")
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return "depth limit" in str(error) or (not whole and error.pos >= len(text) - _CUT_LITERAL)
    return whole


def _is_log(text: str) -> bool:
    """Whether the first line and half of those that follow have a time of day or a level near their start."""
    lines = [line[:160] for line in text.splitlines()[:_LINES] if line.strip()]
    marked = [bool(_TIME.search(line[:60]) or _LEVEL.search(line)) for line in lines]
    return len(marked) > 1 and marked[0] and 2 * sum(marked) >= len(marked)
