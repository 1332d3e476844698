"""The verbs on whole sessions: replay, export, import, archive. They check whose session it is."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import structlog

from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import (
    ArtifactsFull,
    BadImport,
    Conflict,
    CursorAhead,
    Draining,
    GatewayError,
    InvalidRequest,
    NotFound,
    QueueFull,
    StorageError,
    TooLarge,
    TurnInProgress,
)
from gateway.history.copies.all_sessions import FIRST_LINE, exports_in, last_line
from gateway.history.copies.export import Export, trouble_line
from gateway.history.copies.imports import import_session
from gateway.history.replay import replay
from gateway.service.archiver import Archiver
from gateway.service.dependencies import Dependencies
from gateway.service.follower import Take
from gateway.service.session_access import may_read, owner_of
from gateway.service.upload_buffer import UploadBuffer
from gateway.storage.archives import ArchiveRow
from gateway.storage.sessions import SessionRow
from gateway.turn.in_flight import InFlight

SESSIONS_PAGE = 100
"""Sessions of one user that are listed at a time."""
MAX_PER_USER = 2
"""Of one user's."""
MAX_IMPORTS = 4
"""Imports at the same time: each has a file of its own and, at its end, the database's writer."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Replaying:
    """A checked range to replay: events with seq > `after` and <= `until`, with `turns` only theirs. `speed`
    1 is as it was, None as fast as it is read; no pause is longer than `max_pause` seconds. `guest` is the
    reader where the session is not their own."""

    session_id: str
    after: int
    until: int
    speed: float | None
    max_pause: float
    turns: frozenset[str] | None = None
    guest: str | None = None

    @property
    def exhausted(self) -> bool:
        """Whether nothing will come."""
        return self.after >= self.until


class SessionRecords:
    """One per process."""

    def __init__(self, deps: Dependencies, in_flight: InFlight, archiver: Archiver) -> None:
        self._deps = deps
        self._archiver = archiver
        self._draining = in_flight.draining
        self._files = UploadBuffer(
            deps.settings.scratch_dir,
            max_concurrent=MAX_IMPORTS,
            max_bytes=deps.settings.max_import_size,
            limit="max_import_size",
            what="imports",
            of_one=MAX_PER_USER,
        )

    # Replay

    async def replaying(
        self,
        who: Principal,
        session_id: str,
        *,
        speed: float | None,
        max_pause: float,
        first: int = 1,
        last: int | None = None,
        cursor: int = 0,
        branch: int | None = None,
    ) -> Replaying:
        """A checked range: the events `first` to `last`, by default all there are now, of which a reader that
        comes back has seen those up to `cursor`. Of a `branch` those of its turns.

        Raises:
            errors.NotFound: also of the branch (branch_not_found).
            errors.CursorAhead: the range or the cursor is beyond the last event.
            errors.InvalidRequest: the range ends before it begins.
        """
        session = await self._session(who, session_id)
        if last is not None and first > last:
            raise InvalidRequest(f"The range from {first} to {last} ends before it begins.")
        if max(first if first > 1 else 0, last or 0, cursor) > session.head:
            raise CursorAhead(
                f"The range goes beyond the session's last event {session.head}.",
                details={"head": session.head},
            )
        until = session.head if last is None else last
        turns = await self._deps.branches.turns(session.id, branch) if branch is not None else None
        guest = who.user_id if session.owner != who.user_id else None
        return Replaying(session.id, max(first - 1, cursor), until, speed, max_pause, turns, guest)

    async def replay(self, place: Replaying, take: Take) -> None:
        """Hands the events of the range to `take` when they are due; ends early at shutdown, when the session
        is deleted, and when its reader may not read it any more. Raises errors.StorageError,
        errors.ArchiveDamaged."""
        with self._deps.bus.subscribe(place.session_id) as live:
            found = replay(
                self._deps.log,
                place.session_id,
                after=place.after,
                until=place.until,
                speed=place.speed,
                max_pause=place.max_pause,
                stop=self._draining,
                turns=place.turns,
            )
            async with aclosing(found):
                async for events in found:
                    if live.gone or not await self._is_readable(place):
                        return
                    await take(events)

    # Sharing

    async def shared_turns(
        self, who: Principal, session_id: str
    ) -> tuple[SessionRow, AsyncGenerator[tuple[str, list[dict[str, Any]]]]]:
        """A session, and the turns of its active branch, each with its events: those that are over in the
        order of their ends, then what there is of one that runs. Raises errors.NotFound; while the turns are
        read also errors.StorageError, errors.ArchiveDamaged."""
        session = await self._session(who, session_id)
        turns = await self._deps.branches.turns(session.id, session.active_branch)
        return session, self._turns(session, turns)

    async def _turns(
        self, session: SessionRow, turns: frozenset[str]
    ) -> AsyncGenerator[tuple[str, list[dict[str, Any]]]]:
        begun: dict[str, list[dict[str, Any]]] = {}
        with self._deps.bus.subscribe(session.id) as live:
            found = replay(self._deps.log, session.id, after=0, until=session.head, speed=None, turns=turns)
            async with aclosing(found):
                async for events in found:
                    if live.gone:
                        raise NotFound(f"Session {session.id} was deleted.", code="session_not_found")
                    for event in events:
                        if event.turn_id not in turns or event.type == "feedback":
                            continue
                        begun.setdefault(event.turn_id, []).append(event.load())
                        if event.type == "done":
                            yield event.turn_id, begun.pop(event.turn_id)
        for each in begun.items():
            yield each

    # Export and import

    async def exporting(self, who: Principal, session_id: str) -> Export:
        """An export of the session as it is now. Raises errors.NotFound, errors.TurnInProgress."""
        deps = self._deps
        owner = await owner_of(deps.projects, who, session_id)
        moment = await deps.copies.moment(session_id, owner)
        return Export(
            moment,
            owner,
            log=deps.log,
            sessions=deps.sessions,
            copies=deps.copies,
            artifacts=deps.artifacts,
            contents=deps.artifact_store.stream,
        )

    async def export(self, exporting: Export) -> AsyncGenerator[bytes]:
        """The file in pieces of whole lines. Raises errors.NotFound when the session is deleted meanwhile,
        errors.StorageError, errors.ArchiveDamaged."""
        session_id = exporting.moment.session.id
        with self._deps.bus.subscribe(session_id) as live:
            async for chunk in _readable(session_id, exporting.chunks()):
                if live.gone:
                    raise NotFound(f"Session {session_id} was deleted.", code="session_not_found")
                if chunk:
                    yield chunk

    async def export_all(self, who: Principal) -> AsyncGenerator[bytes]:
        """All sessions of the caller, archived ones too, in one file (see `copies/all_sessions.py`), the
        newest first. One in which a turn runs or waits is left out, and named in the last line. Raises
        errors.StorageError."""
        yield FIRST_LINE
        count, left_out = 0, list[dict[str, str]]()
        before: tuple[int, str] | None = None
        while page := await self._deps.sessions.list(
            who.user_id, limit=SESSIONS_PAGE, before=before, order="created"
        ):
            before = (page[-1].created_at, page[-1].id)
            for session in page:
                try:
                    exporting = await self.exporting(who, session.id)
                except NotFound:  # it was deleted meanwhile
                    continue
                except TurnInProgress as error:
                    left_out.append({"session_id": session.id, "code": error.code})
                    continue
                count += 1
                try:
                    async for chunk in self.export(exporting):
                        yield chunk
                except GatewayError as error:
                    log.warning("export_failed", session_id=session.id, reason=str(error))
                    yield trouble_line(error)
        yield last_line(count, left_out)

    async def import_all(
        self, who: Principal, chunks: AsyncIterable[bytes]
    ) -> AsyncGenerator[SessionRow | GatewayError]:
        """Makes the sessions of a file that `export_all` wrote, one after another as it comes in: each that
        was made, and of each that was refused the reason (see `import_`). The last is errors.BadImport where
        the file is cut off. Raises errors.BadImport: it is no such file; errors.Draining,
        errors.StorageError."""
        has_begun = False
        try:
            async for export in exports_in(chunks):
                has_begun = True
                try:
                    yield await self.import_(who, export)
                except (BadImport, Conflict, ArtifactsFull, TooLarge, QueueFull) as error:
                    yield error
        except BadImport as error:
            if not has_begun:
                raise
            yield error

    async def import_(self, who: Principal, chunks: AsyncIterable[bytes]) -> SessionRow:
        """Makes a session of an exported file, under its id, for the caller.

        Raises:
            errors.BadImport: the file is damaged or no export; nothing was imported.
            errors.TooLarge: it is larger than `max_import_size`.
            errors.Conflict: the id of the session or of a turn is taken.
            errors.QueueFull: too many imports run; errors.Draining: the server is shutting down.
        """
        if self._draining.is_set():
            raise Draining("The server is shutting down. Import the file again in a moment.")
        async with self._files.received(chunks, who.user_id) as file:
            if not file.tell():
                raise BadImport("The file is empty.", details={"line": 1, "reason": "The file is empty."})
            return await self._import(who, file)

    async def _import(self, who: Principal, file: BinaryIO) -> SessionRow:
        # To its end: the file stays open, and what was begun is finished or undone.
        deps = self._deps
        return await finish(
            import_session(
                file,
                who.user_id,
                new_id=partial(deps.session_ids.new, who.user_id),
                copies=deps.copies,
                blobs=deps.blobs,
                orphans=deps.orphans,
                quota=deps.settings.artifact_quota,
                tenant_quota=deps.settings.artifact_tenant_quota,
                ttl=deps.settings.artifact_ttl,
            )
        )

    # Archive

    async def archive(self, who: Principal, session_id: str) -> ArchiveRow | None:
        """Moves the session's events and messages to its archive; None when there is nothing to move. Raises
        errors.NotFound, errors.TurnInProgress, errors.Conflict."""
        owner = await owner_of(self._deps.projects, who, session_id, "own")
        return await self._archiver.archive(await self._deps.sessions.get(session_id, owner))

    async def _session(self, who: Principal, session_id: str) -> SessionRow:
        owner = await owner_of(self._deps.projects, who, session_id)
        return await self._deps.sessions.get(session_id, owner)

    async def _is_readable(self, place: Replaying) -> bool:
        return place.guest is None or await may_read(self._deps.projects, place.guest, place.session_id)


async def _readable(session_id: str, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The chunks of an export. Raises errors.StorageError as well where a row is not what was written."""
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    except GatewayError:
        raise
    except Exception as error:  # noqa: BLE001 - an edge: whatever a damaged disk gives back
        log.error(
            "row_damaged", session_id=session_id, error=type(error).__name__
        )  # its message may be content
        raise StorageError(
            f"A row of session {session_id} is damaged and cannot be read: restore a backup "
            "(docs/operations.md).",
            retryable=False,
        ) from None
