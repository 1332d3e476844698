"""How events are read."""

import asyncio
import contextvars
from collections.abc import Sequence
from dataclasses import replace

import pytest
import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict

from gateway.events.lifecycle import IterationSuperseded, TurnError, TurnWarning
from gateway.events.session_changes import Compression
from gateway.ids import root_span_id, trace_id_of
from gateway.settings import load_settings
from gateway.telemetry.lines.turn_lines import Lines
from gateway.telemetry.observer import Observer
from gateway.telemetry.setup import AT_ONCE, open_telemetry
from gateway.telemetry.turn_facts import SessionArchived, TelemetryReader, TurnFacts
from tests.product import StoredEvent
from tests.telemetry.recording import Record
from tests.telemetry.story import CANARY, FIRST_USAGE, HOUR, TRACE_ID, Story, with_approval, with_tools


class Broken(TelemetryReader):
    def turn_started(self, turn: TurnFacts) -> None:
        raise RuntimeError("a reader's mistake")


def delta(event_type: str, body: bytes = b"") -> StoredEvent:
    return StoredEvent(99, event_type, "t_1", b'{"v":1,"seq":99,"type":"text","ts":7,%b' % body)


def lines_of(events: Sequence[StoredEvent], *, messages: bool = False) -> list[EventDict]:
    with capture_logs() as lines:
        Observer([Lines(messages=messages)]).observe("s_1", events)
    return lines


def test_only_the_first_piece_of_a_call_is_parsed() -> None:
    """Pieces are counted unseen but for their time: bytes that are not even JSON make no difference."""
    record = Record()
    observer = Observer([record])
    story = Story().begin().ask().say("first")
    first_at = story.at
    observer.observe("s_1", story.events)

    with capture_logs() as lines:
        observer.observe("s_1", [delta("text", b"not JSON"), delta("thinking"), delta("text", b"{")])
    observer.observe("s_1", story.answered("end_turn", None).events[3:])

    assert lines == []
    (call,) = record.calls
    assert (call.text_deltas, call.thinking_deltas, call.first_content_at) == (3, 1, first_at)


def test_a_piece_of_a_turn_nobody_knows_is_passed_over() -> None:
    """Pieces alone start nothing: there is nothing to say about them."""
    observer = Observer([record := Record()])

    observer.observe("s_1", [delta("text", b"not JSON")])

    assert record.lines == []
    assert observer.turns_followed == 0


def test_state_goes_with_the_turn() -> None:
    """Nothing is kept of a turn that is done."""
    observer = Observer([record := Record()])

    observer.observe("s_1", with_tools().events)

    assert observer.turns_followed == 0
    assert record.lines == [
        "t_1 started",
        "call 1 ended",
        "calculate error",
        "search_docs ok",
        "call 2 ended",
        "t_1 completed",
    ]


def test_turns_that_never_end_are_let_go() -> None:
    """The number of followed turns and their age are bounded; what told something last stays longest."""
    observer = Observer([record := Record()], turn_limit=2, turn_age_ms=1000)
    old, busy = Story("t_old", at=0).begin(), Story("t_busy", at=0).begin()

    for story in (old, busy):
        observer.observe("s_1", story.events)
    observer.observe("s_1", busy.ask().events[1:])
    observer.observe("s_1", old.call("calculate", "toolu_1").events[1:])
    observer.observe("s_1", Story("t_new", at=5).begin().events)
    assert record.lines == ["t_old started", "t_busy started", "call 1 ended", "t_busy lost", "t_new started"]
    observer.observe("s_1", Story("t_late", at=2000).begin().events)
    observer.close()

    assert record.lines[5:] == ["calculate None", "t_old lost", "t_new lost", "t_late started", "t_late left"]
    assert observer.turns_followed == 0


def test_a_broken_reader_or_event_breaks_nothing() -> None:
    """observe never raises: it runs where turns write their events."""
    with capture_logs() as lines:
        Observer([Broken()]).observe("s_1", with_tools().events)
        Observer([Record()]).observe("s_1", [StoredEvent(1, "done", "t_1", b"not JSON")])

    assert {line["event"] for line in lines} == {"event not observed"}
    assert {line["type"] for line in lines} >= {"turn_start", "done"}


def test_unknown_types_are_passed_over() -> None:
    """An event type that comes later is nothing to stumble over."""
    body = b'{"v":1,"seq":2,"type":"news","ts":7,"session_id":"s_1","turn_id":"t_1","data":{}}'

    assert [
        line["event"] for line in lines_of([*Story().begin().events, StoredEvent(2, "news", "t_1", body)])
    ] == ["turn started"]


def test_a_turn_leaves_a_line_when_it_starts_and_when_it_is_done() -> None:
    """The last line has outcome, usage, cost and duration; each line has the ids."""
    started, tool, done = [line for line in lines_of(with_tools().events) if line["log_level"] != "debug"]

    ids = {"session_id": "s_1", "turn_id": "t_1", "trace_id": TRACE_ID}
    assert ids.items() <= started.items()
    assert (started["event"], started["log_level"]) == ("turn started", "info")
    assert (tool["event"], tool["tool"], tool["status"]) == ("tool call not ok", "calculate", "error")
    assert done == {
        **ids,
        "event": "turn done",
        "log_level": "info",
        "status": "completed",
        "iterations": 2,
        "tool_calls": 2,
        "duration_ms": 140,
        "cost": 0.75,
        "input_tokens": 250,
        "output_tokens": 50,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 300,
    }


def test_decisions_skills_and_steps_have_lines() -> None:
    """With the ids of their call, whoever decided as what he is, and nothing of what was said."""
    story = with_approval()
    skilled = Story("t_2").begin().call("read_skill", "toolu_9")
    skilled.used("release-notes", "read", "toolu_9", digest="ab" * 32).used("x", "refused", "toolu_9")
    skilled.result("read_skill", "toolu_9", "denied")

    found = lines_of([*story.events, *skilled.events])

    about = {"session_id": "s_1", "trace_id": TRACE_ID, "log_level": "info"}
    (decided,) = [line for line in found if line["event"] == "approval decided"]
    assert decided == {
        **about,
        "turn_id": "t_1",
        "event": "approval decided",
        "tool": "send",
        "tool_call_id": "toolu_1",
        "decision": "approved",
        "by": "user",
        "scope": "session",
        "waited_ms": HOUR + 10,
    }
    look, send = [line for line in found if line["event"] == "tool step"]
    assert {"step": "look up", "duration_ms": 15, "error": None, "log_level": "debug"}.items() <= look.items()
    assert {"step": "送信", "error": "TimeoutError", "tool_call_id": "toolu_1"}.items() <= send.items()
    read, refused = [line for line in found if line["event"].startswith("skill")]
    skill = {**about, "turn_id": "t_2", "tool_call_id": "toolu_9", "type": "markdown", "path": None}
    assert read == {**skill, "event": "skill read", "skill": "release-notes", "digest": "ab" * 32}
    assert refused == {**skill, "event": "skill refused", "skill": "x", "digest": None}
    (done,) = [line for line in found if line["event"] == "turn done"]
    assert done["waited_ms"] == HOUR
    assert not [line for line in found if line["log_level"] == "warning"]
    assert CANARY not in repr(found)


def test_whatever_goes_wrong_leaves_a_line() -> None:
    """Repeated calls and what an operator can mend are warnings, errors and failed turns are errors. That
    something was forgotten is nobody's fault."""
    lost = IterationSuperseded(attempt=1, reason="upstream_overloaded", usage=FIRST_USAGE)
    story = Story().begin().ask().notify(lost, iteration=1)
    story.notify(TurnWarning(code="prompt_component", message="MEMORY was cut"))
    story.notify(TurnWarning(code="memory_changed", message="Something was forgotten."))
    story.notify(TurnError(code="upstream_overloaded", message="x" * 9000, retryable=True)).done("failed")

    lines = lines_of(story.events)[1:]

    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("model call repeated", "warning"),
        ("turn warning", "warning"),
        ("turn warning", "info"),
        ("turn error", "error"),
        ("model call done", "debug"),
        ("turn done", "error"),
    ]
    assert lines[0]["reason"] == lines[3]["code"] == lines[5]["code"] == "upstream_overloaded"


def test_what_an_endpoint_says_is_told_only_where_content_is() -> None:
    """An error's message may quote the prompt: its code is enough, unless an operator asks for more."""
    story = Story().begin().notify(TurnError(code="upstream_error", message="x" * 9000, retryable=False))
    compression = Compression(phase="failed", reason=f"compression_failed: {CANARY}")
    story.notify(compression).done("failed")

    short, long = lines_of(story.events), lines_of(story.events, messages=True)

    assert ["message" in line for line in short] == [False] * 4
    assert short[2]["code"] == "compression_failed"
    assert len(long[1]["message"]) == 500
    assert CANARY in long[2]["code"]


def test_compressions_and_turns_that_are_left_have_lines() -> None:
    """What happened between turns has its session; a turn that goes on elsewhere is said to."""
    made = Compression(phase="completed", trigger="manual", version=3, tokens_before=900, tokens_after=90)
    operation = Story("c_1").notify(Compression(phase="started")).notify(made)
    with capture_logs() as lines:
        observer = Observer([Lines()])
        observer.observe("s_1", [*operation.events, *Story().begin().events])
        observer.close()

    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("compression started", "debug"),
        ("compression done", "info"),
        ("turn started", "info"),
        ("turn left to the next process", "info"),
    ]
    trace_id = trace_id_of("c_1")
    assert lines[1] == {
        "session_id": "s_1",
        "operation_id": "c_1",
        "trace_id": trace_id,
        "span_id": root_span_id(trace_id),
        "event": "compression done",
        "log_level": "info",
        "trigger": "manual",
        "version": 3,
        "tokens_before": 900,
        "tokens_after": 90,
    }


def test_archives_have_lines_that_lead_to_their_traces() -> None:
    """Done is for those who look closely, failed for everybody."""
    with capture_logs() as lines:
        observer = Observer([Lines()])
        observer.notify(lambda reader: reader.archived(SessionArchived("s_1", 1000, 1400)))
        observer.notify(
            lambda reader: reader.archived(SessionArchived("s_1", 2000, 2300, error="storage_unavailable"))
        )

    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("archive done", "debug"),
        ("archive failed", "warning"),
    ]
    assert lines[1]["code"] == "storage_unavailable"
    assert lines[0]["duration_ms"] == 400
    assert [line["trace_id"] for line in lines] == [
        SessionArchived("s_1", 1000, 1400).trace_id,
        SessionArchived("s_1", 2000, 2300).trace_id,
    ]
    assert lines[0]["trace_id"] != lines[1]["trace_id"]


def test_nothing_that_was_said_gets_into_a_line() -> None:
    """Prompts, answers, arguments and results are not for the log."""
    assert CANARY not in repr(lines_of(with_tools().events))


@pytest.mark.parametrize("elsewhere", ["request_id", "session_id"])
def test_lines_do_not_take_the_ids_of_whoever_publishes(elsewhere: str) -> None:
    """Events are published from any context; its ids belong to something else."""
    seen: list[dict[str, object]] = []

    class Asking(TelemetryReader):
        def turn_started(self, turn: TurnFacts) -> None:
            seen.append(structlog.contextvars.get_contextvars())

    def publish() -> None:
        structlog.contextvars.bind_contextvars(**{elsewhere: "of another"})
        Observer([Asking()]).observe("s_1", Story().begin().events)

    contextvars.copy_context().run(publish)

    assert seen == [{}]


@pytest.mark.anyio
async def test_very_many_events_are_observed_in_several_steps_and_in_their_order() -> None:
    """Those of another turn that come meanwhile wait behind them, and none is lost at a shutdown."""
    taken: list[str] = []
    telemetry = open_telemetry(load_settings())
    watched = replace(telemetry, observer=Noting(taken))
    events = [Story(f"t_{number}").begin().events[0] for number in range(3 * AT_ONCE)]

    watched.observe("s_1", events)
    watched.observe("s_2", Story("t_other").begin().events[:1])
    assert len(taken) == AT_ONCE
    await asyncio.sleep(0)
    assert len(taken) == 2 * AT_ONCE
    await watched.shutdown()

    assert taken == [event.turn_id for event in events] + ["t_other"]


class Noting(Observer):
    """Notes the turns of the events that it is given."""

    def __init__(self, taken: list[str]) -> None:
        super().__init__(())
        self._taken = taken

    def observe(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        self._taken += [event.turn_id for event in events]
