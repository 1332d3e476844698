"""What the event models do not say themselves: one example per type and what each error code means."""

from typing import Any

CODES = {
    "upstream_overloaded": "The model's endpoint is overloaded.",
    "upstream_rate_limited": "The model's endpoint limits the rate of requests or tokens.",
    "upstream_timeout": "The model's endpoint could not be reached in time, or fell silent.",
    "upstream_auth": "The model's endpoint refused the key; the message says whose it was.",
    "upstream_quota": "The account at the model's endpoint has no quota or credit left.",
    "provider_key_missing": "Users bring their own keys here, and this one has none.",
    "decryption_failed": "What is stored does not open: its encryption key is missing, or it was changed.",
    "upstream_error": "The model's endpoint failed or refused the request.",
    "upstream_truncated": "The answer broke off before its end.",
    "context_overflow": "The conversation is longer than the model can see.",
    "content_refused": "The model, or its endpoint, declined to answer.",
    "max_iterations": "A warning: the turn reached its number of model calls, and ends as `limit_reached`.",
    "max_tool_calls": "A warning: one message of the model called more tools than it may, and none of them "
    "was run; the turn ends as `limit_reached`.",
    "budget_exceeded": "A warning: the turn reached its tokens or its time, and ends as `limit_reached`.",
    "tool_timeout": "A tool gave no answer in time.",
    "tool_failed": "A tool failed.",
    "cancelled": "The turn was stopped.",
    "server_restart": "The server stopped while the turn ran, more often than it is resumed.",
    "storage_unavailable": "The log could not be written, such as on a full disk.",
    "storage_damaged": "The database is damaged, and the turn met it.",
    "archive_damaged": "What was said before cannot be read: its archive is missing or damaged.",
    "internal": "The gateway itself failed; its log says more.",
}

USAGE = {
    "input_tokens": 812,
    "output_tokens": 64,
    "cache_read_input_tokens": 0,
    "cache_creation_input_tokens": 0,
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "turn_start": {
        "data": {
            "input": "What is 17*23?",
            "model": "claude-sonnet-5-5",
            "trace_id": "0af7651916cd43dd8448eb211c80319c",
            "client_message_id": "m-1",
        }
    },
    "iteration_start": {"iteration": 1, "data": {"attempt": 1, "model": "claude-sonnet-5-5"}},
    "retrieval": {
        "iteration": 1,
        "tool_call_id": "toolu_01",
        "data": {
            "query": "resume a stream",
            "source": "docs",
            "results": [
                {
                    "id": "streaming.md#resume-after-a-lost-connection",
                    "source": "docs/streaming.md",
                    "snippet": "Send the id of the last frame as Last-Event-ID.",
                    "score": 7.31,
                    "title": "Resume after a lost connection",
                }
            ],
            "tokens": 96,
        },
    },
    "thinking": {"iteration": 1, "data": {"text": "A multiplication: the calculator knows."}},
    "text": {"iteration": 1, "data": {"text": "Let me work that out."}},
    "tool_call": {
        "iteration": 1,
        "tool_call_id": "toolu_02",
        "data": {"name": "calculate", "arguments": {"expression": "17*23"}, "effect": "read_only"},
    },
    "tool_progress": {
        "iteration": 1,
        "tool_call_id": "toolu_02",
        "data": {"message": "Reading page 3 of 12", "progress": 0.25},
    },
    "tool_result": {
        "iteration": 1,
        "tool_call_id": "toolu_02",
        "data": {"name": "calculate", "status": "ok", "content": "391", "duration_ms": 1},
    },
    "approval_request": {
        "iteration": 1,
        "tool_call_id": "toolu_03",
        "data": {
            "name": "send_mail",
            "arguments": {"to": "ada@example.org"},
            "reason": "It cannot be undone.",
        },
    },
    "approval_response": {
        "iteration": 1,
        "tool_call_id": "toolu_03",
        "data": {"decision": "approved", "by": "ada"},
    },
    "memory": {
        "data": {
            "op": "remembered",
            "memory_id": "m_fd912f61cc3903fd",
            "kind": "preference",
            "content": "我喜欢简约的设计风格",
            "reason": "The model saved it.",
            "version": 1,
            "by": "model",
            "status": "active",
        }
    },
    "skill": {"data": {"name": "release-notes", "type": "markdown", "action": "read"}},
    "artifact": {
        "data": {
            "ref": "a_77",
            "mime": "text/csv",
            "size": 482133,
            "summary": "9,204 rows of orders in 2026.",
        }
    },
    "compression": {
        "data": {"phase": "completed", "version": 2, "tokens_before": 151020, "tokens_after": 20411}
    },
    "iteration_end": {
        "iteration": 1,
        "data": {
            "stop_reason": "tool_use",
            "usage": USAGE,
            "cost": 0.0034,
            "ttft_ms": 412,
            "duration_ms": 1630,
        },
    },
    "iteration_superseded": {"iteration": 2, "data": {"attempt": 1, "reason": "upstream_overloaded"}},
    "warning": {"data": {"code": "max_iterations", "message": "The turn reached its 16 model calls."}},
    "error": {
        "data": {"code": "upstream_overloaded", "message": "The endpoint is overloaded.", "retryable": True}
    },
    "done": {
        "data": {
            "status": "completed",
            "stop_reason": "end_turn",
            "usage": USAGE,
            "cost": 0.0034,
            "iterations": 2,
            "duration_ms": 3120,
        }
    },
    "title": {
        "data": {
            "title": "An alert system for the office",
            "model": "claude-sonnet-5-5",
            "usage": USAGE,
            "duration_ms": 810,
        }
    },
    "schedule": {
        "data": {
            "schedule_id": "sch_0123456789abcdef",
            "name": "Open orders",
            "action": "missed",
            "due_at": 1795244400000,
            "next_due_at": 1795330800000,
            "code": "late",
        }
    },
    "feedback": {"data": {"rating": "down", "reason": "The total is of last year.", "of": "message"}},
}
