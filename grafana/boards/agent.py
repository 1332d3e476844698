"""What turns do: model calls, tools, compressions and archives."""

from panels import Board, Row, graph, legend, per_minute, quantile, quantiles, rate, table

TOOL = "gen_ai_execute_tool_duration_seconds"
NAME = "gen_ai_tool_name"
CALLS = "gateway_tool_calls_total"
STATUS = "gateway_tool_status"
TURN = "gen_ai_invoke_agent_duration_seconds"
FAILED = 'error_type!=""'
COMPRESSIONS = "gateway_compressions_total"
HOW = "gateway_compression_trigger"
OUTCOME = "gateway_turn_outcome"
DELIVERY, STATE = "gateway_webhook_outcome", "gateway_webhook_state"
DIALECT = "gateway_dialect"
FEEDBACK, RATING = "gateway_feedback_total", "gateway_feedback_rating"
DOWN, GIVEN = f'{RATING}="down"', f'{RATING}=~"up|down"'
NATIVE, FOREIGN = f'{DIALECT}=""', f'{DIALECT}!=""'

_loop = Row(
    "Agent loop",
    [
        graph(
            "Turns by outcome",
            "limit_reached is a turn that was stopped by one of the operator's limits.",
            "cpm",
            {legend(OUTCOME): per_minute("gateway_turns_total", OUTCOME)},
            stacked=True,
        ),
        graph(
            "Turns by client",
            "The adapter by which turns were asked for; native is the page, the CLI and whoever calls the "
            "gateway's own routes.",
            "cpm",
            {
                "native": per_minute("gateway_turns_total", where=NATIVE),
                legend(DIALECT): per_minute("gateway_turns_total", DIALECT, where=FOREIGN),
            },
            stacked=True,
        ),
        graph(
            "Model calls per turn",
            "Many calls mean that a tool or its description does not help the model on.",
            "short",
            quantiles("gen_ai_invoke_agent_inference_calls", 0.5, 0.95),
            exemplars=True,
        ),
        graph(
            "Tool calls per turn",
            "Points are traces.",
            "short",
            quantiles("gen_ai_invoke_agent_tool_calls", 0.5, 0.95),
            exemplars=True,
        ),
        graph(
            "Failed turns by reason",
            "Turns that ended with an error that their readers saw.",
            "cpm",
            {legend("error_type"): per_minute(f"{TURN}_count", "error_type", where=FAILED)},
            stacked=True,
            width=12,
        ),
        graph(
            "Oldest running turn",
            "Beyond the turn's time limit something hangs.",
            "s",
            {legend("instance"): "max by (instance) (gateway_turn_oldest_age_seconds{@})"},
            width=12,
        ),
        graph(
            "What people said of turns",
            "Thumbs up and down; none is one that was taken back. The reasons are in the turns' traces.",
            "cpm",
            {legend(RATING): per_minute(FEEDBACK, RATING)},
            stacked=True,
            width=12,
        ),
        graph(
            "Share of thumbs down",
            "Of all thumbs. Where it grows after a change of the prompt or the model, compare the two.",
            "percentunit",
            {
                "down": f"{rate(FEEDBACK, where=DOWN)} / {rate(FEEDBACK, where=GIVEN)}",
            },
            width=12,
        ),
    ],
)

_tools = Row(
    "Tools",
    [
        graph(
            "Calls by tool",
            "What ran.",
            "cpm",
            {legend(NAME): per_minute(f"{TOOL}_count", NAME)},
            stacked=True,
        ),
        graph(
            "Failures by tool",
            "Share of a tool's calls that failed or took too long. The model reads each failure and goes on.",
            "percentunit",
            {legend(NAME): f"{rate(f'{TOOL}_count', NAME, where=FAILED)} / {rate(f'{TOOL}_count', NAME)}"},
        ),
        graph(
            "Time by tool, p95",
            "Points are traces.",
            "s",
            {legend(NAME): quantile(0.95, TOOL, NAME)},
            exemplars=True,
        ),
        graph(
            "Calls by status",
            "Those that were denied did not run, and are in no other graph here.",
            "cpm",
            {legend(STATUS): per_minute(CALLS, STATUS)},
            stacked=True,
        ),
        table(
            "Calls, failures and denials by tool",
            "Over the time shown.",
            "short",
            {
                "calls": f"sum by ({NAME}) (increase({CALLS}{{@}}[$__range]))",
                "failures": f"sum by ({NAME}) (increase({TOOL}_count{{@,{FAILED}}}[$__range]))",
                "denied": f'sum by ({NAME}) (increase({CALLS}{{@,{STATUS}="denied"}}[$__range]))',
            },
            width=8,
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
            width=8,
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
            {legend(HOW, OUTCOME): per_minute(COMPRESSIONS, HOW, OUTCOME)},
            stacked=True,
        ),
        graph(
            "Time of a compression",
            "A turn that needs one waits for it.",
            "s",
            quantiles("gateway_compression_duration_seconds", 0.5, 0.95),
            exemplars=True,
        ),
        graph(
            "Tokens saved",
            "By how much histories became shorter, per minute. Each later call of them saves it too.",
            "cpm",
            {legend(HOW): per_minute("gateway_compression_tokens_saved_total", HOW)},
        ),
        graph(
            "Sessions archived",
            "Moves of a session's rows to its archive.",
            "cpm",
            {"archived": per_minute("gateway_archive_write_duration_seconds_count")},
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

_schedules = Row(
    "Schedules",
    [
        graph(
            "Due times by what became of them",
            "How their turn ended; missed or refused: there was none.",
            "cpm",
            {legend(OUTCOME): per_minute("gateway_schedule_runs_total", OUTCOME)},
            stacked=True,
            width=8,
        ),
        graph(
            "From the due time to the turn",
            "Two seconds are usual: each process looks once a second.",
            "s",
            quantiles("gateway_schedule_delay_seconds", 0.5, 0.95),
            width=8,
        ),
        graph(
            "Schedules that wait",
            "overdue: seconds that the first has waited for a place. held up: their run before is not over.",
            "short",
            {
                "overdue": "max(gateway_schedule_overdue_seconds{@})",
                "held up": "max(gateway_schedule_held_up{@})",
            },
            width=8,
        ),
    ],
)

_webhooks = Row(
    "Webhooks",
    [
        graph(
            "Posts by what came of them",
            "failed: tried again later. dead: not any more.",
            "cpm",
            {legend(DELIVERY): per_minute("gateway_webhook_duration_seconds_count", DELIVERY)},
            stacked=True,
            width=8,
        ),
        graph(
            "Until it arrives",
            "From what happened to its delivery, with all tries; and how long posts take.",
            "s",
            {
                "arrives, 95 %": quantile(0.95, "gateway_webhook_delay_seconds"),
                "post, 95 %": quantile(0.95, "gateway_webhook_duration_seconds"),
            },
            width=8,
        ),
        graph(
            "Deliveries",
            "Dead ones are kept for two weeks, and may be replayed.",
            "short",
            {legend(STATE): f"max by ({STATE}) (gateway_webhook_deliveries{{@}})"},
            width=8,
        ),
    ],
)

AGENT = Board(
    "agent",
    "Agent and tools",
    "What turns do, and what becomes of long sessions.",
    [_loop, _tools, _upkeep, _schedules, _webhooks],
)
