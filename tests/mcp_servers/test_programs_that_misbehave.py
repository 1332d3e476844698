"""Servers that are programs: what they may do wrong, and that they end with us."""

import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.errors import ServerUnreachable, ToolTimedOut
from gateway.settings.value_types import McpServer
from gateway.tools.mcp import bounds, reconnecting_server, stdio_transport
from gateway.tools.time_limit import run_in_time
from tests.loopback import TIMEOUT
from tests.mcp_servers.serving import attached, body, context, program

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop that the server runs on: it starts programs in its own way."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here has to wait as long as a person would let it."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (0.01,))
    monkeypatch.setattr(reconnecting_server, "SETTLING", 0.05)
    monkeypatch.setattr(stdio_transport, "GRACE", 0.3)


def scripted(way: str, **settings: object) -> McpServer:
    return program("scripted.py", way, **settings)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("way", ["plain", "chatty"])
async def test_a_server_that_chats_on_its_standard_output_is_understood_all_the_same(way: str) -> None:
    """Lines that are no messages are passed over."""
    async with attached(it=scripted(way)) as servers:
        assert servers.names() == ["mcp__it__echo", "mcp__it__pid"]
        assert json.loads(body(await servers.call("echo", text="你好"))) == {"text": "你好"}


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("silent", "it was not ready within 0.5 seconds"),
        ("version", "it speaks no version of the protocol that is known here"),
        ("flood", "it writes something else than messages to its standard output"),
        ("endless", f"it sent a message of more than {bounds.MESSAGE} bytes"),
    ],
)
async def test_a_server_that_cannot_be_spoken_to_has_no_tools_and_a_reason(way: str, reason: str) -> None:
    """Whatever comes instead of messages, or does not come."""
    async with attached(it=scripted(way, connect_timeout=0.5 if way == "silent" else TIMEOUT)) as servers:
        assert servers.state.status == "failed"
        assert servers.state.error == reason
        assert servers.servers.tools == ()


async def test_a_server_that_is_never_there_is_reported_once(tmp_path: Path) -> None:
    """It is tried again and again, and has been away since the first time."""
    starts = tmp_path / "starts"
    starts.touch()
    broken = program("-c", "import sys; open(sys.argv[1], 'a').write('+'); sys.exit(4)", str(starts))
    with capture_logs() as lines:
        async with attached(it=broken) as servers:
            since = servers.state.since
            await servers.until(lambda: len(starts.read_text()) >= 4)
            assert servers.state.since == since

    assert [line["error"] for line in lines] == ["it has ended with exit code 4"]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"command": "/no/such/program"}, "its program cannot be started: No such file or directory"),
        ({"cwd": "/no/such/folder"}, "its program cannot be started: No such file or directory"),
        ({}, "it has ended with exit code 4"),
    ],
)
async def test_a_program_that_does_not_start_is_named_without_its_path(
    settings: dict[str, str], reason: str
) -> None:
    """What the model may read of it tells nothing of this machine."""
    async with attached(it=program("-c", "raise SystemExit(4)", **settings)) as servers:
        assert servers.state.error == reason


async def test_one_server_that_fails_takes_nothing_from_the_others() -> None:
    """Tools of the server that works are there."""
    async with attached(good=scripted("plain"), bad=program("-c", "", command="/no/such/program")) as servers:
        assert [state.status for state in servers.servers.states] == ["failed", "connected"]
        assert servers.names() == ["mcp__good__echo", "mcp__good__pid"]


async def test_a_server_that_dies_in_a_call_comes_back_with_the_same_tools() -> None:
    """The call says that its effect is in doubt, the tools stay in place meanwhile, the log says why without
    the secret that the server gave away, and the next call works."""
    with capture_logs() as lines:
        async with attached(it=scripted("quits", env={"TRIAL_TOKEN": "t-12345678"})) as servers:
            tools = servers.servers.tools
            with pytest.raises(
                ServerUnreachable, match=r"lost in the call.*may or may not have taken effect"
            ):
                await servers.call("echo")
            assert servers.servers.tools is tools
            await servers.until(lambda: servers.state.status == "failed")
            await servers.until(lambda: servers.state.status == "connected")
            assert servers.servers.tools is tools
            assert body(await servers.call("pid")).isdigit()

    (lost,) = [line for line in lines if line["event"] == "mcp_server_unreachable"]
    assert lost["error"] == "it has ended with exit code 7"
    assert lost["detail"] == "leaving with [redacted]"
    assert "t-12345678" not in repr(lines)


async def test_while_a_server_is_away_its_tools_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call during the pause fails at once, and says that nothing was done."""
    monkeypatch.setattr(reconnecting_server, "PAUSES", (600.0,))
    async with attached(it=scripted("quits", env={"TRIAL_TOKEN": "t-12345678"})) as servers:
        with pytest.raises(ServerUnreachable):
            await servers.call("echo")
        await servers.until(lambda: servers.state.error == "it has ended with exit code 7")
        with pytest.raises(ServerUnreachable) as caught:
            await servers.call("pid")

    assert caught.value.message == (
        "The MCP server 'it' is not reachable now: it has ended with exit code 7. "
        "It is being reconnected. Nothing was done."
    )


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("huge", f"it sent a message of more than {bounds.MESSAGE} bytes"),
        ("parts", f"it sent a message of more than {bounds.PARTS} objects, lists and values"),
    ],
)
async def test_an_answer_beyond_all_bounds_ends_the_session_and_not_the_gateway(
    way: str, reason: str
) -> None:
    """51 MB in one line, or what would become as much in memory: the call fails with the reason, and the
    server is started anew."""
    async with attached(it=scripted(way)) as servers:
        with pytest.raises(ServerUnreachable, match=reason):
            await servers.call("echo")
        await servers.until(lambda: servers.state.status == "failed")
        await servers.until(lambda: servers.state.status == "connected")


async def test_brackets_in_text_are_text() -> None:
    """A text of many lists is one string: the call gets it, and the session goes on."""
    async with attached(it=scripted("brackets")) as servers:
        assert body(await servers.call("echo")) == "[1,2]," * 110_000
        assert servers.state.status == "connected"


async def test_a_server_that_hangs_is_started_anew() -> None:
    """A call that took too long is not enough; but then it answers nothing for as long as a call may take."""
    async with attached(it=scripted("hangs", timeout=0.3)) as servers:
        pid = body(await servers.call("pid"))
        with pytest.raises(ToolTimedOut):
            await run_in_time(servers.tool("echo"), {}, context())
        await servers.until(lambda: servers.state.error == "it does not answer any more")
        await servers.until(lambda: servers.state.status == "connected")
        assert body(await servers.call("pid")) != pid


async def test_a_list_is_read_as_far_as_it_is_bearable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after so many bytes is left out, and the log says why."""
    monkeypatch.setattr(bounds, "LIST", 50)
    with capture_logs() as lines:
        async with attached(it=scripted("plain")) as servers:
            assert servers.names() == ["mcp__it__echo"]

    (logged,) = [line for line in lines if line["event"] == "mcp_tools_left_out"]
    assert logged["tools"] == ["pid: the list has more than 50 bytes"]


async def test_a_list_of_nonsense_is_not_read_to_its_end() -> None:
    """What is no tool counts too, over all pages."""
    with capture_logs() as lines:
        async with attached(it=scripted("nonsense")) as servers:
            assert servers.names() == []

    (logged,) = [line for line in lines if line["event"] == "mcp_tools_left_out"]
    assert logged["number"] == bounds.LISTED


async def test_an_answer_with_nothing_that_can_be_read_says_so() -> None:
    """The session goes on."""
    async with attached(it=scripted("result")) as servers:
        assert body(await servers.call("echo")) == "(no output)"
        assert body(await servers.call("pid")).isdigit()


async def test_a_thousand_tools_are_cut_to_what_is_bearable() -> None:
    """The first ones are offered and the log says that there were more."""
    with capture_logs() as lines:
        async with attached(it=scripted("many")) as servers:
            assert len(servers.servers.tools) == bounds.TOOLS

    (logged,) = [line for line in lines if line["event"] == "mcp_tools_left_out"]
    assert logged["number"] == 1000 - bounds.TOOLS
    assert "more than 256 tools" in logged["tools"][0]


async def test_a_list_without_end_is_not_read_to_its_end() -> None:
    """Pages that always name a next one: enough is enough."""
    async with attached(it=scripted("pages")) as servers:
        assert servers.state.status == "connected"
        assert servers.names() == ["mcp__it__echo", "mcp__it__pid"]


async def test_a_tool_that_is_none_costs_the_others_nothing() -> None:
    """What cannot be used is left out and named with the reason, once; what else the list carries is not
    looked at, and a result is not checked against the server's own patterns."""
    with capture_logs() as lines:
        async with attached(it=scripted("odd")) as servers:
            usable = ["checked", "echo", "no_schema", "odd_hint", "pid"]
            assert servers.names() == [f"mcp__it__{name}" for name in usable]
            assert json.loads(body(await servers.call("checked"))) == {"a": "a" * 60 + "!"}

    (logged,) = [line for line in lines if line["event"] == "mcp_tools_left_out"]
    reasons = dict(text.split(": ", 1) for text in logged["tools"] if not text.startswith("?"))
    assert logged["number"] == 5
    assert reasons["huge_schema"].startswith("its schema has ")
    assert reasons["far_schema"] == "its schema refers to 'http://x.test/s', which is not a part of it"
    assert set(reasons) == {"list_schema", "huge_schema", "far_schema"}


async def test_a_list_that_always_changes_is_asked_for_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notice each 10 ms: the list is followed, and asked for far less often than it is announced."""
    monkeypatch.setattr(reconnecting_server, "SETTLING", 0.2)
    async with attached(it=scripted("fickle")) as servers:
        for _ in range(2):
            before = servers.names()
            await servers.until(lambda: servers.names() != before)  # noqa: B023 - waited for at once

        asked = json.loads(body(await servers.call("asked")))
        assert asked["lists"] * 2 <= asked["notices"]
        assert servers.state.status == "connected"


async def test_a_program_that_ignores_sigterm_ends_with_us() -> None:
    """First its input is closed, then it is asked, then it is killed."""
    async with attached(it=scripted("deaf")) as servers:
        pid = int(body(await servers.call("pid")))
        assert is_running(pid)

    assert not is_running(pid)


async def test_what_a_program_started_ends_with_it() -> None:
    """No process is left behind by a server that ends by itself and forgets its own."""
    async with attached(it=scripted("child")) as servers:
        child, pid = [int(body(await servers.call(name))) for name in ("child", "pid")]
        assert is_running(child)

    await servers.until(lambda: not is_running(child))  # it was killed; the system buries it
    assert not is_running(pid)
