"""Tools on the command line: listed, and one run alone."""

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from gateway import wiring
from tests.cli.calling import Command
from tests.cli.shop import refunded
from tests.mcp_servers.serving import program
from tests.product import CallResult, load_settings, now_ms
from tests.running import TIMEOUT, clean_environment


@pytest.fixture(autouse=True)
def shop(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools of the shop are there, and nothing is refunded yet."""
    monkeypatch.setenv("GATEWAY_SKILL_MODULES", "tests.cli.shop")
    refunded.clear()


def test_the_list_shows_effects_and_parameters(command: Command) -> None:
    """Optional parameters carry a question mark."""
    lines = [line.split() for line in command("tools", "list").out.splitlines()]

    assert ["calculate", "read_only", "expression"] in lines
    assert ["refund", "effectful", "order_id,", "reason?"] in lines


def test_a_run_shows_result_steps_and_progress(command: Command) -> None:
    """The result alone is on stdout; what happened on the way is on stderr, in order."""
    ran = command("tools", "run", "order_status", '{"order_id": "A-17"}')

    assert (ran.code, ran.out) == (0, "订单 A-17：在路上\n")
    progress, problem, step, memory, status = ran.err.splitlines()
    assert progress == "… 50% 看了一半"
    assert problem.startswith("! memory_writes[1].content: ")
    assert re.fullmatch(r"step-1  查找订单  \d+ ms", step)
    assert memory == "✎ fact of user local: 买过书"
    assert re.fullmatch(r"← order_status ok in \d+ ms", status)


def test_verbose_shows_what_went_into_steps(command: Command) -> None:
    """-v adds each step's input and output."""
    lines = command("tools", "run", "order_status", '{"order_id": "A-17"}', "-v").err.splitlines()

    place = next(index for index, line in enumerate(lines) if line.startswith("step-1"))
    assert lines[place + 1 : place + 3] == ['    input   {"order":"A-17"}', '    output  ["在路上"]']


def test_json_is_the_data_of_the_event(command: Command) -> None:
    """`--json` prints what the tool_result event of such a call holds, also of a call that fails."""
    ran = command("tools", "run", "order_status", '{"order_id": "A-17"}', "--json")
    failed = command("tools", "run", "stumble", "--json")

    result = CallResult.model_validate_json(ran.out)
    assert (result.name, result.status, result.content) == ("order_status", "ok", "订单 A-17：在路上")
    assert [step.step_name for step in result.steps or ()] == ["查找订单"]
    assert [write.content for write in result.memory_writes or ()] == ["买过书"]
    assert failed.code == 1
    assert json.loads(failed.out)["steps"][0]["error"] == "KeyError"


@pytest.mark.parametrize(
    ("tool", "status", "message"),
    [
        ("refuse", "error", "✗ 没有这个订单。"),
        ("stumble", "error", "✗ The tool failed: KeyError."),
        ("dawdle", "timeout", "✗ The tool gave no answer within 0.05 seconds."),
    ],
)
def test_a_tool_that_fails(command: Command, tool: str, status: str, message: str) -> None:
    """The exit code is 1, stdout stays empty, and what the model would read is on stderr."""
    ran = command("tools", "run", tool)

    assert (ran.code, ran.out) == (1, "")
    assert re.search(rf"^← {tool} {status} in \d+ ms\n{re.escape(message)}\n", ran.err, re.MULTILINE)


def test_an_exception_is_told_to_the_author(command: Command) -> None:
    """What it says and where it was raised, without control characters; with -v the traceback."""
    short, long = command("tools", "run", "stumble"), command("tools", "run", "stumble", "-v")

    assert re.search(r"^KeyError: '钥匙\\x1b\[2J', at .*shop\.py:\d+ in stumble$", short.err, re.MULTILINE)
    assert "✗ KeyError" in short.err
    assert "Traceback" not in short.err
    assert "Traceback (most recent call last):" in long.err


def test_what_a_model_would_not_read_is_told(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person is shown the whole result, but nothing that steers the terminal."""
    monkeypatch.setenv("GATEWAY_ARTIFACT_TOKENS", "1024")

    ran = command("tools", "run", "talk")

    assert ran.out == "[31m" + "长" * 2000 + "\n"
    assert "! A model would get its compact form: it has about 2403 tokens, 1024 is the limit.\n" in ran.err


def test_files_are_told_by_type_and_size(command: Command) -> None:
    """What would be kept aside in a turn is not written to a terminal; its name is as it would be there."""
    ran = command("tools", "run", "draw")

    assert (ran.code, ran.out) == (0, "\n")
    assert "+ 图.png, image/png, 9 bytes: an artifact in a turn\n" in ran.err


def test_effects_need_a_yes(command: Command) -> None:
    """Where nobody can be asked, a tool with effects runs with --yes only."""
    refused = command("tools", "run", "refund", '{"order_id": "1"}', given=b"y\n")
    assert (refused.code, refunded) == (1, [])
    assert "add --yes" in refused.err

    ran = command("tools", "run", "refund", '{"order_id": "1"}', "--yes", given=b"")
    assert (ran.code, ran.out, refunded) == (0, "退款 1\n", ["1"])


@pytest.mark.parametrize(("answer", "code", "done"), [("y\n", 0, ["1"]), ("n\n", 1, []), ("\n", 1, [])])
def test_a_person_is_asked_at_a_terminal(
    command: Command, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, done: list[str]
) -> None:
    """The question is on stderr, and no is what Enter means."""
    keyboard, terminal = pty.openpty()
    with os.fdopen(keyboard, "wb", buffering=0) as typed, os.fdopen(terminal) as stdin:
        typed.write(answer.encode())
        monkeypatch.setattr(sys, "stdin", stdin)
        ran = command("tools", "run", "refund", '{"order_id": "1"}')

    assert (ran.code, refunded) == (code, done)
    assert "refund has effects. Run it? [y/N]" in ran.err


def test_arguments_can_come_from_stdin(command: Command) -> None:
    """`-` reads them there, as UTF-8."""
    given = '{"expression": "１７ * 23"}'.encode()

    assert command("tools", "run", "calculate", "-", given=given).out == "391\n"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (b"{bad", "not valid JSON"),
        (b"", "not valid JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1, "a": 2}', "a key appears twice"),
        (b"\xff", "not UTF-8"),
        (b"[" * 5000, "nested deeper than"),
        (b" " * 1_048_577, "more than 1048576 bytes"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_arguments_that_are_no_json_object(command: Command, given: bytes, problem: str) -> None:
    """What is wrong is told, with an example of what is right."""
    refused = command("tools", "run", "calculate", "-", given=given)

    assert refused.code == 2
    assert problem in refused.err
    assert '\'{"query": "resume"}\'' in refused.err


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("{}", "order_id: is required and missing"),
        ('{"order_id": 1}', "order_id: must be text, got 1"),
        ('{"order_id": "1", "订单": 1}', "订单: there is no such parameter"),
    ],
)
def test_arguments_that_do_not_fit(command: Command, given: str, problem: str) -> None:
    """They are refused before anything is asked or run, with the tool's parameters."""
    refused = command("tools", "run", "refund", given, "--yes")

    assert (refused.code, refunded) == (1, [])
    assert problem in refused.err
    assert refused.err.endswith("Its parameters: order_id, reason?.\n")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("refnd", "There is no tool refnd. Did you mean refund?"),
        ("退款", "There is no tool 退款. `gateway tools list` shows those there are."),
        ("钥匙\x1b[2J", "There is no tool 钥匙[2J. `gateway tools list` shows those there are."),
        ("mcp__x__y", "There is no tool mcp__x__y. `gateway tools list --mcp` shows those there are."),
        ("hand-over", "hand-over is a written skill, not a tool: read it with read_skill"),
    ],
)
def test_a_name_that_is_no_tool(command: Command, name: str, message: str) -> None:
    """The names that are near are told, or where all of them are."""
    refused = command("tools", "run", name)

    assert refused.code == 1
    assert refused.err.startswith(f"gateway: {message}")


def test_a_tool_that_is_switched_off_does_not_run(command: Command) -> None:
    """As a gateway on this folder would have it."""

    async def switch_off() -> None:
        async with wiring.open_storage(load_settings()) as storage:
            await storage.switches.switch("refund", enabled=False, by="ada", at=now_ms())

    asyncio.run(switch_off())
    refused = command("tools", "run", "refund", '{"order_id": "1"}', "--yes")

    assert (refused.code, refunded) == (1, [])
    assert refused.err == "gateway: refund is switched off, so it cannot be used.\n"


def test_a_written_skill_is_read(command: Command) -> None:
    """read_skill works on the same catalog."""
    ran = command("tools", "run", "read_skill", '{"name": "hand-over"}')

    assert ran.code == 0
    assert ran.out.startswith("<skill>\n")
    assert "交接说明" in ran.out


def test_a_tool_of_an_mcp_server(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server is started for it, and for it alone; one that cannot be is named."""
    server = program("scripted.py", "plain")
    servers = {
        "shop": {"command": server.command, "args": server.args},
        "gone": {"command": "there-is-no-such-program"},
    }
    monkeypatch.setenv("GATEWAY_MCP_SERVERS", json.dumps(servers))

    ran = command("tools", "run", "mcp__shop__echo", '{"说": "你好"}', "--yes")
    near = command("tools", "run", "mcp__shop__eco", "--yes")
    gone = command("tools", "run", "mcp__gone__echo", "--yes")

    assert ran.code == 0
    assert '{"说": "你好"}' in ran.out
    assert ran.err.startswith("Connecting to MCP servers: shop …\n")
    assert "Did you mean mcp__shop__echo" in near.err
    assert gone.code == 1
    assert "gateway: The MCP server gone is not reachable: its program cannot be started" in gone.err


def test_ctrl_c_stops_a_run(program: str) -> None:
    """A tool that runs is cancelled, and the exit code says how it ended."""
    environment = clean_environment(GATEWAY_SKILL_MODULES="tests.cli.shop")
    with subprocess.Popen(
        [program, "tools", "run", "wait"], env=environment, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "… it waits\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(TIMEOUT) == 130
        assert "Traceback" not in running.stderr.read()
