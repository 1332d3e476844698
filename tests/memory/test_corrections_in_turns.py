"""A correction that a user makes in one interface is what the next session is shown, with any model."""

import re
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, running_gateway, settings_for
from tests.paraphrasing_model.client import Scripted, paraphrasing_model

pytestmark = pytest.mark.anyio

STORIES = [
    (
        ("Our garden party is on 12 June.", "Their garden party is on 12 June."),
        ("Oh, our garden party moved to 19 June!", "Their garden party is on 19 June."),
        "garden party",
    ),
    (
        ("我们的团建在莫干山", "用户的团建在莫干山。"),
        ("我们的团建改在千岛湖了", "用户的团建改在千岛湖。"),
        "团建",
    ),
    (
        ("我們的週報發給陳小姐", "使用者的週報發給陳小姐"),
        ("對了，我們的週報改發給林先生", "使用者的週報改發給林先生"),
        "週報",
    ),
]


@pytest.fixture
async def model(anyio_backend: str) -> AsyncGenerator[Scripted]:
    async with paraphrasing_model() as scripted:
        yield scripted


async def remembered(user: Client) -> Mapping[str, Any]:
    found = (await user.get("/api/memory")).json()["memories"]
    return {each["content"]: each for each in found}


@pytest.mark.parametrize(("first", "then", "subject"), STORIES)
async def test_the_next_session_is_told_the_correction_alone(
    model: Scripted, tmp_path: Path, first: tuple[str, str], then: tuple[str, str], subject: str
) -> None:
    """With its day; also where the model saves it in words that say nothing of a change, as the user did. Who
    looks at what is remembered sees both, and which took the other's place."""
    for message, saves in (first, then):
        await model.script(message, {"save": saves, "type": "event"}, {"answer": "OK."})
    async with running_gateway(settings_for(tmp_path, model.url)) as user:
        await user.chat(first[0], role_id="web")
        events = await user.chat(then[0], role_id="terminal")
        known = await remembered(user)
        await user.chat(f"{subject}?", role_id="editor")
        given = await model.last()

    assert re.search(rf"event, \d{{4}}-\d\d-\d\d: {re.escape(then[1].strip('。'))}", given.system)
    assert first[1] not in given
    old, new = known[first[1]], known[then[1]]
    assert (old["status"], old["superseded_by"], new["status"]) == ("replaced", new["id"], "active")
    assert [each["data"]["op"] for each in events if each["type"] == "memory"] == ["corrected", "remembered"]


async def test_with_the_demo_model_too(demo_url: str, tmp_path: Path) -> None:
    """It saves the words that it is given."""
    async with running_gateway(settings_for(tmp_path, demo_url)) as user:
        await user.chat("记住，牙医预约在周二")
        await user.chat("记住，牙医预约改到周五了")
        known = await remembered(user)

    assert {content: each["status"] for content, each in known.items()} == {
        "牙医预约在周二": "replaced",
        "牙医预约改到周五了": "active",
    }
