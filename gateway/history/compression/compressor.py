"""Compresses a session: archive what is old, put a summary in its place, forget nothing.

    read the history -> find the cut -> emit started -> write the archive -> summarise
        -> add the version, which puts it in force -> emit completed

A failure after `started` leaves the old view in force, removes the archive and emits failed. A summary that
no model writes is made without one where a turn cannot go on otherwise. The last two steps are one: also
after a cancel, the last event names the version in force.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from gateway.bounded_dict import BoundedDict
from gateway.cancellation_shield import finish
from gateway.errors import (
    CompressionFailed,
    Conflict,
    GatewayError,
    LimitReached,
    LimitsUnavailable,
    RequestRefused,
    StorageError,
)
from gateway.events.session_changes import Compression
from gateway.history.archive import clear, version_path, write_version
from gateway.history.compression.attempt import Attempt
from gateway.history.compression.cut_position import MIN_TOKENS, find_cut
from gateway.history.compression.weights import weigh
from gateway.history.summaries.extract import MIN_EXTRACT
from gateway.history.summaries.session_summaries import MIN_SUMMARY, WINDOW_SHARE, SessionSummariser
from gateway.history.summaries.summariser import WrittenSummary
from gateway.history.summaries.summary import NOTE_TOKENS
from gateway.history.tokens import TokenMeter
from gateway.ids import now_ms
from gateway.model.endpoint_facts import EndpointFacts
from gateway.model.model_limits import window
from gateway.model.side_calls import CallContext
from gateway.settings import Settings
from gateway.storage.archives import CompressionRow, Source, Trigger
from gateway.storage.archives.compressions import Compressions
from gateway.storage.blobs import Blobs
from gateway.storage.exclusive import Exclusive
from gateway.storage.messages import History
from gateway.storage.orphans import Orphans
from gateway.storage.sessions.transcripts import Transcripts

log = logging.getLogger(__name__)

Notify = Callable[[Compression], Awaitable[None]]

MAX_FAILURES = 2
"""Failed attempts in a row after which none is made automatically."""
URGENT_TIMEOUT = 120.0
"""Seconds that a turn which cannot go on waits for a model's summary, before it is made without one."""
DOUBT = 600_000
"""Milliseconds after a summary that no model could write in which a turn does not wait for a model again."""
_MIN_SHARE = 0.1  # of the trigger, that an automatic compression must cover: else it would soon be due again
_REMEMBERED = 10_000  # sessions whose pause, or whose full prompt, was reported


class Compressor:
    """Makes new versions of sessions' compressed histories. One for a process."""

    def __init__(
        self,
        *,
        sessions: Transcripts,
        compressions: Compressions,
        orphans: Orphans,
        blobs: Blobs,
        summariser: SessionSummariser,
        meter: TokenMeter,
        settings: Settings,
        exclusive: Exclusive,
        facts: EndpointFacts | None = None,
    ) -> None:
        self._sessions = sessions
        self._compressions = compressions
        self._orphans = orphans
        self._blobs = blobs
        self._summariser = summariser
        self._meter = meter
        self._settings = settings
        self._exclusive = exclusive
        self._facts = facts
        self._paused, self._full = (BoundedDict[str, None](_REMEMBERED) for _ in range(2))

    async def window(self, model: str) -> int:
        """The tokens that `model` can read at once: as set, as its endpoint says, as known for it, or
        200,000."""
        return await window(self._settings, model, self._facts)

    async def threshold(self, model: str, history: History) -> int | None:
        """The tokens from which on a request that sends `history` should be compressed first. None: never,
        because that is not set, or paused after two failed attempts in a row."""
        share = self._settings.compress_at
        if share is None or not self._settings.use_compressions:
            return None
        if history.failed_compressions >= MAX_FAILURES:
            return None
        return int(share * await self.window(model))

    def should_warn_of_pause(self, session_id: str, history: History) -> bool:
        """Whether automatic compression of the session is paused and that was not reported: True once for
        each pause (and process)."""
        if self._settings.compress_at is None or history.failed_compressions < MAX_FAILURES:
            self._paused.pop(session_id, None)
            return False
        if session_id in self._paused:
            return False
        self._paused[session_id] = None
        return True

    def should_warn_of_full_prompt(self, session_id: str, *, full: bool) -> bool:
        """Whether the prompt without any message is too long for a compression to help, and this was not
        reported yet: True once per process for each time that it becomes so."""
        if not full:
            self._full.pop(session_id, None)
            return False
        if session_id in self._full:
            return False
        self._full[session_id] = None
        return True

    async def compress(
        self,
        session_id: str,
        *,
        model: str,
        trigger: Trigger,
        notify: Notify,
        overhead: int = 0,
        added: int = 0,
        context: CallContext | None = None,
    ) -> CompressionRow:
        """Adds a version that covers the older part of the session and puts it in force.

        `model` is the session's own, `overhead` the estimate of system prompt and tools (`overhead_of`),
        `added` that of the tools which come with a first compression. `notify` is given the events: started,
        then completed or failed; `context` is the turn or operation that this is a part of.

        Raises:
            NothingToCompress: nothing happened, and there was no event.
            Conflict: (compression_in_progress) one of this session is under way, there was no event; or
                (compression_conflict) another version was put in force meanwhile.
            NotFound: the session is gone.
            CompressionFailed: the old view stays in force; the code says why.
            StorageError: the history could not be read, or `notify` failed.
        """
        busy = Conflict(
            f"Session {session_id} is being compressed already.",
            code="compression_in_progress",
            retryable=True,
        )
        async with self._exclusive.hold(f"compression {session_id}", refusal=busy):
            context = context or CallContext(None, session_id)
            attempt = await self._begin(session_id, model, trigger, overhead, added, context=context)
            await self._notify_started(attempt, notify)
            row = await self._carry_out(attempt, notify)
            await finish(self._put_in_force(attempt, row, notify))
            return row

    async def _begin(
        self,
        session_id: str,
        model: str,
        trigger: Trigger,
        overhead: int,
        added: int,
        *,
        context: CallContext,
    ) -> Attempt:
        history = await self._sessions.history(session_id)
        # In threads: to weigh thousands of messages takes a tenth of a second.
        weights = await asyncio.to_thread(
            weigh, self._meter, model, history, overhead, added if history.compression is None else 0
        )
        limit = (self._settings.compress_at or 1) * await self.window(model)
        target = int(min(limit, weights.before) / 2)
        least = MIN_TOKENS
        if trigger == "automatic":
            least = max(MIN_TOKENS, int(_MIN_SHARE * limit / weights.scale))
        elif trigger == "overflow":
            first = history.compression is None  # a note comes with it, a later one takes its place
            least = min(MIN_TOKENS, max(NOTE_TOKENS + MIN_EXTRACT if first else 0, weights.before // 25))
        cut = find_cut(
            history,
            weights.sizes,
            target=weights.estimated(target),
            summary_tokens=self._settings.summary_tokens,
            least=least,
        )
        version = await self._compressions.next_version(session_id)
        summary_model = self._settings.summary_model or model
        path = version_path(session_id, version)
        return Attempt(
            session_id, model, summary_model, trigger, history, weights, cut, version, path, context
        )

    async def _notify_started(self, attempt: Attempt, notify: Notify) -> None:
        try:
            await finish(notify(attempt.event("started")))
        except asyncio.CancelledError:
            await finish(self._stopped(attempt, notify))
            raise

    async def _carry_out(self, attempt: Attempt, notify: Notify) -> CompressionRow:
        """The version that is to be put in force, with its archive."""
        try:
            await self._orphans.suspect([attempt.path], now_ms())
            size, sha256 = await write_version(self._blobs, attempt.path, attempt.covered)
            return await self._summarised(attempt, size, sha256)
        except asyncio.CancelledError:
            await finish(self._stopped(attempt, notify))
            raise
        except Exception as error:
            raise await finish(self._failed(attempt, notify, error)) from error

    async def _put_in_force(self, attempt: Attempt, row: CompressionRow, notify: Notify) -> None:
        try:
            await self._compressions.add(row)
        except Exception as error:
            raise await self._failed(attempt, notify, error) from error
        await notify(attempt.event("completed", tokens_after=row.tokens_after))

    async def _stopped(self, attempt: Attempt, notify: Notify) -> None:
        await clear(self._orphans, self._blobs, [attempt.path])
        with suppress(GatewayError):
            await notify(attempt.event("failed", reason="cancelled: The compression was stopped."))

    async def _failed(self, attempt: Attempt, notify: Notify, error: Exception) -> GatewayError:
        """The error for the caller; the log, and the count of failures, have it then. What cannot
        be stored now is lost: the failure itself matters more."""
        await clear(self._orphans, self._blobs, [attempt.path])
        failure = _named(error)
        if not isinstance(error, RequestRefused):
            with suppress(StorageError):
                await self._compressions.failed(attempt.session_id)
        with suppress(GatewayError):
            await notify(attempt.event("failed", reason=f"{failure.code}: {failure.message}"))
        return failure

    async def _written(self, attempt: Attempt) -> tuple[Source, WrittenSummary]:
        """The summary: by a model, or, where a turn cannot go on before there is one, without."""
        is_urgent, most = attempt.trigger == "overflow", attempt.most_tokens
        if is_urgent:  # the request was larger than the window, whatever is known of that
            most = min(most, max(MIN_SUMMARY, attempt.weights.before // WINDOW_SHARE))
        try:
            if is_urgent and _is_hopeless(attempt.history):
                raise CompressionFailed("The last summaries of this session failed.", code="summary_failed")
            async with asyncio.timeout(URGENT_TIMEOUT if is_urgent else None):
                return await self._summariser.write(
                    attempt.session_id,
                    attempt.history,
                    attempt.cut.to_position,
                    model=attempt.model,
                    most_tokens=most,
                    purpose="compression",
                    context=attempt.context,
                    spent=attempt.spent,
                )
        except TimeoutError:
            attempt.unwritten = CompressionFailed(
                f"The model wrote no summary within {URGENT_TIMEOUT:g} seconds.", code="upstream_timeout"
            )
        except (CompressionFailed, LimitReached, LimitsUnavailable) as error:
            if not is_urgent:
                raise
            attempt.unwritten = error
        return await self._summariser.extract(
            attempt.session_id, attempt.history, attempt.cut.to_position, most_tokens=most
        )

    async def _summarised(self, attempt: Attempt, size: int, sha256: str) -> CompressionRow:
        cut, history = attempt.cut, attempt.history
        source, written = await self._written(attempt)
        row = CompressionRow(
            session_id=attempt.session_id,
            version=attempt.version,
            parent=history.compression.version if history.compression is not None else None,
            from_position=cut.from_position,
            to_position=cut.to_position,
            kept_position=cut.kept_position,
            archive_path=attempt.path,
            archive_size=size,
            sha256=sha256,
            summary=written.summary.model_dump(mode="json"),
            source=source,
            model=written.model,
            prompt_digest=written.prompt_digest,
            tokens_before=attempt.weights.before,
            tokens_after=0,
            trigger=attempt.trigger,
            usage=attempt.spent.usage,
            cost=attempt.spent.cost,
            created_at=now_ms(),
            branch=history.branch.number if history.branch is not None else 0,
        )
        last = history.messages[-1].position
        new = replace(history, messages=attempt.rest, compression=row, generation_from=last)
        return replace(row, tokens_after=await asyncio.to_thread(attempt.weights.after, new))


def _is_hopeless(history: History) -> bool:
    """Whether no model could write the session's last summaries: a turn does not wait for another try."""
    row = history.compression
    return history.failed_compressions >= MAX_FAILURES or (
        row is not None and row.without_model and now_ms() - row.created_at < DOUBT
    )


def _named(error: Exception) -> GatewayError:
    """The error for the caller."""
    if isinstance(error, CompressionFailed | RequestRefused):
        return error
    if isinstance(error, GatewayError):
        return CompressionFailed(error.message, code=error.code, retryable=error.retryable, cause=error.cause)
    log.error("a compression failed in a way that was not foreseen", exc_info=error)
    return CompressionFailed("The gateway made a mistake: see its log.", code="internal", retryable=False)
