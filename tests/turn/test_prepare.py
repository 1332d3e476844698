"""What a turn has before its first model call: its history, its prompt, and why a generation of it begins."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.history.transcript import view
from gateway.messages import Attached, Message, attached_block, text_block
from gateway.storage.messages import GENERATION_OPEN, History, StoredMessage
from gateway.turn.attachments import make_room
from gateway.turn.context import TurnContext
from gateway.turn.generation import Reason, begin_generation, warning_of
from gateway.turn.prepare import prepare, read_components
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

SIGNED: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "hm", "signature": "x"},
    {"type": "text", "text": "hi"},
]


def _history(**given: Any) -> History:
    """A question and its answer with signed thinking, of a former turn."""
    asked, answered = Message("user", [text_block("hello")]), Message("assistant", SIGNED)
    return History([StoredMessage(1, "t0", asked), StoredMessage(2, "t0", answered)], **given)


async def test_a_plain_message_is_prepared_without_a_generation_or_a_warning(tmp_path: Path) -> None:
    """Its history is the message, the view what the model is told; the log has its beginning alone."""
    async with turn_at_work(tmp_path) as turn:
        await prepare(turn)
        events = await stored(turn)

    assert [event["type"] for event in events] == ["turn_start"]
    assert [item.message.content for item in turn.history.messages] == [[text_block("hello")]]
    assert turn.messages == view(turn.history)
    assert turn.history.generation_from == 0
    assert turn.prefix == turn.prompt.prefix(turn.history)


async def test_whatever_the_reasons_one_generation_begins_and_one_warning_names_them(tmp_path: Path) -> None:
    """One reason has its own code; several have `prompt_changed`, all their codes and all their words."""
    one, other = Reason("memory_changed", "One is gone."), Reason("attachment_not_shown", "No room.")

    alone, both = warning_of([one]), warning_of([one, other])

    assert (alone.code, alone.reasons) == ("memory_changed", None)
    assert (both.code, both.reasons) == ("prompt_changed", ["memory_changed", "attachment_not_shown"])
    assert all(each.message in both.message for each in (one, other))
    assert both.message.count("new prompt generation") == 1


async def test_a_generation_begins_after_the_last_message_and_forgets_the_prefix(tmp_path: Path) -> None:
    """Thinking that was signed until then is in no view any more, and the record says so too."""
    async with turn_at_work(tmp_path) as turn:
        turn.progress.prefix_hash = "before"
        history = await begin_generation(turn, _history(prefix_hash="before"))
        recorded = await turn.deps.sessions.history("s")

    assert (history.generation_from, history.prefix_hash, turn.progress.prefix_hash) == (2, None, None)
    assert view(history)[-1].content == [text_block("hi")]
    assert recorded.generation_from == 2


@pytest.mark.parametrize(("before", "code"), [(None, None), ("same", None), ("other", "prompt_changed")])
async def test_another_prefix_than_the_last_call_had_is_a_reason(
    tmp_path: Path, before: str | None, code: str | None
) -> None:
    """Of a session's first call there is none to compare with."""
    async with turn_at_work(tmp_path) as turn:
        same = turn.prompt.prefix(_history()).prefix_hash
        history, reason = await read_components(
            turn, _history(prefix_hash=same if before == "same" else before)
        )

    assert history.messages == _history().messages
    assert (reason.code if reason else None) == code


async def test_only_files_that_take_the_room_of_older_ones_are_a_reason(tmp_path: Path) -> None:
    """A message without files cannot be one, however many there were before."""
    image = Attached(ref="art_1", name="a.png", mime="image/png", size=9, shown="image", text="", tokens=9)

    def message(position: int, turn_id: str, count: int) -> StoredMessage:
        return StoredMessage(position, turn_id, Message("user", [attached_block(image)] * count))

    async def reason_of(turn: TurnContext, count: int) -> str | None:
        turn.row = replace(turn.row, attachments=(image,) * count)
        _, reason = await make_room(turn, History([message(1, "t0", 20), message(2, "t", count)]))
        return reason.code if reason else None

    async with turn_at_work(tmp_path) as turn:
        assert await reason_of(turn, 0) is None
        assert await reason_of(turn, 1) == "attachment_not_shown"
        turn.progress.iteration = 1
        assert await reason_of(turn, 1) is None


async def test_a_view_that_changed_while_a_turn_ran_begins_a_generation_in_silence(tmp_path: Path) -> None:
    """Whoever compressed it knows; the next turn fixes where it begins."""
    async with turn_at_work(tmp_path) as turn:
        await turn.deps.sessions.begin_generation("s", GENERATION_OPEN, instead_of=0)
        turn.progress.started_at = 1  # it goes on under another owner
        turn.emitter.record(Message("user", [text_block("hello")]))
        await turn.emitter.settled()
        await prepare(turn)
        events = await stored(turn)

    assert turn.history.generation_from == 1
    assert "warning" not in [event["type"] for event in events]
