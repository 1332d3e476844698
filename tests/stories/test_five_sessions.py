"""A person over five sessions, in two roles and over two interfaces, with the demo and with a model that puts
everything into words of its own: every answer is told what it needs, and the events show why."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

from tests.adapters.test_mcp_memory_server import over_stdio
from tests.harness import Client, running_gateway
from tests.loopback import TIMEOUT
from tests.paraphrasing_model.client import Given, Scripted, given_of, paraphrasing_model
from tests.stories.test_memory import settings_with

pytestmark = pytest.mark.anyio

PLAN = "建议发票服务采用 PostgreSQL 16，每个客户一个 schema，一台服务器就够。"
AGREED = "可以,就按这个来"
BRIEF = "The user wants short sentences in answers."
ALLERGY = "用户对花生过敏。"


class Person:
    """Talks to a gateway; `scripted` is its model where that is not the demo."""

    def __init__(self, user: Client, model_url: str, scripted: Scripted | None) -> None:
        self.user, self._model_url, self._scripted = user, model_url, scripted

    async def say(
        self, text: str, session: str, role: str, *, answer: str | None = None, keeps: str | None = None
    ) -> list[dict[str, Any]]:
        """One turn; the model says `answer`, or keeps a memory in its own words."""
        if self._scripted is not None:
            if keeps is not None:
                await self._scripted.script(text, {"save": keeps}, {"answer": "Noted."})
            elif answer is not None:
                await self._scripted.script(text, {"answer": answer})
        elif keeps is not None:
            call = json.dumps({"action": "save", "content": keeps}, ensure_ascii=False)
            text = f"{text}\n/call manage_memory {call}\n/then\n/say Noted."
        elif answer is not None:
            text = f"{text}\n/say {answer}"
        return await self.user.chat(text, session_id=session, role_id=role, project_id="billing")

    async def given(self) -> Given:
        """What the model's last turn was given."""
        if self._scripted is not None:
            return next(each for each in reversed(await self._scripted.requests()) if each.body.get("tools"))
        async with httpx2.AsyncClient(base_url=self._model_url, trust_env=False) as http:
            shown = (await http.get("/demo/requests?limit=50")).json()["requests"]
        return next(given_of(each["body"]) for each in reversed(shown) if each["body"].get("tools"))

    async def remembered(self) -> dict[str, str]:
        """The contents of what a turn may be told, by their ids."""
        listed = (
            await self.user.get("/api/memory?status=active&quarantined=false&project_id=billing")
        ).json()["memories"]
        return {each["id"]: each["content"] for each in listed}

    async def learned(self, word: str) -> str:
        """The id of a memory with that word, when it is there."""
        async with asyncio.timeout(TIMEOUT):
            while True:
                for memory_id, content in (await self.remembered()).items():
                    if word in content:
                        return memory_id
                await asyncio.sleep(0.05)


def shown_by(events: list[dict[str, Any]]) -> set[str]:
    """The ids of the memories that a turn's events say it was told, in its prompt or beside its message."""
    return {hit["id"] for event in events if event["type"] == "retrieval" for hit in event["data"]["results"]}


@asynccontextmanager
async def person_with(
    model: Literal["demo", "paraphrasing"], folder: Path, demo_url: str
) -> AsyncGenerator[Person]:
    settings: dict[str, Any] = {"memory_learning": "turns"}
    if model == "demo":
        async with running_gateway(settings_with(folder / "data", demo_url, **settings)) as user:
            yield Person(user, demo_url, None)
        return
    async with (
        paraphrasing_model() as scripted,
        running_gateway(settings_with(folder / "data", scripted.url, **settings)) as user,
    ):
        await scripted.script(
            AGREED,
            asked="memories",
            says={
                "type": "project_decision",
                "content": PLAN[2:],
                "quote": "可以，就按这个来。",
                "proposal": PLAN,
            },
        )
        yield Person(user, scripted.url, scripted)


@pytest.mark.parametrize("model", ["demo", "paraphrasing"])
async def test_a_person_is_known_over_five_sessions(
    model: Literal["demo", "paraphrasing"], tmp_path: Path, demo_url: str, program: str
) -> None:
    async with person_with(model, tmp_path, demo_url) as person:
        # One: states preferences, in the chat.
        await person.say("From now on, answer me in short sentences.", "one", "chat", keeps=BRIEF)
        await person.say("请记住，我对花生过敏。", "one", "chat", keeps=ALLERGY)

        # Two: agrees to a design, in another role.
        await person.say("发票服务用什么数据库好？", "two", "architect", answer=PLAN)
        assert BRIEF in (await person.given()).system
        await person.say(AGREED, "two", "architect", answer="好的。")
        plan = await person.learned("PostgreSQL")

        # Three: corrects a date.
        await person.say(
            "The launch is on 5 March 2027.", "three", "chat", keeps="The launch is on 5 March 2027."
        )
        before = await person.learned("5 March")
        await person.say(
            "The launch moved to 9 April 2027.", "three", "chat", keeps="The launch moved to 9 April 2027."
        )
        assert before not in await person.remembered()
        launch = await person.learned("9 April")

        # Four: asks plain questions, elsewhere, and over another interface.
        asked = await person.say("When is the launch?", "four", "architect", answer="On 9 April.")
        given = await person.given()
        assert "9 April 2027" in given
        assert "5 March" not in given
        assert launch in shown_by(asked)
        asked = await person.say("发票服务当初为什么这样定？", "four", "architect", answer="一台服务器就够。")
        assert "每个客户一个 schema" in await person.given()
        assert plan in shown_by(asked)
        async with over_stdio(program, tmp_path) as memory:
            assert "9 April" in await memory("search", search="launch")

            # Five: forgets one thing there, while sessions are open.
            (allergy,) = [each for each, content in (await person.remembered()).items() if content == ALLERGY]
            await memory("delete", id=allergy)
            assert "花生" not in await memory("list")
        await person.say("今天吃什么好？", "five", "chat", answer="面条。")
        given = await person.given()
        assert ALLERGY not in given
        assert BRIEF in given.system
