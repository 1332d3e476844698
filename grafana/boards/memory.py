"""What is remembered: what turns recall of it, what changes it, and what it is learned from."""

from panels import Board, Row, graph, legend, per_minute, quantiles, rate

RECALLS = "gateway_memory_recalls_total"
MODE = "gateway_retrieval_mode"
DEGRADED = 'gateway_retrieval_degraded="true"'
CHANGES = "gateway_memory_changes_total"
LEARNING = "gateway_memory_learning_duration_seconds"
EMBEDDINGS = "gateway_embeddings_requests_total"
KIND = "gateway_embeddings_kind"
STORED = "gateway_memories"
TYPE = "gateway_memory_type"
STATUS = "gateway_memory_status"
STATE = "gateway_document_state"

_recall = Row(
    "Recall",
    [
        graph(
            "Recalls",
            "Retrievals that found memories: for a session's prompt (snapshot), or for a message.",
            "cpm",
            {legend(MODE): per_minute(RECALLS, MODE)},
            stacked=True,
        ),
        graph(
            "Memories found",
            "Told now, told before in the session, or omitted since they did not fit. Many omitted ones ask "
            "for a larger GATEWAY_MEMORY_TURN_TOKENS, or for fewer and shorter memories.",
            "cpm",
            {legend("gateway_memory_told"): per_minute("gateway_memory_found_total", "gateway_memory_told")},
            stacked=True,
        ),
        graph(
            "Search time",
            "Of the searches that found something. Points are traces.",
            "s",
            quantiles("gateway_memory_search_duration_seconds", 0.5, 0.95),
            exemplars=True,
        ),
        graph(
            "Degraded recalls",
            "Share that was found by words alone: the embeddings API failed, or rests after a failure.",
            "percentunit",
            {"degraded": f"({rate(RECALLS, where=DEGRADED)} or vector(0)) / {rate(RECALLS)}"},
        ),
        graph(
            "Embeddings requests",
            "For queries and for documents; failed ones with their error.",
            "cpm",
            {legend(KIND, "error_type"): per_minute(EMBEDDINGS, KIND, "error_type")},
            stacked=True,
        ),
        graph(
            "Warnings of turns",
            "The memory could not be read (memory_unavailable), or something that a session was told of it "
            "is no longer so (memory_changed).",
            "cpm",
            {
                legend("gateway_warning_code"): per_minute(
                    "gateway_memory_warnings_total", "gateway_warning_code"
                )
            },
            stacked=True,
        ),
    ],
)

_store = Row(
    "What is remembered",
    [
        graph(
            "Changes",
            "What this gateway did with memories. Those of `gateway memory` and `gateway mcp` are not in it.",
            "cpm",
            {legend("gateway_memory_op"): per_minute(CHANGES, "gateway_memory_op")},
            stacked=True,
            width=6,
        ),
        graph(
            "Changes by whom",
            "A user, the model with its tool, the keeper that learns from conversations, or a tool.",
            "cpm",
            {legend("gateway_memory_by"): per_minute(CHANGES, "gateway_memory_by")},
            stacked=True,
            width=6,
        ),
        graph(
            "Memories by type and status",
            "Of all users and documents. Only active and suppressed ones are recalled.",
            "short",
            {
                legend(
                    TYPE, STATUS
                ): f"max by ({TYPE}, {STATUS}) (sum by (instance, {TYPE}, {STATUS}) ({STORED}{{@}}))"
            },
            stacked=True,
            width=6,
        ),
        graph(
            "Waiting in quarantine",
            "What tools suggested and nobody confirmed: it is not recalled. What grows is seen by nobody.",
            "short",
            {
                legend(
                    "instance"
                ): 'sum by (instance) (gateway_memories{@,gateway_memory_quarantined="true"})',
            },
            width=6,
        ),
    ],
)

_learning = Row(
    "Learning and documents",
    [
        graph(
            "Conversations read",
            "For what is worth remembering; failed ones with their error.",
            "cpm",
            {
                legend("gen_ai_request_model", "error_type"): per_minute(
                    f"{LEARNING}_count", "gen_ai_request_model", "error_type"
                )
            },
            stacked=True,
            width=6,
        ),
        graph(
            "Time to read one",
            "The model's answers included. Nobody waits for it.",
            "s",
            quantiles(LEARNING, 0.5, 0.95),
            width=6,
        ),
        graph(
            "Offered and not kept",
            "By reason: not in the user's own words, of no lasting use, known already.",
            "cpm",
            {legend("gateway_reason"): per_minute("gateway_memory_learning_dropped_total", "gateway_reason")},
            stacked=True,
            width=6,
        ),
        graph(
            "Documents",
            "Documented memories in use and out of it, and what is to be mended in their files.",
            "short",
            {
                legend(STATE): f"max by ({STATE}) (gateway_documents{{@}})",
                "warnings": "max(gateway_document_warnings{@})",
            },
            width=6,
        ),
    ],
)

MEMORY = Board(
    "memory",
    "Memory",
    "What turns recall, who changes what is remembered, and what is learned from conversations.",
    [_recall, _store, _learning],
)
