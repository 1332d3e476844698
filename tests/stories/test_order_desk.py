"""The whole story, with the example as it is written: a skill is read and followed through functions and an
MCP server, waits for a person, outlives kill -9, and goes on when somebody says yes.
"""

import asyncio
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from tests.harness import TIMEOUT, Client, events, text_of, the, types
from tests.invariants import violations
from tests.record import read_records
from tests.running import ROOT, Running, gateway_process

pytestmark = pytest.mark.anyio

EXAMPLE = ROOT / "examples" / "order_desk"
CALLS = ["read_skill", "look_up_order", "mcp__stock__check_stock", "prepare_refund"]
CHINESE = "订单 A-1001 到货就坏了，我要退款"


@dataclass(frozen=True)
class Curl:
    """A command of the README: a GET, or a POST when there is a body."""

    path: str
    body: Any

    def about(self, events: dict[str, Any]) -> "Curl":
        """With the ids of that event in the place of the shell's variables."""
        ids = {"$TURN": events["turn_id"], "$CALL": events["tool_call_id"]}
        return Curl(re.sub(r"\$[A-Z]+", lambda name: ids[name[0]], self.path), self.body)


def commands() -> list[str]:
    """The lines of the README that are to be typed."""
    readme = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    return [
        line for block in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) for line in block.splitlines()
    ]


def curls() -> list[Curl]:
    found: list[Curl] = []
    for command in commands():
        match shlex.split(command):
            case ["curl", *options]:
                address = next(option for option in options if option.startswith("localhost:8000/"))
                body = orjson.loads(options[options.index("-d") + 1]) if "-d" in options else None
                found.append(Curl(address.removeprefix("localhost:8000"), body))
            case _:
                pass
    return found


@asynccontextmanager
async def desk(folder: Path, model_url: str) -> AsyncGenerator[tuple[Client, Running]]:
    """`gateway dev` in the example's folder, only with a demo model that does not take its time."""
    environment = {
        "ANTHROPIC_BASE_URL": model_url,
        "ANTHROPIC_API_KEY": "demo",
        "GATEWAY_MODEL": "demo",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    with gateway_process(folder, **environment) as running:
        async with httpx2.AsyncClient(base_url=running.url, timeout=TIMEOUT, trust_env=False) as http:
            yield Client(running.url, None, http), running  # pyright: ignore[reportArgumentType] - the app lives in another process


async def until_asked(client: Client, asking: Curl) -> list[dict[str, Any]]:
    """The events of the turn that the command starts, up to the request."""
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(TIMEOUT), client.frames(asking.path, asking.body) as frames:
        async for frame in frames:
            seen.append(frame.data)
            if frame.event == "approval_request":
                return seen
    raise AssertionError(f"nobody was asked: {types(seen)}")


async def test_the_example_works_as_it_is_written(tmp_path: Path, demo_url: str) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert "gateway dev" in commands()
    chat, decide, catalog = curls()

    async with desk(folder, demo_url) as (client, running):
        before = await until_asked(client, chat)
        listed = (await client.get(catalog.path)).json()["skills"]
        assert running.stop(signal.SIGKILL) == -signal.SIGKILL
    assert not (folder / "refunds.jsonl").exists()

    async with desk(folder, demo_url) as (client, running):
        decision = decide.about(before[-1])
        assert (await client.post(decision.path, decision.body)).status_code == 200
        turn = f"/api/sessions/desk/events?turn_id={before[-1]['turn_id']}"
        seen = events(await client.all_frames(turn))

        second = await until_asked(client, Curl(chat.path, {**chat.body, "message": CHINESE}))
        denial = decide.about(second[-1])
        await client.post(denial.path, {"decision": "deny", "reason": "先换货"})
        denied = events(await client.all_frames(turn.replace(before[-1]["turn_id"], second[-1]["turn_id"])))
        running.stop()

    _is_the_whole_story(seen)
    assert [event for event in before if event["type"] != "stream_open"] == seen[: len(before) - 1]
    (line,) = (folder / "refunds.jsonl").read_bytes().splitlines()
    assert orjson.loads(line) == {
        "key": f"{before[-1]['turn_id']}:{before[-1]['tool_call_id']}",
        "order_id": "A-1001",
        "amount": 49.9,
        "reason": chat.body["message"],
    }
    assert "`prepare_refund` 没有执行" in text_of(denied)
    assert "先换货" in text_of(denied)
    assert "refund-an-order" in [skill["name"] for skill in listed]
    assert "- refund-an-order: " in (folder / "data" / "SKILLS_SNAPSHOT.md").read_text(encoding="utf-8")
    records = read_records(folder / "data" / "gateway.db")
    assert [each for record in records for each in violations(record)] == []


def _is_the_whole_story(events: list[dict[str, Any]]) -> None:
    """Each step with its ids, nothing missing and nothing twice."""
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert types(events).count("done") == 1
    assert the(events, "done")["status"] == "completed"

    calls = [event for event in events if event["type"] == "tool_call"]
    results = {event["tool_call_id"]: event for event in events if event["type"] == "tool_result"}
    assert [call["data"]["name"] for call in calls] == CALLS
    assert [call["iteration"] for call in calls] == [1, 2, 3, 4]
    assert list(results) == [call["tool_call_id"] for call in calls]
    reading, looking, asking, refunding = calls
    assert {results[call["tool_call_id"]]["data"]["status"] for call in calls} == {"ok"}

    by_type = {event["type"]: event for event in events}
    assert by_type["skill"]["tool_call_id"] == reading["tool_call_id"]
    assert (by_type["skill"]["data"]["name"], by_type["skill"]["data"]["action"]) == (
        "refund-an-order",
        "read",
    )
    assert by_type["approval_request"]["tool_call_id"] == refunding["tool_call_id"]
    assert by_type["approval_response"]["tool_call_id"] == refunding["tool_call_id"]
    assert types(events).count("approval_request") == types(events).count("approval_response") == 1

    found, refund = (results[call["tool_call_id"]]["data"] for call in (looking, refunding))
    assert [step["step_name"] for step in found["steps"]] == ["find the order", "apply the refund rules"]
    assert [step["step_id"] for step in found["steps"]] == ["step-1", "step-2"]
    assert [step["step_name"] for step in refund["steps"]] == ["write it down"]
    (write,) = refund["memory_writes"]
    assert (write["owner_id"], write["type"], "A-1001" in write["content"]) == ("local", "event", True)
    assert '"in_stock": 3' in results[asking["tool_call_id"]]["data"]["content"]
    assert "I followed the skill `refund-an-order`" in text_of(events)
