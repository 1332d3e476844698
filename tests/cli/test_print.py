"""`gateway chat --print`: for scripts that were written for `claude --print`."""

import json
import signal
import subprocess
from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from gateway.cli.chat.printed import tools_of
from gateway.client import GatewayClient
from tests.cli.calling import Command
from tests.running import TIMEOUT, Running, clean_environment, gateway_process

NOTE = "Note that the door code is 4711."


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway of their own: what is said to it is remembered."""
    with gateway_process(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


def _lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_the_answer_is_printed_and_nothing_else(command: Command, running: Running) -> None:
    """Of a turn with tools that is the text after the last of them."""
    asked = command("chat", "--print", "What is 17*23?", "--url", running.url, given=b"")

    assert asked.code == 0
    assert asked.out.startswith("17*23 = **391**\n")
    assert asked.err == ""


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (("/say one",), b"", "one"),
        ((), b"/say two", "two"),
        (("/say one",), b"/say two\n", "one\ntwo"),
        ((), b"/say caf\xe9", "caf\ufffd"),
    ],
)
def test_the_question_is_the_argument_and_what_is_on_stdin(
    command: Command, running: Running, arguments: tuple[str, ...], given: bytes, message: str
) -> None:
    """One below the other; bytes that are no text are U+FFFD."""
    asked = command("chat", "-p", *arguments, "--url", running.url, given=given)

    assert asked.out == f"{message}\n"


def test_without_a_question_it_says_so(command: Command, running: Running) -> None:
    """An empty stdin is none."""
    assert command("chat", "-p", "--url", running.url, given=b" \n").code == 2


def test_json_is_one_object_with_the_documented_fields(command: Command, running: Running) -> None:
    """The fields of an SDKResultMessage."""
    asked = command(
        "chat", "-p", "What is 17*23?", "--output-format", "json", "--url", running.url, given=b""
    )
    (result,) = _lines(asked.out)

    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "success", False)
    assert result["result"].startswith("17*23 = **391**")
    assert result["num_turns"] == 2
    assert result["duration_ms"] >= result["duration_api_ms"] >= 0
    assert result["total_cost_usd"] is None
    assert set(result["usage"]) == {
        *("input_tokens", "output_tokens"),
        *("cache_creation_input_tokens", "cache_read_input_tokens"),
    }
    assert (result["permission_denials"], result["stop_reason"]) == ([], "end_turn")
    assert len(result["uuid"]) == 36
    with GatewayClient(running.url) as client:
        assert client.session(result["session_id"])["title"] == "What is 17*23?"


def test_stream_json_has_a_line_for_each_message(command: Command, running: Running) -> None:
    """The system's, then those of the model and its tools as the Messages API has them, then the result."""
    stream = ("--output-format", "stream-json", "--verbose")
    asked = command("chat", "-p", "What is 17*23?", *stream, "--url", running.url, given=b"")
    system, called, gave, said, result = _lines(asked.out)

    assert (system["type"], system["subtype"], system["model"]) == ("system", "init", "demo")
    assert "calculate" in system["tools"]
    text, call = called["message"]["content"]
    assert (called["type"], called["message"]["stop_reason"]) == ("assistant", "tool_use")
    assert (text["type"], call["type"], call["name"]) == ("text", "tool_use", "calculate")
    assert gave["type"] == "user"
    assert gave["message"]["content"] == [
        {"type": "tool_result", "tool_use_id": call["id"], "content": "391", "is_error": False}
    ]
    assert said["message"]["content"][0]["text"] == result["result"]
    assert said["message"]["usage"]["output_tokens"] > 0
    assert {each["session_id"] for each in (system, called, gave, said)} == {result["session_id"]}
    assert {each["parent_tool_use_id"] for each in (called, gave, said)} == {None}


def test_what_is_withdrawn_is_in_no_message(command: Command, running: Running) -> None:
    """An attempt that was superseded leaves nothing behind."""
    asked = command(
        *("chat", "-p", "/fault clean_truncation once\n/say whole", "--output-format", "stream-json"),
        *("--url", running.url),
        given=b"",
    )
    said = [each for each in _lines(asked.out) if each["type"] == "assistant"]

    assert [each["message"]["content"] for each in said] == [[{"type": "text", "text": "whole"}]]


def test_a_turn_that_fails_is_an_error(command: Command, running: Running) -> None:
    """Exit code 1; the reason is on stderr, or in the result."""
    at = ("--url", running.url)
    plain = command("chat", "-p", "/fault http_401", *at, given=b"")
    asked = command("chat", "-p", "/fault http_401", "--output-format", "json", *at, given=b"")
    (result,) = _lines(asked.out)

    assert (plain.code, plain.out) == (1, "")
    assert "refused the API key" in plain.err
    assert (asked.code, result["subtype"], result["is_error"]) == (1, "error_during_execution", True)
    assert "refused the API key" in result["errors"][0]


def test_nobody_can_be_asked_so_a_call_is_denied(command: Command, running: Running) -> None:
    """The message says how to allow it, and the result which calls were denied."""
    asked = command("chat", "-p", NOTE, "--output-format", "json", "--url", running.url, given=b"")
    (result,) = _lines(asked.out)

    assert asked.code == 0
    assert asked.err == "gateway: write_note was denied. --allowed-tools write_note allows it.\n"
    assert [each["tool_name"] for each in result["permission_denials"]] == ["write_note"]
    assert result["permission_denials"][0]["tool_input"] == {"text": "the door code is 4711."}
    assert "Nobody can be asked" in result["result"]


@pytest.mark.parametrize(
    "allowed",
    [("--allowed-tools", "write_*"), ("--allowedTools", "x, write_note"), ("--allowedTools", "x write_note")],
)
def test_a_call_that_is_allowed_runs(command: Command, running: Running, allowed: tuple[str, ...]) -> None:
    """By name or by a glob, this once."""
    asked = command("chat", "-p", NOTE, *allowed, "--url", running.url, given=b"")

    assert asked.out.startswith("`write_note` returned:")
    assert asked.err == ""


def test_a_server_alone_stands_for_its_tools() -> None:
    """As in the rules of Claude Code; a tool of it stands for itself."""
    globs = tools_of(["mcp__files,note", "mcp__mail__send"])
    for name, allowed in (
        ("mcp__files__delete", True),
        ("mcp__files2__delete", False),
        ("mcp__mail__send", True),
        ("mcp__mail__send__all", False),
    ):
        assert any(fnmatchcase(name, each) for each in globs) == allowed, name


def test_a_session_goes_on(command: Command, running: Running) -> None:
    """By its id with --resume, as json tells it, or the last one with --continue."""
    first = command(
        *("chat", "-p", "My cat is called Tofu.", "--output-format", "json", "--url", running.url), given=b""
    )
    (told,) = _lines(first.out)
    for go_on in (("--resume", told["session_id"]), ("--continue",)):
        asked = command("chat", "-p", *go_on, "What is my cat called?", "--url", running.url, given=b"")
        assert "Tofu" in asked.out
    refused = command("chat", "-p", "--resume", "s_none", "hi", "--url", running.url, given=b"")

    assert refused.code == 1
    assert "There is no session s_none at" in refused.err


def test_instructions_come_beside_the_prompt(command: Command, running: Running) -> None:
    """The session has them from then on."""
    given = ("--append-system-prompt", "Answer as a pirate.", "--output-format", "json")
    (result,) = _lines(command("chat", "-p", "/say Ahoy.", *given, "--url", running.url, given=b"").out)

    with GatewayClient(running.url) as client:
        assert client.session(result["session_id"])["instructions"] == "Answer as a pirate."


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_turn_and_tells_the_rest(
    how: signal.Signals, code: int, running: Running, tmp_path: Path, program: str
) -> None:
    """Of Ctrl-C, or of `timeout`: the turn does not go on without its script, and the result is printed."""
    with subprocess.Popen(
        [
            *(program, "chat", "-p", "/pieces 2000 /pace 20"),
            *("--output-format", "stream-json", "--url", running.url),
        ],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        begun = next(process.stdout)
        process.send_signal(how)
        lines = [begun, *process.stdout.readlines()]
        process.wait(TIMEOUT)

    assert process.returncode == code
    result = json.loads(lines[-1])
    assert result["subtype"] == "error_during_execution"
    with GatewayClient(running.url) as client:
        turns = client.turns()["turns"]
    assert [each["outcome"] for each in turns if each["session_id"] == result["session_id"]] == ["cancelled"]


def test_its_options_need_it(command: Command, running: Running) -> None:
    """An output format without --print is a mistake, and so are two sessions."""
    assert command("chat", "hi", "--output-format", "json", "--url", running.url).code == 2
    assert command("chat", "hi", "--continue", "--resume", "s_1", "--url", running.url).code == 2
