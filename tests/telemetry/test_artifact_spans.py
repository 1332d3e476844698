"""What traces tell of what is kept aside and of files that come with a message."""

from gateway.events.lifecycle import TurnWarning
from gateway.ids import span_id_of
from tests.telemetry.artifact_events import kept_aside, with_files
from tests.telemetry.drawing import Drawing, attributes, milliseconds, moments, parent_name, place
from tests.telemetry.story import CANARY, TRACE_ID, Story

OF_THE_TURN = {"gen_ai.conversation.id": "s_1", "session.id": "s_1", "gateway.turn.id": "t_1"}


def test_what_is_kept_aside_is_a_moment_in_its_call() -> None:
    """With its reference, kind and size, and where it stands in the log; without name, type or content."""
    story = kept_aside(Story().begin().call("look", "toolu_1"))
    at = story.at
    story.result("look", "toolu_1")

    drawing = Drawing()
    spans = drawing.draw(story.done())

    span = spans["gateway.artifact"]
    assert milliseconds(span) == (at, at)
    assert parent_name(span, spans) == "execute_tool look"
    assert f"{place(span).span_id:016x}" == span_id_of(TRACE_ID, "artifact 3")
    assert attributes(span) == {
        **OF_THE_TURN,
        "gateway.artifact.ref": "ART-0123456789",
        "gateway.artifact.kind": "json",
        "gateway.artifact.size": 2048,
        "gateway.artifact.lines": 12,
        "gateway.session.event_seq.first": 3,
        "gateway.session.event_seq.last": 3,
    }
    assert CANARY not in "".join(span.to_json() for span in drawing.exporter.get_finished_spans())


def test_what_has_no_call_here_belongs_to_the_turn() -> None:
    """A result without lines or kind, of a call that another process knows."""
    spans = Drawing().draw(kept_aside(Story().begin(), call="toolu_9", kind=None, lines=None).done())

    span = spans["gateway.artifact"]
    assert parent_name(span, spans) == "invoke_agent support"
    assert not {"gateway.artifact.kind", "gateway.artifact.lines"} & attributes(span).keys()


def test_a_turn_says_how_many_files_its_message_brought() -> None:
    """And their bytes together; one that brought none says nothing of them."""
    drawing = Drawing()
    root = attributes(drawing.draw(with_files(100, 23).done())["invoke_agent support"])
    bare = attributes(Drawing().draw(Story().begin().done())["invoke_agent support"])

    assert (root["gateway.turn.attachments"], root["gateway.turn.attachments_size"]) == (2, 123)
    assert not any("attachments" in name for name in bare)
    assert CANARY not in "".join(span.to_json() for span in drawing.exporter.get_finished_spans())


def test_what_could_not_be_kept_or_shown_is_an_event_of_the_turn() -> None:
    """With its code and no words; other warnings are not."""
    story, expected = Story().begin(), list[tuple[str, int]]()
    for code in ("artifact_not_kept", "summary_failed", "attachment_not_shown"):
        story.notify(TurnWarning(code=code, message=CANARY))
        if code != "summary_failed":
            expected.append(("gateway.warning", story.at))

    root = Drawing().draw(story.done())["invoke_agent support"]

    assert moments(root.events) == expected
    codes = [(event.attributes or {})["gateway.warning.code"] for event in root.events]
    assert codes == ["artifact_not_kept", "attachment_not_shown"]
    assert CANARY not in root.to_json()
