"""Calls of a model for anything but an answer: asked, repeated, limited, read, and reported once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.model.base import Answer, Chunk, ModelRequest, Started, Take
from gateway.model.side_calls import (
    CallContext,
    Completion,
    ModelCall,
    ModelCalls,
    UsageSum,
    read_json,
    request_of,
)
from tests.history.scripted import USAGE, Broken, Scripted, ScriptedModel, answer
from tests.loopback import TIMEOUT
from tests.product import ModelError, Usage, load_settings

pytestmark = pytest.mark.anyio

BEGUN = Usage(input_tokens=77, output_tokens=1)
CUT = Broken(BEGUN, ModelError("cut", code="upstream_truncated", retryable=True))
BUSY = ModelError("busy", code="upstream_overloaded", retryable=True, retry_after=0.001)
PRICED = "claude-haiku-4-5"


class Asking:
    """Calls of one model, what was reported of them, and what they took."""

    def __init__(self, model: ScriptedModel) -> None:
        self.reported: list[ModelCall] = []
        self.spent = UsageSum()
        self.model = model
        self._calls = ModelCalls(model, load_settings(), self.reported.append)

    async def ask(self, *, name: str = PRICED, timeout: float = 60, **options: Any) -> Completion:
        request = request_of(name, "Find.", "Text.", max_tokens=100)
        return await self._calls.ask("memory", request, timeout=timeout, spent=self.spent, **options)

    @property
    def call(self) -> ModelCall:
        (call,) = self.reported
        return call


def asking(*script: Scripted) -> Asking:
    return Asking(ScriptedModel(*script))


class HangingModel(ScriptedModel):
    """Begins to answer, says so in `began`, and never goes on."""

    def __init__(self, *script: Scripted) -> None:
        super().__init__(*script)
        self.began = asyncio.Event()

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest, take: Take | None = None
    ) -> AsyncGenerator[AsyncIterator[Chunk]]:
        yield self._begin()

    async def _begin(self) -> AsyncGenerator[Chunk]:
        yield Started("r", None, BEGUN)
        self.began.set()
        await asyncio.Event().wait()


async def test_a_call_that_succeeds_is_reported_with_what_it_took() -> None:
    """Purpose, context, usage, price, and how it ended."""
    asked = asking("Yes.")

    completion = await asked.ask(context=CallContext("ada", "s_1", "t_1"))

    assert completion.text() == "Yes."
    call = asked.call
    assert (call.purpose, call.model, call.max_tokens) == ("memory", PRICED, 100)
    assert call.context == CallContext("ada", "s_1", "t_1")
    assert (call.usage, call.attempts, call.error, call.stop_reason) == (USAGE, 1, None, "end_turn")
    assert call.cost == pytest.approx((100 * 1 + 10 * 5) / 1_000_000)
    assert call.unreported == 0
    assert call.ended_at is not None
    assert (asked.spent.usage, asked.spent.cost) == (USAGE, call.cost)


async def test_what_an_endpoint_reported_before_it_broke_off_is_counted_and_has_no_price() -> None:
    """Its input was paid for, but what the whole cost is not known, and never 0."""
    asked = asking(CUT)
    with pytest.raises(ModelError) as failed:
        await asked.ask()

    assert failed.value.code == asked.call.error == "upstream_truncated"
    assert (asked.call.usage, asked.call.cost, asked.call.unreported) == (BEGUN, None, 1)
    assert (asked.spent.usage, asked.spent.cost) == (BEGUN, None)


async def test_attempts_are_one_call() -> None:
    """Each that failed with its reason and what it had reported; only failures that pass are repeated."""
    asked = asking(BUSY, CUT, "Yes.")

    await asked.ask(attempts=3)

    call = asked.call
    assert call.attempts == 3
    assert [(each.reason, each.usage) for each in call.superseded] == [
        ("upstream_overloaded", None),
        ("upstream_truncated", BEGUN),
    ]
    assert (call.error, call.usage, call.unreported) == (None, USAGE, 1)
    assert asked.spent.usage == BEGUN + USAGE
    assert asked.spent.cost is None

    final = asking(ModelError("no", code="upstream_auth", retryable=False), "never")
    with pytest.raises(ModelError):
        await final.ask(attempts=3)
    assert (final.call.attempts, final.call.error) == (1, "upstream_auth")


class FirstHangs(HangingModel):
    """Hangs at the first call, and answers the others."""

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest, take: Take | None = None
    ) -> AsyncGenerator[AsyncIterator[Chunk]]:
        kind = ScriptedModel if self.began.is_set() else HangingModel
        async with kind.stream(self, request, take) as chunks:
            yield chunks


async def test_a_call_that_gave_way_to_a_turn_is_made_again_and_counts_once() -> None:
    """What the stopped one had used is neither reported nor spent, and it is no attempt of the other."""
    model = FirstHangs("Yes.")
    model.facts.slots, model.queue.quiet = 1, 0
    asked = Asking(model)
    background = asyncio.create_task(asked.ask(context=CallContext("ada", in_background=True)))
    await model.began.wait()
    turn = model.queue.join("ada")
    assert await turn.turn_comes(TIMEOUT)
    assert (asked.reported, asked.spent.usage) == ([], None)
    model.queue.leave(turn)

    assert (await background).text() == "Yes."
    assert (asked.call.attempts, asked.call.superseded, asked.call.unreported) == (1, [], 0)
    assert asked.spent.usage == USAGE
    assert model.queue.taken == 0


async def test_the_time_of_a_call_begins_when_it_has_a_slot() -> None:
    """It waits for a turn of any length first."""
    asked = asking("Yes.")
    queue = asked.model.queue
    asked.model.facts.slots = 1
    turn = queue.join("ada")
    call = asyncio.create_task(asked.ask(timeout=0.2))
    await asyncio.sleep(0.4)
    assert not call.done()
    queue.leave(turn)

    assert (await call).text() == "Yes."


async def test_an_attempt_that_never_began_costs_nothing() -> None:
    """The sum stays known."""
    asked = asking(BUSY, "Yes.")

    await asked.ask(attempts=2)

    assert asked.spent.cost == asked.call.cost is not None


@pytest.mark.parametrize("name", ["llama3", PRICED])
async def test_one_unknown_cost_makes_that_of_all_unknown(name: str) -> None:
    """A model without a price, or an answer without usage: a sum without one of its parts would be a lie."""
    answered = (
        answer("Yes.") if name == "llama3" else Answer(answer("Yes.").content, "end_turn", None, None, None)
    )
    asked = asking("Yes.", answered, "Yes.")

    await asked.ask()
    assert asked.spent.cost is not None
    await asked.ask(name=name)
    await asked.ask()

    assert asked.spent.cost is None
    assert [call.cost is None for call in asked.reported] == [False, True, False]


async def test_a_call_that_takes_too_long_ends_with_a_named_error() -> None:
    """The limit is of all its attempts together, waits included."""
    asked = Asking(HangingModel())
    with pytest.raises(ModelError) as failed:
        await asked.ask(timeout=0.05)
    assert failed.value.code == asked.call.error == "upstream_timeout"
    assert (asked.call.usage, asked.call.unreported) == (BEGUN, 1)

    patient = asking(ModelError("busy", code="upstream_overloaded", retryable=True, retry_after=20))
    with pytest.raises(ModelError) as failed:
        await patient.ask(timeout=0.05, attempts=9)
    assert failed.value.code == patient.call.error == "upstream_timeout"


async def test_a_call_that_is_cancelled_is_reported_once() -> None:
    """With what it had reported; nothing went wrong, and nothing ended in order."""
    model = HangingModel()
    asked = Asking(model)
    task = asyncio.create_task(asked.ask())
    await model.began.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    call = asked.call
    assert (call.error, call.stop_reason, call.usage, call.unreported) == (None, None, BEGUN, 1)
    assert asked.spent.usage == BEGUN


async def test_a_cancel_between_two_attempts_counts_the_first_once() -> None:
    """Nothing is open while it waits."""
    failed = asyncio.Event()

    def cut(request: ModelRequest) -> Scripted:
        failed.set()
        return CUT

    asked = asking(cut)
    task = asyncio.create_task(asked.ask(attempts=2))
    await failed.wait()  # the task goes on to its wait without giving way

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [each.usage for each in asked.call.superseded] == [BEGUN]
    assert asked.spent.usage == BEGUN


async def test_a_mistake_of_ours_is_reported_as_one() -> None:
    """It goes on to the caller."""
    asked = asking(RuntimeError("a mistake"))
    with pytest.raises(RuntimeError):
        await asked.ask()

    assert asked.call.error == "internal"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (answer("Ye", "max_tokens"), "truncated"),
        (answer("Ye", "model_context_window_exceeded"), "truncated"),
        (answer("No.", "refusal"), "refused"),
        (answer(""), "empty"),
        (answer(" \n"), "empty"),
        (answer("Yes.", "tool_use"), "invalid"),
        (answer("Yes.", "pause_turn"), "invalid"),
    ],
)
async def test_an_answer_that_is_none_is_named_and_paid_for(given: Answer, problem: str) -> None:
    """Nobody takes its text for one by accident."""
    asked = asking(given)

    completion = await asked.ask()

    assert completion.problem == problem
    with pytest.raises(ValueError, match=r"\w"):
        completion.text()
    with pytest.raises(ValueError, match=r"\w"):
        completion.json()
    assert asked.call.error == f"answer_{problem}"
    assert asked.call.cost is not None


@pytest.mark.parametrize("stop_reason", [None, "stop", "eos_token", "stop_sequence", "end_turn"])
async def test_a_message_that_has_its_end_is_whole_whatever_its_reason(stop_reason: str | None) -> None:
    """Titles, summaries and memories of servers that tell none, or one of their own."""
    completion = await asking(answer("Yes.", stop_reason)).ask()

    assert (completion.text(), completion.problem) == ("Yes.", None)


OBJECT = '{"goal": "a ```b``` c", "n": 1}'


@pytest.mark.parametrize(
    "text",
    [
        OBJECT,
        f"\n {OBJECT} \n",
        f"```json\n{OBJECT}\n```",
        f"```\n{OBJECT}\n```",
        f"```JSON {OBJECT} ```",
        f"Here is the summary:\n\n```json\n{OBJECT}\n```",
        f"Here it is:\n```json\n{OBJECT}\n```\nAnything else?",
        f"好的，这是结果：\n\n```json\n{OBJECT}\n```\n\n希望有帮助。",
    ],
)
def test_an_object_is_read_alone_or_from_a_fence(text: str) -> None:
    """With a sentence before the fence and after it."""
    assert read_json(text) == {"goal": "a ```b``` c", "n": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "```",
        "``````",
        "[]",
        '"goal"',
        "```json\n[]\n```",
        '{"goal": 1',
        '{"a": 1, "a": 2}',
        '{"n": NaN}',
        '{"n": 99999999999999999999}',
        f"{OBJECT} Anything else?",
        f"Here: {OBJECT}",
        f"```json\n{OBJECT}\n```\nor\n```json\n{OBJECT}\n```",
        f"```json\n{OBJECT}",
    ],
)
def test_what_is_not_exactly_one_object_is_refused(text: str) -> None:
    """Nothing is guessed: the error says what is wrong."""
    with pytest.raises(ValueError, match=r"\w"):
        read_json(text)
