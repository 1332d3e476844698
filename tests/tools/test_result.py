"""What a function tells beside its result."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import orjson
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.events.tool_calls import MemoryWriteSuggestion, StepTrace
from gateway.tools.base import ToolOutput
from gateway.tools.function import File, ToolResult, tool
from gateway.tools.result import MAX_FILES, MAX_ITEMS, MAX_PROBLEMS, WRITES_SIZE
from gateway.tools.steps import Steps
from gateway.tools.time_limit import run_in_time
from tests.product import ToolError
from tests.tools.calling import context

pytestmark = pytest.mark.anyio

WRITE: dict[str, Any] = {
    "owner_type": "user",
    "owner_id": "小明",
    "type": "preference",
    "importance": 4,
    "content": "喜欢靠窗的座位",
}
STEP: dict[str, Any] = {"step_name": "查询", "input": {"q": "天气"}, "output": ["晴"], "duration_ms": 12}


class Hostile(dict[str, Any]):
    """Looked at, it raises."""

    def __getitem__(self, key: str) -> Any:
        raise SystemError("secret")

    get = items = keys = __iter__ = __getitem__  # type: ignore[assignment]


async def output_of(value: Any) -> ToolOutput:
    @tool(effect="read_only")
    async def report() -> Any:
        """Reports."""
        return value

    return await run_in_time(report, {}, context())


async def test_every_field_is_optional() -> None:
    """An empty result is a success that says nothing."""
    assert await output_of(ToolResult()) == ToolOutput("", memory_writes=[], steps=[], problems=[])


async def test_a_result_is_told_as_the_function_would_have_returned_it() -> None:
    """Text as text, anything else as JSON."""
    assert (await output_of(ToolResult(result="晴"))).content == "晴"
    assert (await output_of(ToolResult(result={"sky": "晴"}))).content == '{"sky":"晴"}'


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (ToolResult(status="error", error="没有这个订单"), "没有这个订单"),
        (ToolResult(status="error", error="half", result=[1]), "half\n[1]"),
        (ToolResult(status="error"), "The tool failed."),
    ],
)
async def test_an_error_is_a_failure_that_the_model_reads(result: ToolResult, message: str) -> None:
    """In the tool's own words, and with what it has to show for it."""
    output = await output_of(result)

    assert (output.content, output.is_error) == (message, True)


async def test_a_dict_with_the_same_keys_is_a_result_like_any_other() -> None:
    """Only a ToolResult tells more: data from elsewhere may look as it likes."""
    fields = {"status": "error", "memory_writes": [WRITE], "result": None}

    output = await output_of(fields)

    assert orjson.loads(output.content) == fields
    assert (output.is_error, output.memory_writes) == (False, ())


async def test_both_spellings_mean_the_same() -> None:
    """What was written for another system can be passed on as it is."""
    snake = ToolResult(request_id="r_1", result=1, memory_writes=[WRITE], intermediate_steps=[STEP])
    camel = ToolResult.model_validate(
        {
            "requestId": "r_1",
            "result": 1,
            "memoryWrites": [
                {"ownerType": "user", "ownerId": "小明"}
                | {key: WRITE[key] for key in ("type", "importance", "content")}
            ],
            "intermediateSteps": [
                {"stepName": "查询", "input": {"q": "天气"}, "output": ["晴"], "duration": 12.3, "stepId": ""}
            ],
        }
    )

    assert await output_of(snake) == await output_of(camel)
    output = await output_of(camel)
    assert output.memory_writes == [MemoryWriteSuggestion(**WRITE)]
    assert output.steps == [StepTrace(step_id="", **STEP)]
    assert output.problems == []


@pytest.mark.parametrize(
    ("timestamp", "ms"),
    [
        (1795187109422, 1795187109422),
        (1795187109, 1795187109000),
        ("2026-11-20T15:05:09.422Z", 1795187109422),
        ("2026-11-20T15:05:09.422", 1795187109422),
        ("2026-11-20T23:05:09.422+08:00", 1795187109422),
        (None, None),
    ],
)
async def test_a_step_may_say_when_it_began_in_several_ways(timestamp: Any, ms: int | None) -> None:
    """Unix seconds or milliseconds, or ISO 8601, in UTC where it names no zone."""
    (step,) = (await output_of(ToolResult(intermediate_steps=[STEP | {"timestamp": timestamp}]))).steps

    assert step.timestamp == ms


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"importance": 6}, "memory_writes[1].importance: must be less than or equal to 5"),
        ({"content": ""}, "memory_writes[1].content: must have at least 1 character"),
        ({"content": "\x00"}, "memory_writes[1].content: must have at least 1 character"),
        ({"content": "长" * 4001}, "memory_writes[1].content: must have at most 4000 characters"),
        ({"owner_type": "everybody"}, "memory_writes[1].owner_type: must be 'user', 'household'"),
        ({"metadata": {"x": object()}}, "memory_writes[1].metadata: is no JSON"),
        ({"metadata": {"x": "长" * 4000}}, "memory_writes[1].metadata: is larger than 4096 bytes of JSON"),
        ({"mood": "good"}, "memory_writes[1].mood: there is no such field"),
    ],
)
async def test_a_bad_suggestion_is_a_problem_and_the_others_count(
    change: dict[str, Any], problem: str
) -> None:
    """It is named by its place and what is wrong; what it says is not repeated."""
    output = await output_of(ToolResult(result="ok", memory_writes=[WRITE, WRITE | change, WRITE]))

    assert (output.content, output.is_error) == ("ok", False)
    assert output.memory_writes == [MemoryWriteSuggestion(**WRITE)] * 2
    (problems,) = output.problems
    assert problems.startswith(problem)


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({"output": 1}, "intermediate_steps[0].step_name: must be given"),
        (STEP | {"duration_ms": -1}, "intermediate_steps[0].duration_ms: must be greater"),
        (STEP | {"duration_ms": float("nan")}, "intermediate_steps[0].duration_ms: must be a finite"),
        (STEP | {"timestamp": "soon"}, "intermediate_steps[0].timestamp: must be a valid datetime"),
        (STEP | {"timestamp": "1801-01-01T00:00:00Z"}, "intermediate_steps[0].timestamp: must be"),
        ("查询", "intermediate_steps[0]: must be a"),
        (None, "intermediate_steps[0]: must be a"),
    ],
)
async def test_a_bad_step_is_a_problem(step: Any, problem: str) -> None:
    """The result of the call is not touched by it."""
    output = await output_of(ToolResult(result="ok", intermediate_steps=[step]))

    assert (output.content, output.steps) == ("ok", [])
    (problems,) = output.problems
    assert problems.startswith(problem)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: ToolResult.model_validate({"memory_writes": "everything"}), "memory_writes: is no list"),
        (
            lambda: ToolResult.model_validate({"intermediate_steps": {"a": 1}}),
            "intermediate_steps: is no list",
        ),
        (lambda: ToolResult.model_validate({"memory_wishes": []}), "ToolResult has no field 'memory_wishes'"),
        (lambda: ToolResult(memory_writes=[Hostile(WRITE)]), "memory_writes[0]"),
    ],
)
async def test_what_cannot_be_read_at_all_is_a_problem(make: Callable[[], ToolResult], problem: str) -> None:
    """And never an exception."""
    output = await output_of(make())

    (problems,) = output.problems
    assert problems.startswith(problem)
    assert "secret" not in problems


async def test_many_problems_are_told_as_a_few() -> None:
    """The last one says how many more there are."""
    output = await output_of(ToolResult(memory_writes=[{}] * (MAX_ITEMS + 5)))

    assert len(output.problems) == MAX_PROBLEMS
    assert output.problems[0] == f"memory_writes: only the first {MAX_ITEMS} of {MAX_ITEMS + 5} are looked at"
    assert output.problems[-1] == f"and {MAX_ITEMS + 2 - MAX_PROBLEMS} more problems"


@given(st.lists(st.tuples(st.text(), st.integers(-1, 6), st.integers(0, 4000)), max_size=30))
def test_all_suggestions_of_a_call_are_bounded_and_fit_into_an_event(
    found: list[tuple[str, int, int]],
) -> None:
    """Whatever is suggested."""
    items = [WRITE | {"owner_id": name, "importance": rank, "content": "记" * n} for name, rank, n in found]

    output = ToolResult(memory_writes=items).to_output("")

    assert sum(len(orjson.dumps(write.model_dump())) for write in output.memory_writes) <= WRITES_SIZE
    assert len(output.problems) <= MAX_PROBLEMS
    assert len(output.memory_writes) == len(items) or output.problems


async def test_an_output_made_by_hand_is_held_to_the_same() -> None:
    """What does not fit into an event is left out, and the rest is as the function made it."""
    good = MemoryWriteSuggestion(**WRITE)
    bad = MemoryWriteSuggestion(**WRITE, metadata={"x": object()})
    step = StepTrace(step_id="a", step_name="b", duration_ms=1)

    output = await output_of(ToolOutput("ok", memory_writes=[bad, good], steps=[step], problems=["own"]))

    assert output == ToolOutput(
        "ok", memory_writes=[good], steps=[step], problems=["own", "memory_writes[0].metadata: is no JSON"]
    )


async def test_reported_and_recorded_steps_are_told_together() -> None:
    """Those without an id are given one that is free."""
    steps = Steps()
    with steps.step("recorded"):
        pass
    output = await output_of(ToolResult(intermediate_steps=[STEP, STEP | {"step_id": "own"}]))

    traces = [(step.step_id, step.step_name) for step in steps.traces(output.steps)]

    assert traces == [("step-1", "recorded"), ("step-2", "查询"), ("own", "查询")]


@pytest.mark.parametrize(("given_id", "logged"), [("r_7", "r_7"), (None, "t_1:toolu_1")])
async def test_the_log_names_the_request(given_id: str | None, logged: str) -> None:
    """By the tool's own id, or the call's idempotency key."""
    with structlog.testing.capture_logs() as lines:
        await output_of(ToolResult(request_id=given_id))

    assert [(line["event"], line["request_id"]) for line in lines] == [("tool_reported", logged)]


TIMED = StepTrace(step_id="1", step_name="x", duration_ms=1)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        (ToolOutput("ok", problems=cast("Any", 5)), "problems: is no list"),
        (ToolOutput("ok", problems=cast("Any", [5])), "problems[0]: cannot be read"),
        (ToolOutput("ok", steps=cast("Any", ["s"])), "steps[0]: must be"),
        (
            ToolOutput("ok", steps=[TIMED.model_copy(update={"duration_ms": 10**30})]),
            "steps[0].duration_ms: must be less",
        ),
        (
            ToolOutput("ok", steps=[TIMED.model_copy(update={"timestamp": 10**30})]),
            "steps[0].timestamp: must be less",
        ),
    ],
)
async def test_what_is_wrong_beside_the_content_of_an_output_is_a_problem(
    output: ToolOutput, problem: str
) -> None:
    """The content is told, since the work is done."""
    result = await output_of(output)

    assert (result.content, result.steps) == ("ok", [])
    assert result.problems[0].startswith(problem)


@pytest.mark.parametrize("content", [{"订单": 1}, None])
async def test_an_output_whose_content_is_no_text_is_an_error(content: Any) -> None:
    """In words that keep the model from doing it all again."""
    with pytest.raises(ToolError, match="It was carried out, but the content of its ToolOutput is no text"):
        await output_of(ToolOutput(content))


PICTURE = File(b"\x89PNG\r\n", "image/png", "图.png")


@pytest.mark.parametrize(
    ("value", "files"),
    [
        (b"\xff\x00", [File(b"\xff\x00")]),
        (bytearray(b"abc"), [File(b"abc")]),
        (PICTURE, [PICTURE]),
        (ToolOutput("看", files=[PICTURE]), [PICTURE]),
        (ToolResult(result="看", files=[PICTURE, b"abc"]), [PICTURE, File(b"abc")]),
        (ToolResult(result=PICTURE, files=[b"abc"]), [PICTURE, File(b"abc")]),
        (ToolResult(result=b"abc"), [File(b"abc")]),
    ],
)
async def test_bytes_are_files(value: Any, files: list[File]) -> None:
    """However a function gives them back; what it says beside them stays text."""
    output = await output_of(value)

    assert list(output.files) == files
    assert output.content in {"", "看"}
    assert list(output.problems) == []


@pytest.mark.parametrize(
    ("files", "kept", "problem"),
    [
        ([PICTURE] * (MAX_FILES + 4), MAX_FILES, "files: more than 16, 4 of them are left out"),
        ([PICTURE, "图.png"], 1, "files[1]: cannot be read"),
        ([PICTURE, File(cast("Any", "text"))], 1, "files[1]: cannot be read"),
        ([PICTURE, File(b"", mime=cast("Any", 7))], 1, "files[1]: cannot be read"),
        (PICTURE, 0, "files: is no list"),
    ],
)
@pytest.mark.parametrize("given_back", [ToolOutput(""), ToolResult()])
async def test_files_are_bounded_and_looked_at_one_by_one(
    given_back: ToolOutput | ToolResult, files: Any, kept: int, problem: str
) -> None:
    """Those that can be kept are, and the others are told in words."""
    if isinstance(given_back, ToolOutput):
        output = await output_of(replace(given_back, files=files))
    else:
        output = await output_of(given_back.model_copy(update={"files": files}))

    assert list(output.files) == [PICTURE] * kept
    (problems,) = output.problems
    assert problems.startswith(problem)


async def test_what_says_where_a_content_is_from_is_not_lost() -> None:
    """Also where something beside it had to be mended."""
    output = await output_of(ToolOutput("ok", note="From afar.", bounded=True, problems=["own"]))

    assert (output.note, output.bounded, output.problems) == ("From afar.", True, ["own"])


@pytest.mark.parametrize("field", ["duration_ms", "timestamp"])
def test_a_step_has_no_time_that_an_event_cannot_carry(field: str) -> None:
    """JSON's readers keep integers up to 2**53."""
    with pytest.raises(ValidationError):
        StepTrace.model_validate({"step_id": "1", "step_name": "x", "duration_ms": 1} | {field: 10**30})
