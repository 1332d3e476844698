"""A turn with something of everything, as its events tell it."""

from typing import Any

SESSION = {"id": "s-secret", "title": None, "created_at": 1_795_187_109_422}


def told(said: str, thinking: str = "hm") -> list[dict[str, Any]]:
    """A turn in which somebody says that everywhere; what nobody else may see has SECRET in it."""
    result: dict[str, Any] = {"duration_ms": 3, "status": "ok"}
    memory = {"id": "m", "source": "memory", "snippet": "SECRET snippet", "score": 1}
    hit = {"id": "SECRET-d", "source": said, "snippet": said, "score": 1, "title": "The handbook"}
    file = {"name": said, "ref": "ART-SECRET", "mime": "image/png", "size": 70}
    story: list[tuple[str, dict[str, Any]]] = [
        (
            "turn_start",
            {
                "input": said,
                "model": "model-1",
                "attachments": [file],
                "by": "m_SECRET",
                "trace_id": "SECRET",
            },
        ),
        ("retrieval", {"query": "SECRET", "source": "memory", "results": [memory], "tokens": 1}),
        ("retrieval", {"query": said, "source": "documents", "results": [hit], "tokens": 1}),
        ("iteration_start", {"attempt": 1, "model": "model-1", "prompt": "SECRET"}),
        ("text", {"text": "SECRET attempt"}),
        ("iteration_superseded", {"attempt": 1, "reason": "upstream_error"}),
        ("thinking", {"text": thinking}),
        ("text", {"text": said[: len(said) // 2]}),
        ("warning", {"code": "SECRET", "message": "SECRET"}),
        ("text", {"text": said[len(said) // 2 :]}),
        ("tool_call", {"name": "calculator", "arguments": {said: said}}),
        ("tool_result", {"name": "calculator", "content": said, **result}),
        ("artifact", {"ref": "ART-SECRET2", "mime": "text/csv", "size": 9, "summary": said, "name": said}),
        ("tool_call", {"name": "manage_memory", "arguments": {"content": "SECRET"}}),
        ("tool_result", {"name": "manage_memory", "content": "SECRET", **result}),
        (
            "memory",
            {"op": "remembered", "memory_id": "m", "kind": "fact", "content": "SECRET", "reason": "x"},
        ),
        ("approval_response", {"name": "calculator", "by": "SECRET", "decision": "approved"}),
        ("something_new", {"text": "SECRET"}),
        ("error", {"code": "upstream_error", "message": said, "retryable": False}),
        (
            "done",
            {"status": "failed", "iterations": 1, "duration_ms": 9, "cost": 7.77, "usage": {"SECRET": 1}},
        ),
    ]
    calls = {10: "SECRET-c1", 11: "SECRET-c1", 12: "SECRET-c1", 13: "SECRET-c2", 14: "SECRET-c2"}
    return [
        {"v": 1, "type": kind, "ts": 1_000 + seq, "data": data, "turn_id": "t_SECRET", "seq": seq}
        | {"session_id": "s-secret"}
        | ({"tool_call_id": calls[seq]} if seq in calls else {"iteration": 1})
        for seq, (kind, data) in enumerate(story)
    ]
