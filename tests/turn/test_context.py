"""What the steps of a turn share: the history as the model is told it, and the prompt before it."""

from pathlib import Path

import pytest

from gateway.messages import Message, text_block
from gateway.storage.messages import History, PromptMemories, StoredMessage
from gateway.tools.base import Said
from gateway.turn.model_call import may_think
from tests.storage.saying import version
from tests.turn.working import turn_at_work

pytestmark = pytest.mark.anyio

ASKED = Message("user", [text_block("hello")])
ANSWERED = Message("assistant", [text_block("hi")])


async def test_what_is_added_is_in_the_view_and_in_the_history_at_its_next_position(tmp_path: Path) -> None:
    """The history that it was given stays as it was."""
    given = History([StoredMessage(7, "t", ASKED)])
    async with turn_at_work(tmp_path) as turn:
        turn.use(given)
        turn.add(ANSWERED)

    assert turn.messages == [ASKED, ANSWERED]
    assert [(item.position, item.turn_id) for item in turn.history.messages] == [(7, "t"), (8, "t")]
    assert turn.said() == [Said(7, "hello")]
    assert len(given.messages) == 1


async def test_what_was_compressed_can_be_looked_up_and_the_prompt_says_so(tmp_path: Path) -> None:
    """The tool is there with the version, and not before; the prefix is another one then."""
    plain = History([StoredMessage(7, "t", ASKED)])
    compressed = History(plain.messages, compression=version(1, 1, 6, session_id="s"))
    async with turn_at_work(tmp_path) as turn:
        turn.use(plain)
        before = (len(turn.tools), turn.prefix.prefix_hash)
        as_if = turn.prompt.prefix(plain, compressed=True)
        turn.use(compressed)

    assert len(turn.tools) == before[0] + 1
    assert "read_archive" in turn.tools
    assert turn.prefix.prefix_hash == as_if.prefix_hash != before[1]


async def test_memories_and_former_sessions_stand_in_the_prompt_of_their_session(tmp_path: Path) -> None:
    """Two sessions with the same components have different prefixes because of them."""
    async with turn_at_work(tmp_path) as turn:
        bare = turn.prompt.prefix(History([]))
        told = turn.prompt.prefix(History([], carried="before", memories=PromptMemories("likes tea", {}, 0)))

    assert "likes tea" in told.system[-1]["text"]
    assert "before" in told.system[-1]["text"]
    assert bare.prefix_hash != told.prefix_hash


@pytest.mark.parametrize(("generation_from", "may"), [(0, True), (1, True), (2, False)])
def test_a_turn_whose_thought_was_signed_for_another_prefix_does_not_think_again(
    generation_from: int, may: bool
) -> None:
    """While its tools run, the API wants the thought that led to the first call."""
    items = [StoredMessage(1, "t", ASKED), StoredMessage(2, "t", ANSWERED)]

    assert may_think(History(items, generation_from=generation_from), "t") is may
    assert may_think(History(items, generation_from=generation_from), "t2")
