"""What /metrics says."""

import shutil
import subprocess
from collections.abc import Mapping

import pytest
from opentelemetry.sdk.resources import Resource
from prometheus_client.parser import text_string_to_metric_families

from gateway.events.calls import ToolCall
from gateway.events.lifecycle import IterationSuperseded, TurnError
from gateway.messages import Usage
from gateway.telemetry.metrics import Exposition, Metrics
from gateway.telemetry.observer import Observer
from tests.telemetry.story import CANARY, MODEL, Story, with_tools

CHAT = {
    "gen_ai_operation_name": "chat",
    "gen_ai_provider_name": "anthropic",
    "gen_ai_request_model": MODEL,
}
TEXT = {**CHAT, "gen_ai_token_modality": "text"}
PROMTOOL = shutil.which("promtool")
AGENT = {"gen_ai_agent_name": "support"}


class Counting:
    """An observer with nothing but metrics, and what a scrape finds."""

    def __init__(self, turn_limit: int = 100) -> None:
        self.exposition = Exposition(Resource({"service.name": "chat-gateway"}))
        self.metrics = Metrics(self.exposition.meter, "support")
        self.observer = Observer([self.metrics], turn_limit=turn_limit)

    def count(self, *stories: Story) -> "Counting":
        for story in stories:
            self.observer.observe(story.session_id, story.events)
        return self

    @property
    def text(self) -> str:
        body, content_type = self.exposition.render()
        assert content_type == "text/plain; version=0.0.4; charset=utf-8"
        return body.decode()

    def value(self, name: str, labels: Mapping[str, str] | None = None) -> float | None:
        """The sample's value; labels that are empty count as absent."""
        for family in text_string_to_metric_families(self.text):
            for sample in family.samples:
                found = {key: value for key, value in sample.labels.items() if value}
                if sample.name == name and found == (labels or {}):
                    return sample.value
        return None


def everything() -> Counting:
    """Every instrument has recorded something."""
    counting = Counting().count(with_tools())
    lost = IterationSuperseded(attempt=1, reason="upstream_overloaded")
    error = TurnError(code="upstream_timeout", message=CANARY, retryable=True)
    counting.count(
        Story("t_2").begin().ask().tell(lost, iteration=1).tell(error).done("failed", usage_unreported=1)
    )
    for kind in ("live", "resume", "replay"):
        stream = counting.metrics.streams.opened(kind)
        stream.events_sent(3)
        stream.closed("client")
    return counting


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
    assert counting.value("gateway_cost_USD_total", {"gen_ai_request_model": MODEL}) == 0.75


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
    counting = everything()

    retried = {"gen_ai_request_model": MODEL, "gateway_reason": "upstream_overloaded"}
    assert counting.value("gateway_upstream_retries_total", retried) == 1
    failed = {**CHAT, "error_type": "upstream_timeout"}
    assert counting.value("gen_ai_client_inference_duration_seconds_count", failed) == 1
    failed = {**AGENT, "error_type": "upstream_timeout"}
    assert counting.value("gen_ai_invoke_agent_duration_seconds_count", failed) == 1
    assert counting.value("gateway_usage_unreported_total") == 1


def test_tokens_of_a_superseded_attempt_are_not_lost() -> None:
    """They were paid for: the counters include them, as the turn's own total does."""
    usage = Usage(input_tokens=40, output_tokens=2)
    lost = IterationSuperseded(attempt=1, reason="upstream_truncated", began=True, usage=usage)
    story = Story().begin().ask().tell(lost, iteration=1).ask(attempt=2)
    story.answered("end_turn", Usage(input_tokens=41, output_tokens=9)).done()

    counting = Counting().count(story)

    assert counting.value("gen_ai_client_inference_usage_input_tokens_total", TEXT) == 81
    assert counting.value("gen_ai_client_inference_operation_input_tokens_sum", CHAT) == 41


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


def test_streams_are_counted_once() -> None:
    """Open streams by kind, ended ones by the first reason, events when the stream ends."""
    counting = Counting()
    streams = counting.metrics.streams

    live, resumed = streams.opened("live"), streams.opened("resume")
    live.events_sent(2)
    live.events_sent(5)
    kind = {"gateway_stream_kind": "live"}
    assert counting.value("gateway_stream_active", kind) == 1
    assert counting.value("gateway_stream_events_sent_total", kind) is None
    live.closed("slow")
    live.closed("done")

    assert counting.value("gateway_stream_active", kind) == 0
    assert counting.value("gateway_stream_events_sent_total", kind) == 7
    assert counting.value("gateway_stream_disconnects_total", {**kind, "gateway_reason": "slow"}) == 1
    assert counting.value("gateway_stream_disconnects_total", {**kind, "gateway_reason": "done"}) is None
    assert counting.value("gateway_stream_opened_total", {"gateway_stream_kind": "resume"}) == 1
    assert counting.value("gateway_stream_resumes_total") == 1
    resumed.closed("client")


def test_no_series_is_made_for_a_session_a_turn_or_a_word() -> None:
    """Label values are names of few things: no ids, nothing that was said, no instrumentation scope."""
    text = everything().text

    assert not any(word in text for word in ("s_1", "t_1", "t_2", "toolu_", CANARY, "otel_scope"))


def test_invented_tool_names_share_one_series() -> None:
    """A model can call any number of tools that do not exist without growing the process."""
    story = Story().begin()
    for number in range(250):
        name = f"invented_{number}"
        story.tell(ToolCall(name=name, arguments={}, effect="effectful"), call=name)
        story.result(name, name, "error")

    text = Counting().count(story).text

    count = "gen_ai_execute_tool_duration_seconds_count"
    assert sum(line.startswith(count) for line in text.splitlines()) == 201
    assert 'gen_ai_tool_name="_OTHER"' in text


def test_buckets_are_the_conventions() -> None:
    """The histograms have the advised buckets, so that dashboards of others fit."""
    text = everything().text

    assert 'gen_ai_client_inference_duration_seconds_bucket{error_type="",' in text
    for bucket in ('le="81.92"', 'le="409.6"', 'le="67108864.0"', 'le="128.0"'):
        assert bucket in text, bucket


def test_every_metric_is_parsed_and_described() -> None:
    """prometheus_client's parser takes the text, and each of our metrics says what it is."""
    families = list(text_string_to_metric_families(everything().text))

    ours = [family for family in families if family.name.startswith(("gen_ai_", "gateway_"))]
    assert len(ours) == 22
    assert all(family.documentation for family in ours)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed: only the parser looked at the text")
def test_promtool_has_nothing_to_say() -> None:
    """Names, units and help texts are as Prometheus wants them."""
    assert PROMTOOL is not None

    checked = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=everything().text, capture_output=True, text=True, check=False
    )

    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
