"""A whole turn without the task that owns it: what the model says, and how the turn ends because of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import Overflow
from gateway.messages import Sampling
from gateway.model.endpoint_facts import ModelFacts
from gateway.turn import repeated_calls
from gateway.turn.context import TurnContext
from gateway.turn.progress import TurnProgress
from gateway.turn.run import run_turn
from gateway.turn.start_and_end import TurnBounds
from tests.history.scripted import USAGE, ScriptedModel, answer
from tests.product import (
    Answer,
    Block,
    FunctionTool,
    ModelError,
    ToolContext,
    ToolOutput,
    ToolSpec,
    Usage,
    text_block,
)
from tests.turn.working import LIMITS, stored, turn_at_work

pytestmark = pytest.mark.anyio
MANY = TurnBounds(16, None, 60)


def scripted(turn: TurnContext) -> ScriptedModel:
    assert isinstance(turn.deps.model, ScriptedModel)
    return turn.deps.model


def _calls(count: int, *texts: str) -> Answer:
    """A message that calls `look` so many times."""
    blocks: list[Block] = [
        {"type": "tool_use", "id": f"c{n}", "name": "look", "input": {}} for n in range(count)
    ]
    return Answer([*(text_block(each) for each in texts), *blocks], "tool_use", USAGE, "scripted", "r")


def _look(looked: list[str]) -> FunctionTool:
    async def run(_: dict[str, Any], context: ToolContext) -> ToolOutput:
        looked.append(context.tool_call_id)
        return ToolOutput("seen")

    return FunctionTool(ToolSpec("look", "Looks.", {"type": "object"}), "read_only", 5, run)


@pytest.mark.parametrize(
    ("script", "outcome", "code"),
    [
        (answer(""), "completed", "empty_answer"),
        (answer("half an", "max_tokens"), "completed", "max_tokens"),
        (answer("no", "refusal"), "failed", "content_refused"),
        (ModelError("No.", code="upstream_auth", retryable=False), "failed", "upstream_auth"),
    ],
)
async def test_what_the_model_says_decides_how_the_turn_ends(
    tmp_path: Path, script: Any, outcome: str, code: str | None
) -> None:
    """Each end that is no whole answer has its reason. (This model streams no text.)"""
    async with turn_at_work(tmp_path, script) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    why = ending.warning or ending.error
    assert (ending.outcome, why.code if why else None) == (outcome, code)


async def test_all_calls_within_the_limit_run_and_their_results_go_back(tmp_path: Path) -> None:
    """In one message, in the order of the calls, before the model is asked again."""
    looked: list[str] = []
    async with turn_at_work(
        tmp_path, _calls(5), answer("done"), tools=[_look(looked)], max_tool_calls=5
    ) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)
        await turn.emitter.flush()
        history = await turn.deps.sessions.history("s")

    assert ending is not None
    assert ending.outcome == "completed"
    assert sorted(looked) == [f"c{number}" for number in range(5)]
    answers = history.messages[2].message.content
    assert [block["tool_use_id"] for block in answers] == [f"c{number}" for number in range(5)]


async def test_one_call_more_than_the_limit_ends_the_turn_and_none_is_run(tmp_path: Path) -> None:
    """No intent is recorded, so there is nothing to answer; what was written can be kept."""
    looked: list[str] = []
    async with turn_at_work(tmp_path, _calls(6), tools=[_look(looked)], max_tool_calls=5) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)
        events = await stored(turn)

    assert ending is not None
    assert ending.warning is not None
    assert (ending.outcome, ending.warning.code) == ("limit_reached", "max_tool_calls")
    assert looked == []
    assert [each["type"] for each in events] == ["turn_start", "iteration_start"]
    assert turn.progress.attempt_usage == USAGE


async def test_model_calls_are_limited(tmp_path: Path) -> None:
    """A model that only ever calls tools is asked as often as the limit says."""
    looked: list[str] = []
    async with turn_at_work(tmp_path, *(_calls(1) for _ in range(9)), tools=[_look(looked)]) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    assert ending.warning is not None
    assert ending.warning.code == "max_iterations"
    assert len(looked) == LIMITS.iterations


def _looks(*arguments: dict[str, Any]) -> list[Answer]:
    """Messages that each call `look` once, with these arguments."""
    return [
        Answer(
            [{"type": "tool_use", "id": f"c{n}", "name": "look", "input": each}], "tool_use", USAGE, "m", "r"
        )
        for n, each in enumerate(arguments)
    ]


async def test_a_call_that_goes_nowhere_is_told_and_ends_with_an_answer(tmp_path: Path) -> None:
    """The third time the model reads that its call changes nothing; after the fifth it is asked to answer
    without tools, and a call that it makes all the same is not run."""
    looked: list[str] = []
    last = Answer([text_block("391"), *_looks({})[0].content], "tool_use", USAGE, "m", "r")
    async with turn_at_work(tmp_path, *_looks(*[{"q": 1}] * 5), last, tools=[_look(looked)]) as turn:
        ending = await run_turn(turn.deps, turn.emitter, MANY)
        events = await stored(turn)
        asked = scripted(turn).requests

    assert ending is not None
    assert (ending.outcome, len(looked)) == ("completed", 5)
    results = [event["data"]["content"] for event in events if event["type"] == "tool_result"]
    assert results[:2] == ["seen", "seen"]
    assert all(text.startswith("seen") for text in results)
    assert ["Do not repeat it" in text for text in results] == [False, False, True, True, False]
    assert "answer now" in results[-1]
    warnings = [event["data"] for event in events if event["type"] == "warning"]
    assert [each["code"] for each in warnings[:2]] == ["repeated_calls"] * 2
    assert "look was called 5 times" in warnings[1]["message"]
    assert [request.may_call for request in asked] == [True] * 5 + [False]
    assert asked[-1].tools


@pytest.mark.parametrize("kind", ["other arguments", "other results", "waiting"])
async def test_calls_that_change_something_are_no_loop(tmp_path: Path, kind: str) -> None:
    """Other arguments, other results, or a call that waits for something."""

    async def run(_: dict[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput(context.tool_call_id if kind == "other results" else "seen")

    tool = FunctionTool(ToolSpec("look", "Looks.", {"type": "object"}), "read_only", 5, run)
    calls = _looks(*({"q": n if kind == "other arguments" else 1} for n in range(8)))
    async with turn_at_work(tmp_path, *calls, answer("done"), tools=[tool]) as turn:
        if kind == "waiting":
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(repeated_calls, "WAITED", 0)
                ending = await run_turn(turn.deps, turn.emitter, MANY)
        else:
            ending = await run_turn(turn.deps, turn.emitter, MANY)
        events = await stored(turn)

    assert ending is not None
    assert ending.outcome == "completed"
    assert sum(event["type"] == "tool_result" for event in events) == 8
    assert "repeated_calls" not in [event["data"].get("code") for event in events]


async def test_two_calls_in_turns_are_a_loop(tmp_path: Path) -> None:
    """A, B, A, B …: each of them is repeated among the latest calls."""
    looked: list[str] = []
    calls = _looks(*({"q": n % 2} for n in range(9)))
    async with turn_at_work(tmp_path, *calls, answer("done"), tools=[_look(looked)]) as turn:
        await run_turn(turn.deps, turn.emitter, MANY)
        requests = scripted(turn).requests

    assert len(looked) == 9
    assert [request.may_call for request in requests][-2:] == [True, False]


async def test_what_was_repeated_is_known_from_the_log(tmp_path: Path) -> None:
    """Another process that goes on with the turn counts as this one did."""
    async with turn_at_work(tmp_path, *_looks(*[{"q": 1}] * 5), answer("done"), tools=[_look([])]) as turn:
        await run_turn(turn.deps, turn.emitter, MANY)
        await turn.emitter.flush()
        read = TurnProgress()
        for event in await turn.deps.log.read("s", after=0, limit=1000):
            read.apply_stored(event)

    assert read.repeated == turn.progress.repeated
    assert read.repeated.ends


async def test_an_endpoint_that_refuses_the_choice_of_no_tool_is_asked_without_it(tmp_path: Path) -> None:
    """The calls that it makes are not run all the same."""
    refusal = ModelError("unknown field tool_choice", code="upstream_error", retryable=False, refused=True)
    looked: list[str] = []
    last = Answer([text_block("391"), *_looks({})[0].content], "tool_use", USAGE, "m", "r")
    async with turn_at_work(tmp_path, *_looks(*[{"q": 1}] * 5), refusal, last, tools=[_look(looked)]) as turn:
        ending = await run_turn(turn.deps, turn.emitter, MANY)
        requests = scripted(turn).requests

    assert ending is not None
    assert (ending.outcome, len(looked)) == ("completed", 5)
    assert [request.may_call for request in requests][-2:] == [False, True]


@pytest.mark.parametrize("stop_reason", [None, "end_turn", "tool_use", "stop_sequence", "something_new"])
async def test_a_complete_call_runs_whatever_the_stop_reason_says(
    tmp_path: Path, stop_reason: str | None
) -> None:
    """Servers disagree on what to call it; the call is what was meant."""
    looked: list[str] = []
    call = replace(_calls(1), stop_reason=stop_reason)
    async with turn_at_work(tmp_path, call, answer("done"), tools=[_look(looked)]) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    assert (ending.outcome, looked) == ("completed", ["c0"])


async def test_a_message_that_is_cut_in_its_calls_shows_what_there_was(tmp_path: Path) -> None:
    """None of the calls is run, and the person reads which they were."""
    looked: list[str] = []
    cut = replace(_calls(40), stop_reason="max_tokens", bad_inputs={"c39": "cut off (max_tokens)"})
    async with turn_at_work(tmp_path, cut, tools=[_look(looked)]) as turn:
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)
        events = await stored(turn)

    assert ending is not None
    assert (ending.outcome, looked) == ("completed", [])
    (warning,) = [event["data"] for event in events if event["type"] == "warning"]
    assert warning["code"] == "calls_not_run"
    assert "none of its 40 calls" in warning["message"]
    assert "look {} (39 times), look (arguments not complete)" in warning["message"]


@pytest.mark.parametrize(
    ("read", "written", "window", "says"),
    [
        (
            4259,
            859,
            5120,
            "model_context_window_exceeded: The model's context of 5120 tokens is full: it wrote 859",
        ),
        (
            4259,
            859,
            None,
            "max_tokens: The model's context is most likely full: it wrote 859",
        ),
        (100, 4096, 200_000, "max_tokens: The model's endpoint ended the answer at a limit of its own"),
        (100, 10, None, "max_tokens: The model's endpoint ended the answer at a limit of its own"),
        (100, 8192, 200_000, "max_tokens: The answer reached the most tokens one model call may write"),
        (100, 8100, None, "max_tokens: The answer reached the most tokens one model call may write"),
    ],
)
async def test_a_full_context_is_not_told_as_the_most_tokens_of_a_call(
    tmp_path: Path, read: int, written: int, window: int | None, says: str
) -> None:
    """What was written says which limit it was; what is known of the window says the rest."""
    usage = Usage(input_tokens=read, output_tokens=written)
    cut = replace(answer("half an", "max_tokens"), usage=usage)
    async with turn_at_work(tmp_path, cut, max_tokens=8192) as turn:
        turn.deps.model.facts.models["model"] = ModelFacts(context_window=window)
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    assert ending.warning is not None
    assert ending.outcome == "completed"
    assert f"{ending.warning.code}: {ending.warning.message}".startswith(says)
    assert ("GATEWAY_MAX_TOKENS" in ending.warning.message) == (written > 8000)


@pytest.mark.parametrize(
    ("written", "wanted", "code"),
    [
        (300, None, "model_context_window_exceeded"),  # all that there was room for
        (300, 2000, "model_context_window_exceeded"),  # a client's limit that was lowered
        (20, 20, None),  # the client's own end
        (3800, None, "model_context_window_exceeded"),
    ],
)
async def test_a_limit_that_was_lowered_for_the_window_is_told_as_a_full_context(
    tmp_path: Path, written: int, wanted: int | None, code: str | None
) -> None:
    """What an answer has no room for is no question of GATEWAY_MAX_TOKENS, nor what its client wanted."""
    usage = Usage(input_tokens=200, output_tokens=written)
    cut = replace(answer("half an", "max_tokens"), usage=usage)
    full = ModelError("too long", code="context_overflow", retryable=False)
    full.overflow = Overflow(window=4096, prompt=3796)
    script = [full, cut] if written == 300 else [cut]
    async with turn_at_work(tmp_path, *script, max_tokens=8192) as turn:
        turn.deps.model.facts.models["model"] = ModelFacts(context_window=4096)
        turn.emitter.turn = replace(turn.emitter.turn, sampling=Sampling(max_tokens=wanted))
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    assert (ending.warning.code if ending.warning is not None else None) == code


@pytest.mark.parametrize(
    ("window", "written", "given", "says"),
    [
        # It was asked for what there was room for, and writes that: the setting was not reached.
        (
            2048,
            2000,
            {"max_tokens": 4000},
            "model_context_window_exceeded: The model's context of 2048 tokens is full",
        ),
        # Nobody has set GATEWAY_MAX_TOKENS: the limit that comes of the window has its own number.
        (
            4096,
            1024,
            {},
            "max_tokens: The answer reached the most tokens one model call may write (1024 for this",
        ),
        # A client that wants few tokens has them.
        (4096, 100, {"wanted": 100}, "none"),
        # One that wants more than there is room for is told.
        (4096, 1024, {"wanted": 2000}, "max_tokens: The answer reached"),
        (
            4096,
            50,
            {"wanted": 100},
            "max_tokens: The model's endpoint ended the answer at a limit of its own",
        ),
    ],
)
async def test_a_limit_that_comes_of_the_window_is_told_as_that(
    tmp_path: Path, window: int, written: int, given: dict[str, Any], says: str
) -> None:
    wanted = given.get("wanted")
    cut = replace(answer("half an", "max_tokens"), usage=Usage(input_tokens=100, output_tokens=written))
    async with turn_at_work(tmp_path, cut, **{key: given[key] for key in given if key != "wanted"}) as turn:
        turn.deps.model.facts.models["model"] = ModelFacts(context_window=window)
        turn.emitter.turn = replace(turn.row, sampling=Sampling(max_tokens=wanted))
        ending = await run_turn(turn.deps, turn.emitter, LIMITS)

    assert ending is not None
    told = "none" if ending.warning is None else f"{ending.warning.code}: {ending.warning.message}"
    assert told.startswith(says)
