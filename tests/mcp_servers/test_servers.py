"""The source of tools as a whole: with nothing to connect, with nothing to connect with, and at its end."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.lifespan import model_memory_tools
from gateway.tools.mcp import reconnecting_server
from gateway.tools.mcp.configured_servers import McpServers
from tests.harness import TIMEOUT, running_gateway
from tests.mcp_servers.serving import address, program
from tests.product import Settings, Supervisor

pytestmark = pytest.mark.anyio

WITHOUT_SERVERS = """
import asyncio, sys
from gateway.tools.mcp.configured_servers import McpServers
source = McpServers({}, changed=lambda: None)
asyncio.run(source.run())
asyncio.run(source.tried())
print(source.tools, source.states, "mcp" in sys.modules)
"""


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
    monkeypatch.delitem(sys.modules, "gateway.tools.mcp.sdk_session", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    source = McpServers({"it": program("scripted.py", "plain")}, changed=nothing)
    with capture_logs() as lines:
        await source.run()
        await source.tried()

    assert source.tools == ()
    assert [state.status for state in source.states] == ["failed"]
    assert [line["event"] for line in lines] == ["mcp_server_unreachable"]
    assert "pip install 'mcp>=2.3,<3'" in lines[0]["error"]


async def test_it_ends_at_whatever_moment_it_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in the middle of a failure, where libraries lose a cancellation."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.0,))
    for steps in range(0, 120, 5):
        servers = {"gone": address("http://127.0.0.1:9"), "away": program("-c", "")}
        running = asyncio.create_task(McpServers(servers, changed=nothing).run())
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        done, _ = await asyncio.wait((running,), timeout=TIMEOUT)

        assert running in done
        assert running.cancelled()


@pytest.mark.parametrize(
    ("limits", "longest"), [((12.0, 7.0), 12.0), ((7.0, 600.0), 30.0)], ids=["their own", "the most"]
)
async def test_the_start_waits_as_long_as_servers_may_take(
    limits: tuple[float, ...],
    longest: float,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A call that was approved before a restart is made at once, and needs its tool."""
    servers = {f"it_{limit:g}": program("scripted.py", "plain", connect_timeout=limit) for limit in limits}
    waiting = settings.model_copy(update={"mcp_servers": servers, "log_format": "json", "log_level": "info"})
    async with running_gateway(waiting):
        pass

    (warning,) = [line for line in logged(capsys) if line["event"] == "mcp_servers_awaited"]
    assert (warning["servers"], warning["longest"]) == (sorted(servers), longest)


async def test_the_start_does_not_wait_for_ever(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log names who was late."""
    monkeypatch.setattr(model_memory_tools, "START_TIMEOUT", 0.01)
    servers = {"late": program("scripted.py", "silent")}
    waiting = settings.model_copy(update={"mcp_servers": servers, "log_format": "json", "log_level": "info"})
    async with running_gateway(waiting):
        pass

    (warning,) = [line for line in logged(capsys) if line["event"] == "mcp_servers_not_ready"]
    assert (warning["servers"], warning["waited"]) == (["late"], 0.01)


def logged(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    out, err = capsys.readouterr()
    return [json.loads(line) for line in (out + err).splitlines() if line.startswith("{")]


async def test_a_mistake_with_one_server_ends_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """That one is told to have failed, and is connected again; the other never loses its connection."""
    session, mistakes, other_is_there = reconnecting_server.Server._session, list[str](), asyncio.Event()  # pyright: ignore[reportPrivateUsage]

    async def mistaken(self: reconnecting_server.Server) -> Any:
        if self.name == "bad" and not mistakes:
            await other_is_there.wait()
            mistakes.append(self.name)
            raise KeyError("a mistake")
        return await session(self)

    monkeypatch.setattr(reconnecting_server.Server, "_session", mistaken)
    supervisor, changes = Supervisor(first_pause=0), list[str]()
    servers = {"bad": program("scripted.py", "plain"), "good": program("scripted.py", "plain")}
    source = McpServers(servers, changed=lambda: changes.append("changed"), supervisor=supervisor)

    def states() -> dict[str, tuple[str, int]]:
        return {state.name: (state.status, state.since) for state in source.states}

    async with asyncio.timeout(TIMEOUT), supervisor.running(source.run, "MCP servers"):
        while states()["good"][0] != "connected":
            await asyncio.sleep(0.01)
        before = states()["good"]
        other_is_there.set()
        await source.tried()
        failed = states()["bad"]
        while states()["bad"][0] != "connected":
            await asyncio.sleep(0.01)
        after = states()["good"]

    assert mistakes == ["bad"]
    assert failed[0] == "failed"
    assert before == after
    assert supervisor.failures == {"MCP servers": 0, "MCP server bad": 1, "MCP server good": 0}
