"""Sessions and the calls that wait in them, looked after on the command line."""

import json
from pathlib import Path

import pytest

from gateway.client import GatewayClient
from tests.cli.calling import Command
from tests.history.foreign_exports import CLAUDE, zipped
from tests.running import Running

NOTE = "Note that the door code is 4711."


@pytest.fixture
def waiting(running: Running) -> dict[str, str]:
    """A call that waits for approval: its session, turn and id."""
    with GatewayClient(running.url) as client:
        session = client.create_session()["id"]
        turn = client.start_turn(session, NOTE)
        events = client.follow_session(session, after=turn["seq"])
        asked = next(frame.load() for frame in events if frame.event == "approval_request")
        events.close()
    return {name: asked[name] for name in ("session_id", "turn_id", "tool_call_id")}


@pytest.fixture
def session(running: Running) -> str:
    """A session with a title that no other has."""
    with GatewayClient(running.url) as client:
        return client.create_session(title="The tofu of 五月")["id"]


def test_sessions_are_listed_the_last_used_first(command: Command, running: Running, session: str) -> None:
    """As a table with title and state, or as JSON, also where `list` is left out; words find those that have
    them."""
    listed = command("sessions", "--url", running.url)
    found = command("sessions", "list", "tofu", "--json", "--url", running.url)
    none = command("sessions", "list", "nowhere-said", "--url", running.url)

    assert listed.out.splitlines()[0].split() == ["Id", "Last", "used", "State", "Title"]
    assert session in listed.out.splitlines()[1]
    assert "The tofu of 五月" in listed.out.splitlines()[1]
    assert session in [each["id"] for each in json.loads(found.out)["sessions"]]
    assert (none.out, none.code) == ("", 0)
    assert none.err == f"There is no such session at {running.url}.\n"


def test_a_session_is_named_by_the_beginning_of_its_id(
    command: Command, running: Running, session: str
) -> None:
    """Where no other of the newest begins so."""
    shown = command("sessions", "show", session[:16], "--url", running.url)

    assert shown.out.splitlines()[0] == f"id:         {session}"


@pytest.mark.parametrize("wrong", ["{}_", "tofu"])
def test_a_mistyped_session_is_asked_about(
    command: Command, running: Running, session: str, wrong: str
) -> None:
    """The message names the address that was asked, and what may have been meant."""
    named = wrong.format(session[:-1])
    for arguments in (("sessions", "show", named), ("replay", named), ("sessions", "delete", named, "--yes")):
        refused = command(*arguments, "--url", running.url)

        assert refused.code == 1
        assert f"There is no session {named} at {running.url}. Did you mean " in refused.err
        assert f"{session} (“The tofu of 五月”)" in refused.err


def test_a_session_is_renamed_pinned_and_put_away(command: Command, running: Running, session: str) -> None:
    """An archived one is listed where it is asked for; each can be taken back."""
    at = ("--url", running.url)
    assert "is now called “Rice”" in command("sessions", "rename", session, "Rice", *at).out
    assert "is pinned" in command("sessions", "pin", session, *at).out
    assert "is archived" in command("sessions", "archive", session, *at).out
    assert session not in command("sessions", "list", *at).out
    assert "pinned, archived" in command("sessions", "show", session, *at).out
    assert "among the others" in command("sessions", "archive", session, "--undo", *at).out
    assert session in command("sessions", "list", *at).out


def test_a_session_is_shared_with_a_project_and_taken_back(
    command: Command, running: Running, session: str
) -> None:
    """For reading, and for writing where that is said; the project need not be named again."""
    at = ("--url", running.url)
    with GatewayClient(running.url) as client:
        project = client.create_project("Apollo")["id"]
        shown = [command("sessions", "share", session, project, *at).out]
        read = client.session(session)["shared"]
        shown.append(command("sessions", "share", session, "--write", *at).out)
        written = client.session(session)["shared"]
        shown.append(command("sessions", "share", session, "--undo", *at).out)
        after = client.session(session)

    words = ["is shared", "is shared for writing", "is yours alone again"]
    assert shown == [f"{session} {each}.\n" for each in words]
    assert (read, written, "shared" in after) == ("read", "write", False)


def test_a_session_is_deleted_only_on_purpose(command: Command, running: Running, session: str) -> None:
    """Where no terminal can be asked, --yes has to be given."""
    refused = command("sessions", "delete", session, "--url", running.url, given=b"")
    deleted = command("sessions", "delete", session, "--yes", "--url", running.url)

    assert refused.code == 2
    assert "add --yes" in refused.err
    assert deleted.out == f"{session} is deleted.\n"
    assert command("sessions", "show", session, "--url", running.url).code == 1


def test_calls_that_wait_are_listed_and_approved(
    command: Command, running: Running, waiting: dict[str, str]
) -> None:
    """The list says what each would do; its turn goes on when it is approved."""
    listed = command("approvals", "--url", running.url)
    own = ("--session", waiting["session_id"], "--url", running.url)
    approved = command("approvals", "approve", waiting["tool_call_id"], *own)

    assert waiting["session_id"] in listed.out
    assert 'write_note {"text": "the door code is 4711."}' in listed.out
    assert approved.out == 'Approved: write_note {"text": "the door code is 4711."}\n'
    with GatewayClient(running.url) as client:
        events = client.follow_session(waiting["session_id"], turn_id=waiting["turn_id"])
        ended = [frame.load()["data"] for frame in events][-1]
    assert ended["status"] == "completed"


def test_a_call_is_denied_with_a_reason(command: Command, running: Running, waiting: dict[str, str]) -> None:
    """The model reads the reason."""
    own = ("--session", waiting["session_id"], "--url", running.url)
    denied = command("approvals", "deny", waiting["tool_call_id"][:9], "--reason", "On Monday.", *own)

    assert denied.out.startswith("Denied: write_note")
    with GatewayClient(running.url) as client:
        events = client.follow_session(waiting["session_id"], turn_id=waiting["turn_id"])
        results = [frame.load()["data"] for frame in events if frame.event == "tool_result"]
    assert results[0]["status"] == "denied"
    assert "On Monday." in results[0]["content"]


def test_a_mistyped_call_is_asked_about(command: Command, running: Running, waiting: dict[str, str]) -> None:
    """And one that waits in several sessions is not guessed."""
    call = waiting["tool_call_id"]
    with GatewayClient(running.url) as client:
        other = client.create_session()["id"]
        turn = client.start_turn(other, NOTE)
        events = client.follow_session(other, after=turn["seq"])
        next(frame for frame in events if frame.event == "approval_request")
        events.close()
    slip = command("approvals", "deny", f"{call[:-1]}_", "--url", running.url)
    several = command("approvals", "deny", call[:6], "--url", running.url)
    no_object = command("approvals", "approve", call, "--arguments", "{", "--url", running.url)

    assert f"No call {call[:-1]}_ waits at {running.url}. Did you mean {call}" in slip.err
    assert "Several such calls wait:" in several.err
    assert (slip.code, several.code, no_object.code) == (1, 1, 2)


def test_all_sessions_go_into_a_file_and_come_back(
    command: Command, running: Running, session: str, tmp_path: Path
) -> None:
    """With `--all`; what is there already is refused with the reason, and the exit code is 1."""
    file = tmp_path / "sessions.jsonl"
    wrong = command("export", session, "--all", "--url", running.url)
    written = command("export", "--all", "-o", str(file), "--url", running.url)
    command("sessions", "delete", session, "--yes", "--url", running.url)
    again = command("import", str(file), "--url", running.url)

    assert wrong.code == 2
    assert f"Wrote {file}." in written.err
    assert file.read_bytes().startswith(b'{"kind":"sessions",')
    assert again.out.startswith("1 imported, ")
    assert again.code == int(", 0 refused" not in again.out)
    assert command("sessions", "show", session, "--url", running.url).code == 0


def test_an_export_of_another_product_is_looked_at_and_imported_once(
    command: Command, running: Running, tmp_path: Path
) -> None:
    """Its chats by their numbers; one that cannot be read is told of, and the exit status says so."""
    file = tmp_path / "export.zip"
    file.write_bytes(zipped(CLAUDE, {"mapping": None}))
    looked = command("import", str(file), "--preview", "--url", running.url)
    first = command("import", str(file), "--only", "1", "--url", running.url)
    again = command("import", str(file), "--url", running.url)
    file.write_bytes(b"PK, and nothing behind")
    refused = command("import", str(file), "--url", running.url)

    assert (looked.code, looked.out) == (1, "1\tnew\t3 messages\tReeds\n")
    assert (first.code, first.err) == (0, "1 imported\n")
    assert first.out.endswith("\tReeds\n")
    assert (again.code, again.out) == (1, "")
    assert (
        again.err == "Chat 2 of the file: It is no chat of ChatGPT, Claude, LibreChat or Open WebUI.\n"
        "1 were there already, 1 refused\n"
    )
    assert refused.code == 1
    assert "cut off" in refused.err
