"""The demo's answers as another server would write them, and what that server says of itself."""

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from gateway.demo import wire
from gateway.demo.connection import LAST_CHUNK, Act, Stamp, chunk, head
from gateway.demo.endpoint_styles import EndpointStyle
from gateway.demo.wire import DemoReply, Event


def styled_stream(reply: DemoReply, style: EndpointStyle) -> list[Act]:
    """A whole streamed response. A piece that is stamped with its time keeps the API's form."""
    acts: list[Act] = [head(200, wire.SSE_HEADERS)]
    before, after = style.around
    for event in [before, *_in_order(_rewritten(wire.events(reply), reply, style), style), after]:
        if isinstance(event, dict):
            name = b"event: %b\n" % event["type"].encode() if style.names_events else b""
            acts.append(chunk(b"%bdata: %b\n\n" % (name, orjson.dumps(event))))
            if reply.pace and event["type"] == "content_block_delta":
                acts.append(reply.pace)
        elif event:
            acts.append(chunk(event))
    return [*acts, LAST_CHUNK]


def _rewritten(
    events: Iterable[Event], reply: DemoReply, style: EndpointStyle
) -> Iterator[dict[str, Any] | Stamp]:
    """Each event with the fields that the server has, and without those that it does not send."""
    calls = 0
    for event in events:
        if isinstance(event, Stamp):
            yield event
            continue
        # A copy: fields are changed below.
        told = orjson.loads(
            event.partition(b"data: ")[2] if isinstance(event, bytes) else orjson.dumps(event)
        )
        if told["type"] == "ping" or (told["type"] == "message_stop" and not style.ends):
            continue
        if told["type"] == "message_start" and not style.counts_first:
            told["message"]["usage"] = {"input_tokens": 0, "output_tokens": 0}
        block, delta = told.get("content_block", {}), told.get("delta", {})
        if block.get("type") == "thinking":
            block.pop("signature", None)
        elif block.get("type") == "tool_use":
            block["id"] = style.call_id.format(letters=reply.id[4:16], place=calls)
            calls += 1
            if not style.input_in_start:
                del block["input"]
        if delta.get("type") == "signature_delta":
            if style.signs == "no":
                continue
            delta["signature"] = {"yes": delta["signature"], "empty": "", "id": reply.id}[style.signs]
        if "index" in told:
            told["index"] += style.first
        yield told


def _in_order(
    events: Iterable[dict[str, Any] | Stamp], style: EndpointStyle
) -> Iterator[dict[str, Any] | Stamp]:
    """The events, where blocks stay open until the message ends, with signatures and stops at its end."""
    late: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, Stamp) or not style.stops_last:
            yield event
        elif event["type"] == "content_block_stop" or event.get("delta", {}).get("type") == "signature_delta":
            late.append(event)
        else:
            if event["type"] == "message_delta":
                yield from sorted(late, key=lambda each: each["type"] == "content_block_stop")
            yield event


def without_thinking(body: Any) -> Any:
    """The body as the API takes it: thoughts that have no signature of its own are left out."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return body
    messages = list[Any]()
    for message in body["messages"]:
        if isinstance(message, dict) and isinstance(content := message.get("content"), list):
            kept = [
                each for each in content if not (isinstance(each, dict) and each.get("type") == "thinking")
            ]
            messages.append({**message, "content": kept or [wire.text_block("…")]})
        else:
            messages.append(message)
    return {**body, "messages": messages}


def self_description(
    name: str, style: EndpointStyle, where: tuple[str, str], window: int, busy: int
) -> Any | None:
    """The JSON that this server answers to `where`, a method and a path; None: it has no such route. `busy`
    slots are at work."""
    models = [{"id": each, "object": "model", "owned_by": name} for each in style.models or ("demo",)]
    if name == "llama.cpp":
        models = [{**each, "meta": {"n_ctx": window, "n_ctx_train": window}} for each in models]
    elif name == "vllm":
        models = [{**each, "max_model_len": window} for each in models]
    shown = {"general.architecture": "qwen3", "qwen3.context_length": window}
    no_route = {"error": f"Unexpected endpoint or method. ({' '.join(where)})"}
    listed: dict[tuple[str, str], Any] = {("GET", "/v1/models"): {"object": "list", "data": models}}
    own: dict[str, dict[tuple[str, str], Any]] = {
        "llama.cpp": {
            ("GET", "/health"): {"status": "ok"},
            ("GET", "/props"): {
                "default_generation_settings": {"n_ctx": window},
                "total_slots": 1,
                "modalities": {"vision": False, "audio": False},
            },
            ("GET", "/slots"): [{"id": 0, "n_ctx": window, "is_processing": busy > 0}],
        },
        "ollama": {
            ("GET", "/api/version"): {"version": "0.30.0"},
            ("POST", "/api/show"): {"model_info": shown, "capabilities": ["completion", "tools", "thinking"]},
        },
        "lm-studio": {("GET", path): no_route for path in ("/props", "/slots", "/health")},
    }
    return {**listed, **own.get(name, {})}.get(where)
