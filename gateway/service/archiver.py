"""A session ends: its rows move to the archive, and a summary of it is left."""

from collections.abc import Callable
from typing import Literal, Protocol

import structlog

from gateway.errors import GatewayError, NotFound
from gateway.history.archive import archive_session
from gateway.ids import now_ms
from gateway.service.dependencies import Dependencies
from gateway.storage.archives import ArchiveRow, SummaryRow
from gateway.storage.refusals import not_over
from gateway.storage.sessions import SessionRow

log = structlog.get_logger(__name__)


class ArchiveObserver(Protocol):
    """Called for every session that moved to its archive, or failed to (`error`, a code). Times are Unix
    milliseconds. Must not raise."""

    def __call__(self, session_id: str, started_at: int, ended_at: int, error: str | None = None) -> None: ...


def ignore(session_id: str, started_at: int, ended_at: int, error: str | None = None) -> None:
    """Observes nothing."""


class Archiver:
    """Moves sessions to their archives, and calls `observer` for each. `ended` is called for sessions that
    are over for now: they were archived, or summarised because they are not used."""

    def __init__(
        self,
        deps: Dependencies,
        observer: ArchiveObserver = ignore,
        ended: Callable[[SessionRow], None] = lambda _: None,
    ) -> None:
        self._deps = deps
        self._observer = observer
        self.ended = ended

    async def archive(self, session: SessionRow) -> ArchiveRow | None:
        """Moves events and messages to the archive; None when there is nothing to move. Where summaries are
        made without being asked for, one is made now, unless there is one of the last message; its failure
        is logged.

        Raises:
            errors.TurnInProgress, errors.Conflict, errors.NotFound, errors.StorageError: nothing was moved.
        """
        deps = self._deps
        row = await self._move(session.id)
        if row is None and (turn := await deps.turns.open_turn(session.id)) is not None:
            # It has no messages yet, so there was nothing to move.
            raise not_over(turn.id, session.id, session.head, "archive it later")
        if row is not None:
            log.info("session_archived", session_id=session.id, events=row.to_seq - row.from_seq + 1)
            self.ended(session)
            if deps.settings.session_summaries and deps.settings.summary_after is not None:
                await _summarise(deps, session, row.to_position)
        return row

    async def _move(self, session_id: str) -> ArchiveRow | None:
        deps, started_at = self._deps, now_ms()
        try:
            row = await archive_session(
                session_id,
                log=deps.log,
                sessions=deps.sessions,
                archives=deps.archives,
                orphans=deps.orphans,
                blobs=deps.blobs,
                exclusive=deps.exclusive,
            )
        except GatewayError as error:
            self._observer(session_id, started_at, now_ms(), error.code)
            raise
        if row is not None:
            self._observer(session_id, started_at, now_ms())
        return row


async def summarise(
    deps: Dependencies, session: SessionRow, trigger: Literal["manual", "idle", "archive"]
) -> SummaryRow:
    """Makes and saves a summary with the model that the session uses. Raises as
    `SessionSummariser.summarise_session`."""
    model = await deps.turns.model(session.id) or deps.settings.model
    return await deps.summariser.summarise_session(session, model=model, trigger=trigger)


async def _summarise(deps: Dependencies, session: SessionRow, last: int) -> None:
    try:
        if await _summarised_to(deps, session) < last:
            await summarise(deps, session, "archive")
    except GatewayError as error:
        log.warning("summary_failed", session_id=session.id, code=error.code, error=str(error))
    except Exception:  # a mistake of ours: the session is archived all the same
        log.exception("summary_failed", session_id=session.id)


async def _summarised_to(deps: Dependencies, session: SessionRow) -> int:
    try:
        return (await deps.summaries.get(session.id, session.owner)).to_position
    except NotFound:
        return 0
