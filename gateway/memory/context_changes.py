"""Changes of the memories in a session's context since its model was shown them.

corrected    in context, and says something else now, or another one took its place: shown anew
new          seen by the session and changed after what it knows of: shown
forgotten    in context, and not to be recalled any more: leaves what the model sees
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from gateway.lexical import estimate_tokens
from gateway.memory import rendering
from gateway.memory.snapshot import SNAPSHOT_FILTER, digest_of
from gateway.messages import FORGOTTEN, Recalled
from gateway.storage.memories import MemoryRow, Scope
from gateway.storage.memories.store import MemoryStore

MAX_NEW = 50
"""New memories that are looked at for one message, the last ones; the others are counted."""
MAX_SUCCESSORS = 10
"""Replacements of replacements that are followed."""


@dataclass(frozen=True, slots=True)
class ContextState:
    """The present state of the memories in a session's context. `rows` are those that exist, in their current
    version; `corrected` has the successors of others, by their ids."""

    rows: Sequence[MemoryRow] = ()
    corrected: Mapping[str, MemoryRow] = field(default_factory=dict[str, MemoryRow])
    forgotten: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ContextDiff:
    """What goes with a message. `rows` are the changed memories that are shown. `recalled` has in this order
    memories that the session's own turns changed, without text; `rows` as they are shown; a notice for each
    forgotten one. `waiting` are corrected memories for which there was no room, `more` is the number of new
    ones that are not shown. Changes up to `as_of` are not new any more, shown or not."""

    rows: Sequence[MemoryRow]
    recalled: Sequence[Recalled]
    waiting: frozenset[str]
    more: int
    as_of: int | None


async def context_state(store: MemoryStore, scope: Scope, digests: Mapping[str, str]) -> ContextState:
    """`digests` are those of the memories in context, as they were shown last. Raises errors.StorageError."""
    rows = await store.get(scope, *digests)
    found = {row.id: row for row in rows}
    for _ in range(MAX_SUCCESSORS):
        successors = {row.superseded_by for row in found.values() if row.superseded_by} - found.keys()
        there = await store.get(scope, *successors) if successors else ()
        if not there:
            break
        found |= {row.id: row for row in there}
    now = {memory_id: _successor_of(found, memory_id) for memory_id in digests}
    corrected = {
        memory_id: row
        for memory_id, row in now.items()
        if row is not None and digests.get(row.id) != digest_of(row)
    }
    forgotten = {each for each, row in now.items() if row is None and digests[each] != FORGOTTEN}
    return ContextState(rows, corrected, frozenset(forgotten))


async def changes_since(
    store: MemoryStore,
    scope: Scope,
    state: ContextState,
    digests: Mapping[str, str],
    *,
    as_of: int | None,
    turns: Collection[str],
    tokens: int,
) -> ContextDiff:
    """The corrected memories, then the new ones by priority, as far as they fit into `tokens`, and a notice
    of each forgotten one, without its text; what one of `turns` did is known to the model. Raises
    errors.StorageError."""
    replaced: dict[str, list[str]] = {}
    for memory_id, row in state.corrected.items():
        replaced.setdefault(row.id, []).append(memory_id)
    corrected = {row.id: row for row in state.corrected.values()}
    known_rows = {row.id: row for row in state.rows} | corrected
    new, more = await _new(store, scope, {**dict.fromkeys(digests), **known_rows}, as_of)
    if not (corrected or new or more or state.forgotten):
        return ContextDiff((), (), frozenset(), 0, as_of)
    by_turns = await store.last_turns(scope, *corrected, *(row.id for row in new), *state.forgotten)
    own = {memory_id for memory_id, turn_id in by_turns.items() if turn_id in turns}
    shown, left = list[tuple[MemoryRow, Recalled]](), tokens
    order = [*corrected.values(), *sorted(new, key=_weight, reverse=True)]
    known = [_recalled(row, "") for row in order if row.id in own]
    for row in (row for row in order if row.id not in own):
        recalled = _recalled(row, _line(row, replaced.get(row.id, ())))
        if (cost := estimate_tokens(recalled.text) + 1) <= left:
            left -= cost
            shown.append((row, recalled))
    there = {row.id for row, _ in shown} | own
    more += sum(row.id not in there for row in new)
    return ContextDiff(
        [row for row, _ in shown],
        [*known, *(recalled for _, recalled in shown), *map(_notice, sorted(state.forgotten - own))],
        frozenset(each for each, row in state.corrected.items() if row.id not in there),
        more,
        max((row.updated_at for row in new), default=as_of) if more else as_of,
    )


async def _new(
    store: MemoryStore, scope: Scope, known: Mapping[str, MemoryRow | None], as_of: int | None
) -> tuple[Sequence[MemoryRow], int]:
    """The newest memories that are not in `known` (id to current row, or None), MAX_NEW at most, and how many
    more new ones there are."""
    if as_of is None:
        return (), 0
    which = replace(SNAPSHOT_FILTER, since=as_of + 1)
    rows = await store.list(scope, which, limit=MAX_NEW)
    new = [row for row in rows if row.id not in known]
    if len(rows) < MAX_NEW:
        return new, 0
    count = await store.count(scope, which)
    listed = {row.id for row in rows}
    changed = (row for row in known.values() if row and row.recallable and row.source != "document")
    before = sum(row.updated_at > as_of and row.id not in listed for row in changed)
    return new, max(0, count - len(rows) - before)


def _successor_of(found: Mapping[str, MemoryRow], memory_id: str) -> MemoryRow | None:
    """The memory or its successor, if it may be recalled."""
    row = found.get(memory_id)
    for _ in range(MAX_SUCCESSORS):
        if row is None or row.status != "replaced" or row.superseded_by is None:
            break
        row = found.get(row.superseded_by)
    return row if row is not None and row.recallable else None


def _recalled(row: MemoryRow, text: str) -> Recalled:
    whole = not text or (
        len(row.content) <= rendering.SHORT and not (row.context or row.decisions or row.refs)
    )
    return Recalled(id=row.id, digest=digest_of(row), full=whole, text=text)


def _notice(memory_id: str) -> Recalled:
    text = f"[{memory_id}] was forgotten: what it said counts no more, wherever it stands above."
    return Recalled(id=memory_id, digest=FORGOTTEN, full=False, text=text)


def _line(row: MemoryRow, replaced: Sequence[str]) -> str:
    line = rendering.short_line(row)
    others = [memory_id for memory_id in replaced if memory_id != row.id]
    return f"{line} (in the place of {', '.join(others)})" if others else line


_weight = attrgetter("pinned", "importance", "updated_at", "id")
