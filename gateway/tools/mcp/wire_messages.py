"""What a server has written, as messages that the SDK reads: forgiving where the meaning is plain, since the
SDK drops what is not well formed, and a call would wait for it until its time is over.

    bytes ──▶ large: one of a few threads ──▶ parsed once, results mended, all else bounded ──▶ the SDK
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import orjson
from mcp_types import (
    INTERNAL_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic_core import from_json, to_json

from gateway.messages import shortened
from gateway.places import Places
from gateway.tools.mcp import bounds

T = TypeVar("T")
Mend = Callable[[dict[str, Any]], dict[str, Any]]
"""What makes of any result one that the SDK takes, and that is quickly looked through."""

_FIRST, _SECOND = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_FIRST, _SECOND, _FIRST, _SECOND))
"""The escape of one half of a surrogate pair, without the other half."""
_BACKSLASH = rb"\\"
"""The escape of a backslash: what follows it is none."""
_BOM = b"\xef\xbb\xbf"
_WORDS: Final = ("message", "error_description", "detail", "msg", "title", "error", "reason")
"""Names under which servers and their proxies say in words what went wrong, the most telling one first."""


_DIGITS = bytes(ord("0") if 48 <= each < 58 else each for each in range(256))
_readers = Places(bounds.READERS)


async def read_apart(size: int, read: Callable[[], T]) -> T:
    """What `read` makes of so many bytes: in a thread where they are many, so that no others wait for it."""
    if size <= bounds.INLINE:
        return read()
    await _readers.take(None)
    try:
        return await asyncio.to_thread(read)
    finally:
        _readers.give_back()


def is_within(value: Any, parts: int) -> bool:
    """Whether a value has no more parts than that, on all levels. Takes no longer than so many do."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            parts -= len(each)
            if parts < 0:
                return False
            waiting.extend(each.values() if isinstance(each, dict) else each)
    return True


def whole_characters(text: bytes) -> bytes:
    """JSON with U+FFFD in the place of each escaped half of a surrogate pair, which JavaScript writes where
    it cuts a text within an emoji (RFC 8259, 8.2), and of bytes that are no UTF-8."""
    text = text.removeprefix(_BOM)
    if b"\\u" in text:
        text = _BACKSLASH.join([_LONE.sub(rb"\\ufffd", part) for part in text.split(_BACKSLASH)])
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="replace").encode()
    return text


def read_messages(text: bytes, unanswered: RequestId | None, mend: Mend) -> list[JSONRPCMessage]:
    """The messages of a line or a body: one, or each of a batch (JSON-RPC 2.0, 6). `unanswered` is the
    request that an answer without an id is taken for. Raises ValueError: it is no message."""
    return messages_in(parsed(text), unanswered, mend)


def messages_in(value: Any, unanswered: RequestId | None, mend: Mend) -> list[JSONRPCMessage]:
    """The messages that a parsed value is. Raises ValueError: it is none."""
    values = value if isinstance(value, list) else [value]
    return [_message(each, unanswered, mend) for each in values[: bounds.LISTED]]


def answer_in(value: Any, request: RequestId, mend: Mend) -> JSONRPCResponse | JSONRPCError:
    """The one message of a parsed body that answers the request, by its id or because nothing else can be
    meant. Raises ValueError: there is none."""
    messages = messages_in(value, request, mend)
    answers = [each for each in messages if isinstance(each, JSONRPCResponse | JSONRPCError)]
    found = next((each for each in answers if str(each.id) == str(request)), answers[0] if answers else None)
    if found is None:
        raise ValueError("no answer")
    found.id = request
    return found


def as_bytes(message: JSONRPCMessage) -> bytes:
    """The message as it goes over a wire."""
    return to_json(message.model_dump(by_alias=True, exclude_unset=True))


def words_of(value: Any) -> str:
    """What a body of an error says in words, on one line; empty: nothing."""
    for _ in range(4):
        if isinstance(value, list) and value:
            value = value[0]
        elif isinstance(value, dict):
            value = next((value[name] for name in _WORDS if value.get(name)), None)
    text = value if isinstance(value, str) else ""
    return shortened(" ".join(text.split()), bounds.LINE)


def parsed(text: bytes) -> Any:
    """The value that JSON is, also with half characters, NaN or bytes that are no UTF-8.

    Raises:
        ValueError: it is no JSON.
    """
    if len(text) > bounds.INLINE and b"0" * bounds.DIGITS in text.translate(_DIGITS):
        return orjson.loads(whole_characters(text))
    try:
        return from_json(text, allow_inf_nan=True, cache_strings="none")
    except ValueError:
        return from_json(whole_characters(text), allow_inf_nan=True, cache_strings="none")


def _message(value: Any, unanswered: RequestId | None, mend: Mend) -> JSONRPCMessage:
    """Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("no object")
    if isinstance(method := value.get("method"), str):
        params = value.get("params")
        given = params if isinstance(params, dict) and is_within(params, bounds.DETAILS) else None
        if value.get("id") is None:
            return JSONRPCNotification(jsonrpc="2.0", method=method, params=given)
        return JSONRPCRequest(jsonrpc="2.0", id=value["id"], method=method, params=given)
    request = _id(value.get("id"), unanswered)
    if value.get("error") is not None:
        return JSONRPCError.model_validate({"jsonrpc": "2.0", "id": request, "error": _error(value["error"])})
    if request is None:
        raise ValueError("no message")
    if "result" in value:
        return JSONRPCResponse(jsonrpc="2.0", id=request, result=mend(_result(value["result"])))
    if "id" not in value:
        raise ValueError("no message")
    return JSONRPCError.model_validate(
        {"jsonrpc": "2.0", "id": request, "error": _error("its answer has neither a result nor an error")}
    )


def _id(value: Any, unanswered: RequestId | None) -> RequestId | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int | str) and not isinstance(value, bool) else unanswered


def _error(value: Any) -> dict[str, Any]:
    """An error of any form, as one with a code and a message."""
    code, data = INTERNAL_ERROR, None
    if isinstance(value, dict):
        written, data = value.get("code"), value.get("data")
        data = data if is_within(data, bounds.DETAILS) else None
        if isinstance(written, int | float | str) and str(written).removeprefix("-").isdecimal():
            code = int(written)
    message = value.get("message") if isinstance(value, dict) else value
    if not isinstance(message, str):
        message = words_of(value) or _as_json(value)
    return {"code": code, "message": message, **({"data": data} if data is not None else {})}


def _as_json(value: Any) -> str:
    return shortened(to_json(value, serialize_unknown=True).decode(), bounds.LINE)


def _result(value: Any) -> dict[str, Any]:
    """A result that is no object is what a call gave."""
    if isinstance(value, dict):
        return value
    if value is None:
        return {}
    return {"content": value if isinstance(value, list) else [value]}
