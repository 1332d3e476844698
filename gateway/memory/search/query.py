"""A query for memories, and its result: values."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.events.content import Omission
from gateway.storage.memories import MemoryRow, MemoryType, Passage

Mode = Literal["catalog", "details"]
Rendering = Literal["full", "passage", "summary"]
"""How a memory is shown: everything, the passage of a long one that fits the query, or its summary."""


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """`text` is raw user text of any length. No `types` means all types; `since` filters by the last change,
    Unix milliseconds. The result has at most `limit` memories of at most `budget_tokens` together as they are
    rendered (see gateway/memory/rendering.py), `line_tokens` of them for what is shown on one line (None:
    all); with `summaries_only` a result in the mode `catalog` has summaries alone. What is in context already
    costs nothing: `known` has the ids of memories, and what `known_key` makes.
    `likely_types` and `likely_since` raise the score of a memory and exclude none. `plainly`: only memories
    that have most of the text's words (see gateway/memory/search/relevance.py)."""

    text: str
    types: Sequence[MemoryType] = ()
    since: int | None = None
    budget_tokens: int = 1000
    line_tokens: int | None = None
    summaries_only: bool = False
    limit: int = 20
    mode: Mode = "catalog"
    known: Collection[str] = ()
    likely_types: Sequence[MemoryType] = ()
    likely_since: int | None = None
    plainly: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory in a result. The lexical and the vector rank count from 1; None: absent from that ranking.
    `score` is comparable within one search: about 1 for the first of one ranking, 2 for the first of both.
    `passage` is the one of a long memory that fits the query; `known`: it is in context, in that form."""

    row: MemoryRow
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    freshness: float
    passage: Passage | None = None
    form: Rendering = "full"
    known: bool = False


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best first. `omissions` are the first of the `omitted` memories that were found and left out, and
    of those that are shown by their summary for want of room;
    `tokens` is the estimated size of the rendered hits. `degraded`: vector search is configured and
    failed."""

    hits: Sequence[Hit]
    omissions: Sequence[Omission] = ()
    omitted: int = 0
    tokens: int = 0
    degraded: bool = False
    duration_ms: int = 0


def known_key(memory_id: str, shown: int | Literal["full"]) -> str:
    """The entry of `MemoryQuery.known` for a memory that is in context in full, or for that passage of
    one."""
    return f"{memory_id}#{shown}"
