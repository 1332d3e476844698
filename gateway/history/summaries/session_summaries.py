"""Summarises a session: every original message where one call can read them, else the summary so far and the
messages since."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from gateway.errors import ArchiveDamaged, Conflict, NothingToCompress
from gateway.history.summaries.extract import extracted
from gateway.history.summaries.listed_artifacts import Used, listed, named_in, none_used
from gateway.history.summaries.summariser import Ask, SummaryLimits, WrittenSummary, fits, summarise
from gateway.history.summaries.summary import SessionSummary, to_markdown
from gateway.history.transcript import tools_read_in
from gateway.ids import now_ms
from gateway.messages import Message
from gateway.model.model_limits import window
from gateway.model.side_calls import CallContext, ModelCalls, Purpose, UsageSum
from gateway.settings import Settings
from gateway.storage.archives import Source, SummaryRow
from gateway.storage.archives.summaries import Summaries
from gateway.storage.exclusive import Exclusive
from gateway.storage.messages import History, StoredMessage
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.transcripts import Transcripts

CALL_TIMEOUT = 300.0
"""Seconds of one model call: ten times what the longest summary takes at 100 tokens a second."""


WINDOW_SHARE = 8
"""A summary in place of messages takes one of so many parts of the model's window at most."""
MIN_SUMMARY = 200
"""Tokens that one may have in the smallest of windows."""


@dataclass(frozen=True, slots=True)
class _Material:
    """`messages` to summarise, after those that `previous` covers; `questions` were open so far."""

    source: Source
    messages: Sequence[StoredMessage]
    previous: SessionSummary | None
    questions: Sequence[str]


class SessionSummariser:
    """Writes summaries of sessions. One for a process. `instructions` reads those of the model, anew for
    each; `used` finds the artifacts that are listed in them."""

    def __init__(
        self,
        *,
        sessions: Transcripts,
        summaries: Summaries,
        calls: ModelCalls,
        settings: Settings,
        instructions: Callable[[], str],
        exclusive: Exclusive,
        used: Used = none_used,
    ) -> None:
        self._sessions = sessions
        self._summaries = summaries
        self._calls = calls
        self._settings = settings
        self._instructions = instructions
        self._used = used
        self._exclusive = exclusive

    async def write(
        self,
        session_id: str,
        history: History,
        until: int,
        *,
        model: str,
        most_tokens: int,
        purpose: Purpose,
        context: CallContext,
        spent: UsageSum,
    ) -> tuple[Source, WrittenSummary]:
        """A summary of the messages up to position `until`, in at most `most_tokens` (of its text, estimated)
        and never more than is set, and what it was made of. `model` writes it unless another is set for
        summaries; its calls are reported with `purpose` and `context`, and `spent` is kept up to date.

        Raises:
            CompressionFailed: no usable summary came. StorageError: the messages could not be read.
        """
        settings, instructions = self._settings, self._instructions()
        model = settings.summary_model or model
        reads = await window(self._settings, model, self._calls.facts)
        bounds = SummaryLimits(
            tokens=min(settings.summary_tokens, most_tokens, max(MIN_SUMMARY, reads // WINDOW_SHARE)),
            window=reads,
        )
        material = await self._material(session_id, history, until, instructions, bounds)
        written = await summarise(
            self._ask(purpose, context, spent),
            model_name=model,
            instructions=instructions,
            messages=material.messages,
            bounds=bounds,
            previous=material.previous,
            questions=material.questions,
            known=partial(self._used, session_id),
        )
        read = tools_read_in(replace(history, messages=material.messages))
        summary = written.summary.model_copy(update={"sources": sorted(read)})
        return material.source, replace(written, summary=summary)

    async def extract(
        self, session_id: str, history: History, until: int, *, most_tokens: int
    ) -> tuple[Source, WrittenSummary]:
        """A summary as `write` gives it, made without a model.

        Raises:
            StorageError: artifacts could not be looked up.
        """
        since = [item for item in history.messages if item.position <= until]
        row = history.compression
        previous = None if row is None else SessionSummary.model_validate(row.summary)
        most = min(self._settings.summary_tokens, most_tokens)
        refs = await asyncio.to_thread(named_in, since, previous)
        rows = await self._used(session_id, refs) if refs else {}
        summary = await asyncio.to_thread(
            extracted,
            since,
            previous=previous,
            questions=previous.open_questions if previous else (),
            artifacts=listed(refs, rows, previous, most_tokens=most),
            forgotten=history.memories.forgotten if history.memories is not None else (),
            most_tokens=most,
        )
        read = tools_read_in(replace(history, messages=since))
        summary = summary.model_copy(update={"sources": sorted(read)})
        source = "messages" if row is None else "summary_and_messages"
        return source, WrittenSummary(summary, to_markdown(summary), "", "")

    async def summarise_session(
        self,
        session: SessionRow,
        *,
        model: str,
        trigger: Literal["manual", "idle", "archive"],
    ) -> SummaryRow:
        """Makes and saves the summary of all messages of the session so far; `model` is the session's own.

        Raises:
            Conflict: (summary_in_progress) one of this session is being made.
            NothingToCompress: the session has no messages.
            CompressionFailed: no usable summary came; one from before is kept.
            StorageError: the session could not be read, or the summary not be saved.
        """
        busy = Conflict(
            f"Session {session.id} is being summarised already.",
            code="summary_in_progress",
            retryable=True,
        )
        async with self._exclusive.hold(f"summary {session.id}", refusal=busy):
            row = await self._of_all(session, model, trigger)
            await self._summaries.save(row)
        return row

    async def summarise_messages(
        self, session: SessionRow, messages: Sequence[Message], *, model: str, last: int
    ) -> SummaryRow:
        """A summary of a conversation that stands in no record, for `session`, which may not be there yet: it
        is not saved. `last` is the session's last message.

        Raises:
            CompressionFailed: no usable summary came. StorageError: artifacts could not be looked up.
        """
        settings = self._settings
        model, spent = settings.summary_model or model, UsageSum()
        written = await summarise(
            self._ask("summary", CallContext(session.owner), spent),
            model_name=model,
            instructions=self._instructions(),
            messages=[StoredMessage(number, "", each) for number, each in enumerate(messages, 1)],
            bounds=SummaryLimits(settings.summary_tokens, await window(settings, model, self._calls.facts)),
            known=partial(self._used, session.id),
        )
        return _row(session, written, last, "manual", spent)

    async def _of_all(
        self, session: SessionRow, model: str, trigger: Literal["manual", "idle", "archive"]
    ) -> SummaryRow:
        history = await self._sessions.history(session.id)
        if not history.messages:
            raise NothingToCompress(
                "There is nothing to summarise: the session has no messages.", details={"reason": "empty"}
            )
        # The last may be one that a version keeps, from before where it ends.
        covered = history.compression.to_position if history.compression is not None else 0
        last = max(history.messages[-1].position, covered)
        if history.branch is not None:
            last = history.branch.last  # what other branches have is not waited for
        spent = UsageSum()
        _, written = await self.write(
            session.id,
            history,
            last,
            model=model,
            most_tokens=self._settings.summary_tokens,
            purpose="summary",
            context=CallContext(session.owner, session.id, in_background=trigger != "manual"),
            spent=spent,
        )
        return _row(session, written, last, trigger, spent)

    def _ask(self, purpose: Purpose, context: CallContext, spent: UsageSum) -> Ask:
        return partial(
            self._calls.ask,
            purpose,
            timeout=CALL_TIMEOUT,
            attempts=self._settings.model_attempts,
            context=context,
            spent=spent,
        )

    async def _material(
        self, session_id: str, history: History, until: int, instructions: str, bounds: SummaryLimits
    ) -> _Material:
        """Originals are preferred, so that what a summary lost comes back. When an archive that holds some is
        damaged, or one call cannot read them all, the summary in force takes their place."""
        since = [item for item in history.messages if item.position <= until]
        row = history.compression
        if row is None:
            return _Material("messages", since, None, ())
        known = SessionSummary.model_validate(row.summary)
        try:
            originals = await self._sessions.messages(session_id, until=until, branch=history.branch)
        except ArchiveDamaged:
            originals = ()
        if originals and await asyncio.to_thread(fits, originals, instructions=instructions, bounds=bounds):
            return _Material("messages", originals, None, known.open_questions)
        return _Material("summary_and_messages", since, known, ())


def _row(
    session: SessionRow,
    written: WrittenSummary,
    last: int,
    trigger: Literal["manual", "idle", "archive"],
    spent: UsageSum,
) -> SummaryRow:
    return SummaryRow(
        session_id=session.id,
        owner=session.owner,
        project_id=session.project_id,
        to_position=last,
        summary=written.summary.model_dump(mode="json"),
        trigger=trigger,
        model=written.model,
        prompt_digest=written.prompt_digest,
        usage=spent.usage,
        cost=spent.cost,
        created_at=now_ms(),
    )
