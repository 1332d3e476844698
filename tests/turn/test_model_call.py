"""One model call: its attempts, what each leaves in the log, and which of its tool calls may run."""

from pathlib import Path
from typing import Any

import pytest

from gateway.errors import TooManyToolCalls
from gateway.history.thinking_reader import ThinkingReader, may_think
from gateway.ids import is_id
from gateway.turn.context import TurnContext
from gateway.turn.model_call import ask, next_request
from gateway.turn.start_and_end import begin_turn
from tests.history.scripted import USAGE, Broken, call, says
from tests.product import Answer, History, Message, ModelError, StoredMessage, text_block
from tests.turn.working import stored, turn_at_work

pytestmark = pytest.mark.anyio

ASKED = Message("user", [text_block("hello")])
ANSWERED = Message("assistant", [text_block("hi")])
BUSY = ModelError("Busy.", code="upstream_overloaded", retryable=True, retry_after=0)
GONE = ModelError("No.", code="upstream_auth", retryable=False)


async def _ask(turn: TurnContext) -> Answer:
    begin_turn(turn.emitter)
    turn.set_history(History([StoredMessage(1, "t", ASKED)]))
    turn.emitter.iteration = turn.progress.iteration + 1
    return await ask(turn, next_request(turn))


def _types(events: list[dict[str, Any]]) -> list[str]:
    return [each["type"] for each in events][1:]


async def test_a_history_that_no_endpoint_would_take_is_sent_to_none(tmp_path: Path) -> None:
    """A call without its result is a mistake of ours, found before it is a refusal of theirs."""
    async with turn_at_work(tmp_path) as turn:
        turn.set_history(History([StoredMessage(1, "t", ANSWERED)]))
        with pytest.raises(AssertionError, match="not valid"):
            next_request(turn)


async def test_attempts_that_failed_are_superseded_by_the_one_that_counts(tmp_path: Path) -> None:
    """Each is numbered; what a lost one used is told with it, and the components with the first alone."""
    script = (BUSY, Broken(USAGE, BUSY), "hello")
    async with turn_at_work(tmp_path, *script, model_attempts=3) as turn:
        answer = await _ask(turn)
        events = await stored(turn)

    starts = [each["data"] for each in events if each["type"] == "iteration_start"]
    lost = [each["data"] for each in events if each["type"] == "iteration_superseded"]
    assert [block["text"] for block in answer.content] == ["hello"]
    assert _types(events) == [
        *("iteration_start", "iteration_superseded") * 2,
        "iteration_start",
        "iteration_end",
    ]
    assert [each["attempt"] for each in starts] == [1, 2, 3]
    assert ["components" in each for each in starts] == [True, False, False]
    assert [(each["attempt"], "usage" in each) for each in lost] == [(1, False), (2, True)]


@pytest.mark.parametrize(("script", "attempts"), [((BUSY, BUSY, BUSY), 2), ((GONE, "never"), 1)])
async def test_the_last_failure_is_raised_and_its_attempt_stays_open(
    tmp_path: Path, script: Any, attempts: int
) -> None:
    """Whoever ends the turn keeps what it streamed. What cannot get better is not tried again."""
    async with turn_at_work(tmp_path, *script, model_attempts=2) as turn:
        with pytest.raises(ModelError):
            await _ask(turn)
        events = await stored(turn)

    assert _types(events).count("iteration_start") == attempts
    assert _types(events)[-1] == "iteration_start"
    assert turn.progress.attempt_open


@pytest.mark.parametrize("stop_reason", ["max_tokens", "refusal", "pause_turn"])
async def test_no_tool_runs_from_a_message_that_did_not_end_in_order(
    tmp_path: Path, stop_reason: str
) -> None:
    """Its calls may be cut off: they are in no history either."""
    cut = Answer([text_block("I will"), call("look", "c1")], stop_reason, USAGE, None, "r")
    async with turn_at_work(tmp_path, cut) as turn:
        answer = await _ask(turn)
        await turn.emitter.flush()
        history = await turn.deps.sessions.history("s")

    assert [block["type"] for block in answer.content] == ["text"]
    assert turn.progress.calls == {}
    kept = [item.message for item in history.messages if item.message.role == "assistant"]
    assert kept == ([] if stop_reason == "refusal" else [says("I will")])


async def test_ids_that_cannot_be_used_are_replaced_everywhere(tmp_path: Path) -> None:
    """One that is no id, and one that was used before in this turn: in the message, in the intents, and in
    what is said of bad arguments."""
    calls = [call("look", "not an id!"), call("look", "c1"), call("look", "c2")]
    first = Answer(calls, "tool_use", USAGE, None, "r", {"not an id!": "line 1"})
    async with turn_at_work(tmp_path, first) as turn:
        turn.progress.call_ids.add("c1")
        answer = await _ask(turn)
        events = await stored(turn)
        history = await turn.deps.sessions.history("s")

    ids = [block["id"] for block in answer.content]
    intents = [each["tool_call_id"] for each in events if each["type"] == "tool_call"]
    refused = [each["tool_call_id"] for each in events if each["type"] == "tool_result"]
    assert all(map(is_id, ids))
    assert ids[2] == "c2"
    assert "c1" not in ids
    assert intents == ids == [block["id"] for block in history.messages[-1].message.content]
    assert refused == list(answer.bad_inputs) == [ids[0]]


async def test_the_message_and_its_intents_are_there_together_or_not_at_all(tmp_path: Path) -> None:
    """One call more than the limit: nothing of the answer is recorded."""
    answer = Answer([call("look", f"c{number}") for number in range(3)], "tool_use", USAGE, None, "r")
    async with turn_at_work(tmp_path, answer, max_tool_calls=2) as turn:
        with pytest.raises(TooManyToolCalls):
            await _ask(turn)
        events = await stored(turn)
        history = await turn.deps.sessions.history("s")

    assert _types(events) == ["iteration_start"]
    assert len(history.messages) == 1


@pytest.mark.parametrize(("generation_from", "may"), [(0, True), (1, True), (2, False)])
def test_a_turn_whose_thought_was_signed_for_another_prefix_does_not_think_again(
    generation_from: int, may: bool
) -> None:
    """While its tools run, the API wants the thought that led to the first call."""
    items = [StoredMessage(1, "t", ASKED), StoredMessage(2, "t", ANSWERED)]

    assert may_think(History(items, generation_from=generation_from), ThinkingReader("m", turn_id="t")) is may
    assert may_think(History(items, generation_from=generation_from), ThinkingReader("m", turn_id="t2"))
