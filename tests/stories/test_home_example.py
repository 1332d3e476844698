"""The example of a household as it is started: people talk to it in the stand-in of Slack."""

import asyncio
import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from tests.loopback import TIMEOUT, free_port
from tests.running import ROOT, clean_environment

pytestmark = [pytest.mark.anyio, pytest.mark.long, pytest.mark.waits]

EXAMPLE = ROOT / "examples" / "home"
ANNA, LI = "UANNA", "ULI"


class Slack:
    """What a browser has of the workspace."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self._url = url
        self._http = http

    async def say(self, channel: str, person: str, text: str) -> None:
        given = {"person": person, "text": text}
        (await self._http.post(f"{self._url}/channels/{channel}", json=given)).raise_for_status()

    async def press(self, channel: str, person: str, message: dict[str, Any], label: str) -> None:
        (button,) = [each for each in message["buttons"] if each["text"] == label]
        given = {"person": person, "ts": message["ts"], "action_id": button["action_id"]}
        (await self._http.post(f"{self._url}/channels/{channel}/press", json=given)).raise_for_status()

    async def shows(self, channel: str, *words: str, button: str | None = None) -> dict[str, Any]:
        """The bot's message there that has all of the words, and that button; else no button."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                found = (await self._http.get(f"{self._url}/channels/{channel}")).json()["messages"]
                for each in found:
                    labels = [every["text"] for every in each["buttons"]]
                    is_it = each["user"] == "UBOT" and not each["streaming"]
                    is_it = is_it and (button in labels if button else not labels)
                    if is_it and all(word in each["text"] for word in words):
                        return each
                await asyncio.sleep(0.05)


class Household(NamedTuple):
    """Where it is."""

    slack: str
    gateway: str


@contextmanager
def household(folder: Path) -> Generator[Household]:
    """`python home.py` in a copy of the example's folder; leaving the context ends it as Ctrl-C does."""
    home = folder / "home"
    shutil.copytree(EXAMPLE, home, ignore=shutil.ignore_patterns("__pycache__", "data"))
    ports = [str(free_port()), str(free_port())]
    command = [sys.executable, "home.py", "--slack-port", ports[0], "--gateway-port", ports[1]]
    process = subprocess.Popen(command, cwd=home, env=clean_environment())
    where = Household(*(f"http://127.0.0.1:{port}" for port in ports))
    try:
        end = time.monotonic() + TIMEOUT
        with httpx2.Client(trust_env=False) as http:
            while True:
                assert process.poll() is None
                try:
                    http.get(where.slack).raise_for_status()
                    break
                except httpx2.TransportError:
                    assert time.monotonic() < end
                    time.sleep(0.05)
        yield where
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 0


async def test_the_household_is_talked_to_in_slack(tmp_path: Path) -> None:
    """It knows what it was told to begin with, does what harms nobody, asks before it opens the door, and
    tells each morning what the house is like: in the language in which it is spoken to."""
    state = tmp_path / "home" / "data" / "home.json"
    with household(tmp_path) as where:
        async with httpx2.AsyncClient(timeout=TIMEOUT, trust_env=False) as http:
            slack = Slack(where.slack, http)
            await slack.say("C1", ANNA, "@gateway When are the bins collected?")
            await slack.shows("C1", "Tuesdays")

            told = {"message": "Remember that I like the kitchen warm."}
            (await http.post(f"{where.gateway}/api/chat", json=told)).raise_for_status()
            await slack.say("C1", ANNA, "@gateway How do I like the kitchen?")
            await slack.shows("C1", "I like the kitchen warm")

            await slack.say("D1", LI, "晚安")
            await slack.shows("D1", "front door: locked", "bedroom: light off, 17 °C", "`good-night`")

            await slack.say("C1", ANNA, "@gateway Please open the front door for the plumber.")
            asked = await slack.shows("C1", "unlock_door", "plumber", button="Approve")
            assert json.loads(state.read_text(encoding="utf-8"))["front door"] == {"locked": True}
            await slack.press("C1", ANNA, asked, "Approve")
            await slack.shows("C1", "front door: open", "plumber")

            await slack.say("D1", ANNA, "Tell me each morning how the house is.")
            asked = await slack.shows("D1", "manage_schedule", "0 7 * * *", button="Approve")
            await slack.press("D1", ANNA, asked, "Approve")
            await slack.shows("D1", "Morning report: due")
            (schedule,) = (await http.get(f"{where.gateway}/api/schedules")).json()["schedules"]
            run = await http.post(f"{where.gateway}/api/schedules/{schedule['id']}/run")
            assert run.status_code == 202, run.text
            report = await slack.shows("D1", "living room: light off, 21 °C", "front door: open")
            assert report["notes"][0] == f"✓ Scheduled: {schedule['message']}"
