"""A history that is read a few messages at a time is the one that is read whole."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.message_view import messages_of
from gateway.history.transcript import Folding, fold, view
from gateway.storage.sessions.transcripts import MAX_PAGE, PAGE_SIZE
from tests.product import Message, NotFound, Storage, text_block, tool_result_block
from tests.storage.saying import add_version, ask, finish, talk, tell, version
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
BLOCKS = st.sampled_from(
    [
        text_block("hi"),
        text_block(" "),
        CALL,
        tool_result_block("toolu_1", "there", is_error=False),
        {"type": "thinking", "thinking": "hm", "signature": "x"},
    ]
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=3)), max_size=12
)


@given(MESSAGES, st.lists(st.integers(0, 12), max_size=4))
def test_messages_that_come_a_few_at_a_time_are_folded_the_same(
    messages: list[Message], cuts: list[int]
) -> None:
    """Wherever they are cut: what was given is never changed by what comes later."""
    folding, found = Folding(), list[Message]()
    places = [0, *sorted(min(cut, len(messages)) for cut in cuts), len(messages)]
    for begin, end in pairwise(places):
        given = folding.take(messages[begin:end])
        found += [Message(each.role, list(each.content)) for each in given]

    assert [*found, *folding.end()] == fold(messages)


async def read(storage: Storage, *, without_turn: str | None = None) -> list[Message]:
    outline = await storage.sessions.outline("s", OWNER)
    pages = messages_of(storage.sessions, outline, without_turn=without_turn)
    return [message async for page in pages for message in page]


async def test_a_long_session_comes_in_pages_that_are_bounded(storage: Storage) -> None:
    """Few messages at a time, fewer when they are large; together they are the view, compressed or not."""
    await talk(storage, MAX_PAGE)
    writer = await ask(storage, "s", "large", "and at length?")
    for _ in range(60):
        await tell(writer, "iteration_end", Message("assistant", [text_block("x" * PAGE_SIZE)]))
    await finish(writer)
    outline = await storage.sessions.outline("s", OWNER)
    sizes = [len(page) async for page in storage.sessions.pages(outline)]

    assert sum(sizes) == 2 * MAX_PAGE + 61
    assert max(sizes) <= MAX_PAGE
    assert sizes[-9:] == [1] * 9
    assert await read(storage) == fold(view(await storage.sessions.history("s")))
    await add_version(storage, version(1, 1, 5, kept=3))
    assert await read(storage) == fold(view(await storage.sessions.history("s")))


async def test_what_the_open_turn_said_can_be_left_out(storage: Storage) -> None:
    """What it asks and what it said so far."""
    await talk(storage, 2)
    before = await read(storage)
    await ask(storage, "s", "open", "and now?")

    assert await read(storage, without_turn="open") == before
    assert len(await read(storage)) == len(before) + 1


async def test_a_session_that_is_deleted_while_it_is_read_ends_in_an_error(storage: Storage) -> None:
    """Not in a list that looks whole."""
    await talk(storage, 9)
    outline = await storage.sessions.outline("s", OWNER)
    pages = storage.sessions.pages(outline)
    await anext(pages)
    await storage.sessions.delete("s", OWNER)

    with pytest.raises(NotFound):
        await anext(pages)
