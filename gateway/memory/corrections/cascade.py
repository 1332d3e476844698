"""Dependent memories: what a conclusion follows from, which are affected by a correction, and the links that
a successor inherits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from gateway.lexical import is_cjk, query_tokens, tokens
from gateway.memory.changes import Attribution
from gateway.memory.citation_estimate import TextTerms
from gateway.memory.memories import Memories
from gateway.memory.validation import WORK_TYPES, NewMemory
from gateway.memory.versions import next_version
from gateway.storage.memories import AllScopes, Change, Link, MemoryRow, MemoryType, Operation, Viewer
from gateway.storage.memories.store import MemoryStore

MAX_VISITED = 500
"""Memories that one correction reaches, directly or transitively; beyond them nothing is flagged."""

DERIVABLE_TYPES: frozenset[MemoryType] = frozenset((*WORK_TYPES, "summary"))
"""The types of memories that may follow from others."""
MIN_PREMISE_SHARE = 0.4
"""The share of a memory's words that a conclusion has which stems from it."""
_LATIN = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w.-]*|\b\w*\d[\w.-]*", re.ASCII)

log = structlog.get_logger(__name__)


async def replacement_changes(
    memories: Memories, viewer: Viewer, rows: Sequence[MemoryRow], successor: MemoryRow, by: Attribution
) -> tuple[Sequence[Change], Sequence[Link]]:
    """The changes by which `successor` takes the place of `rows`, those of `rows` first, and the links of
    `successor` then. What depends on `rows` is flagged, but for the successor."""
    gone = {row.id for row in rows}
    changes = {row.id: await memories.plan(superseded(row, successor), "replaced", by) for row in rows}
    links: list[Link] = []
    for row in rows:
        for flag in await flags(memories, viewer, row, "replaced", by, exclude=successor.id):
            changes.setdefault(flag.row.id, flag)
        links.append(Link(successor.id, row.id, "contradicts"))
        links += [
            each for each in await inherited(memories.store, [row], successor) if each.from_id not in gone
        ]
    return list(changes.values()), list(dict.fromkeys(links))


def superseded(row: MemoryRow, by: MemoryRow) -> MemoryRow:
    return next_version(row, status="replaced", superseded_by=by.id)


async def flags(
    memories: Memories,
    viewer: Viewer,
    root: MemoryRow,
    operation: Operation,
    by: Attribution,
    *,
    exclude: str = "",
) -> list[Change]:
    """A flag for what depends on `root`, in all of the user's roles and projects, but for the memory of that
    id and what depends on `root` through it alone."""
    why = f"It depends on {root.id}, which was {operation}."
    return [
        await memories.plan(next_version(row, flagged=why), "flagged", replace(by, reason=why))
        for row in await _dependants(memories.store, viewer, root, exclude)
        if row.flagged is None and row.status != "replaced" and row.source != "document"
    ]


async def _dependants(store: MemoryStore, viewer: Viewer, root: MemoryRow, omit: str) -> Sequence[MemoryRow]:
    """The memories that depend on `root`, directly or transitively."""
    everything = AllScopes(viewer.user_id, viewer.households)
    walked, waiting, found = {root.id, omit}, [root.id], list[MemoryRow]()
    while waiting and len(walked) < MAX_VISITED:
        links = await store.links(waiting.pop(0))
        reached = [link.from_id for link in links if link.relation == "depends_on"]
        new = [each for each in dict.fromkeys(reached) if each not in walked]
        walked.update(new)
        waiting += new
        found += await store.get(everything, *new)
    if waiting:
        log.warning("memory_cascade_cut", memory_id=root.id, reached=len(walked))
    return found


def premises_of(new: NewMemory, found: Mapping[str, str]) -> list[str]:
    """Of the memories that were found for the user's message, by id with their texts, those that a conclusion
    stems from: they have a name or a number in common, or MIN_PREMISE_SHARE of their words. Other types of
    memories follow from nothing. Pure."""
    if new.type not in DERIVABLE_TYPES:
        return []
    stated = TextTerms.of(set(tokens(new.content)))
    return [
        memory_id
        for memory_id, text in found.items()
        if _names(text) & stated.words
        or TextTerms.of(query_tokens(text)).share_in(stated) >= MIN_PREMISE_SHARE
    ]


def _names(text: str) -> set[str]:
    """The search tokens of its names and numbers: in Chinese text all that is written in Latin letters."""
    form = _LATIN if any(map(is_cjk, text)) else _NAME
    return {token for name in form.findall(text) for token in query_tokens(name) if len(token) > 1}


async def inherited(store: MemoryStore, rows: Sequence[MemoryRow], successor: MemoryRow) -> list[Link]:
    """The links by which others depend on `rows`, with their successor as the target; after a merge also the
    links by which the rows depend on others."""
    old = {row.id for row in rows}
    found: list[Link] = []
    for row in rows:
        for link in await store.links(row.id):
            if link.relation != "depends_on":
                continue
            if link.to_id == row.id and link.from_id not in {*old, successor.id}:
                found.append(Link(link.from_id, successor.id, "depends_on"))
            if link.from_id == row.id and len(rows) > 1 and link.to_id not in old:
                found.append(Link(successor.id, link.to_id, "depends_on"))
    return list(dict.fromkeys(found))
