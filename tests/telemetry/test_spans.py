"""The trace of a turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode, TraceFlags

from gateway.events.lifecycle import ErrorCode, IterationSuperseded, TurnError
from gateway.messages import Usage
from gateway.telemetry.base import Turn
from gateway.telemetry.observer import Observer
from gateway.telemetry.spans import Spans, TurnIds, root_span_id
from tests.telemetry.story import CANARY, MODEL, TRACE_ID, Story, with_tools


class Drawing:
    """An observer with nothing but spans, and what it has exported."""

    def __init__(self, turn_limit: int = 100) -> None:
        self.exporter = InMemorySpanExporter()
        ids = TurnIds()
        provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.spans = Spans(provider, ids, "support")
        self.observer = Observer([self.spans], turn_limit=turn_limit)

    def draw(self, story: Story) -> dict[str, ReadableSpan]:
        self.observer.observe(story.session_id, story.events)
        return {span.name: span for span in self.exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def place(span: ReadableSpan) -> SpanContext:
    assert span.context is not None
    return span.context


def parent_name(span: ReadableSpan, all_spans: Mapping[str, ReadableSpan]) -> str | None:
    names = {place(other).span_id: name for name, other in all_spans.items()}
    return names[span.parent.span_id] if span.parent else None


def milliseconds(span: ReadableSpan) -> tuple[int, int]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time // 1_000_000, span.end_time // 1_000_000


def moments(events: Sequence[Any]) -> list[tuple[str, int]]:
    return [(event.name, event.timestamp // 1_000_000) for event in events]


def test_a_turn_is_one_tree_under_invoke_agent() -> None:
    """Calls and tools are children of the turn, and a retrieval is a child of the tool that did it."""
    spans = Drawing().draw(with_tools())

    assert {name: parent_name(span, spans) for name, span in spans.items()} == {
        "invoke_agent support": None,
        f"chat {MODEL}": "invoke_agent support",
        "execute_tool search_docs": "invoke_agent support",
        "execute_tool calculate": "invoke_agent support",
        "retrieval docs": "execute_tool search_docs",
    }
    assert {name: span.kind for name, span in spans.items()} == {
        "invoke_agent support": SpanKind.INTERNAL,
        f"chat {MODEL}": SpanKind.CLIENT,
        "execute_tool search_docs": SpanKind.INTERNAL,
        "execute_tool calculate": SpanKind.INTERNAL,
        "retrieval docs": SpanKind.CLIENT,
    }


def test_the_trace_id_is_the_one_turn_start_told() -> None:
    """A frontend finds the trace by the id in turn_start, and the root's id follows from it."""
    spans = Drawing().draw(with_tools())

    assert {f"{place(span).trace_id:032x}" for span in spans.values()} == {TRACE_ID}
    root = spans["invoke_agent support"]
    assert f"{place(root).span_id:016x}" == root_span_id(TRACE_ID) == "8448eb211c80319c"


def test_spans_take_their_times_from_the_events() -> None:
    """Spans begin and end when the log says so, not when the observer came to it."""
    story = with_tools()
    zero = story.started_at

    drawing = Drawing()
    spans = drawing.draw(story)
    calls = [span for span in drawing.exporter.get_finished_spans() if span.name.startswith("chat")]

    assert milliseconds(spans["invoke_agent support"]) == (zero, story.at)
    assert [milliseconds(call) for call in calls] == [(zero + 10, zero + 50), (zero + 110, zero + 130)]
    assert milliseconds(spans["execute_tool search_docs"]) == (zero + 60, zero + 100)
    assert milliseconds(spans["execute_tool calculate"]) == (zero + 70, zero + 90)
    assert milliseconds(spans["retrieval docs"]) == (zero + 80, zero + 80)
    assert moments(calls[0].events) == [("gateway.first_chunk", zero + 20)]


def test_a_model_call_says_what_it_cost_and_counts_cached_tokens_as_input() -> None:
    """gen_ai.usage.input_tokens is the sum that the conventions ask for, with the cache's part beside it."""
    drawing = Drawing()
    drawing.draw(with_tools())
    first = next(span for span in drawing.exporter.get_finished_spans() if span.name.startswith("chat"))

    assert attributes(first) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": "s_1",
        "session.id": "s_1",
        "gateway.turn.id": "t_1",
        "gateway.turn.iteration": 1,
        "gen_ai.request.model": MODEL,
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ("tool_call",),
        "gen_ai.response.time_to_first_chunk": 0.015,
        "gen_ai.usage.input_tokens": 1400,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 1000,
        "gen_ai.usage.cache_write.input_tokens": 300,
        "gen_ai.usage.cache_creation.input_tokens": 300,
        "gateway.upstream.stop_reason": "tool_use",
        "gateway.upstream.attempts": 1,
        "gateway.response.text_pieces": 2,
        "gateway.response.thinking_pieces": 1,
        "gateway.cost_usd": 0.25,
    }
    assert first.status.status_code is StatusCode.UNSET


def test_the_root_has_the_totals_under_our_own_names() -> None:
    """Usage on the root would be added up twice by backends, so totals are gateway.turn.*."""
    root = attributes(Drawing().draw(with_tools())["invoke_agent support"])

    assert root == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "support",
        "gen_ai.conversation.id": "s_1",
        "session.id": "s_1",
        "gen_ai.request.model": MODEL,
        "gateway.turn.id": "t_1",
        "gateway.turn.outcome": "completed",
        "gateway.turn.iterations": 2,
        "gateway.turn.tool_calls": 2,
        "gateway.turn.input_tokens": 1550,
        "gateway.turn.output_tokens": 50,
        "gateway.turn.cache_read_tokens": 1000,
        "gateway.turn.cache_write_tokens": 300,
        "gateway.turn.cost_usd": 0.75,
        "gateway.turn.usage_unreported": 0,
        "gateway.session.event_seq.first": 1,
        "gateway.session.event_seq.last": 15,
    }


def test_a_failed_tool_is_an_error_and_the_turn_is_not() -> None:
    """A tool error is a result the model reads: it marks the tool's span alone."""
    spans = Drawing().draw(with_tools())

    failed = spans["execute_tool calculate"]
    assert failed.status.status_code is StatusCode.ERROR
    assert attributes(failed)["error.type"] == "tool_failed"
    assert attributes(failed)["gateway.tool.status"] == "error"
    assert attributes(failed)["gen_ai.tool.call.id"] == "toolu_2"
    assert spans["execute_tool search_docs"].status.status_code is StatusCode.UNSET
    assert spans["invoke_agent support"].status.status_code is StatusCode.UNSET


def test_nothing_that_was_said_gets_into_a_span() -> None:
    """Prompts, answers, thoughts, arguments, results and snippets stay out of the trace."""
    drawing = Drawing()
    drawing.draw(with_tools())

    exported = [span.to_json() for span in drawing.exporter.get_finished_spans()]
    assert len(exported) == 6
    assert CANARY not in "".join(exported)


def test_a_superseded_attempt_is_an_event_of_its_call() -> None:
    """A logical call is one span whatever it took; its first content is that of the attempt that counts."""
    lost = IterationSuperseded(attempt=1, reason="upstream_overloaded")
    story = Story().begin().ask().say("a").tell(lost, iteration=1, ms=30).ask(attempt=2).say("b")
    story.answered("end_turn", None).done()

    chat = Drawing().draw(story)[f"chat {MODEL}"]

    zero = story.started_at
    assert moments(chat.events) == [("gateway.retry", zero + 50), ("gateway.first_chunk", zero + 70)]
    assert dict(chat.events[0].attributes or {}) == {
        "gateway.upstream.attempt": 1,
        "error.type": "upstream_overloaded",
    }
    assert attributes(chat)["gateway.upstream.attempts"] == 2
    assert attributes(chat)["gateway.response.text_pieces"] == 1
    assert attributes(chat)["gen_ai.response.time_to_first_chunk"] == 0.06
    assert chat.status.status_code is StatusCode.UNSET


def failed(code: ErrorCode) -> TurnError:
    return TurnError(code=code, message=f"It broke {CANARY}", retryable=True)


def test_a_failed_turn_marks_the_call_that_broke_it() -> None:
    """The error's code is error.type of the turn and of the call that was open."""
    story = Story().begin().ask().tell(failed("upstream_timeout")).done("failed")

    spans = Drawing().draw(story)

    for name in ("invoke_agent support", f"chat {MODEL}"):
        assert spans[name].status.status_code is StatusCode.ERROR
        assert spans[name].status.description is None
        assert attributes(spans[name])["error.type"] == "upstream_timeout"
    assert attributes(spans["invoke_agent support"])["gateway.turn.outcome"] == "failed"


def test_an_answer_cut_short_learns_its_reason_from_the_end_of_the_turn() -> None:
    """iteration_end without stop_reason keeps its time and usage, and takes the error that follows."""
    usage = Usage(input_tokens=7, output_tokens=1)
    story = Story().begin().ask().say("par").answered(None, usage)
    cut_at = story.at
    story.tell(failed("upstream_truncated")).done("failed", usage=usage)

    chat = Drawing().draw(story)[f"chat {MODEL}"]

    assert milliseconds(chat)[1] == cut_at
    assert attributes(chat)["error.type"] == "upstream_truncated"
    assert attributes(chat)["gen_ai.usage.input_tokens"] == 7
    assert "gen_ai.response.finish_reasons" not in attributes(chat)


def test_a_cancelled_turn_is_not_an_error() -> None:
    """Stop is a person's decision: every status stays unset and the outcome says cancelled."""
    story = Story().begin().ask().say("par").call("calculate", "toolu_9")
    story.result("calculate", "toolu_9", "cancelled").done("cancelled")

    spans = Drawing().draw(story)

    assert {span.status.status_code for span in spans.values()} == {StatusCode.UNSET}
    assert attributes(spans["invoke_agent support"])["gateway.turn.outcome"] == "cancelled"
    assert all("error.type" not in attributes(span) for span in spans.values())


def test_a_turn_of_a_former_process_gets_a_trace_of_what_is_known() -> None:
    """Without turn_start the rest of a turn is still one tree, marked as resumed."""
    story = with_tools()
    del story.events[:10]  # what is left: a result without its call, and the second iteration

    spans = Drawing().draw(story)

    root = spans["invoke_agent support"]
    assert {parent_name(span, spans) for span in spans.values()} == {None, "invoke_agent support"}
    assert set(spans) == {"invoke_agent support", f"chat {MODEL}", "execute_tool search_docs"}
    assert attributes(root)["gateway.turn.resumed"] is True
    assert attributes(root)["gateway.turn.outcome"] == "completed"
    assert "gateway.turn.tool_calls" not in attributes(root)


def test_a_turn_that_a_crash_ended_is_seen() -> None:
    """The error and done that close an interrupted turn's books are enough for a span."""
    story = Story().tell(failed("server_restart")).done("interrupted")

    root = Drawing().draw(story)["invoke_agent support"]

    assert root.status.status_code is StatusCode.ERROR
    assert attributes(root)["error.type"] == "server_restart"
    assert attributes(root)["gateway.turn.outcome"] == "interrupted"


def test_a_turn_pushed_out_by_others_ends_as_unfinished() -> None:
    """What is not followed any more is exported as far as it is known."""
    drawing = Drawing(turn_limit=1)

    drawing.draw(Story("t_old").begin().ask())
    spans = drawing.draw(Story("t_new").begin())

    assert attributes(spans["invoke_agent support"])["gateway.turn.id"] == "t_old"
    assert attributes(spans["invoke_agent support"])["gateway.turn.outcome"] == "unfinished"
    assert spans[f"chat {MODEL}"].status.status_code is StatusCode.UNSET


def test_the_root_can_link_to_the_request_that_asked() -> None:
    """The turn outlives its request, so it has a trace of its own with a link."""
    drawing = Drawing()
    request = SpanContext(trace_id=5, span_id=6, is_remote=True, trace_flags=TraceFlags(1))
    turn = Turn(
        id="t_1",
        session_id="s_1",
        trace_id=TRACE_ID,
        model=MODEL,
        whole=True,
        started_at=1,
        first_seq=1,
        last_seq=1,
        seen_at=1,
    )

    drawing.spans.turn_started(turn, request)
    drawing.spans.turn_lost(turn)

    (root,) = drawing.exporter.get_finished_spans()
    assert [link.context for link in root.links] == [request]
    assert root.parent is None
