"""Contradictions: two memories of one user that give different values to one thing, of which only the user
knows which one holds. They are found whenever somebody asks for them, so it makes no difference by which
door a memory came. Both stay as they are until the user answers.

    later      the earlier one is replaced by the later ──contradicts──▶ earlier
    earlier    the later one is replaced by the earlier ──contradicts──▶ later
    both       both stay: later ──holds_beside──▶ earlier, and they are not asked about again
    undecided  takes `both` back; an answer that replaced one is taken back by restoring that one
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from gateway.errors import NotFound
from gateway.memory.changes import Attribution
from gateway.memory.corrections.cascade import replacement_changes
from gateway.memory.memories import Memories
from gateway.memory.similarity.claims import Claim, are_contrary, claims_of
from gateway.memory.versions import next_version
from gateway.storage.memories import Change, Filter, Link, MemoryRow, Viewer
from gateway.storage.memories.store import MemoryStore

Answer = Literal["later", "earlier", "both", "undecided"]

MAX_COMPARED = 1000
"""Memories that are compared with each other, those that changed last."""
MAX_OF_ONE_SUBJECT = 8
"""Memories on one subject that are compared, those that changed last."""
MAX_CONTRADICTIONS = 20
"""Contradictions that are told at once."""
MAX_LOOKED_UP = 200
"""Pairs of which it is looked up whether the user has said that both hold."""

_ACTIVE = Filter(statuses=("active",), quarantined=False, runtime=True)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two active memories of one user and one audience, the `later` one said or changed after the other."""

    earlier: MemoryRow
    later: MemoryRow

    @property
    def ids(self) -> frozenset[str]:
        return frozenset((self.earlier.id, self.later.id))

    @property
    def beside(self) -> Link:
        """What says that both hold."""
        return Link(self.later.id, self.earlier.id, "holds_beside")

    @property
    def is_there(self) -> bool:
        return any(
            are_contrary(one, other)
            for one in claims_of(self.earlier.content)
            for other in claims_of(self.later.content)
        )


async def contradictions(store: MemoryStore, viewer: Viewer) -> Sequence[Contradiction]:
    """Those that wait for an answer of the viewer's user, the one with the last change first. Raises
    errors.StorageError."""
    return (await _waiting(store, viewer))[:MAX_CONTRADICTIONS]


async def contradictions_of(store: MemoryStore, viewer: Viewer, memory: MemoryRow) -> Sequence[MemoryRow]:
    """What contradicts this memory, of those with which it waits for an answer; the last change first. Raises
    errors.StorageError."""
    if memory.quarantined or not await asyncio.to_thread(claims_of, memory.content):
        return ()
    pairs = await _waiting(store, viewer, memory.id)
    return [each.earlier if each.later.id == memory.id else each.later for each in pairs]


async def answer_changes(
    memories: Memories, viewer: Viewer, ids: tuple[str, str], answer: Answer, by: Attribution
) -> Sequence[Change]:
    """The changes of one answer to the memories with these `ids`, the earlier one first. First that of the
    memory that holds; after `both` and `undecided` that of the later one.

    Raises:
        errors.NotFound: (contradiction_not_found) these two do not, or no longer, contradict each other,
            stand in another order, or are answered; for `undecided`: nobody has said that both hold.
    """
    pair = await _pair(memories.store, viewer, ids)
    if bool(await _both_hold(memories.store, [pair])) != (answer == "undecided"):
        raise _not_found()
    if answer in {"both", "undecided"}:
        # Nothing was said anew: the time by which the two are told apart stays.
        after = replace(pair.later, version=pair.later.version + 1)
        if answer == "both":
            return [await memories.plan(after, "confirmed", by, links=[pair.beside])]
        return [await memories.plan(after, "updated", by, unlinks=[pair.beside])]
    true, wrong = (pair.later, pair.earlier) if answer == "later" else (pair.earlier, pair.later)
    others, links = await replacement_changes(memories, viewer, [wrong], true, by)
    holds = await memories.plan(next_version(true), "confirmed", by, links=links)
    return [holds, *(each for each in others if each.row.id != true.id)]


async def _pair(store: MemoryStore, viewer: Viewer, ids: tuple[str, str]) -> Contradiction:
    rows = await store.get(viewer, *ids)
    if len(rows) != 2 or any(row.status != "active" or row.quarantined for row in rows):
        raise _not_found()
    pair = Contradiction(*rows)
    owners = {(row.user_id, row.audience, row.source == "document") for row in rows}
    is_pair = owners == {(viewer.user_id, rows[0].audience, False)} and _when(rows[0]) < _when(rows[1])
    if not is_pair or not await asyncio.to_thread(lambda: pair.is_there):
        raise _not_found()
    return pair


async def _waiting(store: MemoryStore, viewer: Viewer, of: str | None = None) -> Sequence[Contradiction]:
    """Those of which nobody has said that both hold; `of`: with that memory alone."""
    rows = await store.list(viewer, _ACTIVE, limit=MAX_COMPARED)
    found = await asyncio.to_thread(_pairs_of, [row for row in rows if row.user_id == viewer.user_id])
    pairs = [each for each in found if of is None or of in each.ids][:MAX_LOOKED_UP]
    both_hold = await _both_hold(store, pairs)
    return [each for each in pairs if each.ids not in both_hold]


async def _both_hold(store: MemoryStore, pairs: Sequence[Contradiction]) -> Collection[frozenset[str]]:
    """The ids of those pairs of which the user said so, whichever of the two was the later one then."""
    if not pairs:
        return ()
    ids = frozenset[str]().union(*(each.ids for each in pairs))
    links = await store.links_among(ids, "holds_beside")
    return {frozenset((each.from_id, each.to_id)) for each in links}


def _pairs_of(rows: Sequence[MemoryRow]) -> Sequence[Contradiction]:
    on_subject = defaultdict[tuple[str, tuple[str, ...]], list[tuple[MemoryRow, Claim]]](list)
    for row in sorted(rows, key=_when, reverse=True):
        for claim in claims_of(row.content):
            on_subject[row.audience, claim.subject].append((row, claim))
    found = {
        (later.id, earlier.id): Contradiction(earlier, later)
        for claimed in on_subject.values()
        for later, earlier in _contrary(claimed[:MAX_OF_ONE_SUBJECT])
    }
    return sorted(found.values(), key=lambda pair: (_when(pair.later), _when(pair.earlier)), reverse=True)


def _contrary(claimed: Sequence[tuple[MemoryRow, Claim]]) -> Iterator[tuple[MemoryRow, MemoryRow]]:
    for (later, one), (earlier, other) in combinations(claimed, 2):
        if later.id != earlier.id and are_contrary(one, other):
            yield later, earlier


def _when(row: MemoryRow) -> tuple[int, int, str]:
    return row.updated_at, row.created_at, row.id


def _not_found() -> NotFound:
    return NotFound(
        "These two memories do not wait for such an answer: list the contradictions anew.",
        code="contradiction_not_found",
    )
