"""Learning from conversations, and storing what tools suggest."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence, Set
from functools import partial
from typing import Protocol

import structlog

from gateway.errors import DuplicateMemory, GatewayError, InvalidRequest, MemoryFull
from gateway.events.tool_calls import MemoryWriteSuggestion
from gateway.ids import now_ms
from gateway.memory.changes import Attribution, Changed
from gateway.memory.extraction.candidate_selection import Retraction, accept, excerpts_to_read, retractions
from gateway.memory.extraction.candidates import find_candidates
from gateway.memory.extraction.grounding import GroundedCandidate
from gateway.memory.extraction.reconciler import Reconciler, TurnTimes, find_neighbours
from gateway.memory.extraction.rejection_reasons import unsafe
from gateway.memory.extraction.report import LearningReport, learning_id
from gateway.memory.extraction.user_messages import Excerpt
from gateway.memory.households import households_of
from gateway.memory.injection_cues import mentions_authority
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.model.model_limits import window
from gateway.model.side_calls import CallContext, ModelCalls
from gateway.settings import Settings
from gateway.storage.memories import Filter, MemoryRow, Scope
from gateway.storage.messages import StoredMessage
from gateway.tools.policy import BROUGHT_ALONG, is_trusted

MAX_EXCERPT_TOKENS = 12_000
"""Tokens of conversation (estimated) that one call reads: in longer texts a model overlooks small facts."""
MAX_CALLS = 4
"""Model calls for one conversation; of a longer one the end is read."""
MAX_KNOWN = 8
"""Known memories that are shown with an excerpt."""
SUGGESTED_CONFIDENCE = 0.5
"""The confidence of what a tool suggests."""
ACTOR = "keeper"
"""How versions and events name the extractor."""
STATED, AGREED = "The user said so in a conversation.", "The user agreed to it in a conversation."
"""Why it changed something; followed by the doubt or the note of the candidate."""

log = structlog.get_logger(__name__)


class SuggestionSource(Protocol):
    """The tool call that suggests memories; a turn's `WriteSource` is one."""

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
    @property
    def trusted(self) -> bool: ...


PublishChanges = Callable[[str, str, Sequence[Changed]], Awaitable[None]]
"""Publishes the changes that suggestions made, in the log of the session of that id and owner. Must not
raise."""


async def publish_nothing(session_id: str, owner: str, changed: Sequence[Changed]) -> None:
    """The default of `Extractor.publish_changes`."""


class Extractor:
    """One per process. `instructions` reads the model's instructions, anew for each conversation; `on_report`
    gets a report of each run. `publish_changes` is set by the owner of the sessions' logs."""

    def __init__(
        self,
        memories: Memories,
        calls: ModelCalls,
        settings: Settings,
        *,
        instructions: Callable[[], str],
        on_report: Callable[[LearningReport], None] = lambda _: None,
    ) -> None:
        self._memories = memories
        self._calls = calls
        self._settings = settings
        self._instructions = instructions
        self._on_report = on_report
        self.publish_changes: PublishChanges = publish_nothing

    async def learn(
        self,
        scope: Scope,
        messages: Sequence[StoredMessage],
        *,
        session_id: str,
        model: str,
        after: int = 0,
        brought: Set[str] = frozenset(),
        turn_times: TurnTimes | None = None,
        may_keep: Callable[[], Awaitable[bool]] | None = None,
        in_background: bool = False,
        label: str | None = None,
    ) -> Sequence[Changed]:
        """Stores the durable facts that the user states in `messages` (in the order of their positions).

        Only the user's own text after position `after` counts, and each memory needs a quote of it; earlier
        messages are context. What is stated in turns that were `brought` along waits for the user to
        confirm it. A known memory is reinforced, once by each message; one that is plainly
        contradicted by a later statement is replaced; one that was forgotten or replaced after the statement
        stays so. A repetition changes nothing. `turn_times` gives the beginning of a turn (None: all
        statements are of now); `model` is asked unless the settings name another. `may_keep` is asked after
        it, right before each memory is written: False ends it. `in_background`: nobody waits for it.
        `label` becomes a tag of what is new.

        Raises:
            LearningFailed: the model gave no usable answer. What was learned from earlier excerpts stays.
            MemoryFull: nothing could be stored because the limit is reached. StorageError.
        """
        report = LearningReport(session_id, self._settings.memory_model or model, now_ms())
        max_tokens = min(
            MAX_EXCERPT_TOKENS, await window(self._settings, report.model, self._calls.facts) // 4
        )
        spoke = {BROUGHT_ALONG} if brought else frozenset[str]()
        found = await asyncio.to_thread(excerpts_to_read, messages, after, max_tokens, spoke)
        retracted = await asyncio.to_thread(retractions, found)
        reconciler = Reconciler(self._memories, scope, report, turn_times, label)
        try:
            for excerpt in found[-MAX_CALLS:]:
                accepted = await self._accepted(
                    scope, excerpt, retracted, report, in_background=in_background
                )
                reconciler.begin_excerpt()
                for candidate in accepted:
                    if may_keep is not None and not await may_keep():
                        report.dropped["shared"] += 1
                        continue
                    turn_id = excerpt.messages[candidate.position].turn_id
                    stated = candidate.brought_along() if turn_id in brought else candidate
                    by = Attribution(ACTOR, _reason(stated), turn_id, sources=tuple(spoke))
                    await reconciler.reconcile(stated, by)
            if reconciler.full is not None and not report.changed:
                raise reconciler.full
        except BaseException as failed:
            report.error = failed.code if isinstance(failed, GatewayError) else type(failed).__name__
            raise
        finally:
            report.ended_at = now_ms()
            if found:
                _log(report, unread=max(0, len(found) - MAX_CALLS))
                self._on_report(report)
        return report.changed

    async def suggest(self, writes: Sequence[MemoryWriteSuggestion], source: SuggestionSource) -> None:
        """Stores what a tool suggests, for `source.owner` alone. If the tool is not trusted, or the
        suggestion mentions addresses or permissions, it is not recalled before a person confirms it. A known
        suggestion changes nothing. Raises StorageError."""
        households = households_of(self._settings, source.owner)
        scope = Scope(source.owner, session_id=source.session_id, households=households)
        changed: list[Changed] = []
        for number, write in enumerate(writes):
            reason = unsafe(write.content)
            if write.owner_type == "household" and write.owner_id not in households:
                reason = "not_a_member"
            reason = reason or await self._save_suggestion(scope, write, source, number, changed)
            if reason is not None:
                log.info("memory_write_dropped", **_ids(source), type=write.type, reason=reason)
        if changed:
            await self.publish_changes(source.session_id, source.owner, changed)

    async def _accepted(
        self,
        scope: Scope,
        excerpt: Excerpt,
        retracted: Sequence[Retraction],
        report: LearningReport,
        *,
        in_background: bool,
    ) -> Sequence[GroundedCandidate]:
        report.calls += 1
        known = await self._known(scope, excerpt)
        operation = learning_id(report.session_id, report.started_at)
        context = CallContext(
            scope.user_id, report.session_id, operation=operation, in_background=in_background
        )
        candidates, malformed = await find_candidates(
            self._calls, self._instructions(), excerpt, report, known=known, context=context
        )
        report.offered += len(candidates) + malformed
        report.dropped += Counter(malformed=malformed)
        ids = {row.id for row in known}
        trusts = partial(is_trusted, self._settings.trusted_tools)
        return await asyncio.to_thread(
            accept, candidates, excerpt, retracted, report.dropped, known=ids, trusts=trusts
        )

    async def _known(self, scope: Scope, excerpt: Excerpt) -> Sequence[MemoryRow]:
        """The memories about the subjects of the user's messages: a new one may follow from them."""
        user_text = "\n".join(excerpt.user_texts.values())
        which = Filter(recallable=True, runtime=True)
        return await self._memories.resembling(scope, user_text, which, limit=MAX_KNOWN)

    async def _save_suggestion(
        self,
        scope: Scope,
        write: MemoryWriteSuggestion,
        source: SuggestionSource,
        number: int,
        changed: list[Changed],
    ) -> str | None:
        """Adds the change to `changed`, or returns why the suggestion is dropped."""
        neighbours = await find_neighbours(self._memories, scope, write.content)
        if any(similarity == "same" for _, similarity in neighbours):
            return "known"
        new = NewMemory(
            write.content,
            write.type,
            owner_type=write.owner_type,
            owner_id=None if write.owner_type == "user" else write.owner_id,
            source="skill",
            importance=write.importance,
            confidence=SUGGESTED_CONFIDENCE,
            quarantined=not source.trusted or mentions_authority(write.content),
            tools=(source.tool,),
            metadata=write.metadata,
        )
        by = Attribution(source.tool, f"Suggested by the tool {source.tool}.", source.turn_id, "tool")
        key = f"{source.turn_id}\0{source.tool_call_id}\0{number}"
        try:
            saved = await self._memories.save(scope, new, by, key=hashlib.sha256(key.encode()).hexdigest())
        except DuplicateMemory:
            return "forgotten"  # the suggestion of this very call was deleted since
        except (InvalidRequest, MemoryFull) as refused:
            return refused.code
        if saved.row.version > 1 or saved.repeated:
            return "known"
        changed.append(saved)
        return None


def _reason(candidate: GroundedCandidate) -> str:
    parts = (STATED if candidate.proposal is None else AGREED, candidate.doubt, candidate.note)
    return " ".join(filter(None, parts))


def _log(report: LearningReport, *, unread: int) -> None:
    log.info(
        "memory_learned",
        session_id=report.session_id,
        model=report.model,
        calls=report.calls,
        input_tokens=report.usage.input_tokens if report.usage else None,
        output_tokens=report.usage.output_tokens if report.usage else None,
        offered=report.offered,
        **Counter(each.event.op for each in report.changed),
        dropped=dict(report.dropped),
        unread=unread,
    )


def _ids(source: SuggestionSource) -> dict[str, str]:
    return {
        "session_id": source.session_id,
        "turn_id": source.turn_id,
        "tool_call_id": source.tool_call_id,
        "tool": source.tool,
    }
