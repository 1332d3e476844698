"""Learns what is worth remembering from conversations, and takes what tools suggest."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog

from gateway.errors import DuplicateMemory, GatewayError, InvalidRequest, MemoryFull
from gateway.events.calls import MemoryWriteSuggestion
from gateway.ids import now_ms
from gateway.lexical import plain_form
from gateway.memory.corrections.corrections import Corrections
from gateway.memory.keeper.candidates import Candidate
from gateway.memory.keeper.evaluate import passing, unsafe, verdict
from gateway.memory.keeper.extract import Extract, extract
from gateway.memory.keeper.keeping import Keeping, When, near_to
from gateway.memory.keeper.learned import Learned, learning_id
from gateway.memory.keeper.request import ask
from gateway.memory.keeper.said import Piece, clauses, pieces
from gateway.memory.keeper.withdrawn import Withdrawal, withdrawals
from gateway.memory.memories import By, Changed, Memories
from gateway.memory.record import NewMemory
from gateway.memory.room import households_of
from gateway.model.calls import CallContext, ModelCalls, Spent
from gateway.model.prices import window
from gateway.settings import Settings
from gateway.storage.base import StoredMessage
from gateway.storage.memories import Scope

READ_TOKENS = 12_000
"""Tokens of conversation (estimated) that one call reads at most: in longer texts small facts are
overlooked."""
MAX_CALLS = 4
"""Model calls for one conversation; of a longer one the end is read."""
SUGGESTED_CONFIDENCE = 0.5
"""Of what a tool claims."""
ACTOR, REASON = "keeper", "The user said so in a conversation."

log = structlog.get_logger(__name__)


class Suggested(Protocol):
    """Whose call suggestions come from; a turn's `WriteSource` is one."""

    @property
    def owner(self) -> str: ...
    @property
    def session_id(self) -> str: ...
    @property
    def turn_id(self) -> str: ...
    @property
    def tool_call_id(self) -> str: ...
    @property
    def tool(self) -> str: ...


Told = Callable[[str, Sequence[Changed]], Awaitable[None]]
"""Hears what became of suggestions: the session's id and the changes. Must not raise."""


async def nobody(session_id: str, changed: Sequence[Changed]) -> None:
    """Does not listen."""


@dataclass(slots=True)
class Tally:
    """What one conversation took, and why the rest of what was offered was dropped."""

    calls: int = 0
    spent: Spent = field(default_factory=Spent)
    offered: int = 0
    dropped: Counter[str] = field(default_factory=Counter[str])


class Keeper:
    """One per process. `instructions` reads what the model is told, anew for each conversation; `learned`
    hears of each conversation that was read, and `told` is set by whoever has the sessions' log."""

    def __init__(
        self,
        memories: Memories,
        calls: ModelCalls,
        settings: Settings,
        *,
        instructions: Callable[[], str],
        learned: Callable[[Learned], None] = lambda _: None,
    ) -> None:
        self._memories = memories
        self._corrections = Corrections(memories)
        self._calls = calls
        self._settings = settings
        self._instructions = instructions
        self._learned = learned
        self.told: Told = nobody

    async def learn(
        self,
        scope: Scope,
        messages: Sequence[StoredMessage],
        *,
        session_id: str,
        model: str,
        after: int = 0,
        when: When | None = None,
    ) -> Sequence[Changed]:
        """Remembers what the user said in `messages` (in the order of their positions) that is worth it.

        Only their own words count, in messages after position `after`, and nothing is kept without a quote of
        them; what was said before helps to understand. What is known is reinforced, once by each message;
        what contradicts it plainly, and was said later, takes its place; what was forgotten or replaced after
        it was said stays so. A repetition changes nothing. `when` tells when a turn began (None: all is said
        now); `model` is asked unless another is set for this.

        Raises:
            LearningFailed: no usable answer came. What was learned before it, of a long conversation, stays.
            MemoryFull: nothing could be kept for want of room. StorageError.
        """
        name, tally, began = self._settings.memory_model or model, Tally(), now_ms()
        room = min(READ_TOKENS, await window(self._settings, name) // 4)
        found = await asyncio.to_thread(_worth_reading, messages, after, room)
        taken_back = await asyncio.to_thread(withdrawals, found)
        keeping = Keeping(self._memories, self._corrections, scope, session_id=session_id, when=when)
        context = CallContext(session_id, operation=learning_id(session_id, began))
        error: str | None = None
        try:
            for piece in found[-MAX_CALLS:]:
                for each in await self._ask(name, piece, taken_back, tally, context):
                    turn_id = piece.said[each.position].turn_id
                    await keeping.keep(each, By(ACTOR, REASON, turn_id))
            if keeping.full is not None and not keeping.changed:
                raise keeping.full
        except BaseException as failed:
            error = failed.code if isinstance(failed, GatewayError) else type(failed).__name__
            raise
        finally:
            if found:
                _log(session_id, name, tally, keeping, unread=max(0, len(found) - MAX_CALLS))
                self._learned(_of(session_id, name, tally, keeping, began=began, error=error))
        return keeping.changed

    async def suggest(self, writes: Sequence[MemoryWriteSuggestion], source: Suggested) -> None:
        """Takes what a tool suggests, for `source.owner` alone and into quarantine: it is not recalled before
        somebody confirms it. What is known already changes nothing. Raises StorageError."""
        households = households_of(self._settings, source.owner)
        scope = Scope(source.owner, session_id=source.session_id, households=households)
        changed: list[Changed] = []
        for number, write in enumerate(writes):
            reason = unsafe(write.content)
            if write.owner_type == "household" and write.owner_id not in households:
                reason = "not_a_member"
            reason = reason or await self._take(scope, write, source, number, changed)
            if reason is not None:
                log.info("memory_write_dropped", **_ids(source), type=write.type, reason=reason)
        if changed:
            await self.told(source.session_id, changed)

    async def _ask(
        self, name: str, piece: Piece, taken_back: Sequence[Withdrawal], tally: Tally, context: CallContext
    ) -> Sequence[Extract]:
        tally.calls += 1
        candidates, malformed = await ask(
            self._calls, name, self._instructions(), piece, context=context, spent=tally.spent
        )
        tally.offered += len(candidates) + malformed
        tally.dropped["malformed"] += malformed
        return await asyncio.to_thread(_worth_keeping, candidates, piece, taken_back, tally.dropped)

    async def _take(
        self,
        scope: Scope,
        write: MemoryWriteSuggestion,
        source: Suggested,
        number: int,
        changed: list[Changed],
    ) -> str | None:
        """Adds it to `changed`, or says why it is not taken."""
        near = await near_to(self._memories, scope, write.content)
        if any(nearness == "same" for _, nearness in near):
            return "known"
        new = NewMemory(
            write.content,
            write.type,
            owner_type=write.owner_type,
            owner_id=None if write.owner_type == "user" else write.owner_id,
            source="skill",
            importance=write.importance,
            confidence=SUGGESTED_CONFIDENCE,
            quarantined=True,
        )
        by = By(source.tool, f"Suggested by the tool {source.tool}.", source.turn_id)
        named = f"{source.turn_id}\0{source.tool_call_id}\0{number}"
        try:
            done = await self._memories.save(scope, new, by, key=hashlib.sha256(named.encode()).hexdigest())
        except DuplicateMemory:
            return "forgotten"  # what this very call suggested was deleted since
        except (InvalidRequest, MemoryFull) as refused:
            return refused.code
        if done.row.version > 1 or not done.row.quarantined:
            return "known"
        changed.append(done)
        return None


def _worth_reading(messages: Sequence[StoredMessage], after: int, room: int) -> list[Piece]:
    """The pieces in which the user says anything that may last: for the others no model is asked."""
    return [
        piece
        for piece in pieces(messages, after=after, room=room)
        if any(passing(each) is None for words in piece.words.values() for each in clauses(words))
    ]


def _worth_keeping(
    candidates: Sequence[Candidate],
    piece: Piece,
    taken_back: Sequence[Withdrawal],
    dropped: Counter[str],
) -> list[Extract]:
    """Those with the user's words for them that pass; `dropped` counts why others do not."""
    answers = {position: plain_form(text) for position, text in piece.answers.items()}
    kept: list[Extract] = []
    for candidate in candidates:
        found = extract(candidate, piece)
        if found is None:
            dropped["not_said"] += 1
            continue
        before = (text for position, text in answers.items() if position < found.position)
        reason = verdict(found, before)
        if reason is None and any(each.concerns(found) for each in taken_back):
            reason = "forget"
        if reason is None:
            kept.append(found)
        else:
            dropped[reason] += 1
    return sorted(kept, key=lambda each: each.position)


def _log(session_id: str, model: str, tally: Tally, keeping: Keeping, *, unread: int) -> None:
    usage = tally.spent.usage
    done = Counter(each.event.op for each in keeping.changed)
    log.info(
        "memory_learned",
        session_id=session_id,
        model=model,
        calls=tally.calls,
        input_tokens=usage.input_tokens if usage else None,
        output_tokens=usage.output_tokens if usage else None,
        offered=tally.offered,
        **done,
        dropped={name: count for name, count in (tally.dropped + keeping.untouched).items() if count},
        unread=unread,
    )


def _of(
    session_id: str, model: str, tally: Tally, keeping: Keeping, *, began: int, error: str | None
) -> Learned:
    return Learned(
        session_id=session_id,
        model=model,
        started_at=began,
        ended_at=now_ms(),
        calls=tally.calls,
        usage=tally.spent.usage,
        offered=tally.offered,
        changed=keeping.changed,
        dropped=+(tally.dropped + keeping.untouched),
        error=error,
    )


def _ids(source: Suggested) -> dict[str, str]:
    return {
        "session_id": source.session_id,
        "turn_id": source.turn_id,
        "tool_call_id": source.tool_call_id,
        "tool": source.tool,
    }
