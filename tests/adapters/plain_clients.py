"""What clients of each streaming dialect send, as plain HTTP: path, headers and body of one question."""

from collections.abc import Mapping
from typing import Any, NamedTuple

NATIVE = "native"


class Request(NamedTuple):
    """One POST that is answered by a stream."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]


def native(session: str, text: str, message_id: str) -> Request:
    return Request(f"/api/sessions/{session}/turns", {"message": text, "client_message_id": message_id}, {})


def a2a(session: str, text: str, message_id: str) -> Request:
    said = {"messageId": message_id, "contextId": session, "parts": [{"text": text}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": said}}
    return Request("/a2a", call, {})


def ag_ui(session: str, text: str, message_id: str) -> Request:
    said = [{"id": message_id, "role": "user", "content": text}]
    return Request("/ag-ui", {"threadId": session, "runId": f"run-{message_id}", "messages": said}, {})


def ai_sdk(session: str, text: str, message_id: str) -> Request:
    said = [{"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}]
    return Request("/ai-sdk/chat", {"id": session, "messages": said}, {"x-ai-sdk": "7"})


def openai(session: str, text: str, _message_id: str) -> Request:
    """It names the session, and sends no history."""
    said = [{"role": "user", "content": text}]
    return Request("/v1/chat/completions", {"stream": True, "messages": said}, {"x-session-id": session})


def anthropic(session: str, text: str, message_id: str) -> Request:
    """Likewise."""
    _, body, headers = openai(session, text, message_id)
    return Request("/v1/messages", {"max_tokens": 8192, **body}, headers)


ASKING = {
    NATIVE: native,
    "a2a": a2a,
    "ag-ui": ag_ui,
    "ai-sdk": ai_sdk,
    "anthropic": anthropic,
    "openai": openai,
}
"""By the name of the dialect, as its adapter is switched on."""


def native_decision(session: str, turn_id: str, call_id: str, *, approved: bool) -> Request:
    path = f"/api/sessions/{session}/turns/{turn_id}/approvals/{call_id}"
    return Request(path, {"decision": "approve" if approved else "deny"}, {})


def ag_ui_decision(session: str, turn_id: str, call_id: str, *, approved: bool) -> Request:
    answer = {"interruptId": f"{turn_id}:{call_id}", "status": "resolved", "payload": {"approved": approved}}
    return Request("/ag-ui", {"threadId": session, "messages": [], "resume": [answer]}, {})


def ai_sdk_decision(session: str, turn_id: str, call_id: str, *, approved: bool) -> Request:
    approval = {"id": f"{turn_id}:{call_id}", "approved": approved}
    part = {"type": "dynamic-tool", "toolCallId": call_id, "toolName": "send", "input": {}}
    part |= {"state": "approval-responded", "approval": approval}
    said = [{"id": turn_id, "role": "assistant", "parts": [part]}]
    return Request("/ai-sdk/chat", {"id": session, "messages": said}, {"x-ai-sdk": "7"})


DECIDING = {NATIVE: native_decision, "ag-ui": ag_ui_decision, "ai-sdk": ai_sdk_decision}
"""The dialects in which a person decides about a call."""
