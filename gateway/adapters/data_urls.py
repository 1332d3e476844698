"""Files that clients send inside of their messages, as `data:` URLs, in base64, or by the address of an
artifact."""

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest
from gateway.ids import ARTIFACT_PATTERN

_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*)(?:;[^;,]*)*?(?P<base64>;base64)?,(?P<data>.*)", re.DOTALL)
_MIME = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_ARTIFACT = re.compile(rf"(?:https?://[^/]+)?/api/artifacts/({ARTIFACT_PATTERN})")


def file_at(url: str, mime: str | None = None, name: object = None) -> str | Upload:
    """The file of that URL: the reference of an artifact, or a content. `mime` goes before the URL's own.
    Raises errors.InvalidRequest for addresses elsewhere, and for what is no content."""
    if known := _ARTIFACT.fullmatch(url):
        return known[1]
    if (inside := _DATA_URL.fullmatch(url)) is None:
        raise InvalidRequest("A file must be a data: URL, or the address of an artifact of yours.")
    mime = mime or inside["mime"] or None
    if inside["base64"]:
        return uploaded(inside["data"], mime, name)
    return _upload(unquote_to_bytes(inside["data"]), mime, name)


def uploaded(content: str, mime: str | None, name: object = None) -> Upload:
    """The file whose content that is, in base64. Raises errors.InvalidRequest."""
    try:
        data = base64.b64decode(unquote_to_bytes(content), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidRequest("The data: URL of a file is no base64.") from None
    return _upload(data, mime, name)


def _upload(data: bytes, mime: str | None, name: object) -> Upload:
    if not data:
        raise InvalidRequest("A file must not be empty.")
    found = _MIME.match(mime or "")
    mime = found[0] if found is not None else None
    return Upload(data, name if isinstance(name, str) and name else f"file.{_suffix(mime)}", mime)


def _suffix(mime: str | None) -> str:
    return re.sub(r"[^a-z0-9]", "", (mime or "").rpartition("/")[2].lower())[:10] or "bin"
