"""How spans, requests, processes and the log find each other."""

from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from gateway.events.session_changes import Compression, Feedback
from gateway.ids import root_span_id, span_id_of, trace_id_of
from gateway.telemetry.turn_facts import SessionArchived
from tests.product import Usage
from tests.telemetry.drawing import REQUEST, Drawing, attributes, milliseconds, parent_name, place
from tests.telemetry.story import CANARY, MODEL, TRACE_ID, Story, with_approval, with_tools


def test_the_root_is_linked_to_the_request_that_asked() -> None:
    """The turn outlives its request, so it has a trace of its own with a link, whichever is known first."""
    before, after = Drawing(), Drawing()
    before.spans.asked("t_1", REQUEST)
    first = before.draw(with_tools())["invoke_agent support"]
    events = with_tools().events
    after.observer.observe("s_1", events[:3])
    after.spans.asked("t_1", REQUEST)
    after.observer.observe("s_1", events[3:])
    (second,) = [span for span in after.exporter.get_finished_spans() if span.parent is None]

    for root in (first, second):
        assert [link.context for link in root.links] == [REQUEST]
        assert dict(root.links[0].attributes or {}) == {"gateway.link": "triggered_by"}
        assert attributes(root)["gateway.request.trace_id"] == f"{5:032x}"


@pytest.mark.parametrize(("content", "explained"), [(False, None), (True, "my key is [redacted]")])
def test_what_a_person_thinks_of_a_turn_comes_into_its_trace(content: bool, explained: str | None) -> None:
    """As the result of an evaluation, in a span of its own, since the turn's is over; also when a process
    hears of it that knows nothing else of the turn. The words are content."""
    drawing = Drawing(content=content)
    story = Story()
    story.notify(Feedback(rating="down", reason="my key is sk-ant-REDACTED", of="message"))
    span = drawing.draw(story)["gateway.feedback"]

    (result,) = span.events
    assert (place(span).trace_id, span.parent and span.parent.span_id) == (
        int(trace_id_of("t_1"), 16),
        int(root_span_id(trace_id_of("t_1")), 16),
    )
    assert attributes(span)["gateway.turn.id"] == "t_1"
    assert attributes(span)["gateway.feedback.of"] == "message"
    assert result.name == "gen_ai.evaluation.result"
    found = dict(result.attributes or {})
    assert found.pop("gen_ai.evaluation.explanation", None) == explained
    assert found == {
        "gen_ai.evaluation.name": "gateway.feedback",
        "gen_ai.evaluation.score.label": "down",
        "gen_ai.evaluation.score.value": 0.0,
    }
    assert drawing.observer.turns_followed == 0


def test_every_span_of_a_turn_has_an_id_that_follows_from_its_events() -> None:
    """Whoever holds an event can name its span: the iteration's, the tool call's, the turn's."""
    drawing = Drawing()
    drawing.draw(with_tools())
    ids = {f"{place(span).span_id:016x}": span.name for span in drawing.exporter.get_finished_spans()}

    assert ids[span_id_of(TRACE_ID, "iteration 1")] == ids[span_id_of(TRACE_ID, "iteration 2")]
    assert ids[span_id_of(TRACE_ID, "iteration 1")] == f"chat {MODEL}"
    assert ids[span_id_of(TRACE_ID, "tool_call toolu_1")] == "execute_tool search_docs"
    assert ids[root_span_id(TRACE_ID)] == "invoke_agent support"
    assert len(ids) == 6


@pytest.mark.parametrize("story", [with_tools(), with_approval()])
def test_a_turn_goes_on_in_its_trace_in_the_next_process(story: Story) -> None:
    """What a process leaves open is drawn by the one that goes on, whole and under the same ids: together
    they export each span once."""
    events = story.events
    steps = [cut for cut in range(1, len(events)) if events[cut].type not in {"text", "thinking"}]
    for cut in steps:  # nobody goes on in the middle of an answer
        whole, first, second = Drawing(), Drawing(), Drawing()
        whole.observer.observe("s_1", events)
        first.observer.observe("s_1", events[:cut])
        first.observer.close()
        second.observer.replay("s_1", events[: cut // 2])
        second.observer.replay("s_1", events[cut // 2 : cut])
        second.observer.observe("s_1", events[cut:])

        spans = [*first.exporter.get_finished_spans(), *second.exporter.get_finished_spans()]

        assert sorted(map(signature, spans)) == sorted(map(signature, whole.exporter.get_finished_spans())), (
            cut
        )
        (root,) = [span for span in spans if span.parent is None]
        assert attributes(root)["gateway.turn.resumed"] is True
        assert attributes(root)["gateway.turn.tool_calls"] == 2


def signature(span: ReadableSpan) -> str:
    common = {key: value for key, value in attributes(span).items() if key != "gateway.turn.resumed"}
    return f"{place(span).trace_id:032x} {place(span).span_id:016x} {span.name} {milliseconds(span)} {common}"


def compression(**data: Any) -> Compression:
    return Compression.model_validate(data)


def test_a_compression_in_a_turn_is_a_part_of_it() -> None:
    """It is a child of the turn, and the next model call says that its view was compacted."""
    usage = Usage(input_tokens=900, output_tokens=80)
    done = compression(
        phase="completed", version=2, tokens_before=5000, tokens_after=300, usage=usage, cost=0.5
    )
    story = Story().begin().notify(compression(phase="started", trigger="automatic")).notify(done, ms=400)
    story.ask().answered("end_turn", None).ask(2).answered("end_turn", None, iteration=2).done()

    drawing = Drawing()
    spans = drawing.draw(story)

    span = spans["gateway.compression"]
    assert parent_name(span, spans) == "invoke_agent support"
    assert milliseconds(span) == (story.started_at + 10, story.started_at + 410)
    assert attributes(span) == {
        "gen_ai.conversation.id": "s_1",
        "session.id": "s_1",
        "gateway.turn.id": "t_1",
        "gateway.compression.trigger": "automatic",
        "gateway.compression.version": 2,
        "gateway.compression.tokens_before": 5000,
        "gateway.compression.tokens_after": 300,
        "gateway.compression.input_tokens": 900,
        "gateway.compression.output_tokens": 80,
        "gateway.cost_usd": 0.5,
        "gateway.session.event_seq.first": 2,
        "gateway.session.event_seq.last": 3,
    }
    calls = [span for span in drawing.exporter.get_finished_spans() if span.name.startswith("chat")]
    assert [attributes(call).get("gen_ai.conversation.compacted") for call in calls] == [True, None]


def test_a_compression_by_itself_has_a_trace_of_its_own() -> None:
    """It belongs to no turn, so it is a root, linked to the request that asked, and its id follows from the
    operation's."""
    drawing = Drawing()
    drawing.upkeep.asked("s_1", REQUEST)
    failed = compression(phase="failed", reason=f"compression_failed: The endpoint said {CANARY}")
    story = Story("c_1").notify(compression(phase="started", trigger="manual")).notify(failed)

    span = drawing.draw(story)["gateway.compression"]

    assert span.parent is None
    assert f"{place(span).trace_id:032x}" == trace_id_of("c_1")
    assert [link.context for link in span.links] == [REQUEST]
    assert attributes(span)["error.type"] == "compression_failed"
    assert attributes(span)["gateway.operation.id"] == "c_1"
    assert span.status.status_code is StatusCode.ERROR
    assert CANARY not in span.to_json()
    assert drawing.observer.turns_followed == 0


def test_an_archive_has_a_span_when_it_is_told() -> None:
    """Whoever archives tells how long it took and whether it worked."""
    drawing = Drawing()
    drawing.observer.notify(lambda reader: reader.archived(SessionArchived("s_1", 1000, 1400)))
    drawing.observer.notify(
        lambda reader: reader.archived(SessionArchived("s_2", 1000, 1200, error="storage_unavailable"))
    )

    done, failed = drawing.exporter.get_finished_spans()
    assert (done.name, milliseconds(done)) == ("gateway.archive", (1000, 1400))
    assert attributes(failed)["error.type"] == "storage_unavailable"
    assert attributes(done)["gateway.session.id"] == "s_1"
    assert f"{place(done).trace_id:032x}" == SessionArchived("s_1", 1000, 1400).trace_id
