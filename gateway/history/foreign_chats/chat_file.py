"""The file of an export: a zip file with `conversations.json` in it, or that alone, read chat by chat.

No more than one chat is held in memory, whatever the file says of itself. A chat that is damaged, or too
large, is told of and passed over; where the file breaks off, what came before is there.
"""

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import IO, Any, BinaryIO

import orjson

from gateway.errors import BadImport
from gateway.history.foreign_chats import chatgpt, claude, librechat, open_webui
from gateway.history.foreign_chats.fields import fields
from gateway.history.foreign_chats.foreign_chat import ForeignChat, UnreadableChat

MAX_UNPACKED = 2_147_483_648
"""Bytes of JSON in a zip file."""
MAX_CHAT = 16_777_216
"""Bytes of one chat."""
MAX_CHATS = 50_000
MAX_DIRECTORY = 16_777_216
"""Bytes of the list of files in a zip file, which is read at once."""
CHUNK = 262_144
_CONVERSATIONS = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")
_ZIP = b"PK"
_OUTSIDE, _INSIDE = re.compile(rb'["{}\[\]]'), re.compile(rb'["\\]')
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)

Found = ForeignChat | UnreadableChat


def chats_in(file: BinaryIO) -> Iterator[Found]:
    """The chats of a file, in their order, each of those that cannot be taken as the reason. Reads and
    computes: not for the event loop. Raises errors.BadImport, before the first one: it is no export."""
    file.seek(0)
    begins = file.read(64)
    file.seek(0)
    if begins.startswith(_ZIP):
        yield from _in_zip(file)
    elif begins.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"[", b"{"}:
        yield from _chats(lambda: file.read(CHUNK))
    else:
        raise BadImport(
            "It is neither a zip file nor JSON: choose the file that ChatGPT or Claude sent you,"
            " or that LibreChat or Open WebUI exported."
        )


def _in_zip(file: BinaryIO) -> Iterator[Found]:
    _check_directory(file)
    try:
        with zipfile.ZipFile(file) as archive:
            names = sorted(each for each in archive.namelist() if _CONVERSATIONS.search(each))
            if not names:
                raise BadImport("There is no conversations.json in this zip file: it is no export of chats.")
            unpacked = _Unpacked()
            for name in names:
                with archive.open(name) as member:
                    yield from _chats(partial(unpacked.read, member))
    except UnreadableChat as broken:
        yield broken
    except _DAMAGED:
        yield UnreadableChat("The zip file is damaged here: what comes behind cannot be read.")


class _Unpacked:
    """Counts what was unpacked, as a small file may have very much in it."""

    def __init__(self) -> None:
        self._left = MAX_UNPACKED

    def read(self, member: IO[bytes]) -> bytes:
        """The next bytes. Raises UnreadableChat beyond the limit."""
        chunk = member.read(CHUNK)
        self._left -= len(chunk)
        if self._left < 0:
            raise UnreadableChat("There is more in this zip file than is read at once.")
        return chunk


def _check_directory(file: BinaryIO) -> None:
    """Raises errors.BadImport: a list of files that would not fit in memory, or none."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 65_557))
    end = file.read()
    at = end.rfind(b"PK\x05\x06")
    if at < 0 or len(end) < at + 22:
        raise BadImport("The zip file is cut off: download it again.")
    listed = struct.unpack_from("<L", end, at + 12)[0]
    if at >= 20 and end[at - 20 : at - 16] == b"PK\x06\x07":
        place = struct.unpack_from("<Q", end, at - 12)[0]
        if place + 56 > size:
            raise BadImport("The zip file is damaged: download it again.")
        file.seek(place)
        listed = struct.unpack_from("<Q", file.read(56), 40)[0]
    if listed > MAX_DIRECTORY:
        raise BadImport("There are too many files in this zip file.")
    file.seek(0)


def _chats(read: Callable[[], bytes]) -> Iterator[Found]:
    for number, part in enumerate(parts_of(read)):
        if number >= MAX_CHATS:
            yield UnreadableChat(f"There are more than {MAX_CHATS} chats in it.")
            return
        if isinstance(part, UnreadableChat):
            yield part
            continue
        try:
            yield _chat_of(_loaded(part))
        except UnreadableChat as unreadable:
            yield unreadable


def _chat_of(value: object) -> ForeignChat:
    """A chat of one of the products, told by the fields it has. Raises UnreadableChat."""
    chat: Mapping[str, Any] = fields(value)
    if isinstance(chat.get("mapping"), Mapping):
        return chatgpt.chat_of(chat)
    if isinstance(chat.get("chat_messages"), list):
        return claude.chat_of(chat)
    for form in (librechat, open_webui):
        if form.is_one(chat):
            return form.chat_of(chat)
    raise UnreadableChat("It is no chat of ChatGPT, Claude, LibreChat or Open WebUI.")


def _loaded(part: bytes) -> object:
    try:
        return orjson.loads(part)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(part)  # half of a character, or no number, which others write
    except (ValueError, RecursionError):
        raise UnreadableChat("It is damaged, and cannot be read.") from None


def parts_of(read: Callable[[], bytes], most: int = MAX_CHAT) -> Generator[bytes | UnreadableChat]:
    """The objects in the list that a JSON text is, or that text where it is one object, or one after another.
    `read` gives its next bytes, b"" at the end. One of more than `most` bytes is passed over."""
    part, depth, base, is_text, escaped = bytearray(), 0, -1, False, False
    while chunk := read():
        begins, at = 0, int(escaped)
        escaped = False
        while found := (_INSIDE if is_text else _OUTSIDE).search(chunk, at):
            at, sign = found.end(), found.group()
            if sign == b"\\":
                at += 1
                escaped = at > len(chunk)
            elif sign == b'"':
                is_text = not is_text
            elif sign in b"{[":
                if base < 0:
                    base = int(sign == b"[")
                if depth == base:
                    begins = found.start()
                depth += 1
            elif depth > base:
                depth -= 1
                if depth == base:
                    part += chunk[begins:at]
                    yield UnreadableChat(_too_large(most)) if len(part) > most else bytes(part)
                    part, begins = bytearray(), at
            else:  # the list ends
                return
        if depth > base >= 0:
            # Beyond the limit it is only known that it is.
            part += chunk[begins : begins + max(0, most + 1 - len(part))]
    if base < 0 or depth > 0:
        yield UnreadableChat("The file breaks off here.")


def _too_large(most: int) -> str:
    return f"It is larger than {most // 1_048_576} MiB."
