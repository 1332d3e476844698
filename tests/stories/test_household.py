"""One assistant behind the page, Slack and a schedule, whose gateway is killed on the way: what one of them
was told all know, and the log has the whole story."""

import asyncio
import json
import signal
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from examples.home.slack_workspace import (
    BOT,
    Message,
    Workspace,
    buttons,
    payload,
    quiet_lines,
    shown,
    slack_workspace,
)
from gateway.ids import now_ms
from tests.adapters.test_slack import connected, program
from tests.harness import Client, client_at, the
from tests.invariants import violations
from tests.loopback import TIMEOUT
from tests.record import read_records
from tests.relay import Relay, relaying
from tests.running import Running, gateway_process

pytestmark = [pytest.mark.anyio, pytest.mark.long]

CHANNEL, DIRECT, ANNA, LI = "C1", "D1", "UANNA", "ULI"


class Household:
    """A gateway that can be killed, at an address that stays, and the workspace where people are."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self.folder = folder
        self._stack = stack
        self._gateway = self._started()
        self._way: Relay = stack.enter_context(relaying(self._gateway.url))
        self.url = self._way.url

    def killed(self) -> None:
        """The gateway is killed, and another one starts."""
        assert self._gateway.stop(signal.SIGKILL) == -signal.SIGKILL
        self._gateway = self._started()
        self._way.upstream = ("127.0.0.1", int(self._gateway.url.rpartition(":")[2].strip("/")))

    def morning(self, schedule: str) -> None:
        """The schedule's next time has come."""
        with closing(sqlite3.connect(self.folder / "data" / "gateway.db", timeout=TIMEOUT)) as file, file:
            file.execute("UPDATE schedules SET due_at = ? WHERE id = ?", (now_ms(), schedule))

    def _started(self) -> Running:
        return self._stack.enter_context(gateway_process(self.folder))


@asynccontextmanager
async def household(folder: Path) -> AsyncGenerator[tuple[Household, Client, Workspace]]:
    async with AsyncExitStack() as stack:
        home = await asyncio.to_thread(Household, folder, stack)
        client = await stack.enter_async_context(client_at(home.url))
        slack = await stack.enter_async_context(slack_workspace())
        await stack.enter_async_context(connected(program(slack, client, folder)))
        yield home, client, slack


async def asked(slack: Workspace, place: str, **where: Any) -> Message:
    """The message there that has the buttons of a call."""

    def found() -> Message | None:
        asking = (
            each
            for each in slack.answers(place, **where)
            if "gateway_approve" in {button["action_id"] for button in buttons(each)}
        )
        return next(asking, None)

    return await slack.until(found)


def said(events: Sequence[dict[str, Any]]) -> list[str]:
    """What each turn of a session says, in their order: without attempts that were withdrawn."""
    turns: dict[str, dict[int, str]] = {}
    for each in events:
        texts = turns.setdefault(each["turn_id"], {})
        if each["type"] == "iteration_superseded":
            texts.pop(each["iteration"], None)
        elif each["type"] == "text":
            texts[each["iteration"]] = texts.get(each["iteration"], "") + each["data"]["text"]
    return ["".join(texts.values()).strip() for texts in turns.values()]


async def test_what_the_page_is_told_slack_knows_and_a_schedule_says_next_morning(tmp_path: Path) -> None:
    """In English and Chinese. The gateway is killed in mid-answer, and while a person is asked; each answer
    stands in Slack once and whole."""
    async with household(tmp_path) as (home, client, slack):
        web = await client.session()
        await client.chat("Remember that I like the bedroom at 17 degrees at night.", session_id=web)
        await client.chat("记住，客厅的灯我喜欢暖色", session_id=web)

        thread = await slack.say(ANNA, CHANNEL, f"<@{BOT}> How warm do I like the bedroom at night?")
        (warm,) = await slack.answered(CHANNEL, thread)
        assert "17 degrees" in shown(warm)

        await slack.say(ANNA, CHANNEL, "/pace 30\n/pieces 100", thread=thread)
        await slack.until(lambda: any(map(shown, slack.answers(CHANNEL, thread)[1:])))
        await asyncio.to_thread(home.killed)
        await slack.answered(CHANNEL, thread, 2)

        await slack.say(LI, DIRECT, "客厅的灯我喜欢什么样的？")
        (light,) = await slack.answered(DIRECT)
        assert "暖色" in shown(light)

        wanted = {
            "action": "create",
            "message": "客厅的灯我喜欢什么样的？",
            "name": "早上的灯",
            "cron": "0 7 * * *",
            "timezone": "Asia/Shanghai",
        }
        call = json.dumps(wanted, ensure_ascii=False)
        await slack.say(LI, DIRECT, f"/call manage_schedule {call}\n/then\n/say 好的，每天早上七点。")
        await asked(slack, DIRECT)
        await asyncio.to_thread(home.killed)
        assert (await client.get("/api/schedules")).json()["schedules"] == []
        message = await asked(slack, DIRECT)
        (approve,) = [each for each in buttons(message) if each["action_id"] == "gateway_approve"]
        await slack.press(LI, DIRECT, message, approve)
        await slack.answered(DIRECT, count=2)

        (schedule,) = (await client.get("/api/schedules")).json()["schedules"]
        await asyncio.to_thread(home.morning, schedule["id"])
        _, _, morning = await slack.answered(DIRECT, count=3)
        assert "暖色" in shown(morning)
        assert quiet_lines(morning) == [f"✓ Scheduled: {schedule['message']}"]

        sessions = {each["id"]: each for each in (await client.get("/api/sessions")).json()["sessions"]}
        assert len(sessions) == 3
        direct = schedule["session_id"]
        (channel,) = sessions.keys() - {web, direct}
        logs = {session: await client.events(session) for session in sessions}
        for session, place in ((channel, CHANNEL), (direct, DIRECT)):
            answers = slack.answers(place)
            assert [*map(shown, answers)] == said(logs[session])
            assert [payload(each)["seq"] for each in answers] == [
                each["seq"] for each in logs[session] if each["type"] == "done"
            ]
            assert [each for each in answers if each.get("streaming") or buttons(each)] == []

        remembered = [each["data"]["content"] for each in logs[web] if each["type"] == "memory"]
        assert len(remembered) == 2
        (created,) = [each["data"] for each in logs[direct] if each["type"] == "schedule"]
        assert (created["action"], created["by"], created["schedule_id"]) == (
            "created",
            "model",
            schedule["id"],
        )
        assert the(logs[direct], "approval_response")["decision"] == "approved"
        starts = [each["data"] for each in logs[direct] if each["type"] == "turn_start"]
        assert [each.get("dialect") for each in starts] == [None, None, "schedule"]
        assert starts[-1]["input"] == wanted["message"]
        assert slack.too_many.total() == 0

    records = read_records(tmp_path / "data" / "gateway.db")
    assert [each for record in records for each in violations(record)] == []
