"""Asks a model to summarise a conversation, and takes only an answer that may stand for it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.errors import CompressionFailed, ModelError, NothingToSummarise
from gateway.history.summaries.answer import usable
from gateway.history.summaries.dialogue import DialogueEntry, shorten, write_out
from gateway.history.summaries.kept_facts import complete
from gateway.history.summaries.listed_artifacts import listed, named_in
from gateway.history.summaries.request import asked_again, request_text
from gateway.history.summaries.summary import Reference, SessionSummary, to_markdown
from gateway.lexical import estimate_tokens
from gateway.messages import Message, text_block
from gateway.model.base import ModelRequest
from gateway.model.side_calls import Completion
from gateway.storage.artifacts import ArtifactRow
from gateway.storage.messages import StoredMessage

_MARGIN = 0.75  # of the window: an estimate may be a third too low
_MIN_PART = 500  # tokens; an endpoint that cannot read so much cannot summarise
_MIN_ROOM = 200  # tokens beside which instructions are worth sending
_CHARACTERS = 0.8  # of a token: what Chinese text has


Known = Callable[[Collection[str]], Awaitable[Mapping[str, ArtifactRow]]]
"""Those of some references that are artifacts of the conversation."""


async def none_known(refs: Collection[str]) -> Mapping[str, ArtifactRow]:
    """Of a conversation without any."""
    return {}


Ask = Callable[[ModelRequest], Awaitable[Completion]]
"""Asks a model, as `ModelCalls.ask` does. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary that was accepted. `text` is its form in a prompt (without wrapper), `prompt_digest` is the
    SHA-256 of the instructions in hex."""

    summary: SessionSummary
    text: str
    prompt_digest: str
    model: str


@dataclass(frozen=True, slots=True)
class SummaryLimits:
    """`tokens`: most of the summary as text, estimated. `window`: the model's, in tokens."""

    tokens: int
    window: int = 200_000

    @property
    def answer_tokens(self) -> int:
        """Most output tokens of one call: the keys and quotes of the JSON come on top of the text."""
        return 2 * self.tokens + min(1000, self.window // 16)


async def summarise(
    ask: Ask,
    *,
    model_name: str,
    instructions: str,
    messages: Sequence[StoredMessage],
    bounds: SummaryLimits,
    previous: SessionSummary | None = None,
    questions: Sequence[str] = (),
    known: Known = none_known,
) -> WrittenSummary:
    """Summarises `messages`, and `previous`, the summary of those before them.

    The conversation is shown to the model as labelled data (see `dialogue.write_out`); one that is too long
    for the window is summarised in pieces. An answer that is unusable is asked for once more, with what is
    wrong. `questions` were open before, besides those in `previous`: each stays open unless the model reports
    it as answered. Artifacts that are `known` are listed in any case.

    Raises:
        CompressionFailed: no usable summary came (code summary_empty, summary_invalid, summary_too_long,
            summary_refused, summary_truncated, summary_no_room) or the endpoint failed (its code).
        StorageError: `known` failed.
    """
    _check_room(instructions, bounds)
    work = _Work(ask, model_name, instructions, bounds, known)
    try:
        summary = await work.read(messages, previous, questions)
    except ModelError as error:
        raise CompressionFailed(
            error.message, code=error.code, retryable=error.retryable, cause=error.cause
        ) from error
    digest = hashlib.sha256(instructions.encode()).hexdigest()
    return WrittenSummary(summary, to_markdown(summary), digest, model_name)


def fits(messages: Sequence[StoredMessage], *, instructions: str, bounds: SummaryLimits) -> bool:
    """Whether one model call can read all of `messages`."""
    budget = _input_tokens(instructions, bounds)
    for entry in write_out(messages):
        budget -= entry.tokens
        if budget < 0:
            return False
    return True


def _input_tokens(instructions: str, bounds: SummaryLimits) -> int:
    """Tokens of conversation that one call can read, beside a summary so far."""
    return max(_MIN_PART, _room(instructions, bounds))


def _room(instructions: str, bounds: SummaryLimits) -> int:
    taken = estimate_tokens(instructions) + bounds.tokens + 300
    return int((bounds.window - bounds.answer_tokens) * _MARGIN) - taken


def _check_room(instructions: str, bounds: SummaryLimits) -> None:
    """Raises CompressionFailed where next to nothing can be read beside the instructions and an answer."""
    if _room(instructions, bounds) < _MIN_ROOM:
        raise CompressionFailed(
            f"A window of {bounds.window} tokens has no room for a summary beside its instructions.",
            code="summary_no_room",
            retryable=False,
        )


@dataclass(slots=True)
class _Work:
    """One summary in the making."""

    ask: Ask
    model_name: str
    instructions: str
    bounds: SummaryLimits
    known: Known
    budget: int = field(init=False)

    def __post_init__(self) -> None:
        self.budget = _input_tokens(self.instructions, self.bounds)

    async def read(
        self, messages: Sequence[StoredMessage], previous: SessionSummary | None, questions: Sequence[str]
    ) -> SessionSummary:
        """The summary of all `messages`, read piece by piece. Raises ModelError, CompressionFailed."""
        # In a thread: a long conversation takes a tenth of a second to write out.
        left = await asyncio.to_thread(write_out, messages)
        if not left:
            raise NothingToSummarise("There is nothing to summarise.", retryable=False)
        while left:
            part = _next_part(left, self.budget)
            before = [*questions, *(previous.open_questions if previous else ())]
            try:
                text = request_text(part, previous=previous, questions=before, most_tokens=self.bounds.tokens)
                result = await self._answer(text)
            except ModelError as error:
                # The window is smaller than what is known of the model.
                if error.code != "context_overflow" or self.budget <= _MIN_PART:
                    raise
                self.budget = max(_MIN_PART, self.budget // 2)
                continue
            summary, answered = result
            read = [entry.stored for entry in part]
            artifacts = await self._artifacts(read, previous, summary)
            previous = await asyncio.to_thread(
                complete,
                summary,
                read,
                previous=previous,
                questions=before,
                answered=answered,
                artifacts=artifacts,
                most_tokens=self.bounds.tokens,
            )
            questions, left = (), left[len(part) :]
        assert previous is not None
        return previous

    async def _artifacts(
        self, messages: Sequence[StoredMessage], previous: SessionSummary | None, written: SessionSummary
    ) -> Sequence[Reference]:
        refs = await asyncio.to_thread(named_in, messages, previous, written)
        rows = await self.known(refs) if refs else {}
        return listed(refs, rows, previous, written, most_tokens=self.bounds.tokens)

    async def _answer(self, text: str) -> tuple[SessionSummary, Sequence[str]]:
        """A usable answer to `text`, asked for twice at most."""
        messages = [Message("user", [text_block(text)])]
        answer = await self._call(messages)
        try:
            return usable(answer, self.bounds.tokens)
        except CompressionFailed as failure:
            if failure.code == "summary_refused":
                raise
            messages = asked_again(messages, answer, failure.message)
        return usable(await self._call(messages), self.bounds.tokens)

    async def _call(self, messages: Sequence[Message]) -> Completion:
        return await self.ask(
            ModelRequest(
                model=self.model_name,
                max_tokens=self.bounds.answer_tokens,
                system=[text_block(self.instructions)],
                messages=messages,
            )
        )


def _next_part(entries: Sequence[DialogueEntry], budget: int) -> list[DialogueEntry]:
    """The first entries that fit in `budget` tokens, a call with its results if possible; the very first one
    always, cut to fit if need be."""
    taken: list[DialogueEntry] = []
    for entry in entries:
        if entry.tokens > budget:
            break
        budget -= entry.tokens
        taken.append(entry)
    if not taken:
        first = entries[0]
        return [replace(first, text=shorten(first.text, int(budget * _CHARACTERS)))]
    if len(taken) < len(entries) and len(taken) > 1 and _calls(taken[-1]):
        taken.pop()
    return taken


def _calls(entry: DialogueEntry) -> bool:
    return any(block["type"] == "tool_use" for block in entry.stored.message.content)
