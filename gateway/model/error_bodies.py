"""The words of an endpoint's error, in whatever form it writes them. Pure: no I/O.

Sources: docs.claude.com "Errors"; FastAPI "Handling Errors" (`detail`); the bodies that llama.cpp, vLLM,
Ollama, LiteLLM, Zhipu, MiniMax, DashScope and proxies in front of them send.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

MAX_READ = 4096
"""Characters of a text that are looked at."""
_MAX_DEPTH = 5
_MAX_ITEMS = 3
"""Entries of a list of errors that are told."""

_INNER = ("error", "errors", "err", "fault", "base_resp", "response", "responsestatus", "header")
"""Fields that hold an error, or several. These names and the following are compared in lower case."""
_WORDS = (
    *("message", "msg", "error_msg", "error_message", "errormessage", "errmsg", "status_msg", "faultstring"),
    *("detail", "details", "error_description", "title", "reason", "exception"),
)
"""Fields with the words, the best first."""
_CODES = ("code", "status_code", "error_code", "errorcode", "statuscode", "status")

_PAGE = re.compile(r"<(!doctype|html|head|body|title|\?xml)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)
_UNREAD = re.compile(r"<(script|style)\b.*?(</\1\s*>|\Z)|<!--.*?(-->|\Z)", re.IGNORECASE | re.DOTALL)
_JOINTS = " \t\r\n:=-\"'"
_TAG = re.compile(r"<[^<>]*(>|\Z)")


class ErrorWords(NamedTuple):
    """What an error says of itself: its type, its code (a number as digits) and its words; "" is nothing.
    `is_page`: it is a page for a browser, so that something before the endpoint has answered."""

    type: str = ""
    code: str = ""
    words: str = ""
    is_page: bool = False


def error_words(body: object) -> ErrorWords:
    """What decoded JSON, or a text, says of the error that it is: at most MAX_READ characters, as what is
    looked for in them takes time."""
    found = _read(body, 0)
    return found._replace(words=found.words[:MAX_READ])


def excerpt_of(body: object) -> str:
    """The beginning of JSON that has no words of an error: all that its sender says; "" for nothing."""
    return json.dumps(body, ensure_ascii=False)[:MAX_READ] if body else ""


def is_error(event: Mapping[str, Any]) -> bool:
    """Whether an object of no known type is an error for certain. `{"error": null}` is none, and neither is
    an object that only has a message: that may be a notice."""
    kind = event.get("type")
    if event.get("error") or event.get("errors"):
        return True
    if isinstance(kind, str):
        return kind == "error" or kind.endswith(("_error", "Error", "Exception"))
    return event.get("object") == "error" or _failed(event.get("base_resp")) or _failed(event)


def _failed(event: object) -> bool:
    """Whether words stand beside a code that is not one of success, or are an answer of FastAPI's."""
    if not isinstance(event, Mapping):
        return False
    found = error_words(event)
    is_coded = found.code not in {"", "0", "200", "ok", "OK", "success", "SUCCESS"}
    return bool(found.words) and (is_coded or event.get("success") is False or "detail" in event)


def _read(body: object, depth: int) -> ErrorWords:
    if isinstance(body, str):
        return _in_text(body, depth)
    if depth >= _MAX_DEPTH:
        return ErrorWords()
    if isinstance(body, Mapping):
        return _in_object(cast("Mapping[str, Any]", body), depth)
    if isinstance(body, Sequence) and not isinstance(body, bytes):
        found = [_of_item(each, depth + 1) for each in body[:_MAX_ITEMS]]
        words = "; ".join(each.words for each in found if each.words)
        first = found[0] if found else ErrorWords()
        return first._replace(words=words)
    return ErrorWords()


def _in_object(given: Mapping[str, Any], depth: int) -> ErrorWords:
    body = {name.lower(): value for name, value in reversed([*given.items()])}
    kind = body.get("type")
    own = ErrorWords(
        kind if isinstance(kind, str) and kind != "error" else "",
        next((code for name in _CODES if (code := _code(body.get(name)))), ""),
    )
    for name in (*_INNER, *_WORDS):
        value = body.get(name)
        if value and (found := _read(value, depth + 1)) != ErrorWords():
            own = ErrorWords(
                found.type or own.type,
                found.code or own.code,
                own.words or found.words,
                own.is_page or found.is_page,
            )
            if own.words:
                break
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping) and (raw := _read(metadata.get("raw"), depth + 1)).words:
        # What OpenRouter was told by the provider that it asked.
        own = ErrorWords(
            raw.type or own.type, own.code, f"{own.words}: {raw.words}" if own.words else raw.words
        )
    return own


def _of_item(item: object, depth: int) -> ErrorWords:
    """An entry of a list: FastAPI's say where something is wrong, too."""
    found = _read(item, depth)
    where: Any = item.get("loc") if isinstance(item, Mapping) else None
    if found.words and isinstance(where, list):
        place = ".".join(str(each)[:40] for each in where[:8])
        return found._replace(words=f"{place}: {found.words}")
    return found


def _in_text(text: str, depth: int) -> ErrorWords:
    """Words as they are; of a page its title, and of JSON in a text, which proxies pack others' errors in,
    the words in it behind what stands before it."""
    text = text[:MAX_READ].strip()
    if text.startswith("<") and _PAGE.search(text[:500]):
        return ErrorWords(words=_of_page(text), is_page=True)
    at = text.find("{")
    if at >= 0 and depth < _MAX_DEPTH:
        try:
            inner, _ = json.JSONDecoder().raw_decode(text, at)
        except (ValueError, RecursionError):
            return ErrorWords(words=text)
        found = _read(inner, depth + 1)
        if found.words:
            before = text[:at].rstrip(_JOINTS).removesuffix(" b").rstrip(_JOINTS)
            return found._replace(words=f"{before}: {found.words}" if before else found.words)
    return ErrorWords(words=text)


def _of_page(page: str) -> str:
    title = _TITLE.search(page)
    words = title[1] if title else ""
    if not words.strip():
        words = _TAG.sub(" ", _UNREAD.sub(" ", page))
    return " ".join(html.unescape(words).split())


def _code(value: object) -> str:
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, int) else value if isinstance(value, str) else ""
