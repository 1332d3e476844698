"""`gateway memory` and `gateway mcp` where the memories are in a PostgreSQL database."""

import asyncio
import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.adapters.test_mcp_memory_server import over_http
from tests.cli.calling import Command
from tests.loopback import free_port
from tests.postgres import needs_postgres, new_database
from tests.running import TIMEOUT, clean_environment

pytestmark = needs_postgres


@pytest.fixture
def url(command: Command, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a new database, which the settings name."""
    monkeypatch.setenv("GATEWAY_DATABASE_URL", database := new_database())
    return database


@pytest.mark.usefixtures("url")
def test_commands_share_the_memories_of_the_server(command: Command, tmp_path: Path) -> None:
    """One saves, others find, change, export and delete it; nothing is made in the folder."""
    saved = command("memory", "save", "我喜欢简约的设计风格", "--tag", "设计")
    memory_id = saved.out.split()[0]
    assert (saved.code, saved.err) == (0, "")
    assert memory_id in command("memory", "search", "設計風格").out
    assert memory_id in command("memory", "list", "--tag", "设计").out
    assert command("memory", "list", "--user", "bob", "--json").out.count("m_") == 0
    assert "version 2" in command("memory", "edit", memory_id, "--importance", "5").out
    assert [json.loads(line)["id"] for line in command("memory", "export").out.splitlines()] == [memory_id]
    assert command("memory", "delete", memory_id).code == 0
    assert memory_id not in command("memory", "list").out
    assert memory_id in command("memory", "list", "--deleted").out
    erased = command("memory", "erase", memory_id, "--yes")
    assert (erased.code, erased.err.count("\n")) == (0, 1)
    assert "a gateway takes these words out of the sessions" in erased.err.lower()
    assert memory_id not in command("memory", "list", "--deleted").out

    assert not (tmp_path / "data").exists()


def test_what_a_client_saves_over_mcp_is_there_for_others(command: Command, url: str, program: str) -> None:
    with subprocess.Popen(
        [program, "mcp", "--http", "127.0.0.1:0", "--user", "mia"],
        env=clean_environment(GATEWAY_DATABASE_URL=url),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            found = re.search(r"http://127\.0\.0\.1:\d+", output := process.stderr.readline())
            assert found, output

            async def save() -> str:
                async with over_http(found[0]) as memory:
                    return await memory.saved("每周三开会")

            assert asyncio.run(save()) in command("memory", "list", "--user", "mia").out
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT) == 0
        finally:
            process.kill()


def test_a_server_that_cannot_be_used_is_told_in_one_line(command: Command) -> None:
    """One that is away, and one without our tables."""
    away = command("memory", "list", GATEWAY_DATABASE_URL=f"postgresql://ann@127.0.0.1:{free_port()}/gateway")
    assert (away.code, away.out, away.err.count("\n")) == (1, "", 1)
    empty = command("memory", "list", GATEWAY_DATABASE_URL=new_database("template0"))
    assert (empty.code, empty.out, empty.err.count("\n")) == (1, "", 1)
    assert "gateway migrate" in empty.err
