"""What traces tell of memories: what was recalled, what changed, and what was learned."""

import pytest
from opentelemetry.trace import StatusCode

from gateway.ids import root_span_id, span_id_of, trace_id_of
from tests.telemetry.drawing import Drawing, attributes, milliseconds, moments, parent_name, place
from tests.telemetry.remembered import AT, changed, learned, recalled, remembered
from tests.telemetry.story import CANARY, MODEL, TRACE_ID, Story

OF_THE_TURN = {"gen_ai.conversation.id": "s_1", "session.id": "s_1", "gateway.turn.id": "t_1"}


def test_a_retrieval_says_how_much_of_it_the_model_did_not_know() -> None:
    """With the mode, what was left out, and whether a part of the search was missing; without any words."""
    story = recalled(Story().begin(), duration_ms=3, omitted=4, degraded=True)

    drawing = Drawing()
    spans = drawing.draw(story.ask().answered("end_turn", None).done())

    span = spans["retrieval memory"]
    said = story.events[1].load()
    assert milliseconds(span) == (said["ts"] - 3, said["ts"])
    assert parent_name(span, spans) == "invoke_agent support"
    assert {
        "gen_ai.data_source.id": "memory",
        "gateway.retrieval.results": 3,
        "gateway.retrieval.told": 2,
        "gateway.retrieval.omitted": 4,
        "gateway.retrieval.mode": "catalog",
        "gateway.retrieval.degraded": True,
    }.items() <= attributes(span).items()
    assert CANARY not in "".join(span.to_json() for span in drawing.exporter.get_finished_spans())


def test_a_change_is_a_moment_in_the_call_that_made_it() -> None:
    """It says what happened to which memory, by whom as a kind, and where in the log."""
    story = Story().begin().call("manage_memory", "toolu_1")
    remembered(story, "remembered", "model", call="toolu_1", version=1, status="active")
    at = story.at
    story.result("manage_memory", "toolu_1")

    drawing = Drawing()
    spans = drawing.draw(story.done())

    span = spans["gateway.memory"]
    assert milliseconds(span) == (at, at)
    assert parent_name(span, spans) == "execute_tool manage_memory"
    assert f"{place(span).span_id:016x}" == span_id_of(TRACE_ID, "memory 3")
    assert attributes(span) == {
        **OF_THE_TURN,
        "gateway.memory.op": "remembered",
        "gateway.memory.id": "m_1",
        "gateway.memory.type": "preference",
        "gateway.memory.by": "model",
        "gateway.memory.version": 1,
        "gateway.memory.status": "active",
        "gateway.memory.quarantined": False,
        "gateway.session.event_seq.first": 3,
        "gateway.session.event_seq.last": 3,
    }
    assert CANARY not in "".join(span.to_json() for span in drawing.exporter.get_finished_spans())


@pytest.mark.parametrize(
    ("actor", "by", "quarantined"),
    [("order-desk", "tool", True), ("鲁迅", "user", False), ("keeper", "keeper", False)],
)
def test_what_is_told_beside_the_calls_belongs_to_the_turn(actor: str, by: str, quarantined: bool) -> None:
    """What a tool suggested, a user wrote, or the keeper learned while the turn ran; names are left out."""
    story = remembered(Story().begin(), "remembered", actor, quarantined=quarantined or None)

    drawing = Drawing()
    spans = drawing.draw(story.done())

    span = spans["gateway.memory"]
    assert parent_name(span, spans) == "invoke_agent support"
    assert attributes(span)["gateway.memory.by"] == by
    assert attributes(span)["gateway.memory.quarantined"] is quarantined
    assert (actor in str(attributes(span))) == (actor == "keeper")


def test_a_conversation_that_was_read_has_a_trace_of_its_own() -> None:
    """From its beginning to its end, with what it took, and each change as an event."""
    drawing, run = Drawing(), learned(changed=[changed("remembered", "keeper"), changed("merged", "keeper")])

    drawing.observer.notify(lambda reader: reader.learned(run))

    (span,) = drawing.exporter.get_finished_spans()
    assert span.name == "gateway.memory.learn"
    assert span.parent is None
    trace_id = trace_id_of(f"learn s_1 {AT}")
    assert f"{place(span).trace_id:032x}" == trace_id
    assert f"{place(span).span_id:016x}" == root_span_id(trace_id)
    assert milliseconds(span) == (AT, AT + 2000)
    assert attributes(span) == {
        "gateway.session.id": "s_1",
        "gen_ai.request.model": MODEL,
        "gateway.memory.learn.calls": 1,
        "gateway.memory.learn.offered": 3,
        "gateway.memory.learn.dropped": 2,
        "gateway.memory.learn.changed": 2,
        "gateway.memory.learn.input_tokens": 250,
        "gateway.memory.learn.output_tokens": 40,
    }
    assert moments(span.events) == [("gateway.memory", AT), ("gateway.memory", AT)]
    assert [(event.attributes or {})["gateway.memory.op"] for event in span.events] == [
        "remembered",
        "corrected",
    ]
    assert span.status.status_code is StatusCode.UNSET
    assert CANARY not in span.to_json()


def test_a_conversation_that_could_not_be_read_is_an_error() -> None:
    """With its code; and of very many changes the first are told by name."""
    drawing, many = Drawing(), [changed("remembered", "keeper")] * 300
    run = learned(error="upstream_timeout", usage=None, changed=many)

    drawing.observer.notify(lambda reader: reader.learned(run))

    (span,) = drawing.exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == "upstream_timeout"
    assert attributes(span)["gateway.memory.learn.changed"] == 300
    assert "gateway.memory.learn.input_tokens" not in attributes(span)
    assert len(span.events) == 100
