"""What a long document says is told where a question needs it, and read on from there."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, running_gateway, settings_for
from tests.paraphrasing_model.client import Scripted, paraphrasing_model

pytestmark = pytest.mark.anyio

HARBOUR = "\n\n".join(
    [
        "# Harbour rules",
        "## Berths",
        "Berths are given out by the harbour office in the order of arrival. " * 40,
        "## Storm",
        "Above wind force nine the swing bridge stays shut and every crew doubles its lines. " * 3,
        "The storm flag is hoisted by the bridge keeper. " * 40,
        "## Waste",
        "Waste oil is handed in at the blue shed. " * 40,
    ]
)
TEA = "\n\n".join(
    [
        "# 茶室手册",
        "## 开门",
        "每天早上由第一个到的人开窗通风。" * 40,
        "## 用水",
        "龙井用八十度的水泡三分钟，头一泡不喝。" * 3,
        "水壶每星期用柠檬酸洗一遍。" * 40,
        "## 打烊",
        "打烊之前把茶渣倒进后院的桶里。" * 40,
    ]
)
FORCE, WATER = "the swing bridge stays shut", "八十度的水泡三分钟"


def files(folder: Path) -> None:
    (folder / "documents").mkdir()
    for name, content in (("harbour", HARBOUR), ("茶室", TEA)):
        fields = {"type": "reference", "skill": "handbook", "reference": name, "content": content}
        (folder / "documents" / f"{name}.json").write_text(json.dumps(fields), encoding="utf-8")


async def asked(user: Client, model: Scripted, message: str, **more: Any) -> tuple[dict[str, Any], str]:
    """The retrieval of a turn, and the messages that its model was given."""
    events = await user.chat(message, **more)
    found = [event["data"] for event in events if event["type"] == "retrieval"]
    (looked_up,) = [event for event in found if event["mode"] != "snapshot"]
    return looked_up, "\n".join((await model.last()).said)


@pytest.mark.parametrize(
    ("message", "answer", "heading"),
    [
        ("when does the swing bridge stay shut?", FORCE, "Storm"),
        ("What did we write about the swing bridge in a storm?", FORCE, "Storm"),
        ("龙井用几度的水泡？", WATER, "用水"),
        ("龍井用幾度的水泡？", WATER, "用水"),
    ],
)
async def test_the_passage_that_answers_is_told(
    tmp_path: Path, message: str, answer: str, heading: str
) -> None:
    """Of a plain question and of one about what was written, in either language and script: in the event as
    in the model's request, with where it stands and how to read on, and no other part of the document."""
    files(tmp_path)
    async with paraphrasing_model() as model:
        settings = settings_for(tmp_path / "data", model.url, documents_dir=tmp_path / "documents")
        async with running_gateway(settings) as user:
            event, given = await asked(user, model, message)

    hit = event["results"][0]
    assert (hit["source"], hit["form"], hit["told"]) == ("document", "passage", "now")
    assert answer in hit["snippet"]
    assert hit["title"].endswith(heading)
    assert answer in given
    assert re.search(rf"\[{hit['id']}\] reference, [\d-]{{10}}: passage {hit['passage']} of \d+", given)
    assert "manage_memory list with its id shows everything" in given
    assert event["tokens"] <= settings.memory_turn_tokens
    assert len(given) < 4_000


async def test_another_passage_is_told_later_and_the_same_one_once(tmp_path: Path) -> None:
    """In one session; and from the id that it was shown the model reads on."""
    files(tmp_path)
    async with paraphrasing_model() as model:
        settings = settings_for(tmp_path / "data", model.url, documents_dir=tmp_path / "documents")
        async with running_gateway(settings) as user:
            first, _ = await asked(user, model, "when does the swing bridge stay shut?", session_id="s")
            again, given = await asked(user, model, "is the swing bridge shut in a storm?", session_id="s")
            other, more = await asked(user, model, "where is waste oil handed in?", session_id="s")
            document_id = first["results"][0]["id"]
            call = {"call": "manage_memory", "input": {"action": "list", "id": document_id, "passage": 1}}
            await model.script("please read on", call, {"answer": "Read."})
            await user.chat("please read on", session_id="s")
            read = json.dumps((await model.last()).body["messages"][-1])

    marks = [each["results"][0]["told"] for each in (first, again, other)]
    assert marks == ["now", "before", "now"]
    assert given.count(FORCE) == 3
    assert "blue shed" in more
    assert "in the order of arrival" in read


@pytest.mark.parametrize("turn_tokens", [200, 1000])
async def test_what_there_is_no_room_for_is_told_by_its_summary(tmp_path: Path, turn_tokens: int) -> None:
    """Marked as one, with its id; the event says why. With room, the passage of a memory is told like that of
    a document."""
    plan = "Plan of the boat house. " + "The roof gets 40 oak shingles a row. " * 60 + "The door is teal."
    async with paraphrasing_model() as model:
        settings = settings_for(
            tmp_path / "data", model.url, memory_turn_tokens=turn_tokens, memory_prompt_tokens=0
        )
        async with running_gateway(settings) as user:
            saved = await user.http.post("/api/memory", json={"content": plan})
            memory_id = saved.json()["id"]
            event, given = await asked(user, model, "Which colour has the door of our boat house?")

    (hit,) = event["results"]
    assert hit["id"] == memory_id
    if turn_tokens == 1000:
        assert (hit["form"], "The door is teal." in given) == ("passage", True)
        return
    assert (hit["form"], event["omissions"]) == ("summary", [{"id": memory_id, "reason": "too_long"}])
    assert "Plan of the boat house. (a summary: manage_memory list with its id shows everything)" in given
