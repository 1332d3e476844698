"""What turns do: model calls, tools, compressions and archives."""

from panels import Board, Row, graph, quantile, rate, table

TOOL = "gen_ai_execute_tool_duration_seconds"
NAME = "gen_ai_tool_name"
FAILED = 'error_type!=""'
COMPRESSIONS = "gateway_compressions_total"
HOW = "gateway_compression_trigger"
OUTCOME = "gateway_turn_outcome"

_loop = Row(
    "Agent loop",
    [
        graph(
            "Turns by outcome",
            "limit_reached is a turn that was stopped by one of the operator's limits.",
            "cpm",
            {f"{{{{{OUTCOME}}}}}": f"{rate('gateway_turns_total', OUTCOME)} * 60"},
            stacked=True,
        ),
        graph(
            "Model calls per turn",
            "Many calls mean that a tool or its description does not help the model on.",
            "short",
            {
                "p50": quantile(0.5, "gen_ai_invoke_agent_inference_calls"),
                "p95": quantile(0.95, "gen_ai_invoke_agent_inference_calls"),
            },
            exemplars=True,
        ),
        graph(
            "Tool calls per turn",
            "Points are traces.",
            "short",
            {
                "p50": quantile(0.5, "gen_ai_invoke_agent_tool_calls"),
                "p95": quantile(0.95, "gen_ai_invoke_agent_tool_calls"),
            },
            exemplars=True,
        ),
        graph(
            "Failed turns by reason",
            "Turns that ended with an error that their readers saw.",
            "cpm",
            {
                "{{error_type}}": f"{
                    rate('gen_ai_invoke_agent_duration_seconds_count', 'error_type', where=FAILED)
                } * 60"
            },
            stacked=True,
            width=12,
        ),
        graph(
            "Oldest running turn",
            "Beyond the turn's time limit something hangs.",
            "s",
            {"{{instance}}": "max by (instance) (gateway_turn_oldest_age_seconds{@})"},
            width=12,
        ),
    ],
)

_tools = Row(
    "Tools",
    [
        graph(
            "Calls by tool",
            "What the model uses.",
            "cpm",
            {f"{{{{{NAME}}}}}": f"{rate(f'{TOOL}_count', NAME)} * 60"},
            stacked=True,
        ),
        graph(
            "Failures by tool",
            "Share of a tool's calls that failed or took too long. The model reads each failure and goes on.",
            "percentunit",
            {
                f"{{{{{NAME}}}}}": f"{rate(f'{TOOL}_count', NAME, where=FAILED)} / {rate(f'{TOOL}_count', NAME)}"
            },
        ),
        graph(
            "Time by tool, p95",
            "Points are traces.",
            "s",
            {f"{{{{{NAME}}}}}": quantile(0.95, TOOL, NAME)},
            exemplars=True,
        ),
        table(
            "Calls and failures by tool",
            "Over the time shown.",
            "short",
            {
                "calls": f"sum by ({NAME}) (increase({TOOL}_count{{@}}[$__range]))",
                "failures": f"sum by ({NAME}) (increase({TOOL}_count{{@,{FAILED}}}[$__range]))",
            },
        ),
        table(
            "Time by tool",
            "Over the time shown.",
            "s",
            {
                f"p{share * 100:g}": f"histogram_quantile({share}, "
                f"sum by (le, {NAME}) (increase({TOOL}_bucket{{@}}[$__range])))"
                for share in (0.5, 0.95)
            },
        ),
    ],
)

_upkeep = Row(
    "Compression and archive",
    [
        graph(
            "Compressions",
            "By what began them: by hand, by the share of the window, or because the endpoint refused.",
            "cpm",
            {f"{{{{{HOW}}}}} {{{{{OUTCOME}}}}}": f"{rate(COMPRESSIONS, HOW, OUTCOME)} * 60"},
            stacked=True,
        ),
        graph(
            "Time of a compression",
            "A turn that needs one waits for it.",
            "s",
            {
                "p50": quantile(0.5, "gateway_compression_duration_seconds"),
                "p95": quantile(0.95, "gateway_compression_duration_seconds"),
            },
            exemplars=True,
        ),
        graph(
            "Tokens saved",
            "By how much histories became shorter, per minute. Each later call of those sessions saves it again.",
            "cpm",
            {f"{{{{{HOW}}}}}": f"{rate('gateway_compression_tokens_saved_total', HOW)} * 60"},
        ),
        graph(
            "Sessions archived",
            "Moves of a session's rows to its archive.",
            "cpm",
            {"archived": f"{rate('gateway_archive_write_duration_seconds_count')} * 60"},
            width=12,
        ),
        graph(
            "Time to archive a session, p95",
            "The blob store's speed shows here.",
            "s",
            {"p95": quantile(0.95, "gateway_archive_write_duration_seconds")},
            width=12,
        ),
    ],
)

AGENT = Board(
    "agent", "Agent and tools", "What turns do, and what becomes of long sessions.", [_loop, _tools, _upkeep]
)
