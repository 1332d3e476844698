"""The trace of a turn."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import SpanKind, StatusCode

from gateway.events.content import RetrievalHit
from gateway.events.lifecycle import ErrorCode, IterationEnd, IterationStart, IterationSuperseded, TurnError
from gateway.ids import root_span_id
from gateway.telemetry.spans.turn_spans import Called
from tests.product import Retrieval, TurnStart, Usage
from tests.telemetry.drawing import Drawing, attributes, milliseconds, moments, parent_name, place
from tests.telemetry.story import CANARY, FIRST_USAGE, MODEL, TRACE_ID, Story, with_tools


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
        "gateway.purpose": "answer",
        "gateway.usage.source": "provider",
        "gateway.session.event_seq.first": 2,
        "gateway.session.event_seq.last": 6,
        "gen_ai.request.max_tokens": 8192,
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
    story = Story().begin().ask().say("a").notify(lost, iteration=1, ms=30).ask(attempt=2).say("b")
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
    story = Story().begin().ask().notify(failed("upstream_timeout")).done("failed")

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
    story.notify(failed("upstream_truncated")).done("failed", usage=usage)

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
    story = Story().notify(failed("server_restart")).done("interrupted")

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


def test_a_turn_that_waited_shows_how_long() -> None:
    """The wait for the turns before it is a child of its own, within the root."""
    story = Story()
    story.notify(TurnStart(input="Hi", model=MODEL, trace_id=TRACE_ID, queued_ms=700), ms=0)

    spans = Drawing().draw(story.done())

    zero = story.started_at
    assert milliseconds(spans["gateway.admission"]) == (zero - 700, zero)
    assert milliseconds(spans["invoke_agent support"]) == (zero - 700, story.at)
    assert parent_name(spans["gateway.admission"], spans) == "invoke_agent support"
    assert "gateway.admission" not in Drawing().draw(with_tools())


def test_a_retrieval_is_as_long_as_the_search() -> None:
    """The event tells when something was found and how long that took."""
    hit = RetrievalHit(id="h", source="docs", snippet="s", score=1)
    found = Retrieval(query="q", source="docs", results=[hit], tokens=3, duration_ms=8)
    story = Story().begin().notify(found)

    spans = Drawing().draw(story.done())

    at = story.started_at + 10
    assert milliseconds(spans["retrieval docs"]) == (at - 8, at)


def test_a_model_call_names_prompt_answer_and_endpoint() -> None:
    """Which prompt it was given, who answered under which id, and where it was asked."""
    story = Story().begin()
    start = IterationStart(
        attempt=1,
        model=MODEL,
        prefix_hash="ab" * 32,
        components={"identity": "0123456789ab"},
        instructions_tokens=12,
    )
    end = IterationEnd(stop_reason="end_turn", duration_ms=9, model="claude-x", response_id="msg_1")
    story.notify(start, iteration=1).notify(end, iteration=1).done()
    called = Called(
        "support", server={"server.address": "model.example", "server.port": 8443}, temperature=0.5
    )

    chat = attributes(Drawing(called=called).draw(story)[f"chat {MODEL}"])

    assert {
        "gateway.prompt.prefix_hash": "ab" * 32,
        "gateway.prompt.components": ("identity 0123456789ab",),
        "gateway.prompt.instructions_tokens": 12,
        "gen_ai.response.model": "claude-x",
        "gen_ai.response.id": "msg_1",
        "gateway.usage.source": "none",
        "server.address": "model.example",
        "server.port": 8443,
        "gen_ai.request.temperature": 0.5,
    }.items() <= chat.items()


def test_a_call_that_is_cut_short_does_not_pass_for_one_that_told_its_usage() -> None:
    """What it had told by then is on the span, and named for what it is, as the turn's totals name it."""
    story = Story().begin().ask().say("So").answered(None, FIRST_USAGE)
    story.done("cancelled", usage=FIRST_USAGE, usage_unreported=1)

    spans = Drawing().draw(story)

    chat = attributes(spans[f"chat {MODEL}"])
    assert chat["gateway.usage.source"] == "partial"
    assert chat["gen_ai.usage.output_tokens"] == 20
    assert attributes(spans["invoke_agent support"])["gateway.turn.usage_unreported"] == 1


def test_older_names_are_there_for_those_who_ask() -> None:
    """With dup a call carries the former names beside the newest; without it only cache_creation."""
    older = {"gen_ai.system", "gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"}
    latest = attributes(Drawing().draw(with_tools())[f"chat {MODEL}"])
    dup = attributes(
        Drawing(called=Called("support", max_tokens=8192, dup=True)).draw(with_tools())[f"chat {MODEL}"]
    )

    assert set(dup) - set(latest) == older
    assert dup["gen_ai.usage.prompt_tokens"] == dup["gen_ai.usage.input_tokens"]


def test_a_user_is_told_by_a_pseudonym_or_not_at_all() -> None:
    """The id is hashed with the operator's salt; without one there is none."""
    seen: list[Mapping[str, Any]] = []
    for salt in (None, "one", "one", "other"):
        drawing = Drawing(called=Called("support", salt=salt))
        drawing.observer.expect("t_1", "ada")
        seen.append(attributes(drawing.draw(with_tools())["invoke_agent support"]))

    without, first, same, other = (each.get("user.id") for each in seen)
    assert without is None
    assert first == same != other
    assert "ada" not in str(seen)
