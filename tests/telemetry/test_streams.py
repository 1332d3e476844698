"""What is counted of the readers of the event streams."""

from opentelemetry.sdk.resources import Resource

from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.metrics.stream_metrics import Streams
from tests.product import now_ms
from tests.telemetry.counting import Counting
from tests.telemetry.story import MODEL, TRACE_ID, Story, with_tools

LIVE = {"gateway_stream_kind": "live"}


def test_streams_are_counted_once() -> None:
    """Open streams by kind, ended ones by the first reason."""
    counting = Counting()

    live, resumed = counting.streams.opened("live"), counting.streams.opened("resume")
    assert counting.value("gateway_stream_active", LIVE) == 1
    live.closed("slow")
    live.closed("done")

    assert counting.value("gateway_stream_active", LIVE) == 0
    assert counting.value("gateway_stream_disconnects_total", {**LIVE, "gateway_reason": "slow"}) == 1
    assert counting.value("gateway_stream_disconnects_total", {**LIVE, "gateway_reason": "done"}) is None
    assert counting.value("gateway_stream_slow_consumer_drops_total") == 1
    assert counting.value("gateway_stream_opened_total", {"gateway_stream_kind": "resume"}) == 1
    assert counting.value("gateway_stream_resumes_total") == 1
    resumed.closed("client")


def test_events_are_counted_by_type_while_the_stream_is_open() -> None:
    """A stream that lasts for hours is seen all the time, and each write tells how much had gathered."""
    counting = Counting()
    events = with_tools().events

    stream = counting.streams.opened("live", head=0)
    stream.sending(events[:1])
    stream.sending(events[1:6])

    sent = "gateway_stream_events_sent_total"
    assert counting.value(sent, {**LIVE, "gateway_event_type": "text"}) == 2
    assert counting.value(sent, {**LIVE, "gateway_event_type": "turn_start"}) == 1
    assert counting.value("gateway_stream_backlog_sum", LIVE) == 6
    assert counting.value("gateway_stream_backlog_count", LIVE) == 2
    assert stream.events == 6


def test_only_new_events_can_be_late() -> None:
    """What a reader catches up on is old by nature; what happened since it came is late by the clock."""
    counting = Counting()
    story = Story(at=now_ms() - 5000).begin().ask().say("a", "b")

    counting.streams.opened("replay").sending(story.events)
    stream = counting.streams.opened("resume", head=2)
    stream.sending(story.events[:2])
    assert counting.value("gateway_stream_delivery_lag_seconds_count") is None
    stream.sending(story.events[2:])

    assert counting.value("gateway_stream_delivery_lag_seconds_count") == 1
    late = counting.value("gateway_stream_delivery_lag_seconds_sum")
    assert late is not None
    assert 4.9 < late < 60


def test_the_first_content_of_a_turn_is_timed_once_with_its_trace() -> None:
    """From the acceptance to the first content, and only for the stream that answers the request itself."""
    exposition = Exposition(Resource({}))
    streams = Streams(exposition)
    story = Story(at=now_ms() - 3000).begin().ask().think("hm").say("a")

    streams.opened("live", head=0).sending(story.events)
    asked = streams.opened("live", head=0, accepted_at=story.started_at - 1000)
    asked.sending(story.events[:2])
    asked.sending(story.events[2:3])
    asked.sending(story.events[3:])

    text = exposition.render("application/openmetrics-text;version=1.0.0")[0].decode()
    name = "gateway_client_time_to_first_event_seconds"
    (count,) = [line for line in text.splitlines() if line.startswith(f"{name}_count")]
    (seconds,) = [line for line in text.splitlines() if line.startswith(f"{name}_sum")]
    assert count == f"{name}_count 1.0"
    assert 3.9 < float(seconds.split()[1]) < 60
    assert f'trace_id="{TRACE_ID}"' in text
    assert MODEL not in text


def test_content_that_is_there_before_the_stream_is_timed_as_well() -> None:
    """A turn may be ahead of the response that carries it."""
    counting = Counting()
    story = Story(at=now_ms()).begin().ask().say("a")

    asked = counting.streams.opened("live", head=len(story.events), accepted_at=story.started_at)
    asked.sending(story.events)

    assert counting.value("gateway_client_time_to_first_event_seconds_count") == 1


def test_a_trace_that_may_go_is_no_example() -> None:
    """The time to the first content counts all the same."""
    exposition = Exposition(Resource({}))
    streams = Streams(exposition, is_kept=lambda trace_id: trace_id != TRACE_ID)
    story = Story(at=now_ms()).begin().ask().say("a")

    streams.opened("live", head=0, accepted_at=story.started_at).sending(story.events)

    text = exposition.render("application/openmetrics-text;version=1.0.0")[0].decode()
    assert "gateway_client_time_to_first_event_seconds_count 1.0" in text
    assert "trace_id" not in text
