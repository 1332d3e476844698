"""What a turn is told of the memories: what stands in the prompt, and what is looked up for its message."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import structlog

from gateway.bounded_dict import BoundedDict
from gateway.errors import StorageError
from gateway.ids import now_ms
from gateway.lexical import query_tokens, tokens
from gateway.memory import snapshot, told
from gateway.memory.control.controller import Controller, Decision, start_of
from gateway.memory.search.found import Mode
from gateway.memory.search.searcher import Found, Query, Searcher
from gateway.memory.snapshot import Snapshot
from gateway.messages import Recalled
from gateway.model.calls import CallContext
from gateway.settings import Settings
from gateway.storage.memories import Filter, MemoryRow, Profile, Scope, Whole
from gateway.storage.memories.contract import MemoryStore

CITED_SHARE = 0.6
"""Of a memory's words, so many must be in an answer for it to count as used there."""
MAX_USERS = 2000
"""Users of whom it is kept in mind whether anything is remembered."""
MAX_NOTES = 100
"""Citations that wait to be stored; more are dropped: freshness is no record."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Known:
    """The memories that a session was told already: everything of those in `full`, the others by summary."""

    full: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()

    def in_mode(self, mode: Mode) -> frozenset[str]:
        """Of which a look-up in that mode would tell nothing new."""
        return self.full if mode == "details" else self.full | self.named


@dataclass(frozen=True, slots=True)
class LookedUp:
    """What was found for a message, why it was looked for, and what of it was `known`."""

    decision: Decision
    found: Found
    known: Collection[str]

    def new(self) -> Sequence[Recalled]:
        """What is to be told of it."""
        full = self.decision.mode == "details"
        write = told.details if full else told.catalog_line
        rows = [hit.row for hit in self.found.hits if hit.row.id not in self.known]
        return [
            Recalled(id=row.id, digest=snapshot.digest_of(row), full=full, text=write(row)) for row in rows
        ]


@dataclass(frozen=True, slots=True)
class LookedBack:
    """The memories that a session was told, as they are now; whether what stands in its prompt is `outdated`,
    and what was recalled and is `gone`: changed, or not to be recalled any more."""

    rows: Sequence[MemoryRow]
    outdated: bool
    gone: frozenset[str]


class Recall:
    """One per process."""

    def __init__(
        self, store: MemoryStore, searcher: Searcher, controller: Controller, settings: Settings
    ) -> None:
        self._store = store
        self._searcher = searcher
        self._controller = controller
        self._settings = settings
        self._empty = BoundedDict[tuple[str, ...], tuple[int, bool]](MAX_USERS)
        self._noting: set[asyncio.Task[None]] = set()

    async def is_empty(self, scope: Scope) -> bool:
        """Whether there is nothing to recall for the user, wherever they are. Free when asked again."""
        user = (scope.user_id, *scope.households)
        state = await self._store.state()
        known_at, is_empty = self._empty.get(user, (None, False))
        if known_at != state:
            is_empty = await self._has_nothing(scope)
            self._empty[user] = state, is_empty
        return is_empty

    async def _has_nothing(self, scope: Scope) -> bool:
        if await self._store.list(Whole(scope.user_id, scope.households), limit=1):
            return False
        if await self._store.list(scope, Filter(recallable=True), limit=1):  # documents
            return False
        return not any(profile.fields for profile in await self.profiles(scope))

    async def standing(self, scope: Scope) -> Snapshot:
        """What a prompt that begins now is told. Raises errors.StorageError."""
        return await snapshot.take(
            self._store,
            scope,
            await self.profiles(scope),
            full_count=self._settings.memory_full_count,
            full_characters=self._settings.memory_full_characters,
        )

    async def profiles(self, scope: Scope) -> Sequence[Profile]:
        """Those of the user and of their households, as far as there are such."""
        found = [await self._store.profile("user", scope.user_id)]
        found += [await self._store.profile("household", name) for name in scope.households]
        return [profile for profile in found if profile is not None]

    async def look_back(
        self, scope: Scope, digests: Mapping[str, str], recalled: Sequence[Recalled]
    ) -> LookedBack:
        """What became of what stands in a prompt under `digests`, and of what was `recalled` in a session."""
        ids = dict.fromkeys((*digests, *(each.id for each in recalled)))
        rows = await self._store.get(scope, *ids)
        now = {row.id: snapshot.digest_of(row) for row in rows if row.recallable}
        now |= {
            snapshot.profile_key(profile): snapshot.profile_digest(profile)
            for profile in await self.profiles(scope)
        }
        gone = frozenset(each.id for each in recalled if now.get(each.id) != each.digest)
        outdated = any(now.get(key) != digest for key, digest in digests.items())
        return LookedBack(rows, outdated, gone)

    async def look_up(
        self, scope: Scope, message: str, *, message_count: int, known: Known, turn_id: str | None = None
    ) -> LookedUp | None:
        """What the memory has for a message (that of `turn_id`); None when none is needed, or nothing fits.
        What is known already takes nothing of the budget."""
        budget = self._settings.memory_turn_tokens
        decision = await self._controller.decide(
            message,
            message_count=message_count,
            project_id=scope.project_id,
            budget_tokens=budget,
            context=CallContext(scope.session_id, turn_id),
        )
        if decision.needed == "no" or decision.budget_tokens <= 0:
            return None
        query = Query(
            text=message,
            budget_tokens=decision.budget_tokens,
            mode=decision.mode,
            known=known.in_mode(decision.mode),
            # A guess: a decision may have been saved as a preference, and be older than it is thought.
            likely_types=decision.types,
            likely_since=start_of(decision.time_range, now_ms()),
        )
        found = await self._searcher.find(scope, query)
        return LookedUp(decision, found, query.known) if found.hits else None

    def cited(self, rows: Sequence[MemoryRow], answer: str) -> None:
        """Notes, beside the turn, which of `rows` the answer made use of: by their ids, or by their words.
        Their freshness begins anew. Never raises and never waits."""
        if rows and answer and len(self._noting) < MAX_NOTES:
            task = asyncio.create_task(self._note(rows, answer), name="citations of memories")
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    async def close(self) -> None:
        """Waits until what was cited has been noted."""
        await asyncio.gather(*self._noting, return_exceptions=True)

    async def _note(self, rows: Sequence[MemoryRow], answer: str) -> None:
        try:
            if used := await asyncio.to_thread(used_in, rows, answer):
                await self._store.use(used, now_ms())
        except StorageError as error:
            log.warning("memory_citations_lost", code=error.code, memories=len(rows))
        except Exception:  # a mistake of ours: nobody waits for this task
            log.exception("memory_citations_lost", memories=len(rows))


def used_in(rows: Sequence[MemoryRow], answer: str) -> list[str]:
    """The ids of those that an answer names, or most of whose words are in it. Pure."""
    said = set(tokens(answer))
    return [row.id for row in rows if row.id in answer or _share(row, said) >= CITED_SHARE]


def _share(row: MemoryRow, said: Collection[str]) -> float:
    words = [word for word in query_tokens(row.summary) if len(word) > 1]
    return sum(word in said for word in words) / len(words) if words else 0.0
