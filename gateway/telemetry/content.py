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
from gateway.telemetry.base import Call, Reader, ToolRun, Turn
from gateway.telemetry.content_json import TRUNCATED, messages_json, plain_json, shorten
from gateway.telemetry.redaction import redact_text

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
MOST_KEPT = 4
"""Times the limit of an attribute: what is kept of one turn's texts until they are written."""

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
    """What a turn said so far. `pieces` are those of the open call, in order, not parsed."""

    input: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    pieces: list[StoredEvent] = field(default_factory=list[StoredEvent])
    size: int = 0
    cut: bool = False
    answer: str = ""


class Content(Reader):
    """Puts messages, tool arguments and results on spans, without secrets, and at most `limit` characters an
    attribute. Must be told before the reader that ends the spans."""

    gathers = True

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._said: dict[str, _Said] = {}

    @property
    def held(self) -> dict[str, int]:
        """The turns of which something is kept, with the bytes of the pieces of their open call."""
        return {turn_id: said.size for turn_id, said in self._said.items()}

    def piece(self, turn: Turn, call: Call, event: StoredEvent) -> None:
        said = self._of(turn)
        if said.size > MOST_KEPT * self._limit:
            said.cut = True
            return
        said.size += len(event.body)
        said.pieces.append(event)

    def heard(self, turn: Turn, body: dict[str, Any]) -> None:
        said, data = self._of(turn), body["data"]
        match body["type"]:
            case "turn_start":
                said.input = self._clean(data["input"])
                self._add(said, "user", [_text(said.input)])
            case "iteration_start" | "iteration_superseded":
                self._forget_pieces(said)
            case "iteration_end":
                self._answer(said)
            case "tool_call":
                self._call(said, body["tool_call_id"], data)
            case "tool_result":
                self._result(turn, said, body["tool_call_id"], data)
            case _:
                pass

    def call_ended(self, turn: Turn, call: Call) -> None:
        given, told = self._of(turn).messages, list[dict[str, Any]]()
        if given and given[-1]["role"] == "assistant":
            told = [{**given[-1], "finish_reason": _finish(call.stop_reason)}]
            given = given[:-1]
        call.span.set_attribute(semconv.INPUT_MESSAGES, self._messages(given))
        call.span.set_attribute(semconv.OUTPUT_MESSAGES, self._messages(told))

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
        for message in reversed(self._of(turn).messages):
            for part in message["parts"]:
                if part["type"] == "tool_call" and part["id"] == run.call_id:
                    told = plain_json(part["arguments"], self._limit)
                    run.span.set_attribute(semconv.TOOL_ARGUMENTS, told)
                    return

    def turn_ended(self, turn: Turn) -> None:
        said = self._said.pop(turn.id, None)
        if said is None:
            return
        answer = {
            "role": "assistant",
            "parts": [_text(said.answer)],
            "finish_reason": _finish(turn.totals.get("stop_reason")),
        }
        turn.span.set_attributes(
            {
                semconv.INPUT: shorten(said.input, self._limit),
                semconv.INPUT_MIME: "text/plain",
                semconv.OUTPUT: shorten(said.answer, self._limit),
                semconv.OUTPUT_MIME: "text/plain",
                semconv.INPUT_MESSAGES: self._messages([{"role": "user", "parts": [_text(said.input)]}]),
                semconv.OUTPUT_MESSAGES: self._messages([answer]),
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
        part = {"type": "tool_call", "id": call_id, "name": data["name"], "arguments": data["arguments"]}
        if said.messages and said.messages[-1]["role"] == "assistant":
            said.messages[-1]["parts"].append(part)
        else:
            self._add(said, "assistant", [part])

    def _result(self, turn: Turn, said: _Said, call_id: str, data: dict[str, Any]) -> None:
        content = self._clean(data["content"])
        part = {"type": "tool_call_response", "id": call_id, "response": shorten(content, self._limit)}
        if said.messages and said.messages[-1]["role"] == "tool":
            said.messages[-1]["parts"].append(part)
        else:
            self._add(said, "tool", [part])
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
        said.messages.append({"role": role, "parts": parts})

    def _forget_pieces(self, said: _Said) -> None:
        said.pieces, said.size, said.cut = [], 0, False

    def _messages(self, messages: list[dict[str, Any]]) -> str:
        return messages_json(messages, self._limit)

    def _clean(self, text: str) -> str:
        return redact_text(text[: MOST_KEPT * self._limit])

    def _of(self, turn: Turn) -> _Said:
        return self._said.setdefault(turn.id, _Said())


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _finish(stop_reason: str | None) -> str:
    return semconv.FINISH.get(stop_reason, stop_reason) if stop_reason is not None else "error"
