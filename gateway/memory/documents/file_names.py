"""Names of the files of documented memories: `{skill}-{type}-{hash}.json`, or, as other programs write them,
`{skill}__{type}__{hash of the content}.json`. Pure."""

import hashlib
import re
import unicodedata

from gateway.memory.documents.document import Key

_MAX_BYTES = 180
"""Of the skill's part in UTF-8: file systems allow 255 for the whole name."""
_AGAIN = re.compile(r"~\d+(?=\.[a-z]+$)")


def file_name(key: Key) -> str:
    """Letters, digits and marks of any script stay as they are, the rest of a skill's name is `_`. What the
    hash is of is the name as it was written, so that two skills never share a file."""
    return f"{_short(key.skill)}-{key.type}-{key.digest}.json"


def name_by_content(key: Key, content: str) -> str:
    """The name that tells of the content, by the first 8 hex digits of its SHA-256. It is read and checked,
    not written: two contents of one skill, type and reference are versions of one document."""
    digest = hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{_short(key.skill)}__{key.type}__{digest}.json"


def numbered(name: str, number: int) -> str:
    """The name of the `number`th file of this name that is kept: `name.json`, `name~2.json`, …"""
    stem, dot, ending = name.rpartition(".")
    return name if number == 1 else f"{stem}~{number}{dot}{ending}"


def unnumbered(name: str) -> str:
    """The name without what `numbered` added."""
    return _AGAIN.sub("", name)


def _short(skill: str) -> str:
    plain = "".join(
        sign if sign in "-_." or unicodedata.category(sign)[0] in "LNM" else "_"
        for sign in unicodedata.normalize("NFC", skill)
    )
    return plain.lstrip(".-").encode()[:_MAX_BYTES].decode(errors="ignore") or "_"
