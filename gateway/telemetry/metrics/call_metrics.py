"""Measures model calls, under the names of the conventions for generative AI."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from opentelemetry.trace import SpanContext
from opentelemetry.util.types import AttributeValue

from gateway.messages import Usage
from gateway.model.side_calls import ModelCall, Purpose
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.turn_facts import Call, TelemetryReader, TurnFacts

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
"""Codes of the failures after which a model call is repeated (gateway/model/upstream_failures.py)."""


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
        histogram, counter = exposition.histogram, exposition.counter
        self._seconds = [histogram(table.CALL_DURATION)]
        self._first_chunk_seconds = [histogram(table.FIRST_CHUNK)]
        self._token_usage = histogram(table.FORMER_CALL_TOKENS) if dup else None
        if dup:
            self._seconds.append(histogram(table.FORMER_CALL_DURATION))
            self._first_chunk_seconds.append(histogram(table.FORMER_FIRST_CHUNK))
        former_gaps = table.FORMER_CHUNK_GAPS if dup else None
        self._gaps = exposition.counters.histogram(table.CHUNK_GAPS, also=former_gaps)
        self._input_tokens, self._output_tokens = counter(table.INPUT_TOKENS), counter(table.OUTPUT_TOKENS)
        self._cache_read_tokens = counter(table.CACHE_READ_TOKENS)
        self._cache_write_tokens = counter(table.CACHE_WRITE_TOKENS)
        self._input, self._output = histogram(table.CALL_INPUT_TOKENS), histogram(table.CALL_OUTPUT_TOKENS)
        self._retries, self._stops = counter(table.RETRIES), counter(table.STOPS)
        self._cost = counter(table.COST)
        for model in models[:_MAX_SEEDED]:
            for reason in RETRIED:  # there from the start: a series that begins at 1 hides its first event
                self._count_retry(model, reason, 0)

    def call_retried(self, turn: TurnFacts, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        self._count_superseded(call, reason, usage)

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        self._count(call, self._exemplify(call.span, turn))
        if any(call.gaps.counts):
            chat = self._chat(call.model, call.purpose)
            self._gaps[tuple(chat.get(key) for key in table.CHUNK_GAPS.labels)].merge(call.gaps)

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
        self._input_tokens.add(usage.total - usage.output_tokens, about)
        self._output_tokens.add(usage.output_tokens, about)
        self._cache_read_tokens.add(usage.cache_read_input_tokens, about)
        self._cache_write_tokens.add(usage.cache_creation_input_tokens, about)

    def _chat(self, model: str, purpose: Purpose) -> Attributes:
        return {
            semconv.OPERATION: semconv.CHAT,
            semconv.PROVIDER: semconv.ANTHROPIC,
            semconv.REQUEST_MODEL: self._models.name(model),
            semconv.PURPOSE: purpose,
            **self._endpoint,
        }
