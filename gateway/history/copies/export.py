"""A session as a file: lossless, one JSON object a line, in this order.

    {"kind":"session","format":4,…}        SessionCopy
    {"kind":"instructions",…}              InstructionsCopy; each text once
    {"kind":"turn",…}                      TurnCopy; in the order in which they were accepted
    {"kind":"branch",…}                    BranchCopy; by number, none of a session that has one only
    {"kind":"compression",…}               VersionCopy; by number. The archive is named by its hash
    {"kind":"summary",…}                   SummaryCopy; only if there is one
    {"kind":"artifact",…}                  ArtifactCopy; those that the session uses, by reference
    {"kind":"content","ref":"…","number":1,"data":"…"}   a part of its content, in base64. They follow the
                                           first artifact that has this content, each but the last 1 MiB
    {"kind":"message","position":1,"turn_id":"…","role":"…","content":[…],"usage":{…}}
    {"kind":"event","body":{…}}            the event, byte for byte
    {"kind":"end","counts":{…},"sha256":"…"}   of all lines before, with their line ends

An export that fails on the way ends with {"kind":"error","code":"…","message":"…"} and is no export; an
answer that has it is broken off behind that line.
"""

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from gateway.errors import ArchiveDamaged, ArtifactDamaged, GatewayError, NotFound
from gateway.history.sequence_gaps import SequenceGaps
from gateway.storage.archives.lines import message_line
from gateway.storage.artifacts import ArtifactRow
from gateway.storage.artifacts.store import Artifacts
from gateway.storage.log.event_log import EventLog
from gateway.storage.sessions.copies import ArtifactCopy, BranchCopy, Moment, SessionCopy, TurnCopy
from gateway.storage.sessions.copying import Copies
from gateway.storage.sessions.transcripts import Transcripts

FORMAT = 4
WITHOUT_ROLES, WITHOUT_ARTIFACTS, WITHOUT_INSTRUCTIONS = 1, 2, 3
WITHOUT_BRANCHES = WITHOUT_INSTRUCTIONS
"""Formats from before there were such things; they can still be read."""

KINDS = (
    "session",
    "instructions",
    "turn",
    "branch",
    "compression",
    "summary",
    "artifact",
    "content",
    "message",
    "event",
    "end",
)
"""Of lines, in their order, but that the contents are among the artifacts."""
ARTIFACT_KINDS = frozenset({"artifact", "content"})
NEWER_THAN = {
    "artifact": WITHOUT_ARTIFACTS,
    "content": WITHOUT_ARTIFACTS,
    "instructions": WITHOUT_INSTRUCTIONS,
    "branch": WITHOUT_BRANCHES,
}
"""Kinds that a format, and those before it, have none of."""

EVENT_HEAD, EVENT_TAIL = b'{"kind":"event","body":', b"}"
MESSAGE_HEAD = b'{"kind":"message",'
CONTENT = b'{"kind":"content","ref":"%s","number":%d,"data":"%s"}'


PAGE = 500
"""Turns and events read at a time."""
MESSAGES_PAGE = 100
ARTIFACTS_PAGE = 50
INSTRUCTIONS_PAGE = 20
Instructed = TypeVar("Instructed", SessionCopy, BranchCopy, TurnCopy)

Contents = Callable[[ArtifactRow], AsyncIterator[bytes]]
"""The content of an artifact in its parts, each found to be what was written: errors.ArtifactDamaged
otherwise, errors.NotFound when it was deleted meanwhile."""


class ExportIncomplete(GatewayError):
    """An export ends here, and has a line that says what is not in it."""

    code = "export_incomplete"


class Export:
    """One export of a session of `owner`, as of `moment`. `chunks` can be read once. `for_guest`: without the
    instructions of client applications, which are the owner's alone."""

    def __init__(
        self,
        moment: Moment,
        owner: str,
        *,
        log: EventLog,
        sessions: Transcripts,
        copies: Copies,
        artifacts: Artifacts,
        contents: Contents,
        for_guest: bool = False,
    ) -> None:
        self.moment = moment
        self.owner = owner
        self._log = log
        self._sessions = sessions
        self._copies = copies
        self._artifacts = artifacts
        self._contents = contents
        self._for_guest = for_guest
        self._counts: Counter[str] = Counter()
        self._digest = hashlib.sha256()

    async def chunks(self) -> AsyncGenerator[bytes]:
        """The file in pieces of whole lines, each a page large.

        Raises:
            errors.StorageError: it cannot be read, or (errors.ArchiveDamaged, errors.ArtifactDamaged) not all
                of it.
            errors.NotFound: the session was deleted meanwhile, or an artifact while its content was read.
        """
        session, versions, summary, _, branches = self.moment
        yield self._lines("session", [_line("session", self._shown(session), format=FORMAT)])
        if not self._for_guest:
            async for chunk in self._instructions():
                yield chunk
        async for chunk in self._turns():
            yield chunk
        yield self._lines("branch", [_line("branch", self._shown(branch)) for branch in branches])
        yield self._lines("compression", [_line("compression", version) for version in versions])
        yield self._lines("summary", [_line("summary", summary)] if summary is not None else [])
        async for chunk in self._archived_lines():
            yield chunk
        async for chunk in self._messages():
            yield chunk
        async for chunk in self._events():
            yield chunk
        yield self._end()

    async def _instructions(self) -> AsyncIterator[bytes]:
        after, session_id = "", self.moment.session.id
        while page := await self._copies.instructions(session_id, after=after, limit=INSTRUCTIONS_PAGE):
            after = page[-1].digest
            yield self._lines("instructions", [_line("instructions", each) for each in page])

    async def _turns(self) -> AsyncIterator[bytes]:
        number = 0
        head = self.moment.session.head
        while page := await self._copies.turns(self.moment.session.id, after=number, limit=PAGE):
            number = page[-1][0]
            # Turns that came later than the moment lie beyond its head.
            yield self._lines(
                "turn", [_line("turn", self._shown(turn)) for _, turn in page if turn.last_seq <= head]
            )

    def _shown(self, copy: Instructed) -> Instructed:
        """As a guest may have it, who has no text for the digest."""
        return copy.model_copy(update={"instructions": None}) if self._for_guest else copy

    async def _archived_lines(self) -> AsyncIterator[bytes]:
        """The artifacts of the moment, without those that were removed since."""
        refs, written = self.moment.artifacts, set[str]()
        for start in range(0, len(refs), ARTIFACTS_PAGE):
            page = refs[start : start + ARTIFACTS_PAGE]
            rows = await self._artifacts.those(self.owner, page)
            for row in (rows[ref] for ref in page if ref in rows):
                if row.sha256 in written:
                    yield self._artifact(row)
                    continue
                async for chunk in self._with_content(row):
                    written.add(row.sha256)
                    yield chunk

    async def _with_content(self, row: ArtifactRow) -> AsyncIterator[bytes]:
        """Nothing of one that was deleted before any of it was read."""
        number = 0
        try:
            async for part in self._contents(row):
                if number == 0:
                    yield self._artifact(row)
                number += 1
                yield self._lines("content", [CONTENT % (row.ref.encode(), number, b64encode(part))])
        except NotFound as error:
            if number == 0:
                return
            message = f"{row.ref} was deleted while it was exported: export the session again."
            raise NotFound(message, code=error.code) from None
        except ArtifactDamaged as error:
            message = (
                f"{error.message} Without it the session can be exported: DELETE /api/artifacts/{row.ref}."
            )
            raise ArtifactDamaged(message, details=error.details) from None
        if number == 0:
            yield self._artifact(row)

    def _artifact(self, row: ArtifactRow) -> bytes:
        return self._lines("artifact", [_line("artifact", self._copy(row))])

    def _copy(self, row: ArtifactRow) -> ArtifactCopy:
        fields = {name: getattr(row, name) for name in ArtifactCopy.model_fields if name != "holds"}
        fields["holds"] = row.kind
        fields["chunks"] = [tuple(chunk) for chunk in row.chunks]
        if row.session_id != self.moment.session.id:
            fields["session_id"] = None
        # A row is believed; what is read from a file is checked.
        return ArtifactCopy.model_construct(None, **fields)

    async def _messages(self) -> AsyncIterator[bytes]:
        session, after = self.moment.session, 0
        while after < session.last_position:
            until = min(after + MESSAGES_PAGE, session.last_position)
            page = await self._sessions.messages(session.id, after=after, until=until)
            self._expect(len(page), until - after)
            yield self._lines("message", [MESSAGE_HEAD + message_line(each)[1:] for each in page])
            after = until

    async def _events(self) -> AsyncIterator[bytes]:
        session, gaps = self.moment.session, SequenceGaps()
        while gaps.last < session.head:
            page = await self._log.read(session.id, after=gaps.last, limit=PAGE, until=session.head)
            self._expect(bool(page), True)
            for event in page:
                gaps.take(event)
            yield self._lines("event", [EVENT_HEAD + event.body + EVENT_TAIL for event in page])
        self._expect(gaps.unnamed, None)

    def _expect(self, found: object, wanted: object) -> None:
        """Raises when rows are missing that nothing but a deletion removes."""
        if found != wanted:
            raise NotFound(f"Session {self.moment.session.id} was deleted.", code="session_not_found")

    def _lines(self, kind: str, lines: Iterable[bytes]) -> bytes:
        """`lines` with their line ends, counted."""
        lines = list(lines)
        self._counts[kind] += len(lines)
        chunk = b"".join([line + b"\n" for line in lines])
        self._digest.update(chunk)
        return chunk

    def _end(self) -> bytes:
        counts = counts_of(self._counts)
        return orjson.dumps({"kind": "end", "counts": counts, "sha256": self._digest.hexdigest()}) + b"\n"


def counts_of(counted: Counter[str], form: int = FORMAT) -> dict[str, int]:
    """The last line: lines of each kind but the first and the last one, of those kinds that the
    format `form` has."""
    return {kind: counted[kind] for kind in KINDS[1:-1] if form > NEWER_THAN.get(kind, 0)}


def archived(line: bytes) -> bytes:
    """A line of the kind message as an archive has it."""
    return b"{" + line[len(MESSAGE_HEAD) :]


def trouble_line(error: GatewayError) -> bytes:
    """The last line of an export that cannot go on."""
    line: dict[str, Any] = {"kind": "error", "code": error.code, "message": error.message}
    if isinstance(error, ArchiveDamaged | ArtifactDamaged) and error.details is not None:
        line["details"] = error.details
    return orjson.dumps(line) + b"\n"


def _line(kind: str, part: BaseModel, **more: Any) -> bytes:
    return orjson.dumps({"kind": kind, **more, **part.model_dump()})
