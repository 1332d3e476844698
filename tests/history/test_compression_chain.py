"""Archives of versions: with what comes after them they are the original."""

import asyncio
from itertools import count
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.history.transcript import fold, problems, view
from tests.history.compressing import TEXT, Session, archived, session
from tests.history.conversations import turns
from tests.history.scripted import (
    says,
    user,
)
from tests.product import Message, StoredMessage
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


def line(item: StoredMessage) -> bytes:
    return orjson.dumps(
        {
            "position": item.position,
            "turn_id": item.turn_id,
            "role": item.message.role,
            "content": item.message.content,
            "usage": item.usage.model_dump() if item.usage else None,
        }
    )


def test_archives_and_tail_are_the_original_to_the_byte(tmp_path: Path) -> None:
    """Three compressions in a row over random turns, the last of which may be open: what the archives of the
    chain hold, and what comes after, is what was stored; the view is valid, the newest request is in it."""
    names = count()

    async def story(opened: Session, rounds: list[list[list[Message]]], last: list[Message]) -> None:
        opened.id = f"s_{next(names)}"
        await opened.storage.sessions.create(opened.id, OWNER, None, 1)
        for number, messages in enumerate(rounds, 1):
            await opened.add(user(TEXT), says(TEXT))
            for turn in messages:
                await opened.add(*turn)
            if number == len(rounds):
                await opened.add(*last, end=False)
            await check_next_version(opened, number)

    with asyncio.Runner() as runner:
        opening = session(tmp_path)
        opened = runner.run(opening.__aenter__())

        @settings(max_examples=25)
        @given(st.lists(st.lists(turns(), min_size=1, max_size=4), min_size=3, max_size=3), turns(last=True))
        def holds(rounds: list[list[list[Message]]], last: list[Message]) -> None:
            runner.run(story(opened, rounds, last))

        try:
            holds()
        finally:
            runner.run(opening.__aexit__(None, None, None))


async def check_next_version(opened: Session, version: int) -> None:
    row = await opened.compress()
    assert row.version == version
    stored = await opened.storage.sessions.messages(opened.id)
    chain = await opened.storage.compressions.list(opened.id)
    lines = [line for each in chain for line in await archived(opened, each)]
    tail = [line(item) for item in stored if item.position > row.to_position]
    assert [*lines, *tail] == [line(item) for item in stored]

    history = await opened.storage.sessions.history(opened.id)
    folded = fold(view(history))
    assert problems(folded) == []
    assert fold(folded) == folded
    newest = [
        m.message
        for m in stored
        if m.message.role == "user" and m.message.content[0]["type"] != "tool_result"
    ][-1]
    sent = [block for message in folded for block in message.content]
    assert all(block in sent for block in newest.content)
    assert row.tokens_after < row.tokens_before


async def test_an_archive_has_one_message_a_line(long: Session) -> None:
    """The very JSON that is stored, under its position."""
    row = await long.compress()
    stored = await long.storage.sessions.messages("s", until=row.to_position)

    assert await archived(long, row) == [line(item) for item in stored]
