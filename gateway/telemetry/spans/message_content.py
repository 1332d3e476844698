"""Messages on spans: only where an operator asks for them.

OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is the variable that OpenTelemetry's own GenAI
instrumentations have. Messages have the form of the conventions (gen-ai-input-messages.json and
gen-ai-output-messages.json); those of a `chat` span are the messages of its turn: earlier messages are in
the spans, and the log, of former turns.
"""

import os
from dataclasses import dataclass, field
from typing import Any

import structlog

from gateway.events.envelope import StoredEvent
from gateway.telemetry import semconv
from gateway.telemetry.observer import FAILURES
from gateway.telemetry.redaction import redact, redact_text
from gateway.telemetry.spans.truncated_json import TRUNCATED, MessageParts, clean_json, plain_json, shorten
from gateway.telemetry.tool_facts import ToolRun
from gateway.telemetry.turn_facts import Call, TelemetryReader, TurnFacts

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MAX_KEPT = 4
"""Times the limit of an attribute: what is kept of one turn's texts, or of its open tools' arguments, until
they are written."""

_JSON = "application/json"

ContentParts = list[dict[str, Any]]

log = structlog.get_logger(__name__)


def content_wanted() -> bool:
    """Whether spans are to carry content. What cannot be done as asked is logged."""
    asked = os.environ.get(VARIABLE, "").strip().upper() or "NO_CONTENT"
    match asked:
        case "NO_CONTENT" | "FALSE":
            return False
        case "SPAN_ONLY" | "TRUE":
            return True
        case "SPAN_AND_EVENT":
            log.warning("content_events_not_supported", variable=VARIABLE, told="on spans only")
            return True
        case "EVENT_ONLY":
            log.warning("content_events_not_supported", variable=VARIABLE, told="nowhere")
            return False
        case _:
            log.warning("content_mode_unknown", variable=VARIABLE, told="nowhere")
            return False


@dataclass(slots=True)
class _TurnContent:
    """The messages of a turn so far. `deltas` are those of the open call, in order, not parsed; `arguments`
    are what the running tools were given, as JSON."""

    messages: MessageParts
    input: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    deltas: list[StoredEvent] = field(default_factory=list[StoredEvent])
    size: int = 0
    cut: bool = False
    answer: str = ""


class Content(TelemetryReader):
    """Puts messages, tool arguments and results, and what steps took and gave on spans, without secrets, and
    at most `limit` characters an attribute. Must come before the readers that end the spans."""

    gathers = True

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._contents: dict[str, _TurnContent] = {}

    @property
    def held(self) -> dict[str, int]:
        """The turns of which something is kept, with the bytes of the deltas of their open call."""
        return {turn_id: content.size for turn_id, content in self._contents.items()}

    @property
    def kept(self) -> dict[str, int]:
        """The same turns with the characters of the messages that are kept for their next call."""
        return {turn_id: content.messages.size for turn_id, content in self._contents.items()}

    def delta(self, turn: TurnFacts, call: Call, event: StoredEvent) -> None:
        content = self._of(turn)
        if content.size > MAX_KEPT * self._limit:
            content.cut = True
            return
        content.size += len(event.body)
        content.deltas.append(event)

    def on_event(self, turn: TurnFacts, body: dict[str, Any]) -> None:
        content, data = self._of(turn), body["data"]
        match body["type"]:
            case "turn_start":
                content.input = self._clean(data["input"])
                self._add(content, "user", [_text(shorten(content.input, self._limit))])
            case "iteration_start" | "iteration_superseded":
                self._drop_deltas(content)
            case "iteration_end":
                self._answer(content)
            case "tool_call":
                self._call(content, body["tool_call_id"], data)
            case "approval_response" if "arguments" in data:
                self._keep_arguments(content, body["tool_call_id"], redact(data["arguments"]))
            case "tool_result":
                self._result(turn, content, body["tool_call_id"], data)
            case _:
                pass

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        content = self._of(turn).messages
        if content.newest_role != "assistant":
            given, output = content.all(), "[]"
        else:
            given, output = (
                content.before_newest(),
                content.newest(_finish(call.stop_reason, call.error, turn)),
            )
        call.span.set_attribute(semconv.INPUT_MESSAGES, given)
        call.span.set_attribute(semconv.OUTPUT_MESSAGES, output)

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        arguments = self._of(turn).arguments.pop(run.call_id, None)
        if arguments is not None:
            run.span.set_attribute(semconv.TOOL_ARGUMENTS, arguments)
        for step in run.steps:
            if step.input is not None:
                step.span.set_attribute(semconv.INPUT, plain_json(step.input, self._limit))
                step.span.set_attribute(semconv.INPUT_MIME, _JSON)
            if step.output is not None:
                step.span.set_attribute(semconv.OUTPUT, plain_json(step.output, self._limit))
                step.span.set_attribute(semconv.OUTPUT_MIME, _JSON)

    def turn_ended(self, turn: TurnFacts) -> None:
        content = self._contents.pop(turn.id, None)
        if content is None:
            return
        asked, answered = MessageParts(self._limit), MessageParts(self._limit)
        asked.begin("user")
        asked.add(_text(content.input))
        answered.begin("assistant")
        answered.add(_text(content.answer))
        finish = _finish(turn.totals.get("stop_reason"), turn.error, turn)
        turn.span.set_attributes(
            {
                semconv.INPUT: shorten(content.input, self._limit),
                semconv.INPUT_MIME: "text/plain",
                semconv.OUTPUT: shorten(content.answer, self._limit),
                semconv.OUTPUT_MIME: "text/plain",
                semconv.INPUT_MESSAGES: asked.all(),
                semconv.OUTPUT_MESSAGES: answered.newest(finish),
            }
        )

    def turn_lost(self, turn: TurnFacts) -> None:
        self._contents.pop(turn.id, None)

    def _answer(self, content: _TurnContent) -> None:
        parts = self._parts(content.deltas)
        if content.cut:
            parts[-1]["content"] += TRUNCATED
        content.answer = "".join(part["content"] for part in parts if part["type"] == "text")
        self._drop_deltas(content)
        self._add(content, "assistant", parts)

    def _call(self, content: _TurnContent, call_id: str, data: dict[str, Any]) -> None:
        arguments = redact(data["arguments"])
        part = {"type": "tool_call", "id": call_id, "name": data["name"], "arguments": arguments}
        self._go_on(content, "assistant", part)
        self._keep_arguments(content, call_id, arguments)

    def _keep_arguments(self, content: _TurnContent, call_id: str, arguments: Any) -> None:
        content.arguments.pop(call_id, None)  # a person may have put others in their place
        left = MAX_KEPT * self._limit - sum(map(len, content.arguments.values()))
        content.arguments[call_id] = clean_json(arguments, max(min(self._limit, left), 0))

    def _result(self, turn: TurnFacts, content: _TurnContent, call_id: str, data: dict[str, Any]) -> None:
        result = self._clean(data["content"])
        part = {"type": "tool_call_response", "id": call_id, "response": shorten(result, self._limit)}
        self._go_on(content, "tool", part)
        if (run := turn.tools.get(call_id)) is not None:
            run.span.set_attribute(semconv.TOOL_OUTCOME, shorten(result, self._limit))

    def _parts(self, deltas: list[StoredEvent]) -> ContentParts:
        parts: ContentParts = []
        for event in deltas:
            kind = "text" if event.type == "text" else "reasoning"
            if not parts or parts[-1]["type"] != kind:
                parts.append({"type": kind, "content": ""})
            parts[-1]["content"] += event.load()["data"]["text"]
        return [{**part, "content": self._clean(part["content"])} for part in parts]

    def _add(self, content: _TurnContent, role: str, parts: ContentParts) -> None:
        content.messages.begin(role)
        for part in parts:
            content.messages.add(part)

    def _go_on(self, content: _TurnContent, role: str, part: dict[str, Any]) -> None:
        if content.messages.newest_role != role:
            content.messages.begin(role)
        content.messages.add(part)

    def _drop_deltas(self, content: _TurnContent) -> None:
        content.deltas, content.size, content.cut = [], 0, False

    def _clean(self, text: str) -> str:
        return redact_text(text[: MAX_KEPT * self._limit])

    def _of(self, turn: TurnFacts) -> _TurnContent:
        return self._contents.get(turn.id) or self._contents.setdefault(
            turn.id, _TurnContent(MessageParts(self._limit))
        )


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _finish(stop_reason: str | None, error: str | None, turn: TurnFacts) -> str:
    """How an answer ended. Where the model gave no reason: "error", or the outcome of a turn that was
    stopped."""
    if stop_reason is not None:
        return semconv.FINISH.get(stop_reason, stop_reason)
    if error is not None or turn.outcome in FAILURES:
        return "error"
    return turn.outcome or semconv.UNFINISHED
