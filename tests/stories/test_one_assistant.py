"""One assistant behind the page, Slack and a schedule, whatever is killed on the way."""

import asyncio
import json
import signal
import time
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from examples.home.slack_workspace import (
    BOT,
    Workspace,
    buttons,
    payload,
    quiet_lines,
    shown,
    slack_workspace,
)
from tests.harness import client_at, text_of
from tests.invariants import violations
from tests.loopback import free_port
from tests.record import read_records
from tests.relay import relaying
from tests.running import Running, hurry, limited_gateway_process
from tests.slack_program import program, slack_command

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

CHANNEL, ANNA = "C1", "UANNA"
KEY_OF_ANNA, DELEGATE = "secret-of-anna-herself", "delegate-secret-of-slack"
KEYS = {"GATEWAY_API_KEYS": f"anna:{KEY_OF_ANNA},slack:{DELEGATE}", "GATEWAY_DELEGATE_KEYS": "slack"}
SKILL = """---
name: each-morning
description: Answers a question each morning, 每天早上.
---

# Each morning

## Steps

1. **Make the schedule**: `manage_schedule {}`.
"""


class Words(NamedTuple):
    """What is said in one language, and where the morning is."""

    preference: str
    kept: str
    question: str
    long: str
    wish: str
    timezone: str


ENGLISH = Words(
    "Remember that I like my tea green.",
    "I like my tea green",
    "How do I like my tea?",
    "Write me something long, please.",
    "Answer that each morning, please.",
    "Europe/Berlin",
)
CHINESE = Words(
    "记住，我喜欢喝绿茶。",
    "我喜欢喝绿茶",
    "我喜欢喝什么茶？",
    "请写一篇长文",
    "请每天早上回答这个问题。",
    "Asia/Shanghai",
)


def ahead(seconds: float) -> None:
    """Has the clocks of this process go that much ahead, as they do after a night."""
    real = time.time_ns
    time.time_ns = lambda: real() + int(seconds * 1e9)
    time.time = lambda: time.time_ns() / 1e9


def again(seconds: float) -> None:
    """The same in a process that nobody has to catch in mid-answer."""
    ahead(seconds)
    hurry()


class Gateway:
    """One behind a relay, whose address stays. `start` kills it when it runs."""

    def __init__(self, stack: AsyncExitStack, folder: Path) -> None:
        self.way = stack.enter_context(relaying(f"http://127.0.0.1:{free_port()}"))
        self._stack = stack
        self._folder = folder
        self._running: Running | None = None

    async def start(self, *, after: float = 0) -> None:
        """`after`: the seconds that have passed since, by its clock."""
        if self._running is not None:
            assert await asyncio.to_thread(self._running.stop, signal.SIGKILL) == -signal.SIGKILL
        begin = partial(ahead if self._running is None else again, after)
        begun = limited_gateway_process(self._folder, None, begin=begin, **KEYS)
        self._running = await asyncio.to_thread(self._stack.enter_context, begun)
        place = urlsplit(self._running.url)
        self.way.upstream = (str(place.hostname), int(place.port or 0))


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["English", "Chinese"])
async def test_what_the_page_is_told_slack_knows_and_a_schedule_says(words: Words, tmp_path: Path) -> None:
    """Anna tells the page what she likes, and Slack knows it once she is the same user there. She approves a
    schedule by a button, and the next morning it answers in her thread. The gateway is killed in mid-answer,
    while the call waits for her, and in the night, when the Slack program is killed, too; the logs of the
    sessions have it all, each turn once."""
    wanted = {"action": "create", "message": words.question, "cron": "0 7 * * *", "timezone": words.timezone}
    skill = tmp_path / "skills" / "each-morning" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL.replace("{}", json.dumps(wanted, ensure_ascii=False)), encoding="utf-8")
    async with slack_workspace() as slack, AsyncExitStack() as stack:
        gateway = Gateway(stack, tmp_path)
        await gateway.start()
        anna = await stack.enter_async_context(client_at(gateway.way.url))
        anna.http.headers["authorization"] = f"Bearer {KEY_OF_ANNA}"
        given = program(
            slack, gateway.way.url, tmp_path, key=DELEGATE, users={ANNA: "anna"}, identity="email"
        )

        told = await anna.chat(words.preference)
        with slack_command(given, tmp_path):
            await _link(slack)
            thread = await slack.say(ANNA, CHANNEL, f"<@{BOT}> {words.question}")
            await slack.answered(CHANNEL, thread)

            await slack.say(ANNA, CHANNEL, words.long, thread=thread)
            await slack.until(lambda: [*map(shown, slack.answers(CHANNEL, thread))][1:] not in ([], [""]))
            await gateway.start()
            await slack.answered(CHANNEL, thread, 2)

            await slack.say(ANNA, CHANNEL, words.wish, thread=thread)
            question = await _asking(slack, thread)
            await gateway.start()
            (approve,) = [each for each in buttons(question) if each["action_id"] == "gateway_approve"]
            await slack.press(ANNA, CHANNEL, question, approve)
            await slack.answered(CHANNEL, thread, 3)
        (schedule,) = (await anna.get("/api/schedules")).json()["schedules"]
        await gateway.start(after=schedule["due_at"] / 1000 - time.time())
        with slack_command(given, tmp_path):
            answers = await slack.answered(CHANNEL, thread, 4)

        page, session = told[0]["session_id"], schedule["session_id"]
        sessions = (await anna.get("/api/sessions")).json()["sessions"]
        of_page, of_slack = await anna.events(page), await anna.events(session)

    assert {each["id"] for each in sessions} == {page, session}
    assert words.kept in str([each["data"] for each in of_page if each["type"] == "memory"])
    for found in (of_page, of_slack):
        assert [each["seq"] for each in found] == [*range(1, len(found) + 1)]
    turns = _turns(of_slack)
    begun = [turn[0]["data"] for turn in turns]
    assert [each["input"] for each in begun] == [words.question, words.long, words.wish, words.question]
    assert [each.get("dialect") == "schedule" for each in begun] == [False, False, False, True]
    for turn, message in zip(turns, answers, strict=True):
        ends = [each["data"]["status"] for each in turn if each["type"] == "done"]
        assert ends == ["completed"]
        assert payload(message)["seq"] == turn[-1]["seq"]
    assert "iteration_superseded" in [each["type"] for each in turns[1]]
    assert shown(answers[1]).split() == _text(turns[1]).split()
    decided = [each["data"]["decision"] for each in turns[2] if each["type"] == "approval_response"]
    assert decided == ["approved"]
    assert [(each["action"], each["by"]) for each in _data(of_slack, "schedule")] == [("created", "model")]
    assert all(words.kept in shown(answers[at]) for at in (0, 3))
    assert f"Scheduled: {words.question}" in quiet_lines(answers[3])[0]
    assert [each for each in answers if each.get("streaming") or buttons(each)] == []
    assert slack.too_many.total() == 0
    records = read_records(tmp_path / "data" / "gateway.db")
    assert [each for record in records for each in violations(record)] == []


async def _link(slack: Workspace) -> None:
    """Anna gives the key that she has on the page in the window of `/gateway link`."""
    await slack.command(ANNA, CHANNEL, "link")
    (window,) = await slack.until(lambda: slack.views)
    values = {"key": {"key": {"type": "plain_text_input", "value": KEY_OF_ANNA}}}
    view = {"type": "modal", "callback_id": window["callback_id"], "state": {"values": values}}
    about = {"type": "view_submission", "user": {"id": ANNA}, "team": {"id": "T0001"}}
    assert await slack.send("interactive", {**about, "view": view}) is None


async def _asking(slack: Workspace, thread: str) -> dict[str, Any]:
    """The message that asks whether a call may run."""
    (found,) = await slack.until(
        lambda: [each for each in slack.answers(CHANNEL, thread) if len(buttons(each)) > 1]
    )
    return found


def _turns(events: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The events of each turn, as they began; without what happened beside turns."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in events:
        if each["type"] == "turn_start":
            found[each["turn_id"]] = []
        if each["turn_id"] in found:
            found[each["turn_id"]].append(each)
    return [*found.values()]


def _text(turn: list[dict[str, Any]]) -> str:
    """What its answer says, without attempts that were withdrawn."""
    begins = [at for at, each in enumerate(turn) if each["type"] == "iteration_superseded"]
    return text_of(turn[max(begins, default=0) :])


def _data(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [each["data"] for each in events if each["type"] == kind]
