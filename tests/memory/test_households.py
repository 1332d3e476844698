"""What the members of a household remember together, and what stays each one's own."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from gateway.memory.changes import Attribution, Changed
from gateway.memory.export import export
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Evidence
from tests.memory.correcting import Corrections
from tests.product import AllScopes, Scope

pytestmark = pytest.mark.anyio

ANNA, BERT = (Scope(name, households=("home",)) for name in ("anna", "bert"))
SECRET = "我的病又復發了 my illness is back"
OF_BERT = "I am home at seven"


async def kept(memories: Memories, who: Scope, content: str, quote: str = "", **fields: Any) -> Changed:
    """A memory of the household, from what `who` said."""
    new = NewMemory(content, owner_type="household", **fields)
    by = Attribution(who.user_id, "They said so.")
    return await memories.save(who, new, by, evidence=evidence_of(who, quote) if quote else ())


def evidence_of(who: Scope, quote: str) -> Sequence[Evidence]:
    return [Evidence(f"s_{who.user_id}", 1, quote)]


async def quoted(memories: Memories, memory_id: str) -> dict[str, list[str]]:
    """What each member reads as evidence: alone, in a role, and in a file of all that is theirs."""
    found: dict[str, list[str]] = {}
    for who in (ANNA, BERT):
        whole = AllScopes(who.user_id, who.households)
        shown = [await memories.details(viewer, memory_id) for viewer in (who, whole)]
        found[who.user_id] = quotes = [each.quote for each in shown[0].evidence]
        assert [each.quote for each in shown[1].evidence] == quotes
        lines = b"".join([chunk async for chunk in export(memories.store, whole)]).splitlines()
        (line,) = [each for each in map(orjson.loads, lines) if each["id"] == memory_id]
        assert [each["quote"] for each in line.get("evidence", [])] == quotes
    return found


async def test_who_reinforces_a_memory_of_another_shows_them_no_word(memories: Memories) -> None:
    row = (await kept(memories, BERT, "We eat at seven.", OF_BERT)).row
    again = await kept(memories, ANNA, "We eat at seven.", SECRET)

    assert (again.row.id, again.operation, again.row.user_id) == (row.id, "reinforced", "bert")
    assert await quoted(memories, row.id) == {"anna": [SECRET], "bert": [OF_BERT]}


async def test_what_replaces_a_memory_of_another_is_whose_said_it(
    memories: Memories, corrections: Corrections
) -> None:
    """Also where what is true instead was remembered already."""
    row = (await kept(memories, BERT, "We eat at seven.", OF_BERT)).row
    (evidence,) = evidence_of(ANNA, SECRET)
    _, new, *_ = await corrections.correct(
        ANNA,
        row.id,
        "replace",
        Attribution("anna", "So she says."),
        evidence=evidence,
        new_content="晚飯八點",
    )
    third = (await kept(memories, BERT, "Supper is at nine.")).row
    _, same, *_ = await corrections.correct(
        ANNA, third.id, "replace", Attribution("anna", "Again."), evidence=evidence, new_content="晚饭八点"
    )

    assert (new.row.user_id, same.row.id) == ("anna", new.row.id)
    assert await quoted(memories, new.row.id) == {"anna": [SECRET, SECRET], "bert": []}
    assert await quoted(memories, row.id) == {"anna": [], "bert": [OF_BERT]}


async def test_what_suppresses_a_memory_of_another_is_quoted_to_who_said_it(
    memories: Memories, corrections: Corrections
) -> None:
    row = (await kept(memories, BERT, "We eat at seven.")).row
    (evidence,) = evidence_of(ANNA, SECRET)
    await corrections.correct(
        ANNA, row.id, "suppress", Attribution("anna", "She doubts it."), evidence=evidence
    )

    assert await quoted(memories, row.id) == {"anna": [SECRET], "bert": []}


async def test_a_merged_memory_is_of_who_merged_it_and_carries_their_quotes_alone(
    memories: Memories, corrections: Corrections
) -> None:
    """What others said stays with the memories that were merged, where they read it."""
    weighty = (await kept(memories, BERT, "Bert cooks on Sundays.", OF_BERT, importance=5)).row
    light = (await kept(memories, ANNA, "晚飯前遛狗", SECRET)).row
    merged, *_ = await corrections.merge(ANNA, [weighty.id, light.id], Attribution("anna", "One of two."))

    assert (merged.row.user_id, merged.row.importance) == ("anna", 5)
    assert await quoted(memories, merged.row.id) == {"anna": [SECRET], "bert": []}
    assert await quoted(memories, weighty.id) == {"anna": [], "bert": [OF_BERT]}
