"""What the steps of a turn share: the history as the model is told it, and the prompt before it."""

from pathlib import Path

import pytest

from gateway.tools.base import UserMessage
from gateway.tools.policy import SERVER_TOOL
from tests.product import History, Message, StoredMessage, text_block
from tests.turn.working import turn_at_work

pytestmark = pytest.mark.anyio

ASKED = Message("user", [text_block("hello")])
ANSWERED = Message("assistant", [text_block("hi")])


async def test_what_is_added_is_in_the_view_and_in_the_history_at_its_next_position(tmp_path: Path) -> None:
    """The history that it was given stays as it was."""
    given = History([StoredMessage(7, "t", ASKED)])
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(given)
        turn.add(ANSWERED)

    assert turn.messages == [ASKED, ANSWERED]
    assert [(item.position, item.turn_id) for item in turn.history.messages] == [(7, "t"), (8, "t")]
    assert turn.user_messages() == [UserMessage(7, "hello")]
    assert len(given.messages) == 1


async def test_a_page_that_the_endpoint_read_itself_counts_at_once(tmp_path: Path) -> None:
    """A change of what lasts that the same answer, or the next one, asks for may come of that page."""
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    searched = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(History([StoredMessage(1, "t", ASKED)]))
        turn.add(ANSWERED)
        assert turn.progress.tools_read == set()
        turn.add(Message("assistant", [searched, found, text_block("It says so.")]))
        assert turn.progress.tools_read == {SERVER_TOOL}
