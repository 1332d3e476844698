"""What one looks at first: is it well, is it fast, what does it cost."""

from panels import Board, Row, graph, heatmap, per_minute, quantile, quantiles, rate, stat

FIRST_CHUNK = "gen_ai_client_inference_time_to_first_chunk_seconds"
PURPOSE = "gateway_purpose"
ANSWERS = f'{PURPOSE}="answer"'
CALL = "gen_ai_client_inference_duration_seconds"
TURN = "gen_ai_invoke_agent_duration_seconds"
TURNS = "gateway_turns_total"
FAILED = 'gateway_turn_outcome=~"failed|interrupted"'
USAGE = "gen_ai_client_inference_usage"

_now = Row(
    "Overview",
    [
        stat("Turns per minute", "Turns that ended, however they did.", "cpm", per_minute(TURNS)),
        stat(
            "Active turns",
            "Turns in progress, but for those that wait for a person.",
            "short",
            "sum(gateway_turn_active{@})",
        ),
        stat(
            "Active streams",
            "Open event streams, replays included.",
            "short",
            "sum(gateway_stream_active{@})",
        ),
        stat(
            "Failed turns",
            "Share of turns that failed or were interrupted. A cancel or a limit is no failure.",
            "percentunit",
            f"({rate(TURNS, where=FAILED)} or vector(0)) / {rate(TURNS)}",
            (0.01, 0.05),
        ),
        stat(
            "First content, p95",
            "From the start of an answer's model call to its first content: what a person waits for.",
            "s",
            quantile(0.95, FIRST_CHUNK, where=ANSWERS),
            (3, 8),
        ),
        stat(
            "Turn time, p95",
            "From a turn's start to its end, tools included, without waits for a person.",
            "s",
            quantile(0.95, TURN),
        ),
        stat(
            "Cost per hour",
            "At this pace. Calls whose price is unknown are not in it.",
            "currencyUSD",
            f"{rate('gateway_cost_USD_total')} * 3600",
        ),
        stat(
            "Input from the cache",
            "Share of input tokens that the prompt cache served, at about a tenth of the price.",
            "percentunit",
            f"{rate(f'{USAGE}_cache_read_input_tokens_total')} / {rate(f'{USAGE}_input_tokens_total')}",
        ),
    ],
)

_latency = Row(
    "Latency",
    [
        graph(
            "Time to first content by model",
            "Points are traces: open one to see why it was slow. What rises here alone is the endpoint's.",
            "s",
            quantiles(FIRST_CHUNK, 0.5, 0.95, 0.99, by="gen_ai_request_model", where=ANSWERS),
            exemplars=True,
        ),
        heatmap("Model calls", "How long model calls took, retries included. Points are traces.", "s", CALL),
        graph(
            "Turn time by agent",
            "Whole turns: model calls, tools, retrieval; without waits for a person. Points are traces.",
            "s",
            quantiles(TURN, 0.95, by="gen_ai_agent_name"),
            exemplars=True,
        ),
        graph(
            "What the gateway adds to the first content",
            "The client's wait, from the turn's acceptance to the first content on its own stream, beside "
            "the endpoint's. A growing distance is prompt assembly, the queue or the log.",
            "s",
            {
                "client p95": quantile(0.95, "gateway_client_time_to_first_event_seconds"),
                "endpoint p95": quantile(0.95, FIRST_CHUNK, where=ANSWERS),
            },
            exemplars=True,
        ),
        graph(
            "Between two pieces of an answer",
            "As they came from the endpoint: what makes text flow or stutter.",
            "s",
            quantiles("gen_ai_client_inference_time_per_output_chunk_seconds", 0.5, 0.95),
        ),
        graph(
            "Delivery lag",
            "From an event to its bytes being handed to the socket. Log, event loop, slow readers show here.",
            "s",
            quantiles("gateway_stream_delivery_lag_seconds", 0.5, 0.99),
        ),
    ],
)

OVERVIEW = Board(
    "overview", "Overview", "Is the gateway well, is it fast, what does it cost.", [_now, _latency]
)
