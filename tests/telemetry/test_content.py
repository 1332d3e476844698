"""What was said, on spans, where an operator asks for it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from gateway.events.tool_calls import ToolCall
from gateway.telemetry.observer import Observer
from gateway.telemetry.redaction import REDACTED, redact
from gateway.telemetry.spans.message_content import VARIABLE, Content, content_wanted
from gateway.telemetry.spans.span_creation import Traces, TurnIds
from gateway.telemetry.spans.tool_spans import ToolSpans
from gateway.telemetry.spans.truncated_json import TRUNCATED, MessageParts, plain_json
from gateway.telemetry.spans.turn_spans import Called, Spans
from gateway.telemetry.turn_facts import TelemetryReader
from tests.telemetry.story import CANARY, MODEL, Story, with_tools

PARTS = {
    "text": {"content": {"type": "string"}},
    "reasoning": {"content": {"type": "string"}},
    "tool_call": {"id": {"type": "string"}, "name": {"type": "string"}, "arguments": {"type": "object"}},
    "tool_call_response": {"id": {"type": "string"}, "response": {"type": "string"}},
}
"""Parts of messages as the conventions define them (gen-ai-input-messages.json), as far as we use them."""

MESSAGES = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["role", "parts"],
        "properties": {
            "role": {"enum": ["user", "assistant", "tool"]},
            "parts": {
                "type": "array",
                "items": {
                    "oneOf": [
                        {
                            "type": "object",
                            "properties": {"type": {"const": kind}, **fields},
                            "required": ["type", *fields],
                            "additionalProperties": False,
                        }
                        for kind, fields in PARTS.items()
                    ]
                },
            },
            "finish_reason": {"type": "string"},
        },
        "additionalProperties": False,
    },
}


class Drawing:
    def __init__(self, limit: int = 10_000, content: Content | None = None) -> None:
        self.exporter = InMemorySpanExporter()
        ids = TurnIds()
        provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        traces = Traces(provider, ids)
        spans: list[TelemetryReader] = [
            Spans(traces, Called("support")),
            ToolSpans(traces, Called("support")),
        ]
        self.observer = Observer([content or Content(limit), *spans])

    def draw(self, story: Story) -> list[ReadableSpan]:
        self.observer.observe(story.session_id, story.events)
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)


def told(span: ReadableSpan, name: str) -> Any:
    return json.loads(str((span.attributes or {})[name]))


def messages(span: ReadableSpan, name: str) -> list[dict[str, Any]]:
    found = told(span, name)
    Draft202012Validator(MESSAGES).validate(found)
    return found


def test_a_turn_shows_what_was_asked_and_answered() -> None:
    """On the root as plain text, where session views look for it, and as messages."""
    root = Drawing().draw(with_tools())[0]
    found = root.attributes or {}

    assert found["input.value"] == f"Hi {CANARY}"
    assert found["output.value"] == f"So {CANARY}"
    assert found["input.mime_type"] == found["output.mime_type"] == "text/plain"
    assert messages(root, "gen_ai.input.messages") == [
        {"role": "user", "parts": [{"type": "text", "content": f"Hi {CANARY}"}]}
    ]
    (answer,) = messages(root, "gen_ai.output.messages")
    assert (answer["role"], answer["parts"]) == ("assistant", [{"type": "text", "content": f"So {CANARY}"}])


def test_a_model_call_shows_its_messages_in_the_form_of_the_conventions() -> None:
    """Thoughts, text and tool calls of the answer; the next call is given them with the tools' results."""
    first, second = [span for span in Drawing().draw(with_tools()) if span.name == f"chat {MODEL}"]

    (answer,) = messages(first, "gen_ai.output.messages")
    assert answer["finish_reason"] == "tool_call"
    assert [part["type"] for part in answer["parts"]] == ["reasoning", "text", "tool_call", "tool_call"]
    assert answer["parts"][1]["content"] == f"Let me see {CANARY} ..."
    assert answer["parts"][2] == {
        "type": "tool_call",
        "id": "toolu_1",
        "name": "search_docs",
        "arguments": {"query": CANARY},
    }
    given = messages(second, "gen_ai.input.messages")
    assert [message["role"] for message in given] == ["user", "assistant", "tool"]
    assert [part["id"] for part in given[2]["parts"]] == ["toolu_2", "toolu_1"]
    (last,) = messages(second, "gen_ai.output.messages")
    assert last["finish_reason"] == "stop"


def test_a_tool_shows_arguments_and_result() -> None:
    """Under the names of the conventions."""
    tool = next(span for span in Drawing().draw(with_tools()) if span.name == "execute_tool search_docs")

    assert told(tool, "gen_ai.tool.call.arguments") == {"query": CANARY}
    assert (tool.attributes or {})["gen_ai.tool.call.result"] == CANARY


def test_secrets_stay_out_of_content() -> None:
    """By their look, also when they came in pieces, and by the name of an argument."""
    story = Story().begin().ask().say("The key is sk-ant-api0", "3-hunter2 so").answered("tool_use", None)
    arguments = {"password": "hunter2", "url": "https://ada:hunter2@db/x"}
    story.notify(ToolCall(name="fetch", arguments=arguments, effect="read_only"), iteration=1, call="toolu_1")
    story.result("fetch", "toolu_1").done()

    spans = Drawing().draw(story)

    assert "hunter2" not in "".join(span.to_json() for span in spans)
    tool = next(span for span in spans if span.name.startswith("execute_tool"))
    assert told(tool, "gen_ai.tool.call.arguments")["password"] == REDACTED


def test_long_content_is_cut_and_stays_json() -> None:
    """Every attribute keeps its limit, and what is JSON can still be read."""
    story = Story().begin().ask().say(*["long words "] * 2000).answered("tool_use", None)
    story.call("search_docs", "toolu_1").result("search_docs", "toolu_1")
    story.ask(2).say(*["more words "] * 2000, iteration=2).answered("end_turn", None, iteration=2).done()

    for span in Drawing(limit=600).draw(story):
        for name, value in (span.attributes or {}).items():
            if isinstance(value, str):
                assert len(value) <= 600, name
            if name.endswith(".messages"):
                assert messages(span, name)
    root = Drawing(limit=600).draw(story)[0]
    assert str((root.attributes or {})["output.value"]).endswith(TRUNCATED)


def test_steps_show_what_they_took_and_gave() -> None:
    """As JSON, without secrets, within the limit; a step that says neither has neither."""
    taken = {"query": "猫 cat", "password": "hunter2"}
    full = {"step_id": "1", "step_name": "look", "input": taken, "output": ["x" * 5000], "duration_ms": 3}
    bare = {"step_id": "2", "step_name": "rest", "duration_ms": 3}
    story = Story().begin().ask().answered("tool_use", None).call("find", "toolu_1")

    spans = Drawing(limit=1000).draw(story.result("find", "toolu_1", steps=[full, bare]).done())

    first, second = [span for span in spans if span.name == "gateway.tool.step"]
    assert told(first, "input.value") == {"query": "猫 cat", "password": REDACTED}
    assert told(first, "output.value")[0].endswith(TRUNCATED)
    found = first.attributes or {}
    assert found["input.mime_type"] == found["output.mime_type"] == "application/json"
    assert len(str(found["output.value"])) <= 1000
    assert not any(name.endswith("value") for name in second.attributes or {})


def test_a_tool_shows_the_arguments_that_a_person_put_in_place() -> None:
    """It ran with those; what the model asked for stands in its message."""
    story = Story().begin().ask().answered("tool_use", None).call("send", "toolu_1").asked("send", "toolu_1")
    edited = {"query": "没有秘密", "token": "hunter2"}
    story.decided("toolu_1", "approved", "ada", arguments=edited).result("send", "toolu_1").done()

    spans = Drawing().draw(story)

    tool = next(span for span in spans if span.name == "execute_tool send")
    assert told(tool, "gen_ai.tool.call.arguments") == {"query": "没有秘密", "token": REDACTED}
    chat = next(span for span in spans if span.name == f"chat {MODEL}")
    (answer,) = messages(chat, "gen_ai.output.messages")
    assert answer["parts"][0]["arguments"] == {"query": CANARY}


TEXTS = st.text(max_size=300)
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool"]),
        "parts": st.lists(
            st.fixed_dictionaries({"type": st.just("text"), "content": TEXTS})
            | st.fixed_dictionaries(
                {
                    "type": st.just("tool_call"),
                    "id": st.just("toolu_1"),
                    "name": st.just("fetch"),
                    "arguments": st.dictionaries(TEXTS, TEXTS | st.integers() | st.none(), max_size=5),
                }
            ),
            max_size=5,
        ),
    }
)


def messages_json(messages: list[dict[str, Any]], limit: int) -> str:
    """The messages of a turn as they come, as an attribute."""
    kept = MessageParts(limit)
    for message in messages:
        kept.begin(message["role"])
        for part in message["parts"]:
            kept.add(redact(part))
    return kept.all()


@given(st.lists(MESSAGE, max_size=8), st.integers(256, 2000))
def test_whatever_is_cut_is_valid(messages: list[dict[str, Any]], limit: int) -> None:
    """Any messages, any limit: JSON within the limit that fits the schema; the newest ones stay."""
    text = messages_json(messages, limit)

    assert len(text) <= limit
    found = json.loads(text)
    Draft202012Validator(MESSAGES).validate(found)
    assert [message["role"] for message in found] == [message["role"] for message in messages][
        len(messages) - len(found) :
    ]
    assert len(plain_json(messages, limit)) <= limit
    json.loads(plain_json(messages, limit))


def test_a_long_turn_keeps_what_is_newest() -> None:
    """However much its tools are given: what is kept has a bound, and each call is told with the newest."""
    limit = 2000
    content = Content(limit)
    drawing = Drawing(limit, content)
    story = Story().begin()
    for number in range(1, 16):
        story.ask(number).say("Let me see", iteration=number).answered("tool_use", None, iteration=number)
        given = {"lines": [f"line {line} of {number}" for line in range(60)]}
        call = ToolCall(name="write", arguments=given, effect="read_only")
        story.notify(call, iteration=number, call=f"toolu_{number}").result("write", f"toolu_{number}")
    story.ask(16).say("Done", iteration=16)

    spans = drawing.draw(story)

    assert content.kept["t_1"] <= 4 * limit
    for number, chat in enumerate((span for span in spans if span.name == f"chat {MODEL}"), 1):
        assert len(str((chat.attributes or {})["gen_ai.input.messages"])) <= limit
        (answer,) = messages(chat, "gen_ai.output.messages")
        assert answer["parts"][-1]["arguments"]["lines"][-1] == f"line 59 of {number}"
        if number > 1:
            (result,) = messages(chat, "gen_ai.input.messages")[-1]["parts"]
            assert result["id"] == f"toolu_{number - 1}"


def test_a_message_that_does_not_fit_is_cut_and_says_so() -> None:
    """Long texts are shortened; of too many parts the newest stay, behind a mark."""
    call = {"type": "tool_call", "id": "toolu_1", "name": "fetch", "arguments": {"text": "x" * 5000}}
    many = [{**call, "id": f"toolu_{number}", "arguments": {}} for number in range(50)]

    (long,) = json.loads(messages_json([{"role": "assistant", "parts": [call]}], 300))
    (full,) = json.loads(messages_json([{"role": "assistant", "parts": many}], 600))

    assert long["parts"][0]["arguments"]["text"].endswith(TRUNCATED)
    assert full["parts"][0] == {"type": "text", "content": TRUNCATED}
    assert full["parts"][-1] == many[-1]
    assert len(full["parts"]) > 2


@pytest.mark.parametrize(
    ("status", "message"),
    [("cancelled", "cancelled"), ("limit_reached", "limit_reached"), ("failed", "error")],
)
def test_an_answer_that_was_stopped_is_no_error(status: str, message: str) -> None:
    """Only what failed is: of the turn as well as of its last call."""
    story = Story().begin().ask().say("So").answered(None, None).done(status)

    for span in Drawing().draw(story):
        (answer,) = messages(span, "gen_ai.output.messages")
        assert answer["finish_reason"] == message


def test_a_turn_of_a_former_process_has_its_content() -> None:
    """What was asked before the restart is recalled with the rest."""
    story, drawing = with_tools(), Drawing()
    drawing.observer.replay("s_1", story.events[:10])
    drawing.observer.observe("s_1", story.events[10:])

    root = next(span for span in drawing.exporter.get_finished_spans() if span.parent is None)
    assert (root.attributes or {})["input.value"] == f"Hi {CANARY}"


def test_nothing_is_kept_of_a_turn_that_is_over_or_lost() -> None:
    """Content is held for open turns only, and of a long answer no more than will be told."""
    content = Content(300)
    observer = Observer([content], turn_limit=1)
    observer.observe("s_1", with_tools().events)
    observer.observe("s_1", Story("t_lost").begin().events)
    long = Story("t_long").begin().ask().say(*["x" * 100] * 100)
    observer.observe("s_1", long.events)

    assert list(content.held) == ["t_long"]
    assert content.held["t_long"] < 3000


@pytest.mark.parametrize(
    ("asked", "wanted", "warned"),
    [
        (None, False, None),
        ("NO_CONTENT", False, None),
        ("span_only", True, None),
        ("true", True, None),
        ("SPAN_AND_EVENT", True, "on spans only"),
        ("EVENT_ONLY", False, "nowhere"),
        ("everything", False, "nowhere"),
    ],
)
def test_content_is_asked_for_by_the_standard_variable(
    monkeypatch: pytest.MonkeyPatch, asked: str | None, wanted: bool, warned: str | None
) -> None:
    """Off unless asked for; what is not done as asked is said."""
    if asked is not None:
        monkeypatch.setenv(VARIABLE, asked)

    with capture_logs() as lines:
        assert content_wanted() is wanted

    assert [line["told"] for line in lines] == ([warned] if warned else [])
