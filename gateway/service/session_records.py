"""The operations on whole sessions: export, import, archive. They check whose session it is."""

from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from functools import partial
from typing import BinaryIO

import structlog

from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import (
    ArtifactsFull,
    BadImport,
    Conflict,
    Draining,
    GatewayError,
    NotFound,
    QueueFull,
    SessionsFull,
    StorageError,
    TooLarge,
    TurnInProgress,
)
from gateway.history.copies.all_sessions import FIRST_LINE, exports_in, last_line
from gateway.history.copies.export import Export, ExportIncomplete, trouble_line
from gateway.history.copies.imports import import_session
from gateway.service.archiver import Archiver
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.service.sessions import UserSessions
from gateway.service.upload_buffer import UploadBuffer
from gateway.storage.archives import ArchiveRow
from gateway.storage.sessions import SessionRow
from gateway.turn.in_flight import InFlight

SESSIONS_PAGE = 100
"""Sessions of one user that are listed at a time."""
MAX_PER_USER = 2
"""Imports of one user at the same time."""
MAX_IMPORTS = 4
"""Imports of the largest size that are received at the same time: each is a file until it is made."""

log = structlog.get_logger(__name__)


class SessionRecords:
    """One per process. `files` are the imports that come in, of chats from elsewhere too."""

    def __init__(
        self, deps: Dependencies, in_flight: InFlight, archiver: Archiver, sessions: UserSessions
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._archiver = archiver
        self._draining = in_flight.draining
        self.files = UploadBuffer(
            deps.settings.scratch_dir,
            largest=MAX_IMPORTS,
            max_bytes=deps.settings.max_import_size,
            limit="max_import_size",
            what="imports",
            of_one=MAX_PER_USER,
            together=True,  # the scratch folder holds no more of one user's
        )

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
            for_guest=owner != who.user_id,
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
        errors.StorageError; ExportIncomplete behind the last line: one of them could not be read whole."""
        yield FIRST_LINE
        count, left_out = 0, list[dict[str, str]]()
        failed: list[str] = []
        before: tuple[int, str] | None = None
        while page := await self._deps.sessions.list(
            who.user_id, limit=SESSIONS_PAGE, before=before, order="created", temporary=True
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
                    failed.append(session.id)
        yield last_line(count, left_out)
        if failed:
            raise ExportIncomplete(f"{len(failed)} sessions could not be read whole, {failed[0]} among them.")

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
                except (BadImport, Conflict, ArtifactsFull, SessionsFull, TooLarge, QueueFull) as error:
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
            errors.SessionsFull: the user's sessions would take more than their quota.
            errors.QueueFull: too many imports run; errors.Draining: the server is shutting down.
        """
        if self._draining.is_set():
            raise Draining("The server is shutting down. Import the file again in a moment.")
        async with self.files.received(chunks, who.user_id) as file:
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
                session_quota=deps.settings.session_quota,
                ttl=deps.settings.artifact_ttl,
            )
        )

    # Archive

    async def archive(self, who: Principal, session_id: str) -> ArchiveRow | None:
        """Moves the session's events and messages to its archive; None when there is nothing to move. Raises
        errors.NotFound, errors.TurnInProgress, errors.Conflict."""
        owner = await owner_of(self._deps.projects, who, session_id, "own")
        return await self._archiver.archive(await self._deps.sessions.get(session_id, owner))


async def _readable(session_id: str, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The chunks of an export. Raises errors.StorageError as well where a row is not what was written."""
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    except GatewayError:
        raise
    except Exception as error:  # noqa: BLE001 - a boundary: whatever a damaged disk gives back
        log.error(
            "row_damaged", session_id=session_id, error=type(error).__name__
        )  # its message may be content
        raise StorageError(
            f"A row of session {session_id} is damaged and cannot be read: restore a backup "
            "(docs/operations.md).",
            retryable=False,
        ) from None
