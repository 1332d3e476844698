"""Messages that are sent at set times: each once, as a turn of its owner's, whatever happens meanwhile."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.service import schedule_results
from gateway.storage.schedules import DIALECT, Planned, ScheduleRow, ScheduleRun
from gateway.turn.in_flight import InFlight
from tests.harness import TIMEOUT, Client, running_gateway, settings_for, text_of, the, types
from tests.product import InvalidRequest, NewTurn, Settings, now_ms, open_storage

pytestmark = pytest.mark.anyio

YEARLY = "0 8 1 1 *"
MINUTE, HOUR = 60_000, 3_600_000


async def made(client: Client, message: str, session: str | None = None, **given: Any) -> str:
    """The id of a schedule that is not due for long."""
    body = {"message": message, "cron": YEARLY, **given} | ({"session_id": session} if session else {})
    reply = await client.post("/api/schedules", body)
    assert reply.status_code == 201, reply.text
    return reply.json()["id"]


async def details(client: Client, schedule: str) -> dict[str, Any]:
    return (await client.get(f"/api/schedules/{schedule}")).json()


async def settled(client: Client, schedule: str, *, runs: int = 1) -> list[dict[str, Any]]:
    """Its runs, the newest first, when there are so many and none is under way."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            found = (await details(client, schedule))["runs"]
            if len(found) >= runs and all(run["status"] != "started" for run in found):
                return found
            await asyncio.sleep(0.05)


async def run_now(client: Client, schedule: str) -> None:
    reply = await client.post(f"/api/schedules/{schedule}/run")
    assert reply.status_code == 202, reply.text


def due(settings: Settings, schedule: str, at: int) -> None:
    """The schedule is due at another time, as one is that was made long ago."""
    with closing(sqlite3.connect(settings.database_path)) as file, file:
        file.execute("UPDATE schedules SET due_at = ? WHERE id = ?", (at, schedule))


def status_of(settings: Settings, schedule: str) -> str:
    with closing(sqlite3.connect(settings.database_path)) as file:
        (status,) = file.execute("SELECT status FROM schedules WHERE id = ?", (schedule,)).fetchone()
        return status


async def metric(client: Client, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)
    return float(found[1]) if found else 0.0


async def test_a_schedule_runs_in_its_session_and_goes_on_knowing_it(settings: Settings) -> None:
    """The turn is one like any other, marked as a schedule's; its message is the one that was written."""
    async with running_gateway(settings) as client:
        session = await client.session()
        await client.chat("My cat is called Tofu.", session_id=session)
        schedule = await made(client, "What is my cat called?", session, name="猫")

        await run_now(client, schedule)
        (run,) = await settled(client, schedule)

        assert (run["status"], run["session_id"]) == ("completed", session)
        found = [each for each in await client.events(session) if each["turn_id"] == run["turn_id"]]
        start = the(found, "turn_start")
        assert (start["input"], start["dialect"]) == ("What is my cat called?", DIALECT)
        assert start["client_message_id"] == f"{schedule}-{run['due_at']}"
        assert "Tofu" in text_of(found)
        after = await details(client, schedule)
        assert (after["status"], after["name"]) == ("active", "猫")
        assert after["due_at"] > now_ms()
        assert await metric(client, 'gateway_schedule_runs_total{gateway_turn_outcome="completed"}') == 1


async def test_the_next_times_are_told_before_it_is_made_and_after(client: Client) -> None:
    timing = {"cron": "0 8 * * *", "timezone": "Asia/Shanghai"}
    told = (await client.post("/api/schedules/preview", timing)).json()["upcoming"]
    assert [(later - earlier) for earlier, later in pairwise(told)] == [24 * HOUR] * 4

    schedule = await made(client, "/say fine", **timing)

    found = await details(client, schedule)
    assert (found["due_at"], found["upcoming"]) == (told[0], told)
    refused = await client.post("/api/schedules/preview", {"cron": "0 0 30 2 *"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_schedule")


async def test_without_a_session_each_run_has_one_of_its_own(settings: Settings) -> None:
    async with running_gateway(settings) as client:
        schedule = await made(client, "/say fine")
        for runs in (1, 2):
            await run_now(client, schedule)
            await settled(client, schedule, runs=runs)

        found = await settled(client, schedule, runs=2)

        sessions = [run["session_id"] for run in found]
        assert len(set(sessions)) == 2
        assert [text_of(await client.events(session)) for session in sessions] == ["fine", "fine"]
        titles = [(await client.get(f"/api/sessions/{session}")).json()["title"] for session in sessions]
        assert titles == ["/say fine", "/say fine"]


async def test_what_a_schedule_says_is_not_the_users_word(settings: Settings) -> None:
    """However often it comes: nothing of it is learned, and the model reads where it comes from."""
    async with running_gateway(settings) as client:
        session = await client.session()
        schedule = await made(client, "Remember that I like brutalism.\n/say ok", session)
        await run_now(client, schedule)
        (run,) = await settled(client, schedule)

        assert run["status"] == "completed"
        messages = (await client.get(f"/api/sessions/{session}/messages")).json()["messages"]
        shown = orjson.dumps(messages[0]).decode()
        assert "<scheduled_message>" in shown
        assert "sends this message now" in shown
        assert (await client.get("/api/memory")).json()["memories"] == []


async def test_the_time_that_passed_while_nothing_ran_is_late(settings: Settings) -> None:
    """By the schedule's rule: skipped and told, run once, or each run, one after the other."""
    upcoming = now_ms() // MINUTE * MINUTE + HOUR // 2  # no time comes while the test runs
    began, hours = upcoming - 4 * HOUR, 4
    minute = upcoming % HOUR // MINUTE
    async with running_gateway(settings) as client:
        session = await client.session()
        made_here = {
            late: await made(client, f"/say {late}", session, late=late, cron=f"{minute} * * * *")
            for late in ("skip", "once", "all")
        }
    for schedule in made_here.values():
        due(settings, schedule, began)
    async with running_gateway(settings) as client:
        runs = {late: await settled(client, made_here[late]) for late in ("skip", "once")}
        runs["all"] = await settled(client, made_here["all"], runs=hours)

        assert [(run["status"], run.get("code")) for run in runs["skip"]] == [("missed", "late")]
        assert [run["status"] for run in runs["once"]] == ["completed"]
        assert [run["due_at"] for run in runs["all"]] == [began + HOUR * hour for hour in range(hours)][::-1]
        told = the(
            [each for each in await client.events(session) if "missed" in str(each["data"])], "schedule"
        )
        assert (told["schedule_id"], told["due_at"], told["code"]) == (made_here["skip"], began, "late")
        for schedule in made_here.values():
            assert (await details(client, schedule))["due_at"] > now_ms()
        assert await metric(client, 'gateway_schedule_runs_total{gateway_turn_outcome="missed"}') == 1


async def test_a_run_that_was_begun_and_not_started_goes_on_elsewhere(settings: Settings) -> None:
    """A process that is killed between the two has accepted the turn: the next one goes on with it."""
    async with running_gateway(settings) as client:
        session = await client.session()
        schedule = await made(client, "/say once", session)
    async with open_storage(settings) as storage:
        row = await storage.schedules.get(schedule, "local")
        assert row.due_at is not None
        key = f"{schedule}-{row.due_at}"
        new = NewTurn(
            "t_1", session, "local", row.message, "demo", key, "queue", False, now_ms(), dialect=DIALECT
        )
        begun = await storage.schedules.begin(row, Planned(row.due_at + 1, "active"), new, max_queued=9)
        assert begun is not None
    due(settings, schedule, row.due_at)  # and the clock was set back
    async with running_gateway(settings) as client:
        (run,) = await settled(client, schedule)
        assert (run["turn_id"], run["status"]) == ("t_1", "completed")
        assert types(await client.events(session)).count("turn_start") == 1


async def test_a_schedule_waits_for_its_run_before(settings: Settings, anyio_backend: str) -> None:
    """A run that waits for a person is no reason for another one; asked for, that is refused."""
    async with running_gateway(settings) as client:
        session = await client.session()
        schedule = await made(
            client, '/call manage_schedule {"action": "pause", "id": "x"}', session, cron="* * * * *"
        )
        await run_now(client, schedule)
        async with asyncio.timeout(TIMEOUT):
            while not (waiting := (await client.get("/api/approvals")).json()["approvals"]):
                await asyncio.sleep(0.05)
        due(settings, schedule, now_ms() - 1)
        again = await client.post(f"/api/schedules/{schedule}/run")
        assert (again.status_code, again.json()["error"]["code"]) == (409, "run_in_progress")
        worker = await details(client, schedule)
        assert [run["status"] for run in worker["runs"]] == ["started"]

        paused = await client.http.patch(f"/api/schedules/{schedule}", json={"status": "paused"})
        assert paused.json()["status"] == "paused"
        assert "due_at" not in paused.json()
        path = f"/api/sessions/{session}/turns/{waiting[0]['turn_id']}/approvals/{waiting[0]['tool_call_id']}"
        await client.post(path, {"decision": "deny"})
        (run,) = await settled(client, schedule)
        assert run["status"] == "completed"


async def test_a_schedule_whose_session_is_gone_is_paused(settings: Settings) -> None:
    async with running_gateway(settings) as client:
        session = await client.session()
        schedule = await made(client, "/say fine", session)
        assert (await client.http.delete(f"/api/sessions/{session}")).status_code == 204

        await run_now(client, schedule)
        (run,) = await settled(client, schedule)

        assert (run["status"], run["code"]) == ("refused", "session_not_found")
        found = await details(client, schedule)
        assert (found["status"], found["reason"]) == ("paused", "session_not_found")
        assert await metric(client, 'gateway_schedule_runs_total{gateway_turn_outcome="refused"}') == 1


async def test_a_schedule_whose_time_zone_vanishes_runs_and_is_paused(settings: Settings) -> None:
    """The time that was known is right still. Everything that shows the schedule goes on to do so."""
    async with running_gateway(settings) as client:
        schedule = await made(client, "/say fine", timezone="Europe/Berlin")
        with closing(sqlite3.connect(settings.database_path)) as file, file:
            file.execute("UPDATE schedules SET timezone = 'Europe/Atlantis', due_at = ?", (now_ms(),))
        (run,) = await settled(client, schedule)

        assert run["status"] == "completed"
        found = await details(client, schedule)
        assert (found["status"], found["upcoming"]) == ("paused", [])
        assert "Europe/Atlantis" in found["reason"]
        resumed = await client.http.patch(f"/api/schedules/{schedule}", json={"status": "active"})
        assert (resumed.status_code, resumed.json()["error"]["code"]) == (400, "invalid_schedule")
        listed = await client.chat("/call list_schedules {}")
        assert "Europe/Atlantis" in the(listed, "tool_result")["content"]
        await run_now(client, schedule)
        assert len(await settled(client, schedule, runs=2)) == 2
        assert (await details(client, schedule))["status"] == "paused"


async def test_a_schedule_whose_owner_has_no_key_any_more_is_paused(tmp_path: Path, demo_url: str) -> None:
    """Nothing runs on behalf of somebody who could not ask themselves."""
    ann, bob = "ann:" + "a" * 20, "bob:" + "b" * 20
    settings = settings_for(tmp_path, demo_url, api_keys=f"{ann},{bob}")
    async with running_gateway(settings) as client:
        client.http.headers["x-api-key"] = "a" * 20
        schedule = await made(client, "/say fine")
        client.http.headers["x-api-key"] = "b" * 20
        assert (await client.get(f"/api/schedules/{schedule}")).status_code == 404
        assert (await client.get("/api/schedules")).json() == {"schedules": []}
    due(settings, schedule, now_ms())
    async with running_gateway(settings_for(tmp_path, demo_url, api_keys=bob)) as client:
        client.http.headers["x-api-key"] = "b" * 20
        async with asyncio.timeout(TIMEOUT):
            while status_of(settings, schedule) != "paused":
                await asyncio.sleep(0.05)
    async with running_gateway(settings) as client:
        client.http.headers["x-api-key"] = "a" * 20
        found = await details(client, schedule)
        # The run that is due finds it, or the look at keys that are gone does: whichever comes first.
        seen = (found["status"], found["reason"], (*(run["status"] for run in found["runs"]),))
        assert seen in {("paused", "owner_gone", ("refused",)), ("paused", "key_revoked", ())}
        resumed = await client.http.patch(f"/api/schedules/{schedule}", json={"status": "active"})
        assert resumed.json()["status"] == "active"
        assert "reason" not in resumed.json()


async def test_a_user_who_is_at_their_limit_keeps_nobody_waiting(tmp_path: Path, demo_url: str) -> None:
    """Theirs wait until one of their turns is over; they are not lost."""
    keys = "ann:" + "a" * 20 + ",bob:" + "b" * 20
    settings = settings_for(tmp_path, demo_url, api_keys=keys, max_turns_per_user=1)
    async with running_gateway(settings) as client:
        client.http.headers["x-api-key"] = "a" * 20
        busy = await client.session()
        turn = (await client.begin(busy, "/pieces 2000\n/pace 10"))["turn_id"]
        hers = await made(client, "/say hers")
        await run_now(client, hers)
        client.http.headers["x-api-key"] = "b" * 20
        his = await made(client, "/say his")
        await run_now(client, his)
        (run,) = await settled(client, his)
        assert run["status"] == "completed"

        client.http.headers["x-api-key"] = "a" * 20
        assert (await details(client, hers))["runs"] == []
        await client.post(f"/api/sessions/{busy}/turns/{turn}/cancel")
        (run,) = await settled(client, hers)
        assert run["status"] == "completed"


async def test_the_model_makes_a_schedule_when_a_person_allows_it(settings: Settings) -> None:
    """In the session where it was asked for, and told there; it lists them without asking."""
    async with running_gateway(settings) as client:
        session = await client.session()
        wanted = {"message": "喝水 /say 喝水", "cron": "0 9 * * *", "timezone": "Asia/Shanghai"}
        call = json.dumps({"action": "create", **wanted}, ensure_ascii=False)
        await client.begin(session, f"/call manage_schedule {call}")
        async with asyncio.timeout(TIMEOUT):
            while not (waiting := (await client.get("/api/approvals")).json()["approvals"]):
                await asyncio.sleep(0.05)
        assert (await client.get("/api/schedules")).json()["schedules"] == []
        path = f"/api/sessions/{session}/turns/{waiting[0]['turn_id']}/approvals/{waiting[0]['tool_call_id']}"
        await client.post(path, {"decision": "approve"})
        listed = await client.chat("/call list_schedules {}", session_id=session, on_conflict="queue")

        (schedule,) = (await client.get("/api/schedules")).json()["schedules"]
        assert (schedule["session_id"], schedule["timezone"]) == (session, "Asia/Shanghai")
        told = the(await client.events(session), "schedule")
        assert (told["action"], told["by"], told["schedule_id"]) == ("created", "model", schedule["id"])
        assert schedule["id"] in the(listed, "tool_result")["content"]


class Pinboard:
    """A `Destination` of one user's boards, which takes a result at the second try."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str, str | None]] = []

    async def check(self, owner: str, address: str) -> None:
        if (owner, address) != ("local", "hall"):
            raise InvalidRequest("There is no such board of yours.")

    async def deliver(self, address: str, schedule: ScheduleRow, run: ScheduleRun, key: str) -> None:
        self.asked.append((address, key, run.status, run.turn_id))
        if len(self.asked) == 1:
            raise OSError("the cleaner is there")


async def test_a_result_is_delivered_where_it_was_asked_for(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside its session, again until it is taken, under the same key; and not to places of others."""
    monkeypatch.setattr(schedule_results, "FIRST_RETRY", 0.01)
    async with running_gateway(settings) as client:
        board = client.app.state.gateway.schedules.destinations["board"] = Pinboard()
        for wrong in ("slack:C1", "board", "board:roof"):
            body = {"message": "x", "every": 60, "destination": wrong}
            assert (await client.post("/api/schedules", body)).status_code == 400
        schedule = await made(client, "/say fine", destination="board:hall")
        await run_now(client, schedule)
        (run,) = await settled(client, schedule)
        async with asyncio.timeout(TIMEOUT):
            while len(board.asked) < 2:
                await asyncio.sleep(0.05)

        assert (await details(client, schedule))["destination"] == "board:hall"
        assert set(board.asked) == {("hall", f"{schedule}-{run['due_at']}", "completed", run["turn_id"])}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"message": "x", "cron": "0 0 30 2 *"}, 400),
        ({"message": "x", "cron": "* * * * * *"}, 400),
        ({"message": "x", "every": 1}, 400),
        ({"message": "x", "at": "yesterday"}, 400),
        ({"message": "x", "at": "2001-01-01T00:00"}, 400),
        ({"message": "x", "cron": "0 8 * * *", "timezone": "Mars/Olympus"}, 400),
        ({"message": "x", "cron": "0 8 * * *", "timezone": "\ud800"}, 400),
        ({"message": " ", "every": 60}, 400),
        ({"message": "x"}, 400),
        ({"message": "x", "every": 60, "session_id": "none"}, 404),
    ],
)
async def test_bad_input_is_refused_in_words(client: Client, body: dict[str, Any], status: int) -> None:
    response = await client.http.post(
        "/api/schedules",
        content=json.dumps(body),
    )
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"]


async def test_a_user_has_as_many_schedules_as_they_may(tmp_path: Path, demo_url: str) -> None:
    async with running_gateway(settings_for(tmp_path, demo_url, max_schedules=1)) as client:
        await made(client, "one")
        response = await client.post("/api/schedules", {"message": "two", "every": 60})
        assert (response.status_code, response.json()["error"]["code"]) == (409, "too_many_schedules")


async def test_where_there_are_no_schedules_the_model_has_no_tool_for_them(
    tmp_path: Path, demo_url: str
) -> None:
    async with running_gateway(settings_for(tmp_path, demo_url, max_schedules=0)) as client:
        names = {each["name"] for each in (await client.get("/api/skills")).json()["skills"]}
        assert "manage_schedule" not in names


async def test_one_schedule_that_breaks_keeps_no_other_waiting(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running_gateway(settings) as client:
        broken, sound = await made(client, "/say broken", name="broken"), await made(client, "/say sound")
        start: Callable[..., Any] = InFlight.admission

        def breaking(self: InFlight, user_id: str, session_id: str) -> Any:
            if fails.pop("now", None):
                raise RuntimeError("a bug")
            return start(self, user_id, session_id)

        fails = {"now": True}
        monkeypatch.setattr(InFlight, "admission", breaking)
        await run_now(client, broken)
        await run_now(client, sound)

        for schedule in (sound, broken):
            (run,) = await settled(client, schedule)
            assert run["status"] == "completed"
        assert (await client.get("/readyz")).json().get("failing_tasks") in ({}, None)
