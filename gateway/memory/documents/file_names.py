"""Names of the files of documented memories: `{skill}-{type}-{hash}.json`. Pure."""

import re
import unicodedata

from gateway.memory.documents.document import Key

_MAX_BYTES = 180
"""Of the skill's part in UTF-8: file systems allow 255 for the whole name."""
_AGAIN = re.compile(r"~\d+(?=\.[a-z]+$)")


def file_name(key: Key) -> str:
    """Letters, digits and marks of any script stay as they are, the rest of a skill's name is `_`. What the
    hash is of is the name as it was written, so that two skills never share a file."""
    plain = "".join(
        sign if sign in "-_." or unicodedata.category(sign)[0] in "LNM" else "_"
        for sign in unicodedata.normalize("NFC", key.skill)
    )
    short = plain.lstrip(".-").encode()[:_MAX_BYTES].decode(errors="ignore") or "_"
    return f"{short}-{key.type}-{key.digest}.json"


def numbered(name: str, number: int) -> str:
    """The name of the `number`th file of this name that is kept: `name.json`, `name~2.json`, …"""
    stem, dot, ending = name.rpartition(".")
    return name if number == 1 else f"{stem}~{number}{dot}{ending}"


def unnumbered(name: str) -> str:
    """The name without what `numbered` added."""
    return _AGAIN.sub("", name)
