"""An old session in the terminal, as a page, and as a file."""

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.cli.timeline import Timeline, lines_about
from gateway.client import GatewayClient
from gateway.session_pages.words import measured
from tests.cli.calling import Command
from tests.running import Running
from tests.ui.page import WITHOUT

with_the_page = pytest.mark.skipif(os.environ.get(WITHOUT) == "1", reason=f"{WITHOUT}=1: there is no page")
ASKED = "What is 17*23?"
NASTY = "<script>alert(1)</script> \"' & \x1b[31m 中文"


@pytest.fixture(scope="module")
def session(running: Running) -> str:
    """A session with three turns: a tool, a search, and plain text in Chinese."""
    with GatewayClient(running.url) as client:
        session_id = client.create_session()["id"]
        for message in (ASKED, "How do I resume a stream?", "/say 你好，世界"):
            turn = client.start_turn(session_id, message)
            for _ in client.follow_session(session_id, after=turn["seq"], turn_id=turn["turn_id"]):
                pass
    return session_id


def event(seq: int, kind: str, data: dict[str, Any], **places: Any) -> dict[str, Any]:
    envelope = {"v": 1, "seq": seq, "type": kind, "ts": 1_000_000 + seq * 250, "session_id": "s"}
    return {**envelope, "turn_id": "t", **places, "data": data}


def told(path: Path) -> list[dict[str, Any]]:
    """The events in a page."""
    block = path.read_text(encoding="utf-8").partition('id="events">\n')[2].partition("</script>")[0]
    return [json.loads(line) for line in block.splitlines()]


def test_a_replay_tells_every_turn_with_its_timings(command: Command, running: Running, session: str) -> None:
    """What was asked, each step with the time since its turn began, the answer in full, usage and cost."""
    shown = command("replay", session, "--url", running.url)

    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("── t_") == 3
    assert re.search(r"^ +\+0\.0\d s  › What is 17\*23\?$", shown.out, re.MULTILINE)
    assert re.search(r"^ +\+\d\.\d\d s  → calculate ", shown.out, re.MULTILINE)
    assert re.search(r"^ +\+\d\.\d\d s  ← calculate ok in \d+ ms: 391$", shown.out, re.MULTILINE)
    assert re.search(r"model call 1 done: first token after \d+ ms, \d+\.\d\d s, \d+ tokens in", shown.out)
    assert "⌕ docs" in shown.out
    assert "\n你好，世界\n" in shown.out
    assert len(re.findall(r"■ completed: \d model calls?, .*, cost unknown$", shown.out, re.MULTILINE)) == 3


def test_one_turn_can_be_picked(command: Command, running: Running, session: str) -> None:
    """`--turn` shows that turn alone; one that is not there is told in words."""
    everything = command("replay", session, "--url", running.url).out
    turn = re.findall(r"── (t_\w+)", everything)[1]

    shown = command("replay", session, "--turn", turn, "--url", running.url)
    missing = command("replay", session, "--turn", "t_none", "--url", running.url)

    assert re.findall(r"── (t_\w+)", shown.out) == [turn]
    assert "resume a stream" in shown.out
    assert ASKED not in shown.out
    assert missing.code == 1
    assert "There is no turn t_none" in missing.err


def test_a_speed_that_is_none_is_refused(
    command: Command, running: Running, session: str, tmp_path: Path
) -> None:
    """In plain words, exit code 1, nothing on stdout; also where a page is made, which never waits."""
    for more in ([], ["--html", "session.html"]):
        refused = command("replay", session, "--speed", "fast", *more, "--url", running.url)

        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith("gateway: speed must be max, or a number above 0 such as 10 or 0.5")
    assert list(tmp_path.iterdir()) == []


@with_the_page
def test_a_range_can_be_picked(command: Command, running: Running, session: str, tmp_path: Path) -> None:
    """`--from` and `--to` are the seq of the first and last event, as of the route; a turn whose beginning
    is left out says so, in the terminal and on the page."""
    everything = command("replay", session, "--url", running.url).out
    with GatewayClient(running.url) as client:
        first, second, _ = [client.turn(session, turn) for turn in re.findall(r"── (t_\w+)", everything)]
    begin, end = first["last_seq"] - 1, second["last_seq"]
    picked = ("replay", session, "--from", str(begin), "--to", str(end), "--url", running.url)

    shown = command(*picked)
    made = command(*picked, "--html", "part.html")

    assert re.findall(r"── (t_\w+)", shown.out) == [first["turn_id"], second["turn_id"]]
    assert f"── {first['turn_id']} · from event {begin} on · " in shown.out
    assert ASKED not in shown.out
    assert shown.out.count("■ completed") == 2
    assert made.code == 0
    part = told(tmp_path / "part.html")
    assert [each["seq"] for each in part] == list(range(begin, end + 1))
    assert part[0]["turn_id"] == first["turn_id"]


def test_a_branch_can_be_picked(command: Command, running: Running) -> None:
    """`--branch` shows its turns alone, also those that another branch has in common with it; without it all
    turns of the session are there."""
    chat = httpx2.post(f"{running.url}/api/sessions", json={}).json()["id"]
    for message, more in (("one", {}), ("two", {}), ("three", {"parent_turn_id": "root"})):
        body = {"message": f"/say {message}", "on_conflict": "queue", **more}
        accepted = httpx2.post(f"{running.url}/api/sessions/{chat}/turns", json=body)
        path = f"/api/sessions/{chat}/events?turn_id={accepted.json()['turn_id']}"
        httpx2.get(running.url + path, headers={"accept": "text/event-stream"}).raise_for_status()

    shown = [
        re.findall(r"› /say (\w+)", command("replay", chat, *options, "--url", running.url).out)
        for options in ([], ["--branch", "0"], ["--branch", "1"])
    ]

    assert shown == [["one", "two", "three"], ["one", "two"], ["three"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--from 9 --to 3", (1, "ends before it begins")),
        ("--to 40000", (1, "beyond the session's last event")),
        ("--from 0", (2, "--from")),
        ("--from 3 --turn t_x", (2, "Give --turn, or --from and --to")),
        ("--branch 0 --turn t_x", (2, "Give --turn, or --from and --to")),
        ("--branch 7", (1, "has no branch 7")),
    ],
)
def test_a_range_that_makes_no_sense_is_told(
    command: Command, running: Running, session: str, options: str, message: tuple[int, str]
) -> None:
    """The server's words, or those about the options."""
    refused = command("replay", session, *options.split(), "--url", running.url)

    assert (refused.code, refused.out) == (message[0], "")
    assert message[1] in refused.err


@with_the_page
def test_a_page_of_a_session_has_every_event_as_it_was(
    command: Command, running: Running, session: str, tmp_path: Path
) -> None:
    """In one file, from which the page's own reader draws them; with their ids, times and costs."""
    made = command("replay", session, "--html", "session.html", "--url", running.url)
    path = f"{running.url}/api/sessions/{session}/events?limit=1000"
    logged = httpx2.get(path, headers={"accept": "application/json"}).json()["events"]

    assert made.code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["session.html"]
    assert told(tmp_path / "session.html") == logged
    assert '"replay":true' in (tmp_path / "session.html").read_text(encoding="utf-8")


def test_nothing_in_a_replay_turns_the_order_of_its_characters(command: Command, running: Running) -> None:
    """A file's name that ends in .exe would read as one in .pdf; letters of right-to-left scripts stay."""
    with GatewayClient(running.url) as client:
        session_id = client.create_session()["id"]
        turn = client.start_turn(session_id, "/say invoice\u202efdp.exe \u2067x\u2069 שלום")
        for _ in client.follow_session(session_id, after=turn["seq"], turn_id=turn["turn_id"]):
            pass

    shown = command("replay", session_id, "--url", running.url).out

    assert "invoicefdp.exe x שלום" in shown
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", shown)


def test_compressions_are_told_in_words() -> None:
    """Version, what it covers, and what it saved."""
    data = {
        "phase": "completed",
        "version": 2,
        "covers": {"first": 1, "last": 40},
        "tokens_before": 9000,
        "tokens_after": 1200,
    }
    compression = event(1, "compression", data, turn_id="c_1")

    assert lines_about(compression) == [
        "▣ compression completed, version 2, messages 1 to 40, 9000 → 1200 tokens"
    ]


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    """An unknown cost is never free, an unreported usage never nothing."""
    assert measured({"duration_ms": 1500}) == "1.50 s, usage unknown, cost unknown"
    usage = {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 9}
    assert measured({"usage": usage, "cost": 0.0}) == "5 tokens in, 2 out, 9 from cache, $0.000000"


def test_a_session_goes_out_to_a_file_and_comes_back(
    command: Command, running: Running, session: str, tmp_path: Path
) -> None:
    """`export` to a file and to stdout are the same; `import` prints the id of the session it made."""
    kept = command("export", session, "-o", "kept.jsonl", "--url", running.url)
    shown = command("export", session, "--url", running.url)
    taken = command("import", "kept.jsonl", "--url", running.url)
    with GatewayClient(running.url) as client:
        client.delete_session(session)
    back = command("import", "kept.jsonl", "--url", running.url)
    again = command("export", session, "--url", running.url)

    assert kept.code == 0
    assert (tmp_path / "kept.jsonl").read_text() == shown.out == again.out
    assert (taken.code, taken.out) == (1, "")
    assert "cannot be used" in taken.err
    assert (back.code, back.out) == (0, f"{session}\n")


@with_the_page
def test_a_session_goes_out_as_a_page_to_share(
    command: Command, running: Running, session: str, tmp_path: Path
) -> None:
    """As one file, the same on stdout."""
    kept = command("export", session, "--format", "html", "-o", "kept.html", "--url", running.url)
    page = command("export", session, "--format", "html", "--url", running.url)
    document = command("export", session, "--format", "markdown", "--url", running.url)

    assert (kept.code, page.code, document.code) == (0, 0, 0)
    assert (tmp_path / "kept.html").read_text() == page.out
    assert "391" in page.out
    assert page.out.endswith("</html>\n")
    assert document.out.startswith(f"# {ASKED.replace('*', chr(92) + '*')}\n")
    assert document.out.count("**User**") == 3


def test_a_damaged_file_is_refused_with_its_line(command: Command, running: Running, tmp_path: Path) -> None:
    """So is one that is not there; nothing is made of either."""
    (tmp_path / "bad.jsonl").write_text('{"kind":"session"}\n')

    damaged = command("import", "bad.jsonl", "--url", running.url)
    missing = command("import", "none.jsonl", "--url", running.url)
    unknown = command("export", "s_none", "-o", "none.jsonl", "--url", running.url)

    assert damaged.code == missing.code == unknown.code == 1
    assert "Line 1" in damaged.err
    assert "none.jsonl cannot be read" in missing.err
    assert "There is no session s_none" in unknown.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl"]


def test_the_files_of_a_message_are_named() -> None:
    """In the terminal, as text, whatever they are called."""
    start = event(
        1,
        "turn_start",
        {"input": "看这个", "model": "m", "attachments": [{"name": "照片.png"}, {"name": NASTY}]},
    )

    lines = lines_about(start)

    assert lines[0] == "› 看这个"
    assert lines[1] == f"📎 照片.png, {NASTY}"


def test_a_turn_that_was_rated_is_told_where_that_happened() -> None:
    """Also among the events of another turn, which stay together."""
    start = {"input": "one", "model": "m", "trace_id": "0" * 32}
    done = {"status": "completed", "iterations": 0, "duration_ms": 5}
    rated = {"rating": "down", "reason": NASTY, "of": "turn"}
    events = [
        event(1, "turn_start", start, turn_id="t1"),
        event(2, "done", done, turn_id="t1"),
        event(3, "turn_start", start, turn_id="t2"),
        event(4, "feedback", rated, turn_id="t1"),
        event(5, "done", done, turn_id="t2"),
    ]

    out = io.StringIO()
    timeline = Timeline(out)
    for each in events:
        timeline.show(each)
    timeline.end()

    assert out.getvalue().count("──") == 4
    assert "▼ rated bad (turn): <script>alert(1)</script>" in out.getvalue()
    assert out.getvalue().count("· turn t1") == 1
