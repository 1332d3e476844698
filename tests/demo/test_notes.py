"""A first approval: the demo writes a note when somebody says yes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gateway.demo.demo_tools import MAX_NOTES, NOTES_FILE, write_note
from tests.demo.bare import ask
from tests.demo.conftest import Send
from tests.harness import running_gateway, text_of, the
from tests.product import Settings, ToolContext, ToolError
from tests.stories import asking

pytestmark = pytest.mark.anyio

TOOLS = [{"name": "write_note", "description": "Writes a note.", "input_schema": {"type": "object"}}]


async def called(send: Send, message: str, tools: list[dict[str, Any]] = TOOLS) -> dict[str, Any] | None:
    """The arguments of the one call that the demo answers with."""
    content = json.loads((await send(ask(message, tools=tools, stream=False))).body)["content"]
    uses = [block["input"] for block in content if block["type"] == "tool_use"]
    return uses[0] if uses else None


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Note that the door code is 4711.", "the door code is 4711."),
        ("note that 门 is door", "门 is door"),
        ("记一下：门禁密码是 4711", "门禁密码是 4711"),
        ("記一下，週五交房租", "週五交房租"),
        ("Remember that the door code is 4711.", None),
        ("记住我住在杭州", None),
        ("Did you note that down?", None),
        ("记下了吗？", None),
        ("Note that", None),
        ("Notes that matter", None),
    ],
)
async def test_a_message_that_begins_so_is_a_note(send: Send, message: str, text: str | None) -> None:
    """To note is to write; to remember, and to ask about notes, is not."""
    assert await called(send, message) == (None if text is None else {"text": text})


async def written(folder: Path, text: str) -> str:
    context = ToolContext("s", "t", "c", "ann", "t:c", lambda _: None)
    return (await write_note(folder).run({"text": text}, context)).content


async def test_each_note_is_a_line(tmp_path: Path) -> None:
    """Also when it was written in several, and when several are written at once."""
    await asyncio.gather(*(written(tmp_path, f"第{n}条\n# two") for n in range(20)))

    lines = (tmp_path / NOTES_FILE).read_text(encoding="utf-8").splitlines()
    assert sorted(lines) == sorted(f"- 第{n}条 # two" for n in range(20))


async def test_notes_are_bounded_and_a_failure_names_no_folder(tmp_path: Path) -> None:
    """A long note, a full file and a folder that is not there are failures in words for the model."""
    (tmp_path / NOTES_FILE).write_bytes(b"x" * (MAX_NOTES - 5))
    notes: list[str] = []
    for folder, text in ((tmp_path, "x" * 501), (tmp_path, "12345"), (tmp_path / "none", "1")):
        with pytest.raises(ToolError) as refused:
            await written(folder, text)
        notes.append(refused.value.message)

    assert ["500 characters" in notes[0], "is full" in notes[1], "No such file" in notes[2]] == [True] * 3
    assert str(tmp_path) not in "".join(notes)
    assert (tmp_path / NOTES_FILE).stat().st_size == MAX_NOTES - 5


@pytest.mark.parametrize(
    ("message", "decision", "words"),
    [
        ("Note that the door code is 4711.", "approve", "Written to notes.md"),
        ("记一下：门禁密码是 4711", "deny", "`write_note` 没有执行"),
    ],
)
async def test_a_note_is_written_when_somebody_allows_it(
    settings: Settings, message: str, decision: str, words: str
) -> None:
    """The turn asks; then the line is in the file, or is not; and the answer says which."""
    folder = settings.data_dir
    async with running_gateway(settings, write_note(folder)) as client:
        asked = await asking.parked(await asking.ask(client, message))
        assert not (folder / NOTES_FILE).exists()
        await asked.decide(decision, "write_note")
        events = await asked.all_events()

    assert the(events, "done")["status"] == "completed"
    assert words in text_of(events)
    assert (folder / NOTES_FILE).exists() == (decision == "approve")
