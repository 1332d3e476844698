"""Chunks of the AI SDK's stream applied to a message, as its clients do: what a page begins with. Pure."""

from collections.abc import Sequence
from typing import Any

from gateway.adapters.ai_sdk.ai_sdk_frames import Chunk, Chunks
from gateway.adapters.foreign_ids import call_of
from gateway.adapters.turn_parts import Part, TurnBegan

UiMessage = dict[str, Any]

USER = "-user"
"""Behind the id of a turn: the message that began it, where it came without an id."""
_WHOLE = {"source-url", "source-document", "file"}
_STATES = {
    "tool-input-available": "input-available",
    "tool-approval-request": "approval-requested",
    "tool-approval-response": "approval-responded",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}


def user_message(began: TurnBegan) -> UiMessage:
    """The message that began a turn. Its files are artifacts, which the page may load."""
    files = [
        {
            "type": "file",
            "mediaType": each["mime"],
            "filename": each["name"],
            "url": f"/api/artifacts/{each['ref']}",
        }
        for each in began.data.get("attachments", ())
    ]
    name = began.data.get("client_message_id", began.turn_id + USER)
    words = [{"type": "text", "text": text}] if (text := began.data["input"]) or not files else []
    return {"id": name, "role": "user", "parts": [*files, *words]}


class AssistantMessage:
    """The answer of one turn, as it grows."""

    def __init__(self) -> None:
        self.value: UiMessage = {"id": "", "role": "assistant", "parts": []}
        self._chunks = Chunks(7)
        self._spans: dict[str, Chunk] = {}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[str, Chunk] = {}

    def take(self, parts: Sequence[Part]) -> None:
        for part in parts:
            for chunk in self._chunks.of(part):
                self._apply(chunk)

    def _apply(self, chunk: Chunk) -> None:
        kind: str = chunk["type"]
        if "messageMetadata" in chunk:
            self.value["metadata"] = {**self.value.get("metadata", {}), **chunk["messageMetadata"]}
        if kind in _STATES:
            self._change_call(chunk)
        elif kind.startswith(("text-", "reasoning-")):
            span, _, change = kind.partition("-")
            self._change_span(span, change, chunk)
        elif kind == "start":
            self.value["id"] = chunk["messageId"]
        else:
            self._add(kind, chunk)

    def _add(self, kind: str, chunk: Chunk) -> None:
        parts: list[Chunk] = self.value["parts"]
        if kind == "start-step":
            parts.append({"type": "step-start"})
        elif kind == "reset-step":
            while parts and parts[-1]["type"] != "step-start":
                parts.pop()
        elif kind == "tool-input-start":
            named = {"toolCallId": chunk["toolCallId"]}
            if "dynamic" in chunk:
                call = {
                    "type": "dynamic-tool",
                    "toolName": chunk["toolName"],
                    **named,
                    "providerExecuted": True,
                }
            else:
                call = {"type": f"tool-{chunk['toolName']}", **named}
            self._calls[chunk["toolCallId"]] = call
            parts.append(call)
        elif kind in _WHOLE or (kind.startswith("data-") and "transient" not in chunk):
            parts.append(chunk)

    def _change_span(self, kind: str, change: str, chunk: Chunk) -> None:
        if change == "start":
            named = {"id": chunk["id"]} if kind == "reasoning" else {}
            span = self._spans[chunk["id"]] = {"type": kind, **named, "text": "", "state": "streaming"}
            self._texts[chunk["id"]] = []
            self.value["parts"].append(span)
        elif change == "delta":
            self._texts[chunk["id"]].append(chunk["delta"])
        else:
            # Joined once: a text that grows in a dictionary is copied with each piece.
            text = "".join(self._texts.pop(chunk["id"]))
            self._spans[chunk["id"]] |= {"text": text, "state": "done"}

    def _change_call(self, chunk: Chunk) -> None:
        if "toolCallId" in chunk:
            call = self._calls[chunk["toolCallId"]]
        else:
            call = self._calls[call_of(chunk["approvalId"])]
        call["state"] = _STATES[chunk["type"]]
        call |= {name: chunk[name] for name in ("input", "output", "errorText") if name in chunk}
        if "approvalId" in chunk:
            why = "reason" if "approved" in chunk else "requestReason"
            decided = {"id": chunk["approvalId"], why: chunk.get("reason"), "approved": chunk.get("approved")}
            known = {name: value for name, value in decided.items() if value is not None}
            call["approval"] = {**call.get("approval", {}), **known}
