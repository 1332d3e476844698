"""What a session has in context of the memories, and what a turn does where they cannot be read."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.memory.snapshot import digest_of
from gateway.storage.messages import PromptMemories
from gateway.turn.memory_context import known_of, recalled_in_view, render_in_prompt, retrieve, revalidate
from tests.product import History, Message, Recalled, StorageError, StoredMessage, recalled_block, text_block
from tests.storage.remembering import memory
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

ASKED = StoredMessage(1, "t", Message("user", [text_block("hello")]))
IDS = st.sampled_from(["m_1", "m_2", "m_3", "m_4"])


def _recalled(memory_id: str, *, full: bool) -> Recalled:
    return Recalled(id=memory_id, digest="d", full=full, text="text")


def _told(position: int, turn_id: str, *memories: Recalled) -> StoredMessage:
    return StoredMessage(position, turn_id, Message("user", [recalled_block(memories)]))


def test_a_line_of_the_prompt_tells_a_memory_in_full_when_it_has_no_more_to_tell() -> None:
    """One with context, decisions or references is known by its summary, and so is one that was cut."""
    rows = [memory("m_1"), memory("m_2", context="why"), memory("m_3")]
    digests = {row.id: digest_of(row) for row in rows}
    prompted = PromptMemories("text", digests, 0, named=frozenset({"m_3"}))
    known = known_of(History([ASKED], memories=prompted), rows)

    assert known.full == {"m_1"}
    assert known.named == {"m_1", "m_2", "m_3"}


@given(recalled=st.lists(st.tuples(IDS, st.booleans()), max_size=8), forgotten=st.sets(IDS))
def test_what_is_known_is_what_was_told_and_is_not_forgotten(
    recalled: list[tuple[str, bool]], forgotten: set[str]
) -> None:
    """Once told in full is known in full, in whatever order; what is in full is known by name, too."""
    items = [_told(n, f"t{n}", _recalled(each, full=full)) for n, (each, full) in enumerate(recalled, 1)]
    prompted = PromptMemories("", {}, 0, forgotten=dict.fromkeys(forgotten, len(items)))
    known = known_of(History(items, memories=prompted), [])

    assert known.named == {each for each, _ in recalled} - forgotten
    assert known.full == {each for each, full in recalled if full} - forgotten


def test_what_was_forgotten_can_be_told_again_later() -> None:
    """It is gone up to the message that was the last one then, and of one turn it is known by itself."""
    items = [_told(number, f"t{number}", _recalled("m_1", full=True)) for number in (1, 2, 3)]
    history = History(items, memories=PromptMemories("", {}, 0, forgotten={"m_1": 2}))

    assert len(recalled_in_view(history)) == 1
    assert recalled_in_view(history, "t1") == []
    assert [each.id for each in recalled_in_view(history, "t3")] == ["m_1"]


async def test_where_memories_are_switched_off_a_session_has_none(tmp_path: Path) -> None:
    """Also one that was told of some before; its messages stay as they are."""
    history = History([ASKED], memories=PromptMemories("likes tea", {"m_1": "d"}, 0))
    async with turn_at_work(tmp_path) as turn:
        found, reason = await revalidate(turn, history)
        rendered = await render_in_prompt(turn, found)

        assert await retrieve(turn, rendered) is rendered

    assert rendered.memories is not None
    assert (rendered.memories.text, reason) == ("", None)
    assert found.messages == history.messages


async def test_an_empty_memory_leaves_no_trace(tmp_path: Path) -> None:
    """Nothing is searched, told or recorded of a user about whom nothing is known."""
    async with turn_at_work(tmp_path, memory=True) as turn:
        history, reason = await revalidate(turn, History([ASKED]))
        history = await retrieve(turn, await render_in_prompt(turn, history))
        events = await stored(turn)

    assert (history, reason, events) == (History([ASKED]), None, [])
    assert turn.memories.empty


@pytest.mark.parametrize("broken", ["is_empty", "revalidate"])
async def test_a_memory_that_cannot_be_read_is_told_once_and_keeps_what_stood_in_the_prompt(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To take it out would begin a prompt generation, for a failure that may be over in a moment."""

    async def fails(*_: Any, **__: Any) -> None:
        raise StorageError("The disk is gone.")

    prompted = PromptMemories("likes tea", {"m_1": "d"}, 0) if broken == "revalidate" else None
    async with turn_at_work(tmp_path, memory=True) as turn:
        assert turn.deps.memory is not None
        monkeypatch.setattr(turn.deps.memory.recall, broken, fails)
        history, reason = await revalidate(turn, History([ASKED], memories=prompted))
        history = await retrieve(turn, await render_in_prompt(turn, history))
        events = await stored(turn)

    assert reason is None
    assert [each["data"]["code"] for each in events] == ["memory_unavailable"]
    assert (history.memories.text if history.memories else None) == ("likes tea" if prompted else "")
