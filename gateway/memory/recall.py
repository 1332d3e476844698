"""Recall for a turn: the snapshot in the prompt, and the retrieval for a message."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import structlog

from gateway.bounded_dict import BoundedDict
from gateway.errors import StorageError
from gateway.ids import now_ms
from gateway.memory import rendering, snapshot
from gateway.memory.citation_estimate import cited_in
from gateway.memory.context_changes import ContextDiff, ContextState, changes_since, context_state
from gateway.memory.retrieval_gate.gate import RetrievalDecision, RetrievalGate, start_of
from gateway.memory.search.query import MemoryQuery, SearchResult, known_key
from gateway.memory.search.searcher import Searcher
from gateway.memory.snapshot import MemorySnapshot
from gateway.messages import Recalled
from gateway.model.side_calls import CallContext
from gateway.settings import Settings
from gateway.storage.memories import AllScopes, Filter, MemoryRow, Profile, Scope
from gateway.storage.memories.store import MemoryStore

MAX_USERS = 2000
"""Users of whom it is kept in mind whether anything is remembered."""
MAX_PENDING_CITATIONS = 100
"""Citations that wait to be stored; more are dropped: freshness is an estimate."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class InContext:
    """The memories that a session has in context: those in `full` completely, the others by summary, and
    of long ones these `passages`, by memory and number."""

    full: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    passages: frozenset[tuple[str, int]] = frozenset()

    @property
    def keys(self) -> frozenset[str]:
        """The keys by which a search knows what is in context (`MemoryQuery.known`)."""
        full = {known_key(each, "full") for each in self.full}
        return self.full | self.named | full | {known_key(*each) for each in self.passages}


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The memories found for a message, and the decision behind them."""

    decision: RetrievalDecision
    found: SearchResult

    def new_memories(self) -> Sequence[Recalled]:
        """The found memories that are not in context, rendered."""
        timed = rendering.shared_days(hit.row for hit in self.found.hits)
        return [
            Recalled(
                id=hit.row.id,
                digest=snapshot.digest_of(hit.row),
                full=hit.form == "full",
                text=rendering.in_form(hit, timed),
                passage=hit.passage.number if hit.passage and hit.form == "passage" else None,
            )
            for hit in self.found.hits
            if not hit.known
        ]


@dataclass(frozen=True, slots=True)
class Revalidation:
    """The present state of the memories in a session's context; `outdated`: a memory in its prompt was
    forgotten, or a profile changed."""

    state: ContextState
    outdated: bool


class Recall:
    """One per process."""

    def __init__(
        self, store: MemoryStore, searcher: Searcher, retrieval_gate: RetrievalGate, settings: Settings
    ) -> None:
        self._store = store
        self._searcher = searcher
        self._retrieval_gate = retrieval_gate
        self._settings = settings
        self._empty = BoundedDict[tuple[str, ...], tuple[int, bool]](MAX_USERS)
        self._pending: set[asyncio.Task[None]] = set()

    async def is_empty(self, scope: Scope) -> bool:
        """Whether there is nothing to recall for the user, in any scope. Cached until the store changes."""
        user = (scope.user_id, *scope.households)
        state = await self._store.state()
        known_at, is_empty = self._empty.get(user, (None, False))
        if known_at != state:
            is_empty = await self._compute_empty(scope)
            self._empty[user] = state, is_empty
        return is_empty

    async def _compute_empty(self, scope: Scope) -> bool:
        if await self._store.list(AllScopes(scope.user_id, scope.households), limit=1):
            return False
        if await self._store.list(scope, Filter(recallable=True), limit=1):  # documents
            return False
        return not any(profile.fields for profile in await self.profiles(scope))

    async def load_snapshot(self, scope: Scope, *, most: int | None = None) -> MemorySnapshot:
        """The snapshot for a new prompt generation, in the tokens that are set and no more than `most`.
        Raises errors.StorageError."""
        profiles = await self.profiles(scope)
        tokens = _within(self._settings.memory_prompt_tokens, most)
        return await snapshot.load(self._store, scope, profiles, tokens=tokens)

    async def profiles(self, scope: Scope) -> Sequence[Profile]:
        """The existing profiles of the user and their households."""
        found = [await self._store.profile("user", scope.user_id)]
        found += [await self._store.profile("household", name) for name in scope.households]
        return [profile for profile in found if profile is not None]

    async def revalidate(self, scope: Scope, digests: Mapping[str, str]) -> Revalidation:
        """Checks a session's context against the store, by the digests of the memories and profiles in it.
        Raises errors.StorageError."""
        memories = {key: digest for key, digest in digests.items() if not snapshot.is_profile(key)}
        state = await context_state(self._store, scope, memories)
        now = {
            snapshot.profile_key(profile): snapshot.profile_digest(profile)
            for profile in await self.profiles(scope)
        }
        profiles = digests.keys() - memories.keys()
        return Revalidation(
            state, bool(state.forgotten) or any(now.get(key) != digests[key] for key in profiles)
        )

    async def changes(
        self,
        scope: Scope,
        state: ContextState,
        digests: Mapping[str, str],
        *,
        as_of: int | None,
        turns: Collection[str],
        most: int | None = None,
    ) -> ContextDiff:
        """The changes that a session is shown with its next message, within half of the retrieval budget
        (and of `most`): see `changes_since`."""
        half = _within(self._settings.memory_turn_tokens, most) // 2
        return await changes_since(self._store, scope, state, digests, as_of=as_of, turns=turns, tokens=half)

    async def retrieve(
        self,
        scope: Scope,
        message: str,
        *,
        message_count: int,
        known: InContext,
        turn_id: str | None = None,
        most: int | None = None,
    ) -> RetrievalResult | None:
        """The memories for a message (that of `turn_id`), or None; in the tokens that are set and no more
        than `most`. Where none are needed, those that have most of the message's words are still found.
        Memories in context cost nothing of the budget."""
        budget = _within(self._settings.memory_turn_tokens, most)
        decision = await self._retrieval_gate.decide(
            message,
            message_count=message_count,
            project_id=scope.project_id,
            budget_tokens=budget,
            context=CallContext(scope.user_id, scope.session_id, turn_id),
        )
        if decision.budget_tokens <= 0:
            return None
        query = MemoryQuery(
            text=message,
            budget_tokens=budget,
            line_tokens=min(decision.budget_tokens, budget),
            mode=decision.mode,
            known=known.keys,
            # A guess: a decision may have been saved as a preference, or be older than the message suggests.
            likely_types=decision.types,
            likely_since=start_of(decision.time_range, now_ms()),
            plainly=decision.needed == "no",
        )
        found = await self._searcher.find(scope, query)
        return RetrievalResult(decision, found) if found.hits else None

    def record_citations(
        self, rows: Sequence[MemoryRow], answer: str, found: Mapping[str, str] | None = None
    ) -> None:
        """Records, in the background, which memories the answer made use of (`cited_in`): their freshness is
        reset. Never raises and never waits."""
        if (rows or found) and answer and len(self._pending) < MAX_PENDING_CITATIONS:
            task = asyncio.create_task(self._record(rows, answer, found or {}), name="citations of memories")
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)

    async def close(self) -> None:
        """Waits until all citations are stored."""
        await asyncio.gather(*self._pending, return_exceptions=True)

    async def _record(self, rows: Sequence[MemoryRow], answer: str, found: Mapping[str, str]) -> None:
        try:
            if used := await asyncio.to_thread(cited_in, rows, answer, found):
                await self._store.use(used, now_ms())
        except StorageError as error:
            log.warning("memory_citations_lost", code=error.code, memories=len(rows))
        except Exception:  # a mistake of ours: no caller waits for this task
            log.exception("memory_citations_lost", memories=len(rows))


def _within(tokens: int, most: int | None) -> int:
    return tokens if most is None else min(tokens, most)
