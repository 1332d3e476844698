"""What is counted of turns, model calls and tools."""

import gc
import tracemalloc

import pytest

from gateway.events.lifecycle import IterationStart, IterationSuperseded, TurnError
from gateway.events.session_changes import Compression
from gateway.events.tool_calls import ToolCall
from gateway.telemetry.metrics.instruments import Counter, Histogram
from gateway.telemetry.turn_facts import SessionArchived
from tests.product import TurnStart, Usage
from tests.telemetry.counting import AGENT, CHAT, TEXT, Counting
from tests.telemetry.story import CANARY, MODEL, TRACE_ID, Story, with_tools


def failing(turn_id: str = "t_2") -> Story:
    """Retried once, then timed out, without usage."""
    lost = IterationSuperseded(attempt=1, reason="upstream_overloaded")
    error = TurnError(code="upstream_timeout", message=CANARY, retryable=True)
    story = Story(turn_id).begin().ask().notify(lost, iteration=1).notify(error)
    return story.done("failed", usage_unreported=1)


def test_model_calls_are_counted_with_their_tokens_and_cost() -> None:
    """Counters add up over calls, cached tokens are input, histograms hold one entry per call."""
    counting = Counting().count(with_tools())

    for name, value in {
        "gen_ai_client_inference_usage_input_tokens_total": 1550,
        "gen_ai_client_inference_usage_output_tokens_total": 50,
        "gen_ai_client_inference_usage_cache_read_input_tokens_total": 1000,
        "gen_ai_client_inference_usage_cache_write_input_tokens_total": 300,
    }.items():
        assert counting.value(name, TEXT) == value
    assert counting.value("gen_ai_client_inference_duration_seconds_count", CHAT) == 2
    assert counting.value("gen_ai_client_inference_duration_seconds_sum", CHAT) == pytest.approx(0.06)
    assert counting.value("gen_ai_client_inference_time_to_first_chunk_seconds_count", CHAT) == 2
    assert counting.value("gen_ai_client_inference_operation_input_tokens_sum", CHAT) == 1550
    model = {"gen_ai_request_model": MODEL}
    assert counting.value("gateway_cost_USD_total", {**model, "gateway_purpose": "answer"}) == 0.75
    for reason in ("tool_use", "end_turn"):
        assert counting.value("gateway_upstream_stops_total", {**model, "gateway_reason": reason}) == 1


def test_the_gaps_between_pieces_are_counted_exactly() -> None:
    """Each piece after the first of an attempt is one entry, by the times in the events."""
    story = Story().begin().ask().say("a").say("b", "c")
    lost = IterationSuperseded(attempt=1, reason="upstream_truncated", began=True)
    story.notify(lost, iteration=1, ms=5000).ask(attempt=2).say("a", "b").answered("end_turn", None).done()

    counting = Counting().count(story)

    name = "gen_ai_client_inference_time_per_output_chunk_seconds"
    assert counting.value(f"{name}_count", CHAT) == 3
    assert counting.value(f"{name}_sum", CHAT) == pytest.approx(0.03)
    assert counting.value(f"{name}_bucket", {**CHAT, "le": "0.01"}) == 3


def test_turns_and_tools_are_counted() -> None:
    """Calls and tools per turn, tools by name and error, turns by outcome."""
    counting = Counting().count(with_tools())

    assert counting.value("gateway_turns_total", {**AGENT, "gateway_turn_outcome": "completed"}) == 1
    assert counting.value("gen_ai_invoke_agent_duration_seconds_sum", AGENT) == pytest.approx(0.14)
    assert counting.value("gen_ai_invoke_agent_inference_calls_sum", AGENT) == 2
    assert counting.value("gen_ai_invoke_agent_tool_calls_sum", AGENT) == 2
    tool = {**AGENT, "gen_ai_tool_type": "function"}
    seconds = "gen_ai_execute_tool_duration_seconds_sum"
    assert counting.value(seconds, {**tool, "gen_ai_tool_name": "search_docs"}) == 0.04
    failed = {**tool, "gen_ai_tool_name": "calculate", "error_type": "tool_failed"}
    assert counting.value(seconds, failed) == 0.02


def test_retries_failures_and_missing_usage_are_counted() -> None:
    """A failed call counts with its error, the repeated attempts by reason and the usage nobody told."""
    counting = Counting().count(failing())

    retried = {"gen_ai_request_model": MODEL, "gateway_reason": "upstream_overloaded"}
    assert counting.value("gateway_upstream_retries_total", retried) == 1
    failed = {**CHAT, "error_type": "upstream_timeout"}
    assert counting.value("gen_ai_client_inference_duration_seconds_count", failed) == 1
    unknown = {**CHAT, "gen_ai_token_modality": "unknown"}
    assert counting.value("gen_ai_client_inference_usage_input_tokens_total", unknown) == 0
    failed = {**AGENT, "error_type": "upstream_timeout"}
    assert counting.value("gen_ai_invoke_agent_duration_seconds_count", failed) == 1
    assert counting.value("gateway_usage_unreported_total") == 1


def test_tokens_of_a_superseded_attempt_are_not_lost() -> None:
    """They were paid for: the counters include them, as the turn's own total does."""
    usage = Usage(input_tokens=40, output_tokens=2)
    lost = IterationSuperseded(attempt=1, reason="upstream_truncated", began=True, usage=usage)
    story = Story().begin().ask().notify(lost, iteration=1).ask(attempt=2)
    story.answered("end_turn", Usage(input_tokens=41, output_tokens=9)).done()

    counting = Counting().count(story)

    assert counting.value("gen_ai_client_inference_usage_input_tokens_total", TEXT) == 81
    assert counting.value("gen_ai_client_inference_operation_input_tokens_sum", CHAT) == 41


def test_older_names_are_told_as_well_when_asked_for() -> None:
    """With `dup` each renamed metric is there twice with the same numbers, and by default not at all."""
    older = {
        "gen_ai_client_operation_duration_seconds": "gen_ai_client_inference_duration_seconds",
        "gen_ai_client_operation_time_to_first_chunk_seconds": (
            "gen_ai_client_inference_time_to_first_chunk_seconds"
        ),
        "gen_ai_client_operation_time_per_output_chunk_seconds": (
            "gen_ai_client_inference_time_per_output_chunk_seconds"
        ),
    }
    both = Counting(genai_compat="dup").count(with_tools())
    newest = Counting().count(with_tools())

    for old, new in older.items():
        assert both.value(f"{old}_count", CHAT) == both.value(f"{new}_count", CHAT) == 2
        assert f"{old}_count" not in newest.text
    tokens = "gen_ai_client_token_usage_sum"
    assert both.value(tokens, {**CHAT, "gen_ai_token_type": "input"}) == 1550
    assert both.value(tokens, {**CHAT, "gen_ai_token_type": "output"}) == 50
    assert tokens not in newest.text


def test_active_turns_go_up_and_down() -> None:
    """A turn is active until it is done, or is no longer followed."""
    counting = Counting(turn_limit=2)
    first, second, third = (Story(f"t_{number}").begin() for number in (1, 2, 3))

    counting.count(first, second)
    assert counting.value("gateway_turn_active") == 2
    counting.count(third)
    assert counting.value("gateway_turn_active") == 2
    counting.observer.observe("s_1", second.done().events[1:])
    assert counting.value("gateway_turn_active") == 1
    counting.observer.close()
    assert counting.value("gateway_turn_active") == 0


def test_a_turn_that_never_ends_is_seen_growing_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """The age of the longest running turn is told while it runs, and 0 when none does."""
    counting = Counting()
    old, young = Story("t_1"), Story("t_2", at=Story().at + 50_000)
    monkeypatch.setattr("gateway.telemetry.metrics.turn_metrics.now_ms", lambda: old.started_at + 60_000)

    assert counting.value("gateway_turn_oldest_age_seconds") == 0
    counting.count(old.begin(), young.begin())
    assert counting.value("gateway_turn_oldest_age_seconds") == 60
    counting.observer.observe("s_1", old.done().events[1:])
    assert counting.value("gateway_turn_oldest_age_seconds") == 10


def test_the_wait_of_a_turn_is_that_for_the_turns_before_it() -> None:
    """Every turn has one, and it is 0 for those that began at once."""
    waited = Story("t_2").notify(TurnStart(input="Hi", model=MODEL, trace_id=TRACE_ID, queued_ms=1500))

    counting = Counting().count(with_tools(), waited)

    assert counting.value("gateway_admission_wait_seconds_count") == 2
    assert counting.value("gateway_admission_wait_seconds_sum") == 1.5


def test_retries_are_there_before_the_first() -> None:
    """With 0, for each model that a turn may choose: the first retry is then an increase."""
    counting = Counting(model="small", allowed_models=("large",))

    for model in ("small", "large"):
        about = {"gen_ai_request_model": model, "gateway_reason": "upstream_overloaded"}
        assert counting.value("gateway_upstream_retries_total", about) == 0


@pytest.mark.parametrize("turn_id", ["t_1", "c_1"])
def test_compressions_are_counted_by_trigger_and_outcome(turn_id: str) -> None:
    """Duration and tokens saved, in a turn and outside of any. Its model calls are reported by who asks."""
    usage = Usage(input_tokens=900, output_tokens=100)
    began = Compression(phase="started", trigger="manual")
    done = Compression(
        phase="completed",
        trigger="manual",
        tokens_before=5000,
        tokens_after=1200,
        usage=usage,
        cost=0.125,
        duration_ms=2500,
    )
    failed = Compression(phase="failed", trigger="automatic", reason="empty", duration_ms=500)
    story = Story(turn_id)
    if turn_id == "t_1":
        story.begin()

    counting = Counting().count(story.notify(began).notify(done).notify(failed))

    completed = {"gateway_compression_trigger": "manual", "gateway_turn_outcome": "completed"}
    assert counting.value("gateway_compressions_total", completed) == 1
    assert counting.value("gateway_compression_duration_seconds_sum", completed) == 2.5
    saved = {"gateway_compression_trigger": "manual"}
    assert counting.value("gateway_compression_tokens_saved_total", saved) == 3800
    failures = {"gateway_compression_trigger": "automatic", "gateway_turn_outcome": "failed"}
    assert counting.value("gateway_compressions_total", failures) == 1
    assert counting.value("gen_ai_client_inference_usage_input_tokens_total", TEXT) is None
    assert counting.value("gateway_turn_active") == (turn_id == "t_1")


def test_archives_are_timed() -> None:
    """Those that failed apart from the others."""
    counting = Counting()

    for reader in counting.metrics.readers:
        reader.archived(SessionArchived("s_1", 1000, 1500))
        reader.archived(SessionArchived("s_2", 1000, 3000, error="storage_unavailable"))

    name = "gateway_archive_write_duration_seconds_sum"
    assert counting.value(name) == 0.5
    assert counting.value(name, {"error_type": "storage_unavailable"}) == 2


def test_invented_names_do_not_grow_the_process() -> None:
    """A model can call any number of tools that do not exist, and answer to any name."""
    counting = Counting()
    story = Story().begin()
    for number in range(300):
        name = f"invented_{number}"
        story.notify(ToolCall(name=name, arguments={}, effect="effectful"), call=name)
        story.result(name, name, "error")
        story.notify(IterationStart(attempt=1, model=f"model_{number}"), iteration=number + 1)
        story.answered(f"stopped_{number}", None, iteration=number + 1)

    counting.count(story)

    series: dict[str, int] = {}
    for sample in counting.samples:
        series[sample.name] = series.get(sample.name, 0) + 1
    assert series["gen_ai_execute_tool_duration_seconds_count"] == 201
    # 99 of the 100 names and _OTHER: the model of the settings has its place from the start.
    assert series["gen_ai_client_inference_duration_seconds_count"] == 100
    assert series["gateway_upstream_stops_total"] <= 201
    assert 'gen_ai_tool_name="_OTHER"' in counting.text


def test_a_thousand_turns_have_the_series_and_the_memory_of_one() -> None:
    """Labels are names of few things: neither ids nor anything that was said."""
    counting = Counting().count(with_tools(), failing())
    events = [*with_tools().events, *failing().events]

    def more(turns: range) -> None:
        for number in turns:
            renamed = [event._replace(turn_id=f"{event.turn_id}_{number}") for event in events]
            counting.observer.observe(f"s_{number}", renamed)

    before = {(sample.name, *sorted(sample.labels.items())) for sample in counting.samples}
    more(range(300))
    tracemalloc.start()
    try:
        more(range(300, 500))
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = counting.text

    after = {(sample.name, *sorted(sample.labels.items())) for sample in counting.samples}
    assert after == before
    assert grown < 100_000  # bytes; with series of their own the turns would take millions
    assert not any(word in text for word in ("s_1", "t_1", "toolu_", CANARY, "otel_scope"))


def test_a_longer_answer_makes_no_more_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is recorded of a turn does not depend on how many pieces it had: those are only added up."""
    from opentelemetry.sdk.metrics._internal.measurement_consumer import SynchronousMeasurementConsumer

    sizes: list[object] = []

    def note(*measurement: object, **_: object) -> None:
        sizes.append(measurement)

    monkeypatch.setattr(SynchronousMeasurementConsumer, "consume_measurement", note)
    monkeypatch.setattr(Counter, "add", note)
    monkeypatch.setattr(Histogram, "record", note)
    records: list[int] = []
    for pieces in (1, 1000):
        counting = Counting()
        story = (
            Story()
            .begin()
            .ask()
            .say(*["a"] * pieces)
            .answered("end_turn", Usage(input_tokens=1, output_tokens=1))
        )
        sizes.clear()
        counting.count(story.done())
        stream = counting.streams.opened("live", head=0)
        for event in story.events:
            stream.sending([event])
        stream.closed("done")
        records.append(len(sizes))

    assert records[0] == records[1] > 0
