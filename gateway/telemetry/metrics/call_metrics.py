"""Measures model calls, under the names of the conventions for generative AI."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from opentelemetry.trace import SpanContext
from opentelemetry.util.types import AttributeValue

from gateway.messages import Usage
from gateway.model.calls import ModelCall, Purpose
from gateway.telemetry import semconv
from gateway.telemetry.facts import Call, TelemetryReader, TurnFacts
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition

Attributes = Mapping[str, AttributeValue]
NO_ATTRIBUTES: Attributes = MappingProxyType({})

_NOTHING = Usage(input_tokens=0, output_tokens=0)

_MAX_SEEDED = 20  # models

RETRIED = (
    "upstream_error",
    "upstream_overloaded",
    "upstream_rate_limited",
    "upstream_timeout",
    "upstream_truncated",
)
"""Codes of the failures after which a model call is repeated (gateway/model/failures.py)."""

_CHUNK_KEYS = (
    semconv.OPERATION,
    semconv.PROVIDER,
    semconv.REQUEST_MODEL,
    semconv.PURPOSE,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
)


class CallMetrics(TelemetryReader):
    """Duration, first chunk, tokens, cost and retries of all model calls, by purpose; gaps between the deltas
    of answers.

    `endpoint` are the attributes of the server that is asked, `models` those that turns may choose. With
    `dup` what the conventions renamed is also recorded under its former name, which dashboards of others may
    read.
    """

    def __init__(
        self,
        exposition: Exposition,
        exemplify: Exemplify = of_span,
        *,
        endpoint: Attributes = NO_ATTRIBUTES,
        models: Sequence[str] = (),
        dup: bool = False,
    ) -> None:
        self._exemplify = exemplify
        self._endpoint = endpoint
        self._models = FewNames()
        self._reasons = FewNames()
        self._make_times(exposition, dup=dup)
        self._make_tokens(exposition, dup=dup)
        self._make_own(exposition)
        for model in models[:_MAX_SEEDED]:
            for reason in RETRIED:  # there from the start: a series that begins at 1 hides its first event
                self._count_retry(model, reason, 0)

    def _make_times(self, exposition: Exposition, *, dup: bool) -> None:
        names = ("gen_ai.client.inference", *(("gen_ai.client.operation",) if dup else ()))
        self._seconds = [
            exposition.histogram(f"{name}.duration", "s", "Model calls, retries included.", semconv.SECONDS)
            for name in names
        ]
        self._first_chunk_seconds = [
            exposition.histogram(
                f"{name}.time_to_first_chunk",
                "s",
                "From a model call's start to its first content.",
                semconv.SECONDS,
            )
            for name in names
        ]
        self._gaps = exposition.counters.histogram(
            f"{names[0]}.time_per_output_chunk",
            "s",
            "Between two pieces of an answer, as they came from the endpoint.",
            semconv.SECONDS,
            _CHUNK_KEYS,
            parts=1000,
            also=f"{names[1]}.time_per_output_chunk" if dup else None,
        )

    def _make_tokens(self, exposition: Exposition, *, dup: bool) -> None:
        self._tokens = {
            name: exposition.counter(f"gen_ai.client.inference.usage.{name}", "{token}", description)
            for name, description in (
                ("input_tokens", "Input tokens, cached ones included."),
                ("output_tokens", "Output tokens."),
                ("cache_read.input_tokens", "Input tokens read from the prompt cache."),
                ("cache_write.input_tokens", "Input tokens written to the prompt cache."),
            )
        }
        operation = "gen_ai.client.inference.operation"
        self._input = exposition.histogram(
            f"{operation}.input_tokens", "{token}", "Input tokens of one model call.", semconv.TOKENS
        )
        self._output = exposition.histogram(
            f"{operation}.output_tokens", "{token}", "Output tokens of one model call.", semconv.TOKENS
        )
        self._token_usage = None
        if dup:
            self._token_usage = exposition.histogram(
                "gen_ai.client.token.usage", "{token}", "Tokens of one model call.", semconv.TOKENS
            )

    def _make_own(self, exposition: Exposition) -> None:
        self._retries = exposition.counter(
            "gateway.upstream.retries", "{retry}", "Attempts of a model call that failed and were repeated."
        )
        self._stops = exposition.counter(
            "gateway.upstream.stops", "{call}", "Model calls that ended in order, by stop reason."
        )
        self._cost = exposition.counter("gateway.cost", "USD", "What model calls cost, where it is known.")

    def call_retried(self, turn: TurnFacts, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        self._count_superseded(call, reason, usage)

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        self._count(call, self._exemplify(call.span, turn))
        if any(call.gaps.counts):
            chat = self._chat(call.model, call.purpose)
            self._gaps[tuple(chat.get(key) for key in _CHUNK_KEYS)].merge(call.gaps)

    def model_called(self, call: ModelCall) -> None:
        for attempt in call.superseded:
            self._count_superseded(call, attempt.reason, attempt.usage)
        self._count(call, None)

    def _count(self, call: ModelCall, context: SpanContext | None) -> None:
        chat = self._chat(call.model, call.purpose)
        self._count_tokens(call.usage, chat)
        if call.cost is not None:
            self._cost.add(call.cost, {key: chat[key] for key in (semconv.REQUEST_MODEL, semconv.PURPOSE)})
        if call.stop_reason is not None:
            reason = {semconv.REASON: self._reasons.name(call.stop_reason)}
            self._stops.add(1, {semconv.REQUEST_MODEL: chat[semconv.REQUEST_MODEL], **reason})
        if call.response_model is not None:
            chat = {**chat, semconv.RESPONSE_MODEL: self._models.name(call.response_model)}
        outcome = chat
        if call.error is not None:
            outcome = {**chat, semconv.ERROR_TYPE: self._reasons.name(call.error)}
        for seconds in self._seconds:
            seconds.record(call.seconds, outcome, context)
        if (waited := call.seconds_to_first_chunk) is not None:
            for seconds in self._first_chunk_seconds:
                seconds.record(waited, chat, context)
        if call.usage is None:
            return
        sizes = {"input": call.usage.total - call.usage.output_tokens, "output": call.usage.output_tokens}
        self._input.record(sizes["input"], outcome, context)
        self._output.record(sizes["output"], outcome, context)
        if self._token_usage is not None:
            for kind, size in sizes.items():
                self._token_usage.record(size, {**outcome, semconv.TOKEN_TYPE: kind}, context)

    def _count_superseded(self, call: ModelCall, reason: str, usage: Usage | None) -> None:
        self._count_retry(call.model, reason, 1)
        if usage is not None:
            self._count_tokens(usage, self._chat(call.model, call.purpose))

    def _count_retry(self, model: str, reason: str, times: int) -> None:
        about = {semconv.REQUEST_MODEL: self._models.name(model), semconv.REASON: self._reasons.name(reason)}
        self._retries.add(times, about)

    def _count_tokens(self, usage: Usage | None, chat: Attributes) -> None:
        """A call without usage counts with 0, so that its series is there."""
        about = {**chat, semconv.MODALITY: "unknown" if usage is None else "text"}
        usage = usage or _NOTHING
        self._tokens["input_tokens"].add(usage.total - usage.output_tokens, about)
        self._tokens["output_tokens"].add(usage.output_tokens, about)
        self._tokens["cache_read.input_tokens"].add(usage.cache_read_input_tokens, about)
        self._tokens["cache_write.input_tokens"].add(usage.cache_creation_input_tokens, about)

    def _chat(self, model: str, purpose: Purpose) -> Attributes:
        return {
            semconv.OPERATION: semconv.CHAT,
            semconv.PROVIDER: semconv.ANTHROPIC,
            semconv.REQUEST_MODEL: self._models.name(model),
            semconv.PURPOSE: purpose,
            **self._endpoint,
        }
