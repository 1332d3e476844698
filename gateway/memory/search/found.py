"""What is looked for among the memories, and what is found: values."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.events.content import Omission
from gateway.storage.memories import MemoryRow, MemoryType

Mode = Literal["catalog", "details"]


@dataclass(frozen=True, slots=True)
class Query:
    """`text` is what somebody wrote, as it is: any length, any signs. No `types` are all of them; `since` is
    of the last change, Unix milliseconds. At most `limit` memories that take at most `budget_tokens` when
    they are told in that `mode` (see gateway/memory/told.py); those that are `known` already take none. What
    is of the `likely_types`, or was changed since `likely_since`, counts more: a guess that keeps nothing
    out."""

    text: str
    types: Sequence[MemoryType] = ()
    since: int | None = None
    budget_tokens: int = 1000
    limit: int = 20
    mode: Mode = "catalog"
    known: Collection[str] = ()
    likely_types: Sequence[MemoryType] = ()
    likely_since: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found. The ranks count from 1, by words and by meaning; None: not found that way.
    `score` is comparable within one search: about 1 for what is first in one ranking, 2 in both."""

    row: MemoryRow
    score: float
    lexical_rank: int | None
    vector_rank: int | None
    freshness: float


@dataclass(frozen=True, slots=True)
class Found:
    """The best first. `omissions` are the first of the `omitted` memories that were found and left out;
    `tokens` is the estimated size of the hits as they are told. `degraded`: the search by meaning is
    configured and did not work."""

    hits: Sequence[Hit]
    omissions: Sequence[Omission] = ()
    omitted: int = 0
    tokens: int = 0
    degraded: bool = False
    duration_ms: int = 0
