"""A conversation at a terminal, with a person who types."""

import re
import signal
import socket
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.cli.chat.slash_commands import NAMES
from gateway.client import GatewayClient
from tests.cli.terminal_screen import Terminal, terminal
from tests.relay import relaying
from tests.running import Running, gateway_process

pytestmark = [pytest.mark.long, pytest.mark.waits]

NOTE = "Note that the door code is 4711."
ENDED = "tokens, cost unknown"
STYLE = re.compile(rb"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    """A gateway of their own: what is said to it is remembered."""
    with gateway_process(tmp_path_factory.mktemp("gateway")) as gateway:
        yield gateway


@pytest.fixture
def chat(running: Running, tmp_path: Path) -> Generator[Terminal]:
    """A conversation that has begun."""
    with talking(running, tmp_path) as shown:
        yield shown


@contextmanager
def talking(running: Running, folder: Path, *arguments: str, **environment: str) -> Generator[Terminal]:
    """A conversation in a terminal, as soon as something can be typed."""
    with terminal(folder, "chat", "--url", running.url, *arguments, environment=environment) as shown:
        shown.shows("›")
        yield shown


def test_messages_are_answered_one_after_another(chat: Terminal) -> None:
    """Both in one session; each answer is drawn, and how long it took and what it used is below it."""
    chat.type("What is 17*23?\r")
    chat.shows(ENDED)
    chat.type("My cat is called Tofu.\r")
    chat.shows(ENDED, 2)
    chat.type("What is my cat called?\r")
    shown = chat.shows(ENDED, 3)
    chat.press("d")

    assert '→ calculate {"expression":"17*23"}' in shown
    assert "17*23 = 391" in shown
    assert "**" not in shown
    assert shown.count("Tofu") >= 2
    assert re.search(r"gateway chat --resume s_\w+", chat.shows("To go on"))
    assert chat.ended() == 0


def test_control_c_stops_the_turn_and_not_the_program(chat: Terminal) -> None:
    """At an empty prompt the second one in a row leaves; one on a line that is written clears the line."""
    chat.type("//pieces 5000 /pace 20\r")
    chat.shows("002 003")
    chat.press("c")
    chat.shows("■ stopped")
    chat.shows(ENDED)
    chat.type("half a line")
    chat.shows("half a line")
    chat.press("c")
    chat.type("//say still here\r")
    chat.shows(ENDED, 2)
    chat.press("c")
    shown = chat.shows("Ctrl-C again leaves.")
    chat.press("c")

    assert "still here" in shown
    assert chat.ended() == 0


def test_control_c_between_two_prompts_is_pressed_at_the_next_one(running: Running, tmp_path: Path) -> None:
    """Here while a command waits for the server."""
    with (
        relaying(running.url) as relay,
        socket.create_server(("127.0.0.1", 0)) as silent,
        terminal(tmp_path, "chat", "--url", relay.url) as shown,
    ):
        shown.shows("›")
        relay.upstream = silent.getsockname()
        shown.type("/sessions\r")
        asked, _ = silent.accept()
        shown.send(signal.SIGINT)
        with asked:
            asked.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{"sessions":[]}')
        shown.shows("Ctrl-C again leaves.")
        shown.press("c")

        assert shown.ended() == 0


@pytest.mark.parametrize(
    ("typed", "status"),
    [("y\r", "ok"), ("n not today\r", "denied"), ("n\r", "denied"), ("what?\ry\r", "ok")],
)
def test_a_call_is_asked_about_and_the_answer_is_heeded(
    chat: Terminal, running: Running, typed: str, status: str
) -> None:
    """With the arguments in sight; a reason is what the model reads, and no answer is guessed."""
    chat.type(f"{NOTE}\r")
    asked = chat.shows("Run write_note? [y/s/a/e/n]")
    chat.type(typed)
    shown = chat.shows(ENDED)

    assert '"text": "the door code is 4711."' in asked
    assert f"← write_note {status}" in shown
    assert ("not today" in shown.partition("←")[2]) == ("not today" in typed)
    assert "y yes, s in this session, a always, e edit first, n no, n WHY" in asked
    assert (shown.count("y yes, ") == 2) == ("what?" in typed)


def test_arguments_are_edited_before_they_are_approved(chat: Terminal) -> None:
    """As one line of JSON; what is none is asked for again."""
    chat.type(f"{NOTE}\r")
    chat.shows("Run write_note?")
    chat.type("e\r")
    chat.shows('{"text": "the door code is 4711."}')
    chat.type("x\r")
    chat.shows("That is no JSON")
    chat.type("e\r")
    chat.shows('{"text": "the door code is 4711."}', 2)
    chat.press("u")
    chat.type('{"text": "nothing"}\r')
    chat.shows(ENDED)


def test_what_was_typed_before_a_question_is_no_answer_to_it(chat: Terminal) -> None:
    """A y that was typed while the answer came approves nothing."""
    chat.type('//say Wait.\n/pace 400\n/call write_note {"text": "x"}\r'.replace("\n", "\x1b\r"))
    chat.shows("Wait.")
    chat.type("y\r")
    chat.shows("Run write_note?")
    chat.type("n\r")

    assert "← write_note denied" in chat.shows(ENDED)


def test_a_call_that_is_decided_elsewhere_is_asked_about_no_more(chat: Terminal, running: Running) -> None:
    """The question goes away, and the turn goes on in the terminal."""
    chat.type(f"{NOTE}\r")
    chat.shows("Run write_note?")
    with GatewayClient(running.url) as client:
        last = client.sessions(limit=1)["sessions"][0]["id"]
        call = next(each for each in client.approvals()["approvals"] if each["session_id"] == last)
        client.decide(call["session_id"], call["turn_id"], call["tool_call_id"], "approve")

    assert "← write_note ok" in chat.shows(ENDED)


def test_a_session_is_resumed_with_what_was_said_last(running: Running, tmp_path: Path) -> None:
    """By the beginning of its id, or the last one with --continue; the arrow up brings back what was written
    in an earlier run, from a file that nobody else may read."""
    with talking(running, tmp_path) as first:
        first.type("My cat is called 豆腐.\r")
        first.shows(ENDED)
        first.press("d")
        found = re.search(r"--resume (s_\w+)", first.shows("To go on: "))
        assert found is not None
        assert first.ended() == 0
    with talking(running, tmp_path, "--resume", found[1][:20]) as second:
        shown = second.shows(f"Session {found[1]}")
        second.type("\x1b[A")
        second.shows("My cat is called 豆腐.", 2)
    with talking(running, tmp_path, "--continue") as third:
        third.shows(f"Session {found[1]}")
        third.type("What is my cat called?\r")
        third.shows(ENDED)
    history = tmp_path / ".local" / "state" / "gateway" / "chat_history"

    assert "› My cat is called 豆腐." in shown
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700


def test_a_turn_that_still_runs_is_followed_when_its_session_is_resumed(
    running: Running, tmp_path: Path
) -> None:
    """Left with Ctrl-D at a question, it asks again where one comes back."""
    with talking(running, tmp_path) as first:
        first.type(f"{NOTE}\r")
        first.shows("Run write_note?")
        first.press("d")
        first.shows("/follow shows it again")
        first.press("d")
        first.shows("To go on: ")
    with terminal(tmp_path, "chat", "--continue", "--url", running.url) as second:
        second.shows("Run write_note?")
        second.type("y\r")

        assert "← write_note ok" in second.shows(ENDED)


def test_every_command_is_told_by_help_and_does_something(chat: Terminal, running: Running) -> None:
    """A slip of the pen is answered with what was meant."""
    chat.type("/help\r")
    shown = chat.shows("an editor")
    assert [name for name in NAMES if f"/{name} " not in shown] == []

    chat.type("/rename x\r")
    chat.shows("There is no session yet")
    chat.type("\x15//say Rice.\r")
    chat.shows(ENDED)
    for line, answer in (
        ("/rename 米饭", "“米饭” from now on."),
        ("/status", "that of the gateway"),
        ("/model nothing", "There is no model nothing: "),
        ("/good because", "Thank you."),
        ("/sessions", "Last used"),
        ("/remember I like rice.", "Remembered as m_"),
        ("/memory rice", "I like rice."),
        ("/skills", "calculate"),
        ("/follow", "No turn runs."),
        ("/stop", "No turn runs."),
        ("/statsu", "Did you mean /status?"),
        ("/new", "A new session."),
    ):
        chat.type(f"{line}\r")
        chat.shows(answer, 2 if line == "/stop" else 1)
    chat.type("/quit\r")

    assert chat.ended() == 0


def test_a_server_that_is_killed_in_mid_answer_is_found_again(tmp_path: Path) -> None:
    """The stream goes on when another one serves the same data; the answer is complete, and told once."""
    with (
        gateway_process(tmp_path) as first,
        relaying(first.url) as relay,
        terminal(tmp_path, "chat", "--url", relay.url) as shown,
    ):
        shown.shows("›")
        shown.type("Write me something long, please.\r")
        shown.shows("Line 3 of 28")
        first.stop(signal.SIGKILL)
        with gateway_process(tmp_path) as second:
            relay.upstream = ("127.0.0.1", int(second.url.rpartition(":")[2]))
            text = shown.shows(ENDED)

    assert "Line 28 of 28" in text or "■ interrupted" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("environment", "unwanted"), [({"NO_COLOR": "1"}, STYLE), ({"TERM": "dumb"}, re.compile(rb"\x1b"))]
)
def test_a_terminal_without_colours_gets_none(
    running: Running, tmp_path: Path, environment: dict[str, str], unwanted: re.Pattern[bytes]
) -> None:
    """NO_COLOR leaves styles out, a dumb terminal everything but the text; neither loses any."""
    said = "//say # Title\x1b\r/say **bold** and `code` <b>html</b>\r"
    with talking(running, tmp_path, **environment) as shown:
        if "TERM" in environment:
            shown.type("What is 17*23?\r")
        else:
            shown.type(said)
        text = shown.shows(ENDED)
        kept = [each for each in unwanted.findall(shown.bytes) if each not in {b"\x1b[0m", b"\x1b[m"}]

    assert kept == []
    assert ("391" if "TERM" in environment else "<b>html</b>") in text


def test_wide_characters_are_edited_whole(chat: Terminal) -> None:
    """A character of two columns is taken back by one key; several lines are one message."""
    chat.type("//say 你好吗\x7f\x7f天\x1b\r/say 第二行\r")
    shown = chat.shows(ENDED)

    assert "\n你天\n第二行\n" in shown


def test_bytes_that_are_no_text_end_nothing(chat: Terminal) -> None:
    """They arrive as U+FFFD."""
    chat.type("//say caf\udce9!\r")

    assert "\ncaf\ufffd!\n" in chat.shows(ENDED)
    assert "Traceback" not in chat.text


def test_a_long_code_block_is_complete_though_the_screen_is_small(running: Running, tmp_path: Path) -> None:
    """What is higher than the screen is drawn as far as there is room, and printed whole in the end; also
    when the terminal becomes another size meanwhile."""
    lines = [f"line_{number} = {number}" for number in range(40)]
    said = "\n".join(f"/say {each}" for each in ("Before.", "```python", *lines, "```", "After."))
    with terminal(tmp_path, "chat", f"{said}\n/pace 30", "--url", running.url, lines=10) as shown:
        shown.shows("line_12")
        shown.resize(60, 12)
        assert shown.ended() == 0
        text = shown.text

    for line in ("Before.", *lines, "After."):
        assert line in text
    assert text.index("line_39") < text.index("After.")
