"""Model calls: tokens, money, and the endpoint's behaviour."""

from boards.overview import CALL, PURPOSE, USAGE
from panels import Board, Row, graph, legend, per_minute, quantile, rate, table

MODEL = "gen_ai_request_model"
TURNS = "gateway_turns_total"
COST = "gateway_cost_USD_total"
RETRIES = "gateway_upstream_retries_total"
REASON = "gateway_reason"


def _tokens(kind: str, *by: str) -> str:
    return rate(f"{USAGE}_{kind}_total", *by)


_money = Row(
    "Tokens and cost",
    [
        graph(
            "Input tokens per second",
            "Cached ones included, as the endpoint counts them.",
            "cps",
            {legend(MODEL): _tokens("input_tokens", MODEL)},
            stacked=True,
        ),
        graph(
            "Output tokens per second",
            "Thinking included.",
            "cps",
            {legend(MODEL): _tokens("output_tokens", MODEL)},
            stacked=True,
        ),
        graph(
            "Prompt cache",
            "Shares of the input tokens. Writes without reads cost more than no cache: the prompt's start "
            "changes too often, or sessions rest longer than the cache lives.",
            "percentunit",
            {
                "read": f"{_tokens('cache_read_input_tokens')} / {_tokens('input_tokens')}",
                "written": f"{_tokens('cache_write_input_tokens')} / {_tokens('input_tokens')}",
            },
        ),
        graph(
            "Cost per hour",
            "At this pace, by what the model is asked for. Calls whose cost is unknown are not in it.",
            "currencyUSD",
            {legend(MODEL, PURPOSE): f"{rate(COST, MODEL, PURPOSE)} * 3600"},
            stacked=True,
        ),
        graph(
            "Cost per turn",
            "Mean, with what is asked beside the answers.",
            "currencyUSD",
            {"mean": f"{rate(COST)} / {rate(TURNS)}"},
        ),
        graph(
            "Tokens of one call, p95",
            "Input near the model's window means that sessions should be compressed earlier.",
            "short",
            {
                "input": quantile(0.95, "gen_ai_client_inference_operation_input_tokens"),
                "output": quantile(0.95, "gen_ai_client_inference_operation_output_tokens"),
            },
            exemplars=True,
        ),
        graph(
            "Output speed",
            "Output tokens per second of model time, over all calls.",
            "cps",
            {legend(MODEL): f"{_tokens('output_tokens', MODEL)} / {rate(f'{CALL}_sum', MODEL)}"},
            width=12,
        ),
        table(
            "Cost by model",
            "Over the time shown.",
            "currencyUSD",
            {"cost": f"sum by ({MODEL}, {PURPOSE}) (increase({COST}{{@}}[$__range]))"},
        ),
    ],
)

_upstream = Row(
    "Upstream",
    [
        graph(
            "Calls by purpose",
            "answer is a turn's; the others are asked beside: what makes sessions shorter, sums them up, "
            "remembers, decides whether a message needs memories, and describes artifacts.",
            "cpm",
            {legend(PURPOSE): per_minute(f"{CALL}_count", PURPOSE)},
            stacked=True,
        ),
        graph(
            "Failed calls by reason",
            "Model calls that failed for good, after their retries. upstream_auth is a key, context_overflow "
            "a session that could not be compressed, answer_ what is no answer beside a turn; the others are "
            "the endpoint's.",
            "cpm",
            {
                legend(PURPOSE, "error_type"): per_minute(
                    f"{CALL}_count", PURPOSE, "error_type", where='error_type!=""'
                )
            },
            stacked=True,
        ),
        graph(
            "Retries by reason",
            "Attempts that failed and were repeated. People see them only as waiting.",
            "cpm",
            {legend(REASON): per_minute(RETRIES, REASON)},
            stacked=True,
        ),
        graph(
            "Rate limited or overloaded",
            "HTTP 429 and 529, as retries. Lasting: ask for a higher limit, or allow fewer turns at once.",
            "cpm",
            {
                legend(MODEL): per_minute(
                    RETRIES, MODEL, where=f'{REASON}=~"upstream_rate_limited|upstream_overloaded"'
                )
            },
        ),
        graph(
            "How calls end",
            "max_tokens is a cut answer, refusal one that the model did not want to give.",
            "cpm",
            {legend(REASON): per_minute("gateway_upstream_stops_total", REASON)},
            stacked=True,
        ),
        graph(
            "Turns in the queue",
            "Accepted turns that wait for those before them in their session.",
            "short",
            {"waiting": "sum(gateway_admission_queue_depth{@})"},
        ),
        graph(
            "Wait for one's turn, p95",
            "Turns that were queued behind others of their session. Points are traces.",
            "s",
            {"p95": quantile(0.95, "gateway_admission_wait_seconds")},
            exemplars=True,
        ),
        graph(
            "Calls without usage",
            "Calls that told no usage, such as those that were cancelled: what they cost is not in the sums.",
            "cpm",
            {"unreported": per_minute("gateway_usage_unreported_total")},
        ),
    ],
)

MODELS = Board(
    "models", "Models and cost", "Tokens, money, and how the model's endpoint behaves.", [_money, _upstream]
)
