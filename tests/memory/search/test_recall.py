"""How much of what is known is found by words."""

from collections.abc import Mapping, Sequence

import pytest

from gateway.memory.search.query import MemoryQuery
from gateway.memory.search.searcher import Searcher
from gateway.storage.memories.store import MemoryStore
from tests.memory.search.recall_set import ASKED, KNOWN, NO_ANSWER, NOT_BY_WORDS, Asked, by_words, recall
from tests.memory.search.saving import ANN, put, recall_rows

pytestmark = pytest.mark.anyio


async def found(store: MemoryStore) -> Mapping[Asked, Sequence[str]]:
    rows = recall_rows()
    await put(store, *rows.values())
    names, searcher = {row.id: name for name, row in rows.items()}, Searcher(store)
    return {
        asked: [names[hit.row.id] for hit in (await searcher.find(ANN, MemoryQuery(asked.text))).hits]
        for asked in ASKED
    }


async def test_nearly_everything_is_among_the_first_five(store: MemoryStore) -> None:
    """recall@5 by words is at least 0.95, in every script and for every kind of question at least 0.8."""
    shares = recall(await found(store))

    assert by_words(shares) >= 0.95, shares
    assert all(shares[name] >= 0.8 for name in shares if name not in {NOT_BY_WORDS, NO_ANSWER}), shares


async def test_most_questions_without_an_answer_find_nothing(store: MemoryStore) -> None:
    """What merely shares a character or an everyday word with a question is not shown."""
    assert recall(await found(store))[NO_ANSWER] >= 0.7


def test_the_set_is_large_and_every_answer_is_in_it() -> None:
    """At least 60 memories and 50 questions in ten kinds, and no name that is not there."""
    names = {known.name for known in KNOWN}

    assert len(names) == len(KNOWN) >= 60
    assert len(ASKED) >= 50
    assert {name for asked in ASKED for name in asked.expected} <= names
