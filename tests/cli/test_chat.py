"""A conversation in the terminal."""

import json
import signal
import subprocess
from pathlib import Path

import pytest

from gateway.client import GatewayClient
from gateway.session_pages.words import SNIPPETS, describe, printable
from tests.cli.calling import Command
from tests.relay import relaying
from tests.running import TIMEOUT, Running, clean_environment


def test_the_answer_is_on_stdout_and_the_steps_beside_it(command: Command, running: Running) -> None:
    """The answer alone goes to stdout, so that it can be piped; tool calls and results are on stderr."""
    asked = command("chat", "What is 17*23?", "--url", running.url)

    assert asked.code == 0
    assert "391" in asked.out
    assert "→" not in asked.out
    assert '→ calculate {"expression":"17*23"}' in asked.err
    assert "← calculate ok in" in asked.err


def test_json_prints_the_events_of_the_turn_and_nothing_else(command: Command, running: Running) -> None:
    """`--json` prints every event as it came, one a line, from turn_start to done."""
    asked = command("chat", "/pieces 5 /pace 20", "--json", "--url", running.url)

    events = [json.loads(line) for line in asked.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events] == [
        "turn_start",
        "iteration_start",
        *["text"] * 5,
        "iteration_end",
        "done",
    ]
    assert asked.err == ""


def test_a_failed_turn_fails_the_command(command: Command, running: Running) -> None:
    """The reason is told in words, and the exit code is 1."""
    asked = command("chat", "/fault http_401", "--url", running.url)

    assert asked.code == 1
    assert "✗ " in asked.err
    assert "■ failed" in asked.err


@pytest.mark.parametrize("cuts", [(700,), (900, 400, 1500)])
def test_a_lost_connection_loses_nothing(command: Command, cuts: tuple[int, ...], running: Running) -> None:
    """However often and wherever the stream is cut off, every event is printed once and in order."""
    with relaying(running.url, cuts=cuts) as relay:
        asked = command("chat", "/pieces 30 /pace 5", "--json", "--url", relay.url)

    events = [json.loads(line) for line in asked.out.splitlines()]
    assert relay.cuts == []
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "done"
    assert asked.code == 0


def test_control_c_stops_the_turn_on_the_server(running: Running, tmp_path: Path, program: str) -> None:
    """Ctrl-C cancels the turn, waits for its done, and ends with exit code 130."""
    with subprocess.Popen(
        [program, "chat", "/pieces 2000 /pace 20", "--json", "--url", running.url],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [next(process.stdout) for _ in range(4)]
        process.send_signal(signal.SIGINT)
        # Not communicate(): it would miss what was read ahead with these lines.
        lines += process.stdout.readlines()
        output = process.stderr.read()
        process.wait(TIMEOUT)

    events = [json.loads(line) for line in lines]
    assert process.returncode == 130
    assert events[-1]["data"]["status"] == "cancelled"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert output == "\nstopping…\n"


def test_a_pipe_is_one_message_below_the_argument(command: Command, running: Running) -> None:
    """As scripts expect of `git diff | gateway chat "Review this."`: no line is a message of its own."""
    given = b"/say second\n\n/say third\n"
    piped = command("chat", "/say first", "--url", running.url, given=given)
    with GatewayClient(running.url) as client:
        session = client.sessions(limit=1)["sessions"][0]["id"]
        events = client.events(session)["events"]

    assert (piped.code, piped.out) == (0, "first\nsecond\nthird\n")
    assert [each["data"]["input"] for each in events if each["type"] == "turn_start"] == [
        "/say first\n/say second\n\n/say third"
    ]


def test_an_empty_pipe_asks_nothing(command: Command) -> None:
    """It is a wrong call, and waits for nobody."""
    nothing = command("chat", given=b" \n")

    assert nothing.code == 2
    assert "A message is needed, as an argument or on stdin." in nothing.err


def test_control_characters_do_not_reach_the_terminal() -> None:
    """What a model says cannot move the cursor or set the title."""
    assert printable("\x1b]0;owned\x07 a\tb\n\x9b2J\r中") == "]0;owned a\tb\n2J中"


def test_of_memories_a_line_tells_how_many_and_the_first_of_them() -> None:
    """Shortened and few, and where the model knows them from; of documents it tells the titles."""
    hits = [{"source": "memory:user", "snippet": f"Likes tea {number}. " + "很" * 60} for number in range(9)]
    asked = {"source": "memory", "query": "茶？", "results": hits}

    standing = str(describe("retrieval", {**asked, "mode": "snapshot", "omitted": 4}))
    looked_up = str(describe("retrieval", {**asked, "mode": "catalog", "results": hits[:1], "omitted": 4}))
    documents = {"source": "docs", "query": "tea", "results": [{"source": "tea.md", "title": "Tea"}]}

    assert standing.startswith("⌕ memory: 9+ in the prompt: Likes tea 0. 很")
    assert standing.count("Likes tea") == SNIPPETS
    assert standing.endswith("…; …")
    assert len(standing) < 200
    assert looked_up == f"⌕ memory: 1 looked up: Likes tea 0. {'很' * 26}…"
    assert describe("retrieval", documents) == "⌕ docs: “tea” found Tea"
