"""The result of a call as the SDK takes it: of parts that cannot be read the others are kept."""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Any, Final

from mcp_types import ContentBlock
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from gateway.messages import shortened
from gateway.tools.mcp import bounds
from gateway.tools.mcp.structured_results import told_beside
from gateway.tools.mcp.wire_messages import is_within

UNKNOWN_TYPE: Final = "application/octet-stream"
"""The type of data of which a server gives none: its first bytes decide."""
_READ: Final = frozenset({"content", "structuredContent", "isError"})
_TYPE_NAMES = ("mimeType", "mime_type", "mediaType", "media_type", "contentType")
_KINDS: Final = {"image_url": "image", "text_content": "text", "input_text": "text", "output_text": "text"}
_BLOCK: Final[TypeAdapter[ContentBlock]] = TypeAdapter(ContentBlock)


def mended_result(result: dict[str, Any]) -> dict[str, Any]:
    """The result with content that is valid, and with nothing that is not used: what a server left out is
    added where it is known, and a part of a type that is not known here is named in its place. A structured
    result becomes text, unless a text has all of it; one that is no object is put under `result`, as servers
    do for tools that give a list (MCP Python SDK, structured output)."""
    content = result.get("content")
    if isinstance(content, dict | str):
        content = [content]
    parts = content if isinstance(content, list) else []
    blocks = [*map(_block, parts[: bounds.CONTENT]), *_rest_of(parts)]
    structured = result.get("structuredContent")
    if structured is not None:
        written = "\n".join(block["text"] for block in blocks if block["type"] == "text")
        named = structured if isinstance(structured, dict) else {"result": structured}
        blocks += [_text(told)] if (told := told_beside(written, named)) is not None else []
    others = {key: value for key, value in result.items() if key not in _READ}
    return {**bounded(others), "content": blocks, "isError": result.get("isError") in (True, "true", 1)}


def bounded(result: dict[str, Any]) -> dict[str, Any]:
    """A result of which nothing is known, without what is too large to be looked through; never `_meta`."""
    kept = result if is_within(result, bounds.DETAILS) else {"resultType": result.get("resultType")}
    return {key: value for key, value in kept.items() if key != "_meta" and value is not None}


def _rest_of(parts: list[Any]) -> Iterator[dict[str, Any]]:
    """The parts after the first bounds.CONTENT: their text, which is one anyway for the model, and how many
    others there were."""
    rest = parts[bounds.CONTENT :]
    texts = [words for each in rest if (words := _words(each)) is not None]
    if texts:
        yield _text("\n".join(texts))
    if len(texts) < len(rest):
        yield _text(f"[{len(rest) - len(texts)} more parts that are no text, left out]")


def _words(part: Any) -> str | None:
    words = part.get("text") if isinstance(part, dict) else part
    return words if isinstance(words, str) else None


def _block(part: Any) -> dict[str, Any]:
    if not isinstance(part, dict):
        return _text(part if isinstance(part, str) else _json(part))
    block = _completed(part)
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        return _text(_named(part))
    return block


def _completed(part: dict[str, Any]) -> dict[str, Any]:
    """A part with what its server left out, and without what is not used."""
    own = part
    kind = own.get("type")
    kind = (_KINDS.get(kind, kind) if isinstance(kind, str) else None) or ("text" if "text" in own else None)
    match kind:
        case "text":
            text = own.get("text")
            return _text(text if isinstance(text, str) else _json(text))
        case "image" | "audio":
            declared = next(
                (own[name] for name in _TYPE_NAMES if isinstance(own.get(name), str)), UNKNOWN_TYPE
            )
            return {"type": kind, "data": own.get("data"), "mimeType": declared}
        case "resource_link":
            uri = own.get("uri") or own.get("url")
            name = own.get("name") or own.get("title") or str(uri).rpartition("/")[2] or str(uri)
            kept = {key: own[key] for key in ("mimeType", "size") if _fits(key, own.get(key))}
            return {"type": kind, "uri": uri, "name": name, **kept}
        case "resource" if isinstance(own.get("resource"), dict):
            resource = {"uri": "resource:unnamed", **own["resource"]}
            kept = {
                key: resource[key]
                for key in ("uri", "text", "blob", "mimeType")
                if isinstance(resource.get(key), str)
            }
            return {"type": kind, "resource": kept}
        case _:
            return {"type": kind}


def _fits(key: str, value: Any) -> bool:
    return isinstance(value, str if key == "mimeType" else int) and not isinstance(value, bool)


def _named(part: dict[str, Any]) -> str:
    """A part that cannot be read, with the words in it."""
    kind = shortened(str(part.get("type", "of no type")), 100)
    words = part.get("text")
    return f"[a part that cannot be read here: {kind}]" + (
        f"\n{words}" if isinstance(words, str) and words else ""
    )


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _json(value: Any) -> str:
    return to_json(value, serialize_unknown=True).decode()


def decoded(data: str) -> bytes:
    """Bytes in base64, also in the alphabet for addresses, in lines, without its padding or as a `data:`
    address. Raises binascii.Error: it is none."""
    if data[:5].lower() == "data:":
        data = data.partition(",")[2]
    if not data.isalnum():
        data = "".join(data.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return b64decode(data + "=" * (-len(data) % 4), validate=True)
    except ValueError as error:  # of characters beyond ASCII
        raise binascii.Error(str(error)) from None
