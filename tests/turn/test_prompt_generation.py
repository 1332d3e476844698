"""Generations of a session's prompt: why one begins, and what is no longer sent from then on."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.history.transcript import view
from gateway.turn.prompt_generation import BEGINS, Reason, begin_generation, warning_of
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


def test_whatever_the_reasons_one_generation_begins_and_one_warning_names_them() -> None:
    """One reason has its own code; several have `prompt_changed`, all their codes and all their words."""
    one, other = Reason("memory_changed", "One is gone."), Reason("attachment_not_shown", "No room.")

    alone, both = warning_of([one]), warning_of([one, other])

    assert (alone.code, alone.reasons) == ("memory_changed", None)
    assert (both.code, both.reasons) == ("prompt_changed", ["memory_changed", "attachment_not_shown"])
    assert all(each.message in both.message for each in (one, other))
    assert both.message.count("new prompt generation") == 1


@given(st.lists(st.builds(Reason, st.text(min_size=1, max_size=9), st.text(max_size=30)), min_size=1))
def test_every_reason_is_in_the_warning_in_its_order(reasons: list[Reason]) -> None:
    """People read the words, clients the codes: of one reason it is the code of the warning."""
    warning = warning_of(reasons)

    assert warning.message == " ".join([*(each.message for each in reasons), BEGINS])
    codes = warning.reasons if len(reasons) > 1 else [warning.code]
    assert codes == [each.code for each in reasons]


async def test_a_generation_begins_after_the_last_message_and_forgets_the_prefix(tmp_path: Path) -> None:
    """Thinking that was signed until then is in no view any more, and the record says so too."""
    async with turn_at_work(tmp_path) as turn:
        turn.progress.prefix_hash = "before"
        history = await begin_generation(turn, _history(prefix_hash="before"))
        recorded = await turn.deps.sessions.history("s")

    assert (history.generation_from, history.prefix_hash, turn.progress.prefix_hash) == (2, None, None)
    assert view(history)[-1].content == [text_block("hi")]
    assert recorded.generation_from == 2


async def test_without_a_reason_a_generation_begins_in_silence(tmp_path: Path) -> None:
    """Nothing of it is in the log; with one its warning is."""
    async with turn_at_work(tmp_path) as turn:
        history = await begin_generation(turn, _history())
        before = await stored(turn)
        await begin_generation(turn, history, [Reason("memory_changed", "One is gone.")])
        events = await stored(turn)

    assert before == []
    assert [each["data"]["code"] for each in events] == ["memory_changed"]
