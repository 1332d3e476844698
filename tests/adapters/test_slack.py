"""`gateway slack` against a stand-in of Slack over real sockets, through slack-bolt and slack-sdk."""

import asyncio
import json
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from examples.home.slack_workspace import (
    BOT,
    Workspace,
    buttons,
    form,
    payload,
    quiet_lines,
    shown,
    signed,
    slack_workspace,
)
from gateway.adapters.messengers import followed_threads, gone_sessions
from gateway.adapters.messengers.base import MessengerRefused, Place
from gateway.adapters.messengers.bridge import session_id
from gateway.adapters.messengers.journal import Journal
from gateway.adapters.slack import slack_web_api
from gateway.adapters.slack.slack_mrkdwn import escaped
from gateway.adapters.slack.slack_program import SlackProgram, connect
from gateway.tools.result import ToolResult
from tests.harness import Client, client_at, running_gateway, settings_for, text_of
from tests.loopback import TIMEOUT, free_port
from tests.product import File, Settings, tool
from tests.relay import relaying
from tests.running import gateway_process
from tests.slack_program import program, slack_command

pytestmark = pytest.mark.anyio

PICTURE = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU"

CHANNEL, DIRECT, ANNA, BEN = "C1", "D1", "UANNA", "UBEN"
DELEGATE, KEY_OF_ANNA = "delegate-secret-of-slack", "secret-of-anna-herself"


@asynccontextmanager
async def connected(given: SlackProgram) -> AsyncGenerator[asyncio.Task[None]]:
    """The program as it runs; one that fails fails its test."""
    running = asyncio.create_task(connect(given))
    try:
        yield running
        assert not running.done(), running.exception()
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def answer_in_log(client: Client) -> str:
    """The text of the newest turn of the newest session."""
    session = (await client.get("/api/sessions")).json()["sessions"][0]["id"]
    events = await client.events(session)
    return text_of([each for each in events if each["turn_id"] == events[-1]["turn_id"]]).strip()


@pytest.fixture
async def workspace(anyio_backend: str) -> AsyncGenerator[Workspace]:
    async with slack_workspace() as workspace:
        yield workspace


@pytest.fixture
async def slack(workspace: Workspace, client: Client, tmp_path: Path) -> AsyncGenerator[Workspace]:
    """A workspace that the program is connected to."""
    async with connected(program(workspace, client.url, tmp_path)):
        yield workspace


async def test_a_mention_is_answered_in_its_thread(slack: Workspace, client: Client) -> None:
    """The answer is one message, whose metadata has the last event that it shows; what is said in the thread
    then goes on in the same session, and two events of one message are one question."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say Seventeen times 23 is 391.")
    (message,) = await slack.answered(CHANNEL, asked)
    await slack.say(ANNA, CHANNEL, "/say And once more.", thread=asked)
    _, second = await slack.answered(CHANNEL, asked, 2)

    assert shown(message) == "Seventeen times 23 is 391."
    assert shown(second) == "And once more."
    (session,) = (await client.get("/api/sessions")).json()["sessions"]
    events = await client.events(session["id"])
    ends = [each["seq"] for each in events if each["type"] == "done"]
    assert ends == [payload(message)["seq"], payload(second)["seq"]]
    assert slack.too_many.total() == 0


async def test_an_answer_streams_while_it_is_written(slack: Workspace) -> None:
    """Pieces are appended to a stream, which ends with the turn; a tool is a task beside the text."""
    asked = await slack.say(
        ANNA, CHANNEL, f'<@{BOT}> /pace 20\n/call calculate {{"expression":"17*23"}}\n/then\n/pieces 60'
    )
    (message,) = await slack.answered(CHANNEL, asked)

    assert len(shown(message)) > 100
    assert quiet_lines(message) == ["complete calculate"]
    assert slack.calls["chat.startStream"] == slack.calls["chat.stopStream"] == 1
    assert slack.calls["chat.appendStream"] > 1
    assert slack.calls["chat.postMessage"] == slack.calls["chat.update"] == 0


async def test_where_there_are_no_streams_the_message_is_edited(slack: Workspace) -> None:
    """A workspace without them is asked once; a message that is being written has a button to stop it."""
    slack.has_streams = False
    stoppable: list[str] = []
    slack.before = lambda method, given: stoppable.extend(
        each["action_id"] for each in buttons(given) if method in {"chat.postMessage", "chat.update"}
    )
    for _ in range(2):
        asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
        (message,) = await slack.answered(CHANNEL, asked)
        assert len(shown(message)) > 100
        assert buttons(message) == []

    assert set(stoppable) == {"gateway_stop"}
    assert slack.calls["chat.startStream"] == 1


async def test_a_stream_that_one_channel_refuses_is_a_message_there(slack: Workspace) -> None:
    """Other channels go on with streams."""
    slack.refuses = lambda method, given: (
        "restricted_action" if method == "chat.startStream" and given["channel"] == "C2" else None
    )
    for channel in ("C2", CHANNEL):
        asked = await slack.say(ANNA, channel, f"<@{BOT}> /pace 20\n/pieces 30")
        (message,) = await slack.answered(channel, asked)
        assert ("chunks" in message) == (channel == CHANNEL)


async def test_a_stream_that_slack_ends_goes_on_as_a_message(slack: Workspace, client: Client) -> None:
    """Slack ends a stream after some minutes: the whole text is in the message all the same, once."""
    slack.stream_ends_after = 3
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    (message,) = await slack.answered(CHANNEL, asked)

    assert slack.calls["chat.update"] >= 1
    assert shown(message) == await answer_in_log(client)


async def test_a_direct_message_needs_no_mention_and_no_thread(slack: Workspace) -> None:
    """What is said beside threads is one conversation, and is answered beside threads."""
    await slack.say(ANNA, DIRECT, "/say One.")
    await slack.answered(DIRECT)
    await slack.say(ANNA, DIRECT, "/say Two.")
    messages = await slack.answered(DIRECT, count=2)

    assert [(shown(each), each.get("thread_ts")) for each in messages] == [("One.", None), ("Two.", None)]


@asynccontextmanager
async def asking_gateway(tmp_path: Path, demo_url: str) -> AsyncGenerator[Client]:
    """A gateway that asks before it calculates, with a key that acts for users."""
    given = settings_for(
        tmp_path / "data",
        demo_url,
        tool_policy="calculate=ask",
        api_keys=f"slack:{DELEGATE},anna:{KEY_OF_ANNA}",
        delegate_keys="slack",
    )
    async with running_gateway(given) as client:
        yield client


def pressed(message: dict[str, Any], action: str) -> dict[str, Any]:
    """The button of a message with that action."""
    return next(each for each in buttons(message) if each["action_id"] == action)


ASKS = f'<@{BOT}> /say Wait.\n/call calculate {{"expression": "17*23"}}\n/then\n/say It is 391.'


async def test_who_began_a_thread_decides_with_a_button_and_nobody_else(
    workspace: Workspace, demo_url: str, tmp_path: Path
) -> None:
    """The buttons come with the question and go with the decision. Another person's press is told to be none,
    and changes nothing."""
    workspace.emails = {ANNA: "Anna@example.org", BEN: "ben@example.org"}
    async with asking_gateway(tmp_path, demo_url) as client:
        given = program(workspace, client.url, tmp_path, key=DELEGATE, identity="email")
        async with connected(given):
            asked = await workspace.say(ANNA, CHANNEL, ASKS)
            (message,) = await workspace.until(
                lambda: [each for each in workspace.answers(CHANNEL, asked) if buttons(each)]
            )
            assert "*calculate*" in shown(message)
            await workspace.press(BEN, CHANNEL, message, pressed(message, "gateway_approve"))
            await workspace.until(lambda: workspace.ephemeral)
            assert [(each["user"], "decide" in each["text"]) for each in workspace.ephemeral] == [(BEN, True)]
            assert buttons(message)
            await workspace.press(ANNA, CHANNEL, message, pressed(message, "gateway_approve"))
            (message,) = await workspace.answered(CHANNEL, asked)

    assert shown(message) == "Wait.\nIt is 391."
    assert buttons(message) == []
    assert quiet_lines(message) == ["✓ calculate"]


async def test_another_persons_thread_is_theirs(workspace: Workspace, demo_url: str, tmp_path: Path) -> None:
    """Who speaks in a thread that another one began is told so, and the session has nothing of it; with the
    same account, as a person with two Slack users, it goes on."""
    users = {ANNA: "anna", "anna@home.example": "anna", BEN: "ben"}
    workspace.emails = {"UANNA2": "anna@home.example"}
    async with asking_gateway(tmp_path, demo_url) as client:
        given = program(workspace, client.url, tmp_path, key=DELEGATE, users=users, identity="email")
        async with connected(given):
            asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
            await workspace.answered(CHANNEL, asked)
            await workspace.say(BEN, CHANNEL, f"<@{BOT}> /say Two.", thread=asked)
            (refused,) = await workspace.until(lambda: workspace.ephemeral)
            await workspace.say(BEN, CHANNEL, "I do not mean the bot.", thread=asked)
            await workspace.say("UANNA2", CHANNEL, f"<@{BOT}> /say Three.", thread=asked)
            messages = await workspace.answered(CHANNEL, asked, 2)
        key = {"authorization": f"Bearer {DELEGATE}", "x-user-id": "anna"}
        sessions = (await client.get("/api/sessions", **key)).json()["sessions"]

    assert refused["user"] == BEN
    assert len(workspace.ephemeral) == 1
    assert [*map(shown, messages)] == ["One.", "Three."]
    assert len(sessions) == 1


async def test_what_is_said_while_the_gateway_is_away_is_answered_once_it_is_back(
    workspace: Workspace, client: Client, tmp_path: Path
) -> None:
    """Also without a mention in a thread whose first question waits; what is deleted meanwhile is never
    asked, and a stop of what waits is no question."""
    away = f"http://127.0.0.1:{free_port()}"
    async with connected(program(workspace, away, tmp_path)):
        asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
        await workspace.say(ANNA, CHANNEL, "/say Two.", thread=asked)
        await workspace.say(BEN, CHANNEL, "I do not mean the bot.", thread=asked)
        for thread, mention in ((asked, ""), (None, f"<@{BOT}> ")):
            deleted = await workspace.say(ANNA, CHANNEL, f"{mention}/say Deleted.", thread=thread)
            await workspace.delete(ANNA, CHANNEL, deleted)
        await workspace.say(ANNA, DIRECT, "/pace 50\n/pieces 10000")
        await workspace.say(ANNA, DIRECT, "stop")
    async with connected(program(workspace, client.url, tmp_path)):
        answers = await workspace.answered(CHANNEL, asked, 2)
        (stopped,) = await workspace.answered(DIRECT)

    assert [*map(shown, answers)] == ["One.", "Two."]
    assert quiet_lines(stopped) == ["⚠ Stopped."]
    assert len((await client.get("/api/turns")).json()["turns"]) == 3


async def test_a_deleted_question_that_waits_for_another_is_not_answered(
    slack: Workspace, client: Client
) -> None:
    """The answer that is being written goes on."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 30\n/pieces 60")
    await slack.until(lambda: slack.answers(CHANNEL, asked))
    deleted = await slack.say(ANNA, CHANNEL, "/say Deleted.", thread=asked)
    async with asyncio.timeout(TIMEOUT):
        while len((await client.get("/api/turns")).json()["turns"]) < 2:
            await asyncio.sleep(0.02)
    await slack.delete(ANNA, CHANNEL, deleted)
    (message,) = await slack.answered(CHANNEL, asked)
    await slack.say(ANNA, CHANNEL, "/say Next.", thread=asked)
    answers = await slack.until(
        lambda: [each for each in slack.answers(CHANNEL, asked) if shown(each) == "Next."]
    )

    assert shown(message).endswith("059")
    assert "Deleted." not in [*map(shown, slack.answers(CHANNEL, asked))]
    assert len(answers) == 1


@pytest.mark.parametrize("identity", ["one", "email", "slack"])
async def test_people_of_other_workspaces_are_nobody(
    identity: str, workspace: Workspace, demo_url: str, tmp_path: Path
) -> None:
    """In a channel that is shared with another organization its people are refused, whatever e-mail address
    they say they have; but not one whom the table names by id."""
    workspace.teams = {"UEVE": "T0002", "UCARL": "T0002"}
    workspace.emails = {"UEVE": "anna@example.org", ANNA: "anna@example.org"}
    users = {"UCARL": "carl", "anna@example.org": "anna"}
    async with asking_gateway(tmp_path, demo_url) as client:
        given = program(workspace, client.url, tmp_path, key=DELEGATE, users=users, identity=identity)
        async with connected(given):
            await workspace.say("UEVE", CHANNEL, f"<@{BOT}> /say No.")
            (refused,) = await workspace.until(lambda: workspace.ephemeral)
            for person in (ANNA, "UCARL"):
                asked = await workspace.say(person, CHANNEL, f"<@{BOT}> /say Yes.")
                await workspace.answered(CHANNEL, asked)

    assert (refused["user"], "another workspace" in refused["text"]) == ("UEVE", True)
    assert len(workspace.answers(CHANNEL)) == 2


async def test_stop_stops(slack: Workspace, client: Client) -> None:
    """By the word, by a reaction on the answer, by its button, and by deleting the question."""
    slack.has_streams = False
    for way in ("word", "reaction", "button", "deletion"):
        asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 50\n/pieces 10000")
        (message,) = await slack.until(lambda: slack.answers(CHANNEL, asked))  # noqa: B023 - of this round
        match way:
            case "word":
                await slack.say(ANNA, CHANNEL, "停止。", thread=asked)
            case "reaction":
                await slack.react(ANNA, CHANNEL, message["ts"], "octagonal_sign")
            case "button":
                await slack.press(ANNA, CHANNEL, message, pressed(message, "gateway_stop"))
            case _:
                await slack.delete(ANNA, CHANNEL, asked)
        (message,) = await slack.answered(CHANNEL, asked)
        assert quiet_lines(message) == ["⚠ Stopped."], way
    turns = (await client.get("/api/turns")).json()["turns"]
    assert [each["outcome"] for each in turns] == ["cancelled"] * 4


async def test_a_reaction_is_feedback(slack: Workspace, client: Client) -> None:
    """A thumb on the answer rates its turn; taken back it rates nothing."""

    async def rating() -> str | None:
        (turn,) = (await client.get("/api/turns")).json()["turns"]
        return (turn.get("feedback") or {}).get("rating")

    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say Yes.")
    (message,) = await slack.answered(CHANNEL, asked)
    for reaction, kind, expected in (
        ("+1::skin-tone-2", "added", "up"),
        ("eyes", "added", "up"),
        ("-1", "added", "down"),
        ("-1", "removed", None),
    ):
        await slack.react(ANNA, CHANNEL, message["ts"], reaction, kind)
        async with asyncio.timeout(TIMEOUT):
            while await rating() != expected:
                await asyncio.sleep(0.02)


async def test_what_is_no_question_begins_no_turn(slack: Workspace, client: Client) -> None:
    """Bots, also this one, edited and deleted messages, what joins and leaves, talk in a channel, people who
    speak to each other in a thread of the bot's."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
    (message,) = await slack.answered(CHANNEL, asked)
    base = {"type": "message", "channel": CHANNEL, "channel_type": "channel", "ts": "1.0", "thread_ts": asked}
    mention = f"<@{BOT}> hello"
    for event in (
        {**base, "user": "UOTHER", "bot_id": "B2", "text": mention},
        {**base, "type": "app_mention", "user": "UOTHER", "bot_id": "B2", "text": mention},
        {**base, "subtype": "bot_message", "bot_id": "B2", "text": mention},
        {**base, "user": BOT, "text": mention},
        {**base, "subtype": "message_changed", "message": {**message, "text": mention}},
        {**base, "subtype": "message_deleted", "deleted_ts": message["ts"], "previous_message": message},
        {**base, "subtype": "channel_join", "user": ANNA, "text": f"<@{ANNA}> has joined"},
        {**base, "user": ANNA, "text": "<@UBEN> what do you think?"},
        {**base, "user": ANNA, "text": f"<@{BOT}> "},
        {**base, "user": ANNA, "thread_ts": "2.0", "text": "talk in another thread"},
        {"type": "message"},
        {"type": "reaction_added", "user": ANNA, "reaction": "+1", "item": {"type": "file"}},
    ):
        await slack.send_event(event)
    await slack.say(ANNA, CHANNEL, "/say Two.", thread=asked)
    messages = await slack.answered(CHANNEL, asked, 2)

    assert [*map(shown, messages)] == ["One.", "Two."]
    assert len((await client.get("/api/turns")).json()["turns"]) == 2


async def test_events_over_http_are_checked_and_come_once(
    workspace: Workspace, client: Client, tmp_path: Path
) -> None:
    """A signature that is wrong, missing, of other bytes or old is refused; what Slack sends again, as it
    does without an answer within three seconds, is one question, and one command."""
    address = f"127.0.0.1:{free_port()}"
    url = f"http://{address}/slack/events"
    given = program(workspace, client.url, tmp_path, app_token=None, http=address)
    async with connected(given):
        event = {
            "type": "app_mention",
            "channel": CHANNEL,
            "user": ANNA,
            "text": f"<@{BOT}> /say Yes.",
            "ts": "9.1",
        }
        body = workspace.event_body(event)
        content = json.dumps(body)
        async with asyncio.timeout(TIMEOUT):
            while True:
                with suppress(httpx2.ConnectError):
                    hello = await workspace.post_event(url, {"type": "url_verification", "challenge": "c"})
                    break
                await asyncio.sleep(0.02)
        assert hello.json() == {"challenge": "c"}
        old = signed(content, time.time() - 301)
        for wrong in (
            {"x-slack-signature": "v0=0"},
            {"x-slack-signature": ""},
            signed(content, secret="another"),
            signed(content + " "),
            old,
        ):
            assert (await workspace.post_event(url, body, **wrong)).status_code == 401
        assert (await client.get("/api/turns")).json()["turns"] == []
        for number in range(3):
            retry = {"x-slack-retry-num": str(number)} if number else {}
            assert (await workspace.post_event(url, body, **retry)).status_code == 200
        (message,) = await workspace.answered(CHANNEL, "9.1")
        assert (await workspace.post_event(url, body)).status_code == 200
        press = form({"type": "block_actions", "user": {"id": ANNA}, "actions": [{"action_id": "a"}]})
        assert (await workspace.post_event(url, press)).status_code == 200
        for text, trigger in (("help", "1.1"), ("help", "1.1"), ("status", "1.2")):
            about = {"command": "/gateway", "text": text, "user_id": ANNA, "channel_id": DIRECT}
            more = {"trigger_id": trigger, "response_url": f"{workspace.url}/response"}
            assert (await workspace.post_event(url, urlencode(about | more))).status_code == 200
        await workspace.until(lambda: any("You are" in each["text"] for each in workspace.responses))
        assert len(workspace.responses) == 2

    assert shown(message) == "Yes."
    assert len((await client.get("/api/turns")).json()["turns"]) == 1


async def test_fifty_threads_at_once_keep_to_the_limits(client: Client, tmp_path: Path) -> None:
    """Slack refuses none of the calls, though all threads write at the same time, and each has its answer."""
    rate = 30.0  # a minute is two seconds
    async with (
        slack_workspace(rate) as workspace,
        connected(program(workspace, client.url, tmp_path, rate=rate)),
    ):
        asked = await asyncio.gather(
            *(workspace.say(ANNA, f"C{n}", f"<@{BOT}> /pace 20\n/pieces 80") for n in range(50))
        )
        for number, ts in enumerate(asked):
            (message,) = await workspace.answered(f"C{number}", ts)
            assert shown(message).endswith("079")

    assert workspace.too_many.total() == 0
    assert {"chat.appendStream", "chat.update", "chat.postMessage"} <= workspace.calls.keys()


async def test_limited_for_a_minute_it_waits_and_loses_nothing(slack: Workspace, client: Client) -> None:
    """While Slack refuses every call the program asks no more often than it is told to."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    await slack.until(lambda: slack.answers(CHANNEL, asked))
    slack.retry_after = "0.5"
    slack.busy_until = time.monotonic() + 2
    (message,) = await slack.answered(CHANNEL, asked)

    assert shown(message) == await answer_in_log(client)
    assert slack.refused.total() <= 10
    assert set(slack.refused) <= {"chat.appendStream", "chat.stopStream"}


async def test_a_revoked_token_ends_the_program_and_a_new_one_goes_on(
    workspace: Workspace, client: Client, tmp_path: Path
) -> None:
    """It says what to do. What was under way is complete after the next start."""
    running = asyncio.create_task(connect(program(workspace, client.url, tmp_path)))
    asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    await workspace.until(lambda: workspace.answers(CHANNEL, asked))
    workspace.token = "xoxb-renewed"
    with pytest.raises(MessengerRefused, match="Install the app again"):
        await asyncio.wait_for(running, TIMEOUT)
    with pytest.raises(MessengerRefused, match="invalid_auth"):
        await connect(program(workspace, client.url, tmp_path))
    async with connected(program(workspace, client.url, tmp_path, bot_token="xoxb-renewed")):
        (message,) = await workspace.answered(CHANNEL, asked)

    assert shown(message) == await answer_in_log(client)
    assert len(workspace.answers(CHANNEL)) == 1


async def test_called_into_a_thread_of_two_thousand_messages_it_reads_the_last(
    slack: Workspace, client: Client
) -> None:
    """What people said before is a file with the question, the last fifty messages of it."""
    first = slack.spoken(BEN, CHANNEL, None, "Where do we eat?")
    for number in range(2000):
        slack.spoken(BEN, CHANNEL, first, f"Proposal {number} &amp; <@{ANNA}>")
    await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say Here.", thread=first)
    (message,) = await slack.answered(CHANNEL, first)

    assert shown(message) == "Here."
    (artifact,) = (await client.get("/api/artifacts")).json()["artifacts"]
    before = (await client.get(f"/api/artifacts/{artifact['ref']}")).text
    assert before.startswith(f"@{BEN}: Proposal 1950 & @{ANNA}\n\n")
    assert before.endswith(f"@{BEN}: Proposal 1999 & @{ANNA}")
    assert slack.calls["conversations.replies"] <= 11


@pytest.mark.parametrize(
    "method", ["chat.postMessage", "chat.update", "chat.startStream", "chat.appendStream", "chat.stopStream"]
)
async def test_a_message_whose_confirmation_is_lost_is_found_again(
    method: str, slack: Workspace, client: Client
) -> None:
    """The connection breaks when Slack has taken it: the message is there once, and says all of it once."""
    slack.has_streams = "Stream" in method
    slack.lost[method] = 1
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    (message,) = await slack.answered(CHANNEL, asked)

    assert slack.lost[method] == 0
    assert shown(message) == await answer_in_log(client)
    assert len(slack.answers(CHANNEL)) == 1


async def test_connections_that_slack_closes_are_opened_again(slack: Workspace) -> None:
    """Also in mid-answer; what is said meanwhile comes when there is one again."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    await slack.until(lambda: slack.answers(CHANNEL, asked))
    await slack.disconnect()
    await slack.say(ANNA, CHANNEL, "/say Next.", thread=asked)
    _, message = await slack.answered(CHANNEL, asked, 2)

    assert shown(message) == "Next."


async def test_a_gateway_that_went_back_to_a_backup_goes_on(
    workspace: Workspace, client: Client, tmp_path: Path
) -> None:
    """Its log ends before what was delivered: what is said then is answered, and so is what was said before
    the program looked."""
    given = program(workspace, client.url, tmp_path)
    async with connected(given):
        asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
        await workspace.answered(CHANNEL, asked)
    journal = Journal(given.journal)
    (thread,) = journal.latest(1)
    journal.delivered(thread, 1000)
    journal.close()
    await client.begin(thread.session_id, "/say Meanwhile.")
    async with connected(given):
        await workspace.say(ANNA, CHANNEL, "/say Two.", thread=asked)
        messages = await workspace.answered(CHANNEL, asked, 3)

    assert [*map(shown, messages)] == ["One.", "Meanwhile.", "Two."]


async def test_a_deleted_answer_stays_deleted(slack: Workspace) -> None:
    """Who deletes the bot's message while it is written does not see it again; the thread goes on."""
    slack.has_streams = False
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    (message,) = await slack.until(lambda: slack.answers(CHANNEL, asked))
    await slack.delete(BOT, CHANNEL, message["ts"])
    await slack.say(ANNA, CHANNEL, "/say Next.", thread=asked)
    (message,) = await slack.answered(CHANNEL, asked)

    assert shown(message) == "Next."


async def test_blocks_that_slack_refuses_become_text(slack: Workspace, client: Client) -> None:
    """The answer stands there whole, not as far as it was when Slack refused it first."""
    slack.has_streams = False
    slack.refuses = lambda method, given: (
        "invalid_blocks" if method == "chat.update" and given["blocks"] else None
    )
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    (message,) = await slack.answered(CHANNEL, asked)

    assert message["text"] == await answer_in_log(client)


async def test_a_message_that_may_not_be_edited_any_more_is_followed_by_another(
    slack: Workspace, client: Client
) -> None:
    """It says all of the answer, once the answer is there."""
    slack.has_streams = False
    slack.refuses = lambda method, _: "edit_window_closed" if method == "chat.update" else None
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /pace 40\n/pieces 60")
    first, last = await slack.answered(CHANNEL, asked)

    assert not payload(first)["is_last"]
    assert shown(last) == await answer_in_log(client)


async def test_without_its_journal_nothing_is_posted_again(
    workspace: Workspace, client: Client, tmp_path: Path
) -> None:
    """The metadata of the messages tells what was delivered."""
    async with connected(program(workspace, client.url, tmp_path)):
        asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
        await workspace.answered(CHANNEL, asked)
    another = program(workspace, client.url, tmp_path, journal=tmp_path / "another.db")
    async with connected(another):
        await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say Two.", thread=asked)
        messages = await workspace.answered(CHANNEL, asked, 2)

    assert [*map(shown, messages)] == ["One.", "Two."]


async def test_what_is_asked_elsewhere_is_answered_in_the_thread_too(
    slack: Workspace, client: Client
) -> None:
    """A turn that the page, or a schedule, begins in the session is delivered with its question."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
    await slack.answered(CHANNEL, asked)
    session = (await client.get("/api/sessions")).json()["sessions"][0]["id"]
    await client.begin(session, "/say Good morning.")
    _, message = await slack.answered(CHANNEL, asked, 2)

    assert shown(message) == "Good morning."
    (note,) = quiet_lines(message)
    assert note.endswith(" Asked elsewhere: /say Good morning.")


async def test_what_a_schedule_says_comes_into_every_conversation(
    workspace: Workspace, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also into a thread in which nothing happened for long, and where the conversation has begun anew since:
    the buttons of its calls are those of its session."""
    monkeypatch.setattr(followed_threads, "MAX_FOLLOWED", 1)
    monkeypatch.setattr(followed_threads, "LOOK_EVERY", 0.05)
    async with connected(program(workspace, client.url, tmp_path)):
        thread = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
        await workspace.answered(CHANNEL, thread)
        await workspace.say(ANNA, DIRECT, "/say Two.")
        await workspace.answered(DIRECT)
        old, idle = [each["id"] for each in (await client.get("/api/sessions")).json()["sessions"]]
        await workspace.command(ANNA, DIRECT, "new")
        await workspace.say(ANNA, DIRECT, "/say Three.")
        await workspace.answered(DIRECT, count=2)

        async def run(session: str, message: str) -> None:
            body = {"message": message, "every": 3600, "session_id": session}
            made = (await client.post("/api/schedules", body)).json()["id"]
            assert (await client.post(f"/api/schedules/{made}/run")).status_code == 202

        await run(idle, "/say Four.")
        assert shown((await workspace.answered(CHANNEL, thread, 2))[1]) == "Four."
        await run(old, '/call manage_schedule {"action": "pause", "id": "x"}\n/then\n/say Five.')
        (asking,) = await workspace.until(
            lambda: [each for each in workspace.answers(DIRECT) if len(buttons(each)) > 1]
        )
        await workspace.press(ANNA, DIRECT, asking, pressed(asking, "gateway_deny"))
        answers = await workspace.answered(DIRECT, count=3)

    assert [*map(shown, answers)] == ["Two.", "Three.", "Five."]
    assert quiet_lines(answers[2])[0].startswith("✓ Scheduled: /call")


async def test_a_session_that_was_deleted_begins_anew(slack: Workspace, client: Client) -> None:
    """Its thread goes on in another one."""
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say One.")
    await slack.answered(CHANNEL, asked)
    session = (await client.get("/api/sessions")).json()["sessions"][0]["id"]
    assert (await client.http.delete(f"/api/sessions/{session}")).status_code == 204
    await slack.say(ANNA, CHANNEL, "/say Two.", thread=asked)
    _, message = await slack.answered(CHANNEL, asked, 2)

    assert shown(message) == "Two."


async def test_a_session_whose_id_another_user_has_is_not_the_threads(
    workspace: Workspace, demo_url: str, tmp_path: Path
) -> None:
    """Who knows where another person will talk makes a session of that id first: the person is answered, in
    one of their own."""
    taken = session_id("slack", Place(DIRECT))
    async with asking_gateway(tmp_path, demo_url) as client:
        anna = {"authorization": f"Bearer {KEY_OF_ANNA}"}
        assert (await client.post("/api/sessions", {"id": taken}, **anna)).status_code == 201
        async with connected(program(workspace, client.url, tmp_path, key=DELEGATE, identity="slack")):
            for text in ("One.", "Two."):
                await workspace.say(BEN, DIRECT, f"/say {text}")
            answers = await workspace.answered(DIRECT, count=2)
        assert (await client.get(f"/api/sessions/{taken}", **anna)).json()["head"] == 0

    assert [*map(shown, answers)] == ["One.", "Two."]


async def test_the_command_tells_and_does(slack: Workspace, client: Client) -> None:
    """To one person alone: what is remembered, a summary, where they are; and a new session."""

    async def told(text: str, channel: str = DIRECT) -> str:
        count = len(slack.responses)
        await slack.command(ANNA, channel, escaped(text))
        await slack.until(lambda: len(slack.responses) > count)
        assert slack.responses[-1]["response_type"] == "ephemeral"
        return slack.responses[-1]["text"]

    assert "/gateway memory" in await told("")
    assert await told("memory tea") == "Nothing is remembered about that."
    assert "Remembered: I drink green tea &lt;always&gt;" in await told("remember I drink green tea <always>")
    found = await told("memory tea")
    assert found.startswith("• I drink green tea &lt;always&gt;")
    assert await told(f"forget {found.rpartition(' ')[2].strip('`')}") == "Forgotten."
    assert await told("memory tea") == "Nothing is remembered about that."
    assert await told("summary") == "You have no thread here."
    await slack.say(ANNA, DIRECT, "/say One.")
    await slack.answered(DIRECT)
    assert "You are `local`" in await told("status")
    assert (await told("summary")).startswith("*goal*: ")
    assert await told("stop") == "Nothing runs there."
    assert "each mention" in await told("new", CHANNEL)
    assert "begins a new session" in await told("new")
    await slack.say(ANNA, DIRECT, "/say Two.")
    messages = await slack.answered(DIRECT, count=2)

    assert [*map(shown, messages)] == ["One.", "Two."]
    assert len((await client.get("/api/sessions")).json()["sessions"]) == 2


async def test_a_person_links_the_account_that_they_have_on_the_page(
    workspace: Workspace, demo_url: str, tmp_path: Path
) -> None:
    """With their own key, given in a window: who they are here is who they are there."""
    async with asking_gateway(tmp_path, demo_url) as client:
        async with connected(program(workspace, client.url, tmp_path, key=DELEGATE, identity="email")):
            await workspace.command(ANNA, CHANNEL, "link")
            (window,) = await workspace.until(lambda: workspace.views)

            def submitted(key: str) -> dict[str, Any]:
                state = {"values": {"key": {"key": {"type": "plain_text_input", "value": key}}}}
                view = {"callback_id": window["callback_id"], "state": state, "type": "modal"}
                return {"type": "view_submission", "user": {"id": ANNA}, "team": {"id": "T"}, "view": view}

            wrong = await workspace.send("interactive", submitted("no-key-of-this-gateway"))
            assert "not known" in wrong["errors"]["key"]
            assert await workspace.send("interactive", submitted(KEY_OF_ANNA)) is None
            asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /say Yes.")
            await workspace.answered(CHANNEL, asked)
        sessions = (await client.get("/api/sessions", authorization=f"Bearer {KEY_OF_ANNA}")).json()[
            "sessions"
        ]

    assert len(sessions) == 1


async def test_who_is_erased_at_the_gateway_is_forgotten_here(
    workspace: Workspace, demo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their threads, what was posted in them and a key that holds no longer leave the file, with their bytes;
    those of others stay, and work."""
    monkeypatch.setattr(gone_sessions, "ASK_EVERY", 0.02)
    file = tmp_path / "slack.db"
    journal = Journal(file)
    journal.link("UGONE", "a-key-that-was-revoked")
    journal.link("UKEPT", KEY_OF_ANNA)
    journal.close()
    anna = {"authorization": f"Bearer {DELEGATE}", "x-user-id": ANNA}
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(asking_gateway(tmp_path, demo_url))
        given = program(workspace, client.url, tmp_path, key=DELEGATE, identity="slack")
        async with connected(given):
            asked = ""
            for person in (ANNA, BEN):
                asked = await workspace.say(person, CHANNEL, f"<@{BOT}> /say Yes.")
                await workspace.answered(CHANNEL, asked)
            user_id = (await client.get("/api/me", **anna)).json()["user_id"]
            erasure = await client.http.post("/api/me/erasure", json={"confirm": user_id}, headers=anna)
            assert erasure.status_code == 202, erasure.text
            async with asyncio.timeout(TIMEOUT):
                while ANNA.encode() in file.read_bytes() or b"UGONE" in file.read_bytes():
                    await asyncio.sleep(0.05)
            await workspace.say(BEN, CHANNEL, "/say Again.", thread=asked)
            answers = await workspace.answered(CHANNEL, asked, 2)
    journal = Journal(file)
    threads, linked = journal.threads("", 9), journal.linked_persons("", 9)
    journal.close()

    assert [thread.person for thread in threads] == [BEN]
    assert linked == ["UKEPT"]
    assert shown(answers[1]) == "Again."


async def test_files_come_in_and_go_out(slack: Workspace, client: Client, tmp_path: Path) -> None:
    """A file with a message is an artifact of its turn; a picture that a tool made is posted in the thread.
    The bot's token goes to Slack alone."""
    slack.downloads["notes.txt"] = b"Green tea at four."
    file = {
        "id": "F1",
        "name": "notes.txt",
        "mimetype": "text/plain",
        "size": 18,
        "url_private_download": f"{slack.url}/files/notes.txt",
    }
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say Read.", subtype="file_share", files=[file])
    await slack.answered(CHANNEL, asked)
    (artifact,) = (await client.get("/api/artifacts")).json()["artifacts"]
    assert (await client.get(f"/api/artifacts/{artifact['ref']}")).content == b"Green tea at four."

    for source in ("https://files.example.org/notes.txt", f"{slack.url}@example.org/notes.txt"):
        other = {**file, "url_private_download": source}
        await slack.say(ANNA, CHANNEL, "/say No.", thread=asked, subtype="file_share", files=[other])
    await slack.until(lambda: len(slack.ephemeral) == 2)

    assert all("is not at Slack" in each["text"] for each in slack.ephemeral)
    assert len(slack.answers(CHANNEL, asked)) == 1


async def test_a_file_comes_whole_or_its_sender_is_told(slack: Workspace, client: Client) -> None:
    """However many pieces it comes in. A file that is larger than Slack said or than one may be, or shorter,
    begins no turn."""
    slack.downloads["big.csv"] = b"1,2\n" * 500_000
    slack.downloads["huge.csv"] = bytes(slack_web_api.MAX_FILE + 1)
    file = {"name": "big.csv", "mimetype": "text/csv", "url_private": f"{slack.url}/files/big.csv"}
    whole = {**file, "size": 2_000_000}
    asked = await slack.say(ANNA, CHANNEL, f"<@{BOT}> /say Read.", subtype="file_share", files=[whole])
    await slack.answered(CHANNEL, asked)
    (artifact,) = (await client.get("/api/artifacts")).json()["artifacts"]
    kept = (await client.get(f"/api/artifacts/{artifact['ref']}")).content
    assert kept == slack.downloads["big.csv"]

    huge = {**file, "name": "huge.csv", "url_private": f"{slack.url}/files/huge.csv"}
    for wrong in ({**file, "size": 2_000_004}, huge):
        await slack.say(ANNA, CHANNEL, "/say No.", thread=asked, subtype="file_share", files=[wrong])
    await slack.until(lambda: len(slack.ephemeral) == 2)
    assert "2000000 of its 2000004 bytes" in slack.ephemeral[0]["text"]
    assert "huge.csv is too large" in slack.ephemeral[1]["text"]
    assert len(slack.answers(CHANNEL, asked)) == 1


async def test_a_picture_that_a_tool_made_is_posted_once(
    workspace: Workspace, settings: Settings, tmp_path: Path
) -> None:
    """Also when Slack's answer to it is lost; what is text for the model is not posted."""

    @tool(effect="read_only")
    def draw() -> ToolResult:
        """Draws."""
        files = [
            File(PICTURE, name="plan.png"),
            File(b"{}" * 9000, mime="application/json", name="plan.json"),
        ]
        return ToolResult(result="Here it is.", files=files)

    workspace.lost.update(["files.completeUploadExternal"])
    async with (
        running_gateway(settings, draw) as client,
        connected(program(workspace, client.url, tmp_path)),
    ):
        asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /call draw\n/then\n/say There.")
        await workspace.until(lambda: len(workspace.answers(CHANNEL, asked)) == 2)
        await workspace.say(ANNA, CHANNEL, "/say Next.", thread=asked)
        messages = await workspace.answered(CHANNEL, asked, 2)

    posted = [each for each in workspace.uploads.values() if "title" in each]
    assert [(each["name"], each["content"]) for each in posted] == [("plan.png", PICTURE)]
    assert [shown(each) for each in messages if not each.get("files")] == ["There.", "Next."]


MOMENTS = [
    ("before", "chat.startStream", 1),
    ("after", "chat.startStream", 1),
    ("after", "chat.appendStream", 3),
    ("after", "chat.stopStream", 1),
    ("after", "chat.postMessage", 1),
    ("before", "chat.update", 2),
]
"""Before Slack has taken that call, or after; the rest follows from these."""


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: " ".join(map(str, moment)))
async def test_killed_in_mid_answer_it_leaves_one_complete_message(
    moment: tuple[str, str, int], workspace: Workspace, client: Client, tmp_path: Path
) -> None:
    """Whether Slack took the last call or not: the program that comes next finds the message and completes
    it."""
    when, method, count = moment
    workspace.has_streams = "Stream" in method
    given = program(workspace, client.url, tmp_path)
    with slack_command(given, tmp_path) as process:

        def kill(called: str, _: Any) -> None:
            if called == method and workspace.calls[method] == count:
                process.kill()
                process.join(TIMEOUT)

        setattr(workspace, when, kill)
        asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /pace 10\n/pieces 100")
        await asyncio.to_thread(process.join, TIMEOUT)
        assert not process.is_alive()
    workspace.before = workspace.after = None
    with slack_command(given, tmp_path):
        (message,) = await workspace.answered(CHANNEL, asked)

    assert shown(message) == await answer_in_log(client)
    assert len(workspace.answers(CHANNEL)) == 1


@pytest.mark.long
async def test_a_gateway_that_is_killed_in_mid_answer_leaves_one_complete_message(
    workspace: Workspace, tmp_path: Path
) -> None:
    """The program waits until it is there again; what it withdraws of the answer leaves the message."""
    async with AsyncExitStack() as stack:
        first = await asyncio.to_thread(stack.enter_context, gateway_process(tmp_path))
        way = stack.enter_context(relaying(first.url))
        async with client_at(way.url) as client:
            await stack.enter_async_context(connected(program(workspace, client.url, tmp_path)))
            asked = await workspace.say(ANNA, CHANNEL, f"<@{BOT}> /pace 30\n/pieces 100")
            await workspace.until(lambda: any(map(shown, workspace.answers(CHANNEL, asked))))
            await asyncio.to_thread(first.stop, signal.SIGKILL)
            second = await asyncio.to_thread(stack.enter_context, gateway_process(tmp_path))
            way.upstream = ("127.0.0.1", int(second.url.rpartition(":")[2].strip("/")))
            (message,) = await workspace.answered(CHANNEL, asked)

            session = (await client.get("/api/sessions")).json()["sessions"][0]["id"]
            told = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"][-1]
            assert shown(message) == told["content"][-1]["text"].strip()
