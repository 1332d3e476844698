"""The source of tools as a whole: with nothing to connect, with nothing to connect with, and at its end."""

import asyncio
import subprocess
import sys

import pytest
from structlog.testing import capture_logs

from gateway.tools.mcp import server
from gateway.tools.mcp.servers import McpServers
from tests.mcp_servers.serving import PATIENCE, address, program

pytestmark = pytest.mark.anyio

WITHOUT_SERVERS = """
import asyncio, sys
from gateway.tools.mcp.servers import McpServers
source = McpServers({}, changed=lambda: None)
asyncio.run(source.run())
asyncio.run(source.tried())
print(source.tools, source.states, "mcp" in sys.modules)
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def nothing() -> None:
    pass


def test_without_servers_the_sdk_is_not_imported() -> None:
    """Who has no servers does not pay for them."""
    report = subprocess.run(
        [sys.executable, "-c", WITHOUT_SERVERS], capture_output=True, text=True, check=False
    )

    assert report.stdout == "() () False\n", report.stderr


async def test_without_the_sdk_the_log_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway runs, without those tools."""
    monkeypatch.delitem(sys.modules, "gateway.tools.mcp.connection", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    source = McpServers({"it": program("scripted.py", "plain")}, changed=nothing)
    with capture_logs() as lines:
        await source.run()
        await source.tried()

    assert source.tools == ()
    assert [state.status for state in source.states] == ["failed"]
    assert [line["event"] for line in lines] == ["mcp_server_unreachable"]
    assert "pip install 'chat-gateway[mcp]'" in lines[0]["error"]


async def test_it_ends_at_whatever_moment_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the middle of a failure, where libraries lose a cancellation."""
    monkeypatch.setattr(server, "PAUSES", (0.0,))
    for steps in range(0, 120, 5):
        servers = {"gone": address("http://127.0.0.1:9"), "away": program("-c", "")}
        running = asyncio.create_task(McpServers(servers, changed=nothing).run())
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        done, _ = await asyncio.wait((running,), timeout=PATIENCE)

        assert running in done
        assert running.cancelled()
