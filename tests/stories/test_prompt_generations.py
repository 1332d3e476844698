"""What comes before a session's messages changes: one new generation of it, whatever the reasons."""

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.harness import running_gateway, the, types
from tests.stories.test_memory import settings_with
from tests.stories.test_recall import remember, warnings

pytestmark = pytest.mark.anyio

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _pictures(count: int) -> list[dict[str, Any]]:
    assert base64.b64decode(PIXEL).startswith(b"\x89PNG")
    return [{"name": f"{number}.png", "data": PIXEL} for number in range(count)]


async def test_several_reasons_at_once_begin_one_generation_with_one_warning(
    tmp_path: Path, demo_url: str
) -> None:
    """An edited prompt, a memory that was forgotten and files that need the room of older ones, before one
    and the same message: the warning names all three, and the next turn is quiet again."""
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    async with running_gateway(settings_with(tmp_path, demo_url, prompts_dir=prompts)) as user:
        memory_id = await remember(user, "The office is on the third floor.")
        await user.chat("/think Hm.\n/say seen", session_id="s", attachments=_pictures(20))
        (prompts / "style.md").write_text("Answer like a pirate.")
        assert (await user.http.delete(f"/api/memory/{memory_id}")).status_code == 204
        second = await user.chat("/say and this", session_id="s", attachments=_pictures(1))
        third = await user.chat("/say over", session_id="s")

    warning = the(second, "warning")
    assert warning["code"] == "prompt_changed"
    assert warning["reasons"] == ["prompt_changed", "attachment_not_shown", "memory_changed"]
    assert warning["message"].count("new prompt generation") == 1
    assert types(second).index("warning") < types(second).index("iteration_start")
    assert warnings(third) == []
    assert [the(turn, "done")["status"] for turn in (second, third)] == ["completed"] * 2
