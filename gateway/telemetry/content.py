"""What was said, on the spans that say when: only where an operator asks for it.

OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is the variable that OpenTelemetry's own GenAI
instrumentations have. Messages have the form of the conventions (gen-ai-input-messages.json and
gen-ai-output-messages.json); those of a `chat` span are the messages of its turn: what was said before is in
the spans, and the log, of former turns.
"""

import os
from dataclasses import dataclass, field
from typing import Any

import structlog

from gateway.events.envelope import StoredEvent
from gateway.telemetry import semconv
from gateway.telemetry.base import Call, Reader, Turn
from gateway.telemetry.content_json import TRUNCATED, Messages, clean_json, plain_json, shorten
from gateway.telemetry.observer import FAILURES
from gateway.telemetry.redaction import redact, redact_text
from gateway.telemetry.tool_runs import ToolRun

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MAX_KEPT = 4
"""Times the limit of an attribute: what is kept of one turn's texts, or of its open tools' arguments, until
they are written."""

_JSON = "application/json"

Parts = list[dict[str, Any]]

log = structlog.get_logger(__name__)


def content_wanted() -> bool:
    """Whether spans are to carry content. What cannot be done as asked is said in the log."""
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
class _Said:
    """What a turn said so far. `pieces` are those of the open call, in order, not parsed; `arguments` are
    what the running tools were given, as JSON."""

    messages: Messages
    input: str = ""
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    pieces: list[StoredEvent] = field(default_factory=list[StoredEvent])
    size: int = 0
    cut: bool = False
    answer: str = ""


class Content(Reader):
    """Puts messages, tool arguments and results, and what steps took and gave on spans, without secrets, and
    at most `limit` characters an attribute. Must be told before the readers that end the spans."""

    gathers = True

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._said: dict[str, _Said] = {}

    @property
    def held(self) -> dict[str, int]:
        """The turns of which something is kept, with the bytes of the pieces of their open call."""
        return {turn_id: said.size for turn_id, said in self._said.items()}

    @property
    def kept(self) -> dict[str, int]:
        """The same turns with the characters of the messages that are kept for their next call."""
        return {turn_id: said.messages.size for turn_id, said in self._said.items()}

    def piece(self, turn: Turn, call: Call, event: StoredEvent) -> None:
        said = self._of(turn)
        if said.size > MAX_KEPT * self._limit:
            said.cut = True
            return
        said.size += len(event.body)
        said.pieces.append(event)

    def heard(self, turn: Turn, body: dict[str, Any]) -> None:
        said, data = self._of(turn), body["data"]
        match body["type"]:
            case "turn_start":
                said.input = self._clean(data["input"])
                self._add(said, "user", [_text(shorten(said.input, self._limit))])
            case "iteration_start" | "iteration_superseded":
                self._forget_pieces(said)
            case "iteration_end":
                self._answer(said)
            case "tool_call":
                self._call(said, body["tool_call_id"], data)
            case "approval_response" if "arguments" in data:
                self._keep_arguments(said, body["tool_call_id"], redact(data["arguments"]))
            case "tool_result":
                self._result(turn, said, body["tool_call_id"], data)
            case _:
                pass

    def call_ended(self, turn: Turn, call: Call) -> None:
        said = self._of(turn).messages
        if said.newest_role != "assistant":
            given, told = said.all(), "[]"
        else:
            given, told = said.before_newest(), said.newest(_finish(call.stop_reason, call.error, turn))
        call.span.set_attribute(semconv.INPUT_MESSAGES, given)
        call.span.set_attribute(semconv.OUTPUT_MESSAGES, told)

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
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

    def turn_ended(self, turn: Turn) -> None:
        said = self._said.pop(turn.id, None)
        if said is None:
            return
        asked, answered = Messages(self._limit), Messages(self._limit)
        asked.begin("user")
        asked.add(_text(said.input))
        answered.begin("assistant")
        answered.add(_text(said.answer))
        finish = _finish(turn.totals.get("stop_reason"), turn.error, turn)
        turn.span.set_attributes(
            {
                semconv.INPUT: shorten(said.input, self._limit),
                semconv.INPUT_MIME: "text/plain",
                semconv.OUTPUT: shorten(said.answer, self._limit),
                semconv.OUTPUT_MIME: "text/plain",
                semconv.INPUT_MESSAGES: asked.all(),
                semconv.OUTPUT_MESSAGES: answered.newest(finish),
            }
        )

    def turn_lost(self, turn: Turn) -> None:
        self._said.pop(turn.id, None)

    def _answer(self, said: _Said) -> None:
        parts = self._parts(said.pieces)
        if said.cut:
            parts[-1]["content"] += TRUNCATED
        said.answer = "".join(part["content"] for part in parts if part["type"] == "text")
        self._forget_pieces(said)
        self._add(said, "assistant", parts)

    def _call(self, said: _Said, call_id: str, data: dict[str, Any]) -> None:
        arguments = redact(data["arguments"])
        part = {"type": "tool_call", "id": call_id, "name": data["name"], "arguments": arguments}
        self._go_on(said, "assistant", part)
        self._keep_arguments(said, call_id, arguments)

    def _keep_arguments(self, said: _Said, call_id: str, arguments: Any) -> None:
        said.arguments.pop(call_id, None)  # a person may have put others in their place
        room = MAX_KEPT * self._limit - sum(map(len, said.arguments.values()))
        said.arguments[call_id] = clean_json(arguments, max(min(self._limit, room), 0))

    def _result(self, turn: Turn, said: _Said, call_id: str, data: dict[str, Any]) -> None:
        content = self._clean(data["content"])
        part = {"type": "tool_call_response", "id": call_id, "response": shorten(content, self._limit)}
        self._go_on(said, "tool", part)
        if (run := turn.tools.get(call_id)) is not None:
            run.span.set_attribute(semconv.TOOL_OUTCOME, shorten(content, self._limit))

    def _parts(self, pieces: list[StoredEvent]) -> Parts:
        parts: Parts = []
        for event in pieces:
            kind = "text" if event.type == "text" else "reasoning"
            if not parts or parts[-1]["type"] != kind:
                parts.append({"type": kind, "content": ""})
            parts[-1]["content"] += event.load()["data"]["text"]
        return [{**part, "content": self._clean(part["content"])} for part in parts]

    def _add(self, said: _Said, role: str, parts: Parts) -> None:
        said.messages.begin(role)
        for part in parts:
            said.messages.add(part)

    def _go_on(self, said: _Said, role: str, part: dict[str, Any]) -> None:
        if said.messages.newest_role != role:
            said.messages.begin(role)
        said.messages.add(part)

    def _forget_pieces(self, said: _Said) -> None:
        said.pieces, said.size, said.cut = [], 0, False

    def _clean(self, text: str) -> str:
        return redact_text(text[: MAX_KEPT * self._limit])

    def _of(self, turn: Turn) -> _Said:
        return self._said.get(turn.id) or self._said.setdefault(turn.id, _Said(Messages(self._limit)))


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _finish(stop_reason: str | None, error: str | None, turn: Turn) -> str:
    """How an answer ended. Where the model did not say: "error", or the outcome of a turn that somebody
    stopped."""
    if stop_reason is not None:
        return semconv.FINISH.get(stop_reason, stop_reason)
    if error is not None or turn.outcome in FAILURES:
        return "error"
    return turn.outcome or semconv.UNFINISHED
