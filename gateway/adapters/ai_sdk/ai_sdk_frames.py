"""Parts of a turn as chunks of the AI SDK's UI message stream, version 1. Pure.

https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol; each chunk has the form of `uiMessageChunkSchema` in the
package `ai`, versions 6 and 7: an unknown type, or a null in an optional field, is fatal there.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import orjson

from gateway.adapters.foreign_ids import call_name
from gateway.adapters.turn_parts import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    CallProgressed,
    Closed,
    Data,
    Grew,
    Noted,
    Opened,
    Part,
    StepBegan,
    StepEnded,
    TurnBegan,
    TurnEnded,
    TurnToolCall,
    Waiting,
    runs_on_client,
)
from gateway.errors import GatewayError

Chunk = dict[str, Any]

DONE = b"data: [DONE]\n\n"
SPANS = {"text": "text", "thinking": "reasoning"}
OURS = {"dynamic": True, "providerExecuted": True}
"""Of calls whose tools are not known to the page, and run here; others the page runs."""
REASONS: Mapping[str | None, str] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content-filter",
}


class Chunks:
    """The chunks of one message. Those that version 6 would die of are left out for it."""

    def __init__(self, version: int, known: Collection[str] = ()) -> None:
        """`known` are calls of which the client gave the result itself."""
        self._is_new = version >= 7
        self._known = known
        self._turn_id = ""
        self._in_step = False
        self._asked = set[str]()

    def of(self, part: Part) -> Iterator[Chunk]:  # noqa: PLR0912 - a table
        match part:
            case TurnBegan(session_id, turn_id, seq, data):
                self._turn_id = turn_id
                about = {"session_id": session_id, "turn_id": turn_id, "model": data["model"]}
                yield {"type": "start", "messageId": turn_id, "messageMetadata": about}
                if (files := data.get("attachments")) is not None:
                    yield {"type": "data-attachments", "id": str(seq), "data": {"attachments": files}}
            case StepBegan():
                self._in_step = True
                yield {"type": "start-step"}
            case StepEnded():
                yield from self._step_ends()
            case Opened(span):
                yield {"type": f"{SPANS[span.kind]}-start", "id": span.id}
            case Grew(span, text):
                yield {"type": f"{SPANS[span.kind]}-delta", "id": span.id, "delta": orjson.loads(text)}
            case Closed(span):
                yield {"type": f"{SPANS[span.kind]}-end", "id": span.id}
            case CallMade(call):
                about = {"toolCallId": call.id, "toolName": call.name, **_whose(call)}
                yield {"type": "tool-input-start", **about}
                yield {"type": "tool-input-available", **about, "input": call.arguments}
            case CallProgressed(call, data):
                fields = {"toolCallId": call.id, **data}
                yield {"type": "data-tool-progress", "id": call.id, "data": fields, "transient": True}
            case CallAnswered(call, data) if call.id not in self._known:
                yield self._answered(call, data)
            case ApprovalAsked(call, data):
                self._asked.add(call.id)
                why = {"reason": data["reason"]} if self._is_new and "reason" in data else {}
                approval = call_name(self._turn_id, call.id)
                yield {"type": "tool-approval-request", "approvalId": approval, "toolCallId": call.id, **why}
            case ApprovalGiven(call, data) if self._is_new and call.id in self._asked:
                yield {
                    "type": "tool-approval-response",
                    "approvalId": call_name(self._turn_id, call.id),
                    "approved": data["decision"] == "approved",
                    **({"reason": data["reason"]} if "reason" in data else {}),
                }
            case AttemptWithdrawn(number, spans, data):
                if self._is_new:
                    yield {"type": "reset-step"}
                elif spans:
                    fields = {"iteration": number, "spans": [span.id for span in spans], **data}
                    yield {"type": "data-superseded", "data": fields}
            case Noted(kind, data, seq):
                yield {"type": f"data-{kind.replace('_', '-')}", "id": str(seq), "data": data}
                yield from _sources(kind, data)
            case TurnEnded(data, error):
                yield from _ended(data, error)
            case _:
                pass

    def paused(self) -> Iterator[Chunk]:
        """The turn waits for a person, and this answer ends."""
        yield from self._step_ends()
        yield {"type": "finish", "finishReason": "tool-calls"}

    def _step_ends(self) -> Iterator[Chunk]:
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}

    def _answered(self, call: TurnToolCall, data: Data) -> Chunk:
        about = {"toolCallId": call.id, **_whose(call)}
        if data["status"] == "ok":
            return {"type": "tool-output-available", **about, "output": data["content"]}
        if data["status"] == "denied" and call.id in self._asked:
            return {"type": "tool-output-denied", "toolCallId": call.id}
        return {"type": "tool-output-error", **about, "errorText": data["content"]}


class UiMessageStream:
    """Encodes a turn as server-sent events for `useChat`."""

    def __init__(self, version: int, known: Collection[str] = ()) -> None:
        self._chunks = Chunks(version, known)
        self._delta = b""

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew:
                frames.append(self._delta % part.text)
                continue
            if type(part) is Opened:
                kind, name = SPANS[part.span.kind], part.span.id
                self._delta = b'data: {"type":"%b-delta","id":"%b","delta":%%b}\n\n' % (
                    kind.encode(),
                    name.encode(),
                )
            frames += map(_frame, self._chunks.of(part))
            if type(part) is TurnEnded:
                frames.append(DONE)
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        return b"".join(map(_frame, self._chunks.paused())) + DONE

    def trouble(self, error: GatewayError) -> bytes:
        return b"".join(map(_frame, _failed(error.code, error.message, retryable=error.retryable))) + DONE


def _whose(call: TurnToolCall) -> Mapping[str, bool]:
    return {} if runs_on_client(call) else OURS


def _frame(chunk: Chunk) -> bytes:
    return b"data: %b\n\n" % orjson.dumps(chunk)


def _sources(kind: str, data: Data) -> Iterator[Chunk]:
    if kind == "artifact":
        yield {"type": "file", "url": f"/api/artifacts/{data['ref']}", "mediaType": data["mime"]}
    if kind != "retrieval" or "mode" in data:  # memories are no sources to be quoted
        return
    for hit in data["results"]:
        title, source = hit.get("title") or hit["id"], hit["source"]
        if source.startswith(("https://", "http://")):
            yield {"type": "source-url", "sourceId": hit["id"], "url": source, "title": title}
        else:
            named = {"mediaType": "text/plain", "title": title, "filename": source}
            yield {"type": "source-document", "sourceId": hit["id"], **named}


def _ended(data: Data, error: Data | None) -> Iterator[Chunk]:
    if error is not None or data["status"] in {"failed", "interrupted"}:
        why = error or {"code": data["status"], "message": "The turn came to no end.", "retryable": True}
        yield from _failed(why["code"], why["message"], retryable=why["retryable"])
    elif data["status"] == "cancelled":
        yield {"type": "message-metadata", "messageMetadata": data}
        yield {"type": "abort", "reason": "cancelled"}
    else:
        completed = data["status"] == "completed"
        reason = REASONS.get(data.get("stop_reason"), "stop") if completed else "other"
        yield {"type": "finish", "finishReason": reason, "messageMetadata": data}


def _failed(code: str, message: str, *, retryable: bool) -> Iterator[Chunk]:
    fields = {"code": code, "message": message, "retryable": retryable}
    yield {"type": "data-error", "data": fields, "transient": True}
    yield {"type": "error", "errorText": f"{code}: {message}"}
