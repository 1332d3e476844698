"""What a turn has before its first model call: its history, its prompt, and why a generation of it begins."""

from pathlib import Path
from typing import Any

import pytest

from gateway.history.transcript import view
from gateway.storage.messages import GENERATION_OPEN
from gateway.turn.prepare import prepare, read_components
from tests.product import History, Message, StoredMessage, text_block
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


async def test_a_view_that_changed_while_a_turn_ran_begins_a_generation_in_silence(tmp_path: Path) -> None:
    """Whoever compressed it knows; the next turn fixes where it begins."""
    async with turn_at_work(tmp_path) as turn:
        await turn.deps.sessions.begin_generation("s", GENERATION_OPEN, instead_of=0)
        turn.progress.started_at = 1  # it goes on under another owner
        turn.emitter.record(Message("user", [text_block("hello")]))
        await turn.emitter.flush()
        await prepare(turn)
        events = await stored(turn)

    assert turn.history.generation_from == 1
    assert "warning" not in [event["type"] for event in events]
