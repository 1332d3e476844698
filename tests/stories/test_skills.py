"""Skills in a whole gateway: read before they are acted on, narrowed, refused, switched, and told."""

import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.settings.value_types import McpServer
from gateway.skills.library import SNAPSHOT_NAME
from tests.harness import Client, running_gateway, text_of, the
from tests.product import Settings, tool
from tests.running import ROOT
from tests.skills.writing import skill_text, write_skill

pytestmark = pytest.mark.anyio

STOCK = McpServer.model_validate(
    {"command": sys.executable, "args": (str(ROOT / "examples" / "order_desk" / "stock_server.py"),)}
)


@tool(effect="read_only")
def greet(who: str) -> str:
    """Greets somebody."""
    return f"你好 {who}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The project's skills: `greet-people` allows greet, `write-letters` says nothing of tools."""
    write_skill(
        tmp_path / "skills", "greet-people", description="Greets people. 打招呼.", allowed_tools="greet"
    )
    write_skill(tmp_path / "skills", "write-letters", description="Writes letters, 写信.")
    return tmp_path / "skills"


@pytest.fixture
def skilled(settings: Settings, folder: Path) -> Settings:
    return settings.model_copy(update={"skills_dir": folder, "bundled_skills": False})


def results(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Name and status of each result, in the order of the stream."""
    return [
        (each["data"]["name"], each["data"]["status"]) for each in events if each["type"] == "tool_result"
    ]


def skills(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Name and action of each skill event; each belongs to a call."""
    found = [each for each in events if each["type"] == "skill"]
    calls = {each["tool_call_id"] for each in events if each["type"] == "tool_call"}
    assert {each["tool_call_id"] for each in found} <= calls
    return [(each["data"]["name"], each["data"]["action"]) for each in found]


def reading(name: str) -> str:
    return f'/call read_skill {{"name": "{name}"}}'


GREET = '/call greet {"who": "李雷"}'


async def prompt_of(client: Client, settings: Settings, message: str = "/say hi", **options: Any) -> str:
    """The system prompt that the model got with that message."""
    await client.chat(message, **options)
    async with httpx2.AsyncClient(trust_env=False) as http:
        seen = await http.get(f"{settings.anthropic_base_url}/demo/requests?limit=1")
    (request,) = seen.json()["requests"]
    return "\n\n".join(block["text"] for block in request["body"]["system"])


async def test_a_skill_is_read_and_not_called(skilled: Settings) -> None:
    """Called as if it were a tool it is refused with what to do instead; read_skill then gives its body."""
    async with running_gateway(skilled, greet) as client:
        events = await client.chat(
            f"/call greet-people {{}}\n/then\n{reading('greet-people')}\n/then\n/say over"
        )

    assert results(events) == [("greet-people", "denied"), ("read_skill", "ok")]
    assert skills(events) == [("greet-people", "refused"), ("greet-people", "read")]
    refused, read = [each["data"]["content"] for each in events if each["type"] == "tool_result"]
    assert "read_skill(name='greet-people')" in refused
    assert "Do it." in read
    assert str(skilled.skills_dir.parent) not in str(events)
    assert text_of(events) == "over"


async def test_a_tool_that_only_a_skill_allows_waits_for_it_to_be_read(skilled: Settings) -> None:
    """Refused before, with the skill to read; run afterwards; and in the next turn refused again."""
    guarded = skilled.model_copy(update={"skill_only_tools": ("gr*",)})
    async with running_gateway(guarded, greet) as client:
        session = await client.session()
        events = await client.chat(
            f"{GREET}\n/then\n{reading('greet-people')}\n/then\n{GREET}\n/then\n/say over", session_id=session
        )
        again = await client.chat(f"{GREET}\n/then\n/say over", session_id=session)
        other = await client.chat(f"{reading('write-letters')}\n/then\n{GREET}\n/then\n/say over")

    assert results(events) == [("greet", "denied"), ("read_skill", "ok"), ("greet", "ok")]
    assert "greet-people" in next(each["data"]["content"] for each in events if each["type"] == "tool_result")
    assert results(again) == [("greet", "denied")]
    assert results(other) == [("read_skill", "ok"), ("greet", "denied")]


async def test_while_a_skill_is_active_its_tools_are_all_there_is(skilled: Settings) -> None:
    """Another tool is refused after the reading, also in the same message; the next turn is free again."""
    clock = "/call current_time {}"
    async with running_gateway(skilled, greet) as client:
        session = await client.session()
        events = await client.chat(
            f"{clock}\n/then\n{reading('greet-people')}\n/then\n{GREET}\n{clock}\n/then\n/say over",
            session_id=session,
        )
        later = await client.chat(f"{clock}\n/then\n/say over", session_id=session)

    assert results(events)[:2] == [("current_time", "ok"), ("read_skill", "ok")]
    assert sorted(results(events)[2:]) == [("current_time", "denied"), ("greet", "ok")]
    assert skills(events) == [("greet-people", "read"), ("current_time", "refused")]
    assert results(later) == [("current_time", "ok")]


async def test_a_skill_that_is_gone_when_it_is_read_is_refused(skilled: Settings, folder: Path) -> None:
    """Its file was deleted, or broken, after the turn had begun."""

    @tool(effect="read_only")
    def spoil() -> str:
        """Deletes one skill and breaks the other."""
        (folder / "greet-people" / "SKILL.md").unlink()
        (folder / "write-letters" / "SKILL.md").write_bytes(b"\xff\xfe no front matter")
        return "done"

    async with running_gateway(skilled, greet, spoil) as client:
        both = f"{reading('greet-people')}\n{reading('write-letters')}"
        events = await client.chat(f"/call spoil {{}}\n/then\n{both}\n/then\n/say over")

    assert results(events) == [("spoil", "ok"), ("read_skill", "error"), ("read_skill", "error")]
    assert sorted(skills(events)) == [("greet-people", "refused"), ("write-letters", "refused")]
    assert str(folder.parent) not in str(events)
    assert the(events, "done")["status"] == "completed"


async def test_an_edit_of_a_skill_is_in_the_next_turn(skilled: Settings, folder: Path) -> None:
    """A new description is a new prompt generation, and says so; a new body is read as it is then, and
    changes nothing
    before the conversation."""
    async with running_gateway(skilled, greet) as client:
        session = await client.session()
        assert "打招呼" in await prompt_of(client, skilled, session_id=session)
        path = folder / "greet-people" / "SKILL.md"
        path.write_text(skill_text("greet-people", "Greets people. 问好."), encoding="utf-8")
        await client.post("/api/skills/refresh")
        events = await client.chat("/say hi", session_id=session)
        assert "问好" in await prompt_of(client, skilled, session_id=session)

        path.write_text(skill_text("greet-people", "Greets people. 问好.", "Bow first."), encoding="utf-8")
        read = await client.chat(f"{reading('greet-people')}\n/then\n/say over", session_id=session)

    assert the(events, "warning")["code"] == "prompt_changed"
    assert "Bow first." in the(read, "tool_result")["content"]
    assert [each for each in read if each["type"] == "warning"] == []


async def test_a_skill_that_is_switched_off_is_gone_from_the_next_turn_on(skilled: Settings) -> None:
    """From the prompt and for read_skill, also after a restart, until it is switched on again; a tool too."""
    async with running_gateway(skilled, greet) as client:
        for name in ("greet-people", "greet"):
            reply = await client.http.patch(f"/api/skills/{name}", json={"enabled": False})
            assert (reply.status_code, reply.json()["enabled"]) == (200, False)
    async with running_gateway(skilled, greet) as client:
        prompt = await prompt_of(client, skilled)
        events = await client.chat(f"{reading('greet-people')}\n{GREET}\n/then\n/say over")
        await client.http.patch("/api/skills/greet", json={"enabled": True})
        again = await client.chat(f"{GREET}\n/then\n/say over")

    assert "write-letters" in prompt
    assert "greet" not in prompt[prompt.index("<skills>") :]
    assert sorted(results(events)) == [("greet", "denied"), ("read_skill", "error")]
    assert ("greet-people", "refused") in skills(events)
    assert results(again) == [("greet", "ok")]


async def test_the_catalog_shows_all_three_types(skilled: Settings) -> None:
    """And the snapshot file is, byte for byte, what the model got."""
    served = skilled.model_copy(update={"mcp_servers": {"stock": STOCK}})
    async with running_gateway(served, greet) as client:
        rows = (await client.get("/api/skills")).json()["skills"]
        of_type = {
            kind: (await client.get(f"/api/skills?type={kind}")).json()["skills"]
            for kind in ("function", "markdown", "mcp")
        }
        unknown = await client.get("/api/skills?type=other")
        prompt = await prompt_of(client, served)

    assert [row for kind in of_type.values() for row in kind] == rows
    assert [row["name"] for row in of_type["mcp"]] == ["mcp__stock__check_stock"]
    assert [row["name"] for row in of_type["markdown"]] == ["greet-people", "write-letters"]
    assert "greet" in [row["name"] for row in of_type["function"]]
    assert of_type["mcp"][0]["metadata"]["parameters"]["properties"].keys() == {"sku"}
    assert str(skilled.data_dir.parent) not in str(rows)
    assert unknown.status_code == 400
    snapshot = (served.data_dir / SNAPSHOT_NAME).read_bytes().decode()
    assert snapshot.startswith("<skills>")
    assert snapshot.endswith("</skills>")
    assert prompt[prompt.index("<skills>") : prompt.index("</skills>") + len("</skills>")] == snapshot


async def test_the_snapshot_can_be_kept_from_the_prompt_and_from_the_disk(skilled: Settings) -> None:
    off = skilled.model_copy(update={"skills_in_prompt": False})
    async with running_gateway(off, greet) as client:
        prompt = await prompt_of(client, off)
    assert "<skills>" not in prompt
    assert (off.data_dir / SNAPSHOT_NAME).exists()

    (off.data_dir / SNAPSHOT_NAME).unlink()
    unwritten = skilled.model_copy(update={"skills_snapshot": False})
    async with running_gateway(unwritten, greet) as client:
        prompt = await prompt_of(client, unwritten)
    assert "<skills>" in prompt
    assert not (off.data_dir / SNAPSHOT_NAME).exists()


async def test_a_name_that_several_want_goes_to_the_stronger_one(skilled: Settings, tmp_path: Path) -> None:
    """A tool owns its bare name, the project's skill comes before the user's, copies are one; whoever loses
    can still be read, and each conflict is a warning."""
    write_skill(skilled.skills_dir, "greet", body="Bow.")
    for name, body in (("write-letters", "By hand."), ("greet-people", "Wave.")):
        write_skill(tmp_path / "user", name, body=body)
    copy = (skilled.skills_dir / "greet-people" / "SKILL.md").read_bytes()
    (tmp_path / "user" / "greet-people" / "SKILL.md").write_bytes(copy)
    both = skilled.model_copy(update={"user_skills_dir": tmp_path / "user"})

    async with running_gateway(both, greet) as client:
        catalog = (await client.get("/api/skills?type=markdown")).json()
        events = await client.chat(
            f"{GREET}\n{reading('md:greet')}\n{reading('write-letters@user')}\n/then\n/say over"
        )

    assert [row["name"] for row in catalog["skills"]] == [
        "greet-people",
        "md:greet",
        "write-letters",
        "write-letters@user",
    ]
    assert len(catalog["warnings"]) == 2
    contents = {each["data"]["content"] for each in events if each["type"] == "tool_result"}
    assert [any(words in content for content in contents) for words in ("你好 李雷", "Bow.", "By hand.")] == [
        True
    ] * 3


async def test_the_demo_follows_a_skill_when_its_words_are_said(skilled: Settings, folder: Path) -> None:
    """In Chinese as in English, and nothing is followed that the skill itself does not allow."""
    body = '## Steps\n\n1. `greet {"who": "{{request}}"}`\n2. `current_time {}`'
    (folder / "greet-people" / "SKILL.md").write_text(
        skill_text("greet-people", "Greets people. 打招呼.", body, allowed_tools="greet"), encoding="utf-8"
    )
    async with running_gateway(skilled, greet) as client:
        events = await client.chat("替我打招呼，韩梅梅来了")

    assert results(events) == [("read_skill", "ok"), ("greet", "ok"), ("current_time", "denied")]
    assert "> 你好 替我打招呼" in text_of(events)
    assert "`current_time` " in text_of(events)
