"""What a trace tells of a tool call beside that it ran: decisions, skills, steps."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from gateway.ids import span_id_of
from gateway.telemetry.spans.turn_spans import Called
from tests.telemetry.drawing import Drawing, attributes, milliseconds, parent_name, place
from tests.telemetry.story import CANARY, HOUR, TRACE_ID, Story, with_approval

OF_THE_TURN = {"gen_ai.conversation.id": "s_1", "session.id": "s_1", "gateway.turn.id": "t_1"}


def drawn(story: Story, called: Called | None = None) -> dict[str, list[ReadableSpan]]:
    drawing = Drawing(called=called or Called("support"))
    drawing.draw(story)
    spans: dict[str, list[ReadableSpan]] = {}
    for span in drawing.exporter.get_finished_spans():
        spans.setdefault(span.name, []).append(span)
    return spans


def called(name: str = "send", call_id: str = "toolu_1") -> Story:
    return Story().begin().ask().answered("tool_use", None).call(name, call_id)


def test_an_approval_lasts_from_the_question_to_the_answer() -> None:
    """It is a part of the call, names neither the person nor the words, and is no error."""
    story = with_approval()

    spans = Drawing().draw(story)

    span = spans["gateway.approval"]
    asked, answered = (story.events[number].load() for number in (5, 7))
    assert (asked["type"], answered["type"]) == ("approval_request", "approval_response")
    assert milliseconds(span) == (asked["ts"], answered["ts"])
    assert parent_name(span, spans) == "execute_tool send"
    assert f"{place(span).span_id:016x}" == span_id_of(TRACE_ID, "approval toolu_1")
    assert attributes(span) == {
        **OF_THE_TURN,
        "gateway.approval.asked": True,
        "gateway.approval.decision": "approved",
        "gateway.approval.by": "user",
        "gateway.approval.scope": "session",
        "gateway.session.event_seq.first": 6,
        "gateway.session.event_seq.last": 8,
    }
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("decision", "by", "status"), [("denied", "policy", "denied"), ("approved", "grant", "ok")]
)
def test_a_decision_that_nobody_was_asked_for_is_a_moment(decision: str, by: str, status: str) -> None:
    """A rule or an earlier approval decides at once."""
    story = called().decided("toolu_1", decision, by)
    at = story.at

    spans = drawn(story.result("send", "toolu_1", status).done())

    (span,) = spans["gateway.approval"]
    assert milliseconds(span) == (at, at)
    assert {"gateway.approval.asked": False, "gateway.approval.by": by}.items() <= attributes(span).items()
    (call,) = spans["execute_tool send"]
    assert attributes(call)["gateway.tool.status"] == status
    assert call.status.status_code is StatusCode.UNSET


def test_whoever_decided_is_told_by_a_pseudonym_or_not_at_all() -> None:
    """As the owner of the turn is, with the same salt; a rule is nobody."""
    story, ruled = with_approval(), called().decided("toolu_1", "denied", "policy").done()

    (salted,) = drawn(story, Called("support", salt="salt"))["gateway.approval"]
    (rule,) = drawn(ruled, Called("support", salt="salt"))["gateway.approval"]

    assert len(attributes(salted)["user.id"]) == 16
    assert "user.id" not in attributes(rule)
    assert "ada" not in str([span.to_json() for spans in drawn(story).values() for span in spans])


def test_a_question_that_the_end_of_the_turn_answers_has_no_decision() -> None:
    """Cancelled while it waited: the span ends with the call."""
    story = called().asked("send", "toolu_1").result("send", "toolu_1", "cancelled")
    at = story.at

    (span,) = drawn(story.done("cancelled"))["gateway.approval"]

    assert milliseconds(span)[1] == at
    assert "gateway.approval.decision" not in attributes(span)
    assert span.status.status_code is StatusCode.UNSET


def test_skills_that_were_read_and_refused_are_parts_of_the_call() -> None:
    """With type, file and digest, and without the reason's words."""
    story = called("read_skill").used("release-notes", "read", "toolu_1", digest="ab" * 32)
    story.used("release-notes", "read", "toolu_1", path="references/格式.md", digest="cd" * 32)
    story.result("read_skill", "toolu_1").call("deploy", "toolu_2")
    story.used("md:deploy", "refused", "toolu_2").result("deploy", "toolu_2", "denied").done()

    drawing = Drawing()
    spans = drawing.draw(story)
    body, file, refused = [
        span for span in drawing.exporter.get_finished_spans() if span.name == "gateway.skill"
    ]

    assert attributes(body) == {
        **OF_THE_TURN,
        "gateway.skill.name": "release-notes",
        "gateway.skill.type": "markdown",
        "gateway.skill.action": "read",
        "gateway.skill.digest": "ab" * 32,
        "gateway.session.event_seq.first": 5,
        "gateway.session.event_seq.last": 5,
    }
    assert attributes(file)["gateway.skill.path"] == "references/格式.md"
    assert {"gateway.skill.name": "md:deploy", "gateway.skill.action": "refused"}.items() <= attributes(
        refused
    ).items()
    assert [parent_name(span, spans) for span in (body, file, refused)] == [
        "execute_tool read_skill",
        "execute_tool read_skill",
        "execute_tool deploy",
    ]


@pytest.mark.parametrize("name", ["my cat Tofu", "我的猫叫豆腐", "x" * 81, "../../etc/passwd", ""])
def test_what_is_no_name_is_not_told_as_one(name: str) -> None:
    """A model may ask for a skill by any text, and that is content until there is such a skill."""
    refused = called("read_skill").used(name, "refused", "toolu_1").done()
    there = called("read_skill").used(name, "read", "toolu_1").done()

    for story, outcome in ((refused, "_OTHER"), (there, name)):
        (span,) = drawn(story)["gateway.skill"]
        assert attributes(span)["gateway.skill.name"] == outcome


def test_the_steps_of_a_tool_are_parts_of_the_call() -> None:
    """Each as long as the tool says, a failed one is an error, and one that has no beginning ended last."""
    story = with_approval()
    result = story.events[8].load()
    assert result["type"] == "tool_result"

    spans = drawn(story)

    first, second = spans["gateway.tool.step"]
    began = result["data"]["steps"][0]["timestamp"]
    assert milliseconds(first) == (began, began + 15)
    assert milliseconds(second) == (result["ts"] - 20, result["ts"])
    assert attributes(first) == {
        **OF_THE_TURN,
        "gateway.tool.step.id": "step-1",
        "gateway.tool.step.name": "look up",
    }
    assert {"gateway.tool.step.name": "送信", "error.type": "TimeoutError"}.items() <= attributes(
        second
    ).items()
    assert [step.status.status_code for step in (first, second)] == [StatusCode.UNSET, StatusCode.ERROR]
    (call,) = spans["execute_tool send"]
    assert call.status.status_code is StatusCode.UNSET
    assert attributes(call)["gateway.tool.memory_suggestions"] == 1
    assert {step.parent.span_id for step in (first, second) if step.parent} == {place(call).span_id}
    assert place(first).span_id != place(second).span_id


LONG = st.integers(0, 2**53)  # what the event contract allows
STEP = st.fixed_dictionaries(
    {"duration_ms": LONG}, optional={"timestamp": LONG, "error": st.text(max_size=99)}
)


@given(st.lists(STEP, max_size=5))
def test_whatever_a_tool_says_of_its_steps_they_lie_within_the_call(steps: Sequence[dict[str, Any]]) -> None:
    """Any time and any length: no span that nobody can read, and the type of an error is one word."""
    traces = [{"step_id": "same", "step_name": "a", **step} for step in steps]
    story = called().result("send", "toolu_1", ms=500, steps=traces).done()

    spans = drawn(story)

    (call,) = spans["execute_tool send"]
    start, end = milliseconds(call)
    found = spans.get("gateway.tool.step", [])
    assert len(found) == len(steps)
    assert len({place(span).span_id for span in found}) == len(steps)
    for step, span in zip(steps, found, strict=True):
        assert start <= milliseconds(span)[0] <= milliseconds(span)[1] <= end
        assert ("error.type" in attributes(span)) == ("error" in step)
        assert " " not in attributes(span).get("error.type", "")


def test_an_error_in_words_is_told_as_another() -> None:
    """What a step says about its failure may quote what it was given."""
    step = {"step_id": "1", "step_name": "a", "duration_ms": 1, "error": f"no such cat: {CANARY}"}

    (span,) = drawn(called().result("send", "toolu_1", steps=[step]).done())["gateway.tool.step"]

    assert attributes(span)["error.type"] == "_OTHER"


def test_nothing_that_was_said_gets_into_a_span() -> None:
    """Neither arguments and reasons, nor what steps took and gave, nor what is worth remembering."""
    story = with_approval()
    refused = called("read_skill").used(f"the {CANARY}", "refused", "toolu_1").done()

    texts = [span.to_json() for each in (story, refused) for spans in drawn(each).values() for span in spans]

    assert len(texts) == 12
    assert CANARY not in "".join(texts)


def test_a_turn_that_waited_says_for_how_long() -> None:
    """Only while there was nothing else to do; its first text is not late for it."""
    story = with_approval()
    first_text = next(event.ts for event in story.events if event.type == "text")
    done = story.events[-1].load()["data"]
    late = Story().begin().ask().answered("tool_use", None).call("send", "toolu_1").asked("send", "toolu_1")
    late.decided("toolu_1", "approved", "ada", ms=HOUR).result("send", "toolu_1").ask(2)
    late.say("So", iteration=2).answered("end_turn", None, iteration=2)

    (root,) = drawn(story)["invoke_agent support"]
    (silent,) = drawn(late.done(ttft_ms=HOUR + 70))["invoke_agent support"]

    assert attributes(root)["gateway.turn.waited"] == HOUR / 1000
    assert first_text - story.started_at > HOUR
    assert done["duration_ms"] > HOUR
    assert attributes(silent)["gateway.turn.time_to_first_text"] == 0.07


def test_two_questions_wait_together() -> None:
    """The time is counted once, and what runs between two answers is no waiting."""
    story = called().call("post", "toolu_2").asked("send", "toolu_1").asked("post", "toolu_2")
    story.decided("toolu_1", "approved", "ada", ms=1000).result("send", "toolu_1", ms=400)
    story.decided("toolu_2", "denied", "expiry", ms=3000).result("post", "toolu_2", "denied").done()

    (root,) = drawn(story)["invoke_agent support"]

    assert attributes(root)["gateway.turn.waited"] == 4.0


def test_a_call_that_the_client_runs_waits_until_its_result() -> None:
    """Its span says where it ran, and as long as it was the only one the turn waited."""
    story = Story().begin().ask().answered("tool_use", None)
    story.call("search", "toolu_1").call("locate", "client_1", runs_on="client").result("search", "toolu_1")
    story.result("locate", "client_1", ms=3000).done()

    spans = drawn(story)

    (root,), (locate,) = spans["invoke_agent support"], spans["execute_tool locate"]
    (search,) = spans["execute_tool search"]
    assert attributes(root)["gateway.turn.waited"] == 3.0
    assert attributes(locate)["gateway.tool.runs_on"] == "client"
    assert "gateway.tool.runs_on" not in attributes(search)
