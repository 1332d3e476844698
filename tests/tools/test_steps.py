"""The steps of a call."""

import asyncio
import threading
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events.tool_calls import StepTrace
from gateway.tools.function import ToolContext, tool
from gateway.tools.steps import LABEL_LENGTH, MAX_STEPS, STEPS_SIZE, Steps
from gateway.tools.time_limit import run_in_time
from tests.tools.calling import context

pytestmark = pytest.mark.anyio

LABELS = st.sampled_from(["", "step-1", "step-2", "step-3", "a", "查"])
DATA = st.none() | st.integers() | st.text(max_size=50) | st.integers(0, 3000).map("字".__mul__)
REPORTED = st.builds(
    StepTrace, step_id=LABELS, step_name=LABELS, input=DATA, output=DATA, duration_ms=st.just(1)
)


def size_of(steps: list[StepTrace]) -> int:
    return len(orjson.dumps([step.model_dump() for step in steps]))


def test_a_step_tells_what_went_in_and_what_came_out() -> None:
    """One line of a tool records it."""
    steps = Steps()

    with steps.step("search", {"query": "天气"}) as step:
        step.output = ["晴", "雨"]

    (traces,) = steps.traces()
    assert (traces.step_id, traces.step_name, traces.error) == ("step-1", "search", None)
    assert (traces.input, traces.output) == ({"query": "天气"}, ["晴", "雨"])
    assert traces.timestamp is not None


def test_steps_are_numbered_in_the_order_in_which_they_began() -> None:
    """Also those inside others, and one that fails is named by its error alone."""
    steps = Steps()

    with steps.step("outer"):
        with steps.step("inner"):
            pass
        with pytest.raises(ValueError, match="secret"), steps.step("failing"):
            raise ValueError("secret")

    traces = [(step.step_id, step.step_name, step.error) for step in steps.traces()]
    assert traces == [
        ("step-1", "outer", None),
        ("step-2", "inner", None),
        ("step-3", "failing", "ValueError"),
    ]


async def test_the_step_that_a_call_hangs_in_is_told() -> None:
    """Whoever stops it learns where it was: also of a thread, which nothing can end."""
    began, end = threading.Event(), threading.Event()

    @tool(effect="read_only")
    def hang(context: ToolContext) -> None:
        """Hangs."""
        with context.step("connect"):
            pass
        with context.step("read"):
            began.set()
            end.wait()

    given = context()
    call = asyncio.create_task(run_in_time(hang, {}, given))
    await asyncio.to_thread(began.wait)
    call.cancel()
    await asyncio.wait([call])
    traces = given.steps.traces()
    end.set()

    assert [(step.step_name, step.error) for step in traces] == [
        ("connect", None),
        ("read", "unfinished"),
    ]


def test_what_a_tool_changes_later_does_not_change_a_step() -> None:
    """The input is taken when the step begins."""
    steps, query = Steps(), {"page": 1}

    with steps.step("search", query):
        query["page"] = 2

    assert steps.traces()[0].input == {"page": 1}


async def test_steps_of_several_threads_are_all_there() -> None:
    """Each has a number of its own."""
    steps = Steps()

    def work(name: str) -> None:
        for number in range(10):
            with steps.step(name, number):
                pass

    await asyncio.gather(*(asyncio.to_thread(work, name) for name in "abcdefgh"))

    traces = steps.traces()
    assert [step.step_id for step in traces] == [f"step-{number}" for number in range(1, 81)]
    for name in "abcdefgh":
        assert [step.input for step in traces if step.step_name == name] == list(range(10))


def test_a_run_of_steps_is_told_up_to_a_number() -> None:
    """What is beyond is only counted."""
    steps = Steps()
    for number in range(MAX_STEPS + 7):
        with steps.step("again", number):
            pass

    traces = steps.traces([StepTrace(step_id="x", step_name="reported", duration_ms=1)])

    assert len(traces) == MAX_STEPS + 1
    assert (traces[-2].input, traces[-1].step_name) == (MAX_STEPS - 1, "8 more steps")


def test_the_first_steps_keep_what_went_in_and_out_when_all_are_too_large() -> None:
    """The last ones say that theirs was left out."""
    steps = Steps()
    for _ in range(50):
        with steps.step("read", "入" * 9999) as step:
            step.output = ["出"] * 9999

    traces = steps.traces()

    assert size_of(traces) <= STEPS_SIZE
    assert len(traces) == 50
    assert traces[0].input.startswith("入入")
    assert (traces[-1].input, traces[-1].output) == ("…", "…")


def test_a_short_output_is_told_where_a_long_one_does_not_fit() -> None:
    """Whatever fits is kept, in the order of the steps."""
    steps = Steps()
    for number in range(30):
        with steps.step("read", "入" * 9999) as step:
            step.output = number

    traces = steps.traces()

    assert [step.output for step in traces] == list(range(30))
    assert [step.input == "…" for step in traces].count(False) == 2


def test_steps_whose_names_alone_are_too_much_are_counted() -> None:
    """What is said of a call has its bound whatever its steps are called."""
    named = StepTrace(step_id="\x01" * 99, step_name="\x02" * 99, error="\x03" * 99, duration_ms=1)

    traces = Steps().traces([named] * 50)

    assert size_of(traces) <= STEPS_SIZE
    assert traces[-1].step_name == f"{51 - len(traces)} more steps"


@given(st.lists(DATA, max_size=20), st.lists(REPORTED, max_size=120))
def test_all_steps_of_a_call_are_bounded_and_have_ids_of_their_own(
    recorded: list[Any], reported: list[StepTrace]
) -> None:
    """Those that were recorded and those that the tool reports, in this order."""
    steps = Steps()
    for value in recorded:
        with steps.step("recorded", value):
            pass

    traces = steps.traces(reported)

    assert len({step.step_id for step in traces}) == len(traces) <= MAX_STEPS + 1
    assert size_of(traces) <= STEPS_SIZE
    assert [step.step_name for step in traces[: len(recorded)]] == ["recorded"] * len(recorded)


def test_what_a_tool_reports_by_hand_fits_into_an_event() -> None:
    """Objects, endless names and errors are brought into bounds."""
    step = StepTrace(
        step_id="i" * 999,
        step_name="名" * 999,
        input=object(),
        output=b"\xff",
        error="e\x00" * 999,
        duration_ms=1,
    )

    (traces,) = Steps().traces([step])

    assert (traces.input, traces.output) == ("<object>", "<1 bytes>")
    assert [len(each or "") for each in (traces.step_id, traces.step_name, traces.error)] == [
        LABEL_LENGTH
    ] * 3
    assert orjson.dumps(traces.model_dump())
