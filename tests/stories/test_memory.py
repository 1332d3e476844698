"""What a user says once is known in later sessions, seen with its reasons, and gone when they say so."""

from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, running_gateway, text_of, the, types
from tests.postgres import on_both_engines
from tests.product import Settings, load_settings

pytestmark = pytest.mark.anyio

PLAIN = "我喜欢简约的设计风格"
LOGO = "帮我设计一个 logo"


def settings_with(folder: Path, demo_url: str, **more: Any) -> Any:
    return load_settings(
        data_dir=folder,
        anthropic_base_url=demo_url,
        skills_dir=folder / "skills",
        documents_dir=folder / "documents",
        log_level="error",
        **more,
    )


def memory_events(events: list[dict[str, Any]], mode: str) -> list[dict[str, Any]]:
    found = [event["data"] for event in events if event["type"] == "retrieval"]
    return [data for data in found if data["source"] == "memory" and data.get("mode") == mode]


async def prompt_of(user: Client, **query: str) -> str:
    """The memory layer of the next prompt."""
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    shown = (await user.get(f"/api/prompts/preview?{asked}")).json()
    return "\n".join(layer["text"] for layer in shown["layers"] if layer["layer"] == "MEMORY")


@on_both_engines
async def test_what_was_said_in_one_session_is_known_in_another_until_it_is_forgotten(
    settings: Settings,
) -> None:
    """The whole way: said in Chinese, saved by the model's tool, in the prompt of a new session under another
    interface, told with its reasons, listed, changed, deleted, and recalled by nothing after that."""
    async with running_gateway(settings) as user:
        events = await user.chat(f"记住，{PLAIN}", session_id="first", role_id="chat")
        remembered = the(events, "memory")
        memory_id = remembered["memory_id"]
        assert (remembered["op"], remembered["content"]) == ("remembered", PLAIN)

        assert PLAIN in await prompt_of(user, role_id="design")
        asked = await user.chat(LOGO, session_id="second", role_id="design")
        (standing,) = memory_events(asked, "snapshot")
        assert [hit["id"] for hit in standing["results"]] == [memory_id]
        assert standing["notes"]
        assert memory_id in text_of(asked) or "简约" in text_of(asked)

        again = await user.chat("我的设计风格是什么？", session_id="second")
        (looked_up,) = [*memory_events(again, "catalog"), *memory_events(again, "details")]
        (hit,) = looked_up["results"]
        assert (hit["id"], hit["told"], hit["lexical_rank"]) == (memory_id, "before", 1)

        listed = await user.chat("你记得我什么？", session_id="second")
        assert "简约" in the(listed, "tool_result")["content"]

        patched = await user.http.patch(f"/api/memory/{memory_id}", json={"content": "我喜欢华丽的设计风格"})
        assert patched.status_code == 200, patched.text
        changed = await user.chat(LOGO, session_id="second")
        (corrected,) = memory_events(changed, "changes")
        assert [hit["snippet"] for hit in corrected["results"]] == ["我喜欢华丽的设计风格"]
        assert "warning" not in types(changed)
        assert "华丽" in await prompt_of(user, role_id="design")
        assert "简约" not in await prompt_of(user, role_id="design")

        forget = f'/call manage_memory {{"action": "delete", "id": "{memory_id}"}}\n/then\n/say 好'
        forgotten = await user.chat(forget, session_id="second")
        assert the(forgotten, "memory")["op"] == "forgotten"
        for session in ({"session_id": "second"}, {"role_id": "design"}, {}):
            assert "华丽" not in await prompt_of(user, **session)
        last = await user.chat(LOGO, session_id="third", role_id="design")
        assert "retrieval" not in types(last)
        assert (await user.get("/api/memory")).json()["memories"] == []
