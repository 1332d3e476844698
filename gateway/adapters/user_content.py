"""What clients of other makers send: fields of their own, and messages with files, as `data:` URLs, in base64
or by the address of an artifact."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from gateway.artifacts.attached_files import Upload
from gateway.artifacts.attachment_budget import MAX_FILES
from gateway.errors import InvalidRequest
from gateway.http.validation import Bounded
from gateway.ids import ARTIFACT_PATTERN
from gateway.tools.client_tools import MAX_TOOLS

MAX_MESSAGES = 10_000
"""Messages, or items, of one request: a body of the size that is allowed has room for a million."""
Messages = Annotated[list[dict[str, Any]], Field(max_length=MAX_MESSAGES)]
"""A conversation as a client sends it."""
Tools = Annotated[list[dict[str, Any]], Field(max_length=MAX_TOOLS)]
"""Functions that a client runs."""
MAX_ESCAPED = 262_144
"""Characters of a `data:` URL that is not in base64: each of its escapes takes half a microsecond."""
_ESCAPES = {"%2b": "+", "%2B": "+", "%2f": "/", "%2F": "/", "%3d": "=", "%3D": "="}
"""What may be escaped in base64."""
_SLICE = 1_048_576
"""Characters of base64 that are decoded at a time, so that others run in between; a multiple of four."""
_MIME = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_ARTIFACT = re.compile(rf"(?:https?://[^/]+)?/api/artifacts/({ARTIFACT_PATTERN})")


class Lenient(Bounded):
    """A body of which the fields count that are known here."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


def checked_content(text: str, files: Sequence[str | Upload]) -> tuple[str, list[str | Upload]]:
    """Text and files of a message that a turn may begin with; files may come without words. Raises
    errors.InvalidRequest."""
    if len(files) > MAX_FILES:
        raise InvalidRequest(f"A message may have {MAX_FILES} files.")
    if not (text.strip() or files) or "\x00" in text:
        raise InvalidRequest("The message must have text, or a file.")
    return text, [*files]


def file_at(url: str, mime: object = None, name: object = None) -> str | Upload:
    """The file of that URL: the reference of an artifact, or a content. `mime` goes before the URL's own.
    Raises errors.InvalidRequest for addresses elsewhere, and for what is no content."""
    if known := _ARTIFACT.fullmatch(url):
        return known[1]
    about, comma, data = url.partition(",")
    if not comma or not about.startswith("data:"):
        raise InvalidRequest("A file must be a data: URL, or the address of an artifact of yours.")
    mime = mime or about.removeprefix("data:").partition(";")[0]
    if about.endswith(";base64"):
        return uploaded(data, mime, name)
    if len(data) > MAX_ESCAPED:
        raise InvalidRequest(f"A data: URL of more than {MAX_ESCAPED} characters must be in base64.")
    return file_of(unquote_to_bytes(data), mime, name)


def uploaded(content: str, mime: object, name: object = None) -> Upload:
    """The file whose content that is, in base64. Raises errors.InvalidRequest."""
    for escape, character in _ESCAPES.items() if "%" in content else ():
        content = content.replace(escape, character)
    try:
        slices = (content[at : at + _SLICE] for at in range(0, len(content), _SLICE))
        data = b"".join(base64.b64decode(each, validate=True) for each in slices)
    except (binascii.Error, ValueError):
        raise InvalidRequest("The data: URL of a file is no base64.") from None
    return file_of(data, mime, name)


def file_of(data: bytes, mime: object, name: object) -> Upload:
    """The file with that content. Raises errors.InvalidRequest."""
    if not data:
        raise InvalidRequest("A file must not be empty.")
    found = _MIME.match(mime) if isinstance(mime, str) else None
    mime = found[0] if found is not None else None
    return Upload(data, name if isinstance(name, str) and name else f"file.{_suffix(mime)}", mime)


def _suffix(mime: str | None) -> str:
    return re.sub(r"[^a-z0-9]", "", (mime or "").rpartition("/")[2].lower())[:10] or "bin"
