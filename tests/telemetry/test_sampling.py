"""Which traces are kept."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.events.lifecycle import IterationEnd, TurnError
from gateway.ids import trace_id_of
from gateway.telemetry.observer import Observer
from gateway.telemetry.spans import sampling
from gateway.telemetry.spans.http_spans import HttpSpans, RequestSpan
from gateway.telemetry.spans.sampling import OutcomeSampler, Policy
from gateway.telemetry.spans.span_creation import Traces, TurnIds
from gateway.telemetry.spans.tool_spans import ToolSpans
from gateway.telemetry.spans.turn_spans import Called, Spans
from tests.telemetry.story import HOUR, Story, with_tools

NOTHING = Policy(ratio=0)
SCOPE = {"path": "/api/sessions/s_1/turns", "method": "POST"}


class Sampled:
    """Turns and requests drawn through a sampler, and what comes out of it."""

    def __init__(self, policy: Policy) -> None:
        self.exporter = InMemorySpanExporter()
        self.dropped = 0
        self.sampler = OutcomeSampler(SimpleSpanProcessor(self.exporter), policy, self._drop)
        ids = TurnIds()
        provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(self.sampler)
        traces = Traces(provider, ids)
        self.spans = Spans(traces, Called("support"))
        self.http = HttpSpans(traces, self.spans)
        self.observer = Observer([self.spans, ToolSpans(traces, Called("support"))])

    def notify(self, *stories: Story) -> list[str]:
        for story in stories:
            self.observer.observe(story.session_id, story.events)
        return self.kept

    @property
    def kept(self) -> list[str]:
        """Names of the spans that were kept, in the order in which they came out."""
        return [span.name for span in self.exporter.get_finished_spans()]

    def request(self) -> RequestSpan:
        return self.http.begin(SCOPE, {}, "r_1")

    def _drop(self, count: int) -> None:
        self.dropped += count


def quiet(turn_id: str = "t_1", *, ms: int = 10) -> Story:
    """A turn with nothing special."""
    story = Story(turn_id).begin(trace_id_of(turn_id)).ask().say("Hi")
    story.at += ms
    return story.answered("end_turn", None).done()


def failed(turn_id: str = "t_1") -> Story:
    error = TurnError(code="upstream_timeout", message="no", retryable=True)
    return Story(turn_id).begin(trace_id_of(turn_id)).ask().notify(error).done("failed")


def slow_to_begin() -> Story:
    story = Story("t_1").begin(trace_id_of("t_1")).ask()
    story.at += 7000
    end = IterationEnd(stop_reason="end_turn", ttft_ms=7000, duration_ms=7010)
    return story.say("Hi").notify(end, iteration=1).done()


def ended(span: RequestSpan, status: int = 202) -> None:
    span.end("POST", "/api/sessions/{session_id}/turns", status, "s_1")


@pytest.mark.parametrize(
    ("story", "why"),
    [
        (failed(), "it failed"),
        (Story("t_1").begin(trace_id_of("t_1")).ask().say("par").done("cancelled"), "it was stopped"),
        (Story("t_1").begin(trace_id_of("t_1")).done("limit_reached", iterations=0), "a limit ended it"),
        (quiet(ms=31_000), "it took long"),
        (slow_to_begin(), "its first content took long"),
        (Story("t_1").begin(trace_id_of("t_1")).ask().done(usage_unreported=1), "nobody knows what it used"),
        (with_tools("t_1"), "a tool failed"),
    ],
)
def test_what_is_special_is_kept_whatever_the_ratio(story: Story, why: str) -> None:
    """Errors, stops, limits, slow and unreported turns: all their spans, at a ratio of 0."""
    assert "invoke_agent support" in Sampled(NOTHING).notify(story), why


def test_nothing_special_is_kept_by_ratio_alone() -> None:
    """At 0 none, at 1 all; nothing goes on waiting."""
    none, every = Sampled(NOTHING), Sampled(Policy(ratio=1))

    assert none.notify(quiet()) == []
    assert len(every.notify(quiet())) == 2
    assert none.sampler.waiting == every.sampler.waiting == (0, 0)
    assert none.dropped == 0  # not wanted is not lost


@settings(max_examples=15)
@given(st.sets(st.integers(0, 10**9), min_size=5, max_size=15), st.floats(0.05, 0.95))
def test_the_ratio_is_decided_by_the_trace_id(numbers: set[int], ratio: float) -> None:
    """The same turns are chosen everywhere, whole or not at all, and more of them by a higher ratio."""
    stories = [quiet(f"t_{number}") for number in numbers]

    one, same, more = Sampled(Policy(ratio)), Sampled(Policy(ratio)), Sampled(Policy((1 + ratio) / 2))
    for sampled in (one, same, more):
        sampled.notify(*stories)

    assert traces(one) == traces(same) <= traces(more)
    assert len(one.kept) == 2 * len(traces(one))
    bound = ratio * 2**64
    assert traces(one) == {
        trace for story in stories if (trace := int(trace_id_of(story.turn_id), 16)) % 2**64 < round(bound)
    }


def traces(sampled: Sampled) -> set[int]:
    return {span.context.trace_id for span in sampled.exporter.get_finished_spans() if span.context}


def test_requests_share_the_fate_of_their_turn() -> None:
    """The one that started it, answered long before its end, and those that followed it, during and after."""
    for story, kept in ((failed(), 5), (quiet(), 0)):
        sampled = Sampled(NOTHING)
        post, during, after = (sampled.request() for _ in range(3))
        post.starts("t_1")
        ended(post)
        sampled.notify(Story("t_1").begin(trace_id_of("t_1")))
        during.follows("t_1")
        ended(during)
        assert sampled.kept == []
        sampled.observer.observe("s_1", story.events[1:])
        after.follows("t_1")
        ended(after)

        assert len(sampled.kept) == kept
        assert sampled.sampler.waiting == (0, 0)


def test_a_request_without_a_turn_is_decided_at_once() -> None:
    """One that failed is kept, others by the ratio."""
    sampled = Sampled(NOTHING)
    ended(sampled.request(), 404)
    ended(sampled.request(), 500)

    assert len(sampled.kept) == 1
    (span,) = sampled.exporter.get_finished_spans()
    assert (span.attributes or {})["error.type"] == "500"


def test_what_is_certain_is_known_before_the_end() -> None:
    """A measurement may name the trace as its example as soon as the trace is sure to be kept."""
    sampled = Sampled(NOTHING)
    story, trace_id = with_tools("t_1"), int(Story("t_1").begin().events[0].load()["data"]["trace_id"], 16)

    sampled.observer.observe("s_1", story.events[:9])
    assert not sampled.sampler.will_keep(trace_id)
    sampled.observer.observe("s_1", story.events[9:10])  # the tool's failure
    assert sampled.sampler.will_keep(trace_id)
    sampled.observer.observe("s_1", story.events[10:])
    assert sampled.sampler.will_keep(trace_id)


def test_what_a_process_leaves_is_kept() -> None:
    """The next process goes on with the trace and keeps its part: a restart is worth seeing."""
    sampled, following = Sampled(NOTHING), Sampled(NOTHING)
    story = quiet()
    more = (
        Story("t_1").begin(trace_id_of("t_1")).ask().answered("tool_use", None).call("calculate", "toolu_1")
    )
    sampled.notify(more)
    sampled.observer.close()
    assert sampled.kept == []
    sampled.sampler.force_flush()
    following.observer.replay("s_1", story.events[:3])
    following.observer.observe("s_1", story.events[3:])

    assert "invoke_agent support" in following.kept
    assert sampled.sampler.waiting == (0, 0)


def test_waiting_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """When too much waits the oldest trace is decided by its id, and what that gives up is counted."""
    monkeypatch.setattr(sampling, "ALL_SPANS", 10)
    sampled = Sampled(NOTHING)
    for number in range(40):
        story = Story(f"t_{number}").begin(trace_id_of(f"t_{number}")).call("calculate", "toolu_1")
        sampled.notify(story.result("calculate", "toolu_1"))

    assert sampled.sampler.waiting[0] == 10
    assert sampled.dropped == 30
    assert sampled.kept == []


def test_waiting_ends_with_age() -> None:
    """A turn that waits for a person for days does not hold its spans for so long."""
    sampled = Sampled(Policy(ratio=1, longest_wait=60))
    old = Story("t_old").begin(trace_id_of("t_old")).call("calculate", "toolu_1")
    sampled.notify(old.result("calculate", "toolu_1"))
    assert sampled.kept == []
    later = quiet("t_later")
    later_events = Story("t_new", at=later.at + 61_000).begin(trace_id_of("t_new")).done()
    sampled.notify(later_events)

    assert sampled.kept.count("execute_tool calculate") == 1


def asking() -> Story:
    """A turn that waits for a person: eight of its events are told before the answer."""
    story = Story("t_1").begin(trace_id_of("t_1")).ask().answered("tool_use", None).call("send", "toolu_1")
    story.call("look", "toolu_2").asked("send", "toolu_1").result("look", "toolu_2")
    story.decided("toolu_1", "approved", "ada", ms=9 * HOUR).result("send", "toolu_1")
    return story.ask(2).say("Sent", iteration=2).answered("end_turn", None, iteration=2).done(iterations=2)


def test_a_turn_that_asks_a_person_is_kept_and_takes_no_memory_while_it_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the question on its spans are sent when they end; an answer after a night is a part of it, though
    the trace was forgotten meanwhile."""
    monkeypatch.setattr(sampling, "REMEMBERED", 10)
    sampled, story = Sampled(Policy(ratio=0, slow=10**6)), asking()

    sampled.observer.observe("s_1", story.events[:7])
    assert sampled.kept == ["chat claude-sonnet-5-5", "execute_tool look"]
    assert sampled.sampler.waiting == (0, 0)
    for number in range(sampling.REMEMBERED + 1):
        sampled.notify(quiet(f"t_other_{number}"))
    sampled.observer.observe("s_1", story.events[7:])

    assert sampled.kept[2:] == [
        "gateway.approval",
        "execute_tool send",
        "chat claude-sonnet-5-5",
        "invoke_agent support",
    ]


def test_a_turn_that_a_rule_decides_about_is_as_any_other() -> None:
    """Nobody waited for it."""
    story = Story("t_1").begin(trace_id_of("t_1")).call("send", "toolu_1")
    story.decided("toolu_1", "approved", "grant").result("send", "toolu_1").done()

    assert Sampled(NOTHING).notify(story) == []


def test_a_trace_without_end_is_sent_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn with very many spans is unusual enough to keep, and does not fill the memory."""
    monkeypatch.setattr(sampling, "TRACE_SPANS", 20)
    sampled = Sampled(NOTHING)
    story = Story("t_1").begin(trace_id_of("t_1"))
    for number in range(30):
        story.call("calculate", f"toolu_{number}").result("calculate", f"toolu_{number}")

    assert len(sampled.notify(story)) == 30
    assert sampled.sampler.waiting == (0, 0)
