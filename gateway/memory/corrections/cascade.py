"""Dependent memories: what a conclusion follows from, which are affected by a correction, and the links that
a successor inherits."""

import re
from collections.abc import Mapping, Sequence

import structlog

from gateway.lexical import is_cjk, query_tokens, tokens
from gateway.memory.citations import TextTerms
from gateway.memory.validation import NewMemory
from gateway.storage.memories import AllScopes, Link, MemoryRow, MemoryType, Viewer
from gateway.storage.memories.contract import MemoryStore

MAX_VISITED = 500
"""Memories that one correction reaches, directly or transitively; beyond them nothing is flagged."""

CONCLUSIONS: frozenset[MemoryType] = frozenset(
    ("project_decision", "discussion_conclusion", "action_item", "constraint", "risk", "summary")
)
"""The types of memories that may follow from others."""
MIN_REASON_SHARE = 0.4
"""The share of a memory's words that a conclusion has which stems from it."""
_LATIN = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w.-]*|\b\w*\d[\w.-]*", re.ASCII)

log = structlog.get_logger(__name__)


async def dependants(
    store: MemoryStore, viewer: Viewer, root: MemoryRow, but: MemoryRow | None
) -> Sequence[MemoryRow]:
    """The memories that depend on `root`, directly or transitively, in all of the user's scopes; without
    `but`, and without those that depend on `root` through it alone."""
    everything = AllScopes(viewer.user_id, viewer.households)
    walked, waiting, found = {root.id, *([but.id] if but else [])}, [root.id], list[MemoryRow]()
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


def reasons_of(new: NewMemory, found: Mapping[str, str]) -> list[str]:
    """Of the memories that were found for the user's message, by id with their texts, those that a conclusion
    stems from: they have a name or a number in common, or MIN_REASON_SHARE of their words. Other types of
    memories follow from nothing. Pure."""
    if new.type not in CONCLUSIONS:
        return []
    stated = TextTerms.of(set(tokens(new.content)))
    return [
        memory_id
        for memory_id, text in found.items()
        if _names(text) & stated.words
        or TextTerms.of(query_tokens(text)).share_in(stated) >= MIN_REASON_SHARE
    ]


def _names(text: str) -> set[str]:
    """The search tokens of its names and numbers: in Chinese text all that is written in Latin letters."""
    form = _LATIN if any(map(is_cjk, text)) else _NAME
    return {token for name in form.findall(text) for token in query_tokens(name) if len(token) > 1}


async def inherited(store: MemoryStore, rows: Sequence[MemoryRow], heir: MemoryRow) -> list[Link]:
    """The links by which others depend on `rows`, with their heir as the target; after a merge also the links
    by which the rows depend on others."""
    old = {row.id for row in rows}
    found: list[Link] = []
    for row in rows:
        for link in await store.links(row.id):
            if link.relation != "depends_on":
                continue
            if link.to_id == row.id and link.from_id not in {*old, heir.id}:
                found.append(Link(link.from_id, heir.id, "depends_on"))
            if link.from_id == row.id and len(rows) > 1 and link.to_id not in old:
                found.append(Link(heir.id, link.to_id, "depends_on"))
    return list(dict.fromkeys(found))
