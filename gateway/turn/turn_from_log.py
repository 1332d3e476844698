"""A turn as the log has it: its progress, and its end when its writer cannot continue."""

from collections.abc import Callable
from dataclasses import replace

import structlog

from gateway.errors import StorageError, TurnLost
from gateway.storage.log.event_log import EventLog
from gateway.storage.turns import Accepted, OwnedTurn, TurnRow
from gateway.storage.turns.store import Turns
from gateway.turn.emitter import Emitter
from gateway.turn.observer import Tracing, TurnObserver
from gateway.turn.progress import TurnProgress
from gateway.turn.start_and_end import Ending, finalize_turn

PAGE = 500
"""Events that are read at a time."""

log = structlog.get_logger(__name__)


async def progress_of(events: EventLog, turn: TurnRow, head: int, observer: TurnObserver) -> TurnProgress:
    """The progress of a turn, folded from its events up to `head`, which `observer` recalls.

    Raises:
        ValueError: an event that this version does not understand. StorageError: the log cannot be read.
    """
    progress = TurnProgress()
    after = turn.first_seq - 1 if turn.first_seq else head
    while after < head:
        page = await events.read(turn.session_id, after=after, limit=PAGE, until=head)
        own = [event for event in page if event.turn_id == turn.id]
        for event in own:
            progress.apply_stored(event)
        observer.replay(turn.session_id, own)
        after = page[-1].seq if page else head
    progress.attempt_began |= progress.attempt_open  # the log does not have what the endpoint had answered
    return progress


async def skip_published_seqs(turns: Turns, accepted: Accepted, shown: int) -> Accepted:
    """The turn, with its log's head past `shown`, the highest number that was published: after a failover the
    promoted database server may lack the newest events, and no number may be used twice.

    Raises:
        StorageError: not now. TurnLost: the turn has another owner.
    """
    turn = accepted.turn
    if shown <= accepted.head:
        return accepted
    if not await turns.skip_to(OwnedTurn(turn.session_id, turn.id, turn.epoch), shown):
        raise TurnLost(f"Turn {turn.id} is no longer this writer's: epoch {turn.epoch}.")
    log.error("events_lost", after=accepted.head, until=shown)
    return replace(accepted, head=shown, history=None, lost=shown - accepted.head)


async def close_from_log(
    events: EventLog,
    turns: Turns,
    turn: TurnRow,
    ending: Ending,
    *,
    observer: TurnObserver,
    tracing: Tracing,
    shown: Callable[[Accepted], int] = lambda _: 0,
) -> None:
    """Ends a turn from the log, independent of its former writer and of appends still on the way: a new
    epoch begins, so that all of that is refused. Nothing happens when the turn is over, suspended or another
    replica's. `shown` is the highest number that readers know of its session.

    Raises:
        StorageError: not now; it can be tried again.
    """
    accepted = await turns.take_over(turn.id, recovered=False)
    if accepted is None:
        return
    accepted = await skip_published_seqs(turns, accepted, shown(accepted))
    try:
        progress = await progress_of(events, accepted.turn, accepted.head, observer)
    except ValueError:
        log.exception("turn_not_understood")
        progress = TurnProgress(started_at=turn.created_at)
    try:
        await _end(events, accepted, progress, ending, tracing)
    except StorageError:
        raise
    except Exception:
        # If its events cannot be read, the turn still ends: with `done` alone and the error that explains it.
        log.exception("turn_not_finalized")
        if (accepted := await turns.take_over(turn.id, recovered=False)) is not None:
            await _end(events, accepted, TurnProgress(started_at=turn.created_at), ending, tracing)


async def _end(
    events: EventLog, accepted: Accepted, progress: TurnProgress, ending: Ending, tracing: Tracing
) -> None:
    emitter = Emitter(events, accepted.turn, accepted.head, progress, tracing=tracing)
    await finalize_turn(emitter, ending)
    await emitter.flush()
