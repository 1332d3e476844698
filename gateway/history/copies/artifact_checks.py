"""Checks the artifacts of a copy: all of their contents are there, and match their rows."""

import hashlib
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import orjson

from gateway.errors import BadImport
from gateway.files.text_check import TextCheck
from gateway.history.copies.line_reader import ExportLines, demand
from gateway.storage.artifacts import CHUNK, TEXTS
from gateway.storage.sessions.copies import ArtifactCopy

MAX_ARTIFACTS = 10_000
MAX_METADATA = 65_536
"""Bytes of one artifact's, as JSON."""


@dataclass(slots=True)
class _Content:
    """The part of a content that was read so far; `of` is the artifact that it follows."""

    of: ArtifactCopy
    digest: Any = field(default_factory=hashlib.sha256)
    parts: int = 0
    line_ends: int = 0
    ends_in_line: bool = False
    text: TextCheck = field(default_factory=TextCheck)

    def take(self, data: bytes) -> None:
        artifact = self.of
        demand(self.parts < len(artifact.chunks), "the artifact has no more parts")
        whole = self.parts < len(artifact.chunks) - 1
        size = CHUNK if whole else artifact.size - self.parts * CHUNK
        demand(len(data) == size, f"the part must have {size} bytes")
        sha256, line_ends = artifact.chunks[self.parts]
        demand(hashlib.sha256(data).hexdigest() == sha256, "the part is not what its artifact tells")
        demand(data.count(b"\n") == line_ends, "the part has other lines than its artifact tells")
        self.digest.update(data)
        self.parts += 1
        self.line_ends += line_ends
        self.ends_in_line = not data.endswith(b"\n")
        self.text.take(data)


@dataclass(frozen=True, slots=True)
class _Known:
    """A content that was read whole."""

    size: int
    lines: int | None
    chunks: Sequence[tuple[str, int]]


@dataclass(slots=True)
class CheckedArtifacts:
    """The artifacts of a copy, taken with the parts of their contents in the order of the file."""

    session_id: str = ""
    places: dict[str, int] = field(default_factory=dict[str, int])
    """The offset of the first part of each content, by the hash of the whole; 0 where it has none."""
    lines_at: list[int] = field(default_factory=list[int])
    """The offsets of the artifacts."""
    _refs: set[str] = field(default_factory=set[str])
    _known: dict[str, _Known] = field(default_factory=dict[str, _Known])
    _open: _Content | None = None

    def take(self, artifact: ArtifactCopy, at: int) -> None:
        """An artifact whose line is at the offset `at`. Raises errors.BadImport when it is not sound."""
        self.finish()
        demand(len(self._refs) < MAX_ARTIFACTS, f"there are more than {MAX_ARTIFACTS} artifacts")
        demand(artifact.ref not in self._refs, "the artifact is there twice")
        demand(artifact.session_id in {None, self.session_id}, "the artifact is of another session")
        demand(artifact.created_at <= artifact.expires_at, "the artifact ends before it begins")
        demand(len(artifact.chunks) == -(-artifact.size // CHUNK), "its parts do not make its size")
        demand(len(orjson.dumps(artifact.metadata)) <= MAX_METADATA, "the metadata is too long")
        self._refs.add(artifact.ref)
        self.lines_at.append(at)
        if artifact.sha256 in self._known:
            _check(artifact, self._known[artifact.sha256])
            return
        self.places[artifact.sha256] = 0
        self._open = _Content(artifact)

    def part(self, value: dict[str, Any], at: int) -> None:
        """A line of the kind content, at the offset `at`. Raises errors.BadImport."""
        content = self._open
        if content is None or value != _chunk_line(content.of.ref, content.parts + 1, value.get("data")):
            raise BadImport("It is not the part that comes next.")
        if content.parts == 0:
            self.places[content.of.sha256] = at
        content.take(_decoded(value["data"]))

    def finish(self) -> None:
        """Nothing more comes of the content that was read. Raises errors.BadImport when it is not whole."""
        if (content := self._open) is None:
            return
        artifact, self._open = content.of, None
        demand(content.parts == len(artifact.chunks), f"parts of {artifact.ref} are missing")
        demand(content.digest.hexdigest() == artifact.sha256, f"the content of {artifact.ref} is another")
        lines = content.line_ends + content.ends_in_line if content.text.is_text() else None
        self._known[artifact.sha256] = known = _Known(artifact.size, lines, artifact.chunks)
        _check(artifact, known)


def content_of(file: BinaryIO, at: int) -> Iterator[bytes]:
    """The parts of a content that was checked, whose first one is at the offset `at`."""
    for line in ExportLines(file, at) if at else ():
        value = orjson.loads(line)
        if value["kind"] != "content":
            return
        yield b64decode(value["data"])


def _check(artifact: ArtifactCopy, known: _Known) -> None:
    demand(artifact.size == known.size, f"{artifact.ref} has another size than its content")
    demand(artifact.chunks == known.chunks, f"{artifact.ref} has other parts than its content")
    demand(artifact.holds not in TEXTS or known.lines is not None, f"{artifact.ref} is no text")
    demand(artifact.lines in {None, known.lines}, f"{artifact.ref} has other lines than its content")
    demand(
        artifact.holds not in TEXTS or artifact.lines is not None, f"{artifact.ref} does not tell its lines"
    )


def _chunk_line(ref: str, number: int, data: object) -> dict[str, object]:
    return {"ref": ref, "number": number, "data": data}


def _decoded(data: object) -> bytes:
    """Raises errors.BadImport for what is no base64, or not in the form in which it is written."""
    try:
        decoded = b64decode(data, validate=True) if isinstance(data, str) else b""
    except (Error, ValueError):
        raise BadImport("The data is no base64.") from None
    demand(b64encode(decoded).decode() == data, "the data is no base64")
    return decoded
