"""A gateway whose record is in PostgreSQL: the same stories, and what only a server can do to it."""

from pathlib import Path

import pytest

from gateway.settings import Settings
from tests.harness import running_gateway, settings_for, text_of
from tests.postgres import database_in, needs_postgres

pytestmark = [*needs_postgres, pytest.mark.anyio]


@pytest.fixture
def settings(tmp_path: Path, demo_url: str) -> Settings:
    return settings_for(tmp_path / "data", demo_url, database_url=database_in(tmp_path))


async def test_a_conversation_outlives_the_process(settings: Settings) -> None:
    """Tools, memory and the answer are in the log as they were streamed; another process reads and continues
    it."""
    async with running_gateway(settings) as client:
        streamed = await client.chat("What is 17*23?")
        session = streamed[0]["session_id"]
        streamed += await client.chat("Remember that I like plain words.", session_id=session)
        assert await client.events(session) == streamed

    async with running_gateway(settings) as client:
        assert await client.events(session) == streamed
        more = await client.chat("What do you remember about me?", session_id=session)

    assert {event["data"]["status"] for event in streamed + more if event["type"] == "done"} == {"completed"}
    assert "391" in text_of(streamed)
    assert "plain words" in text_of(more)
    assert [event["seq"] for event in streamed + more] == list(range(1, len(streamed + more) + 1))
