"""Which traces are kept, decided when it is known how a turn ended.

A collector that samples by outcome decides some 30 seconds after a trace's first span, which is before many a
turn fails. Here the end of a turn is known: its spans wait for it.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import StatusCode

from gateway.bounded_dict import BoundedDict
from gateway.telemetry import semconv

TRACE_SPANS = 1000
"""Spans of one trace that wait; a trace with more is kept, and its spans are exported at once from there."""
ALL_SPANS = 20_000
ALL_BYTES = 32 * 1024 * 1024
"""What all waiting spans may take; then the trace that waits longest is decided by its id alone."""
REMEMBERED = 4096
"""Decided traces whose late spans follow the decision."""


@dataclass(frozen=True, slots=True)
class Policy:
    """`ratio` is the share that is kept of traces with nothing special; times are in seconds. `longest_wait`
    is how long a trace may wait for its end."""

    ratio: float = 1.0
    slow: float = 30.0
    slow_first: float = 5.0
    longest_wait: float = 3600.0


@dataclass(slots=True)
class _Waiting:
    since: int
    spans: list[ReadableSpan] = field(default_factory=list[ReadableSpan])
    size: int = 0
    special: bool = False


class OutcomeSampler(SpanProcessor):
    """Hands spans to `forward` once their trace is decided: kept when something in it failed, was stopped,
    was slow or has no usage, a person was asked, or a process had to go on with it; else by the ratio, from
    the trace id.

    Requests that start or follow a turn are decided together with it. One that asks a person is kept from
    then on: it may wait for a day, which no memory is for.
    """

    def __init__(self, forward: SpanProcessor, policy: Policy, on_dropped: Callable[[int], None]) -> None:
        self._forward = forward
        self._policy = policy
        self._on_dropped = on_dropped
        self._bound = round(policy.ratio * 2**64)
        self._waiting: OrderedDict[int, _Waiting] = OrderedDict()
        self._decided = BoundedDict[int, bool](REMEMBERED)
        self._spans = 0
        self._bytes = 0

    def will_keep(self, trace_id: int) -> bool:
        """Whether it is certain by now that the trace is kept."""
        waiting = self._waiting.get(trace_id)
        is_special = self._decided.get(trace_id) or (waiting is not None and waiting.special)
        return is_special or self._is_chosen(trace_id)

    @property
    def waiting(self) -> tuple[int, int]:
        """How many spans wait for a decision, and about how many bytes they take."""
        return self._spans, self._bytes

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if _is_turn(span) and (trace_id := _trace_of(span)) not in self._decided:
            self._wait_for(trace_id, span.start_time or 0)
        if _asks_a_person(span):
            self._keep(_trace_of(span))

    def on_end(self, span: ReadableSpan) -> None:
        trace_id = _decided_with(span)
        if _asks_a_person(span):
            self._keep(trace_id)  # it may have been forgotten meanwhile
        if _starts_turn(span) and trace_id not in self._decided:
            self._wait_for(trace_id, span.start_time or 0)  # answered before the turn began
        keep = self._decided.get(trace_id)
        if keep is not None:
            self._settle([span], keep or _is_special(span, self._policy))
            return
        waiting = self._waiting.get(trace_id)
        if waiting is None:  # a trace that is not a turn's, or a turn that ended long ago
            self._settle([span], _is_special(span, self._policy) or self._is_chosen(trace_id))
            return
        self._add(waiting, span)
        if _is_turn(span) or len(waiting.spans) >= TRACE_SPANS:
            self._decide(trace_id, keep=len(waiting.spans) >= TRACE_SPANS or waiting.special)
        self._evict(span.end_time or 0)

    def shutdown(self) -> None:
        """What still waits belongs to turns that the next process goes on with: it is kept."""
        self._keep_all()
        self._forward.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        self._keep_all()
        return self._forward.force_flush(timeout_millis)

    def _keep_all(self) -> None:
        for trace_id in list(self._waiting):
            self._decide(trace_id, keep=True)

    def _wait_for(self, trace_id: int, since: int) -> None:
        self._waiting.setdefault(trace_id, _Waiting(since))

    def _add(self, waiting: _Waiting, span: ReadableSpan) -> None:
        size = _size(span)
        waiting.spans.append(span)
        waiting.size += size
        waiting.special = waiting.special or _is_special(span, self._policy)
        self._spans += 1
        self._bytes += size

    def _evict(self, now: int) -> None:
        oldest = int(now - self._policy.longest_wait * 1e9)
        while self._waiting:
            trace_id, waiting = next(iter(self._waiting.items()))
            if self._spans <= ALL_SPANS and self._bytes <= ALL_BYTES and waiting.since >= oldest:
                return
            keep = waiting.special or self._is_chosen(trace_id)
            if not keep:
                self._on_dropped(len(waiting.spans))
            self._decide(trace_id, keep=keep)

    def _decide(self, trace_id: int, *, keep: bool) -> None:
        waiting = self._waiting.pop(trace_id)
        self._spans -= len(waiting.spans)
        self._bytes -= waiting.size
        keep = keep or self._is_chosen(trace_id)
        self._decided[trace_id] = keep
        self._settle(waiting.spans, keep)

    def _keep(self, trace_id: int) -> None:
        if trace_id in self._waiting:
            self._decide(trace_id, keep=True)
        else:
            self._decided[trace_id] = True

    def _settle(self, spans: list[ReadableSpan], keep: bool) -> None:
        if keep:
            deque(map(self._forward.on_end, spans), maxlen=0)

    def _is_chosen(self, trace_id: int) -> bool:
        # The lower half, as OpenTelemetry's TraceIdRatioBased: a service behind a tool decides alike.
        return trace_id & (2**64 - 1) < self._bound


def _is_turn(span: ReadableSpan) -> bool:
    return span.parent is None and (span.attributes or {}).get(semconv.OPERATION) == semconv.INVOKE_AGENT


def _starts_turn(span: ReadableSpan) -> bool:
    return semconv.STARTED_TURN in (span.attributes or {})


def _asks_a_person(span: ReadableSpan) -> bool:
    return (span.attributes or {}).get(semconv.APPROVAL_ASKED) is True


def _decided_with(span: ReadableSpan) -> int:
    """The trace whose fate the span shares."""
    turn = (span.attributes or {}).get(semconv.TURN_TRACE)
    return int(turn, 16) if isinstance(turn, str) else _trace_of(span)


def _trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def _is_special(span: ReadableSpan, policy: Policy) -> bool:
    if span.status.status_code is StatusCode.ERROR:
        return True
    found = span.attributes or {}
    first = found.get(semconv.TIME_TO_FIRST_CHUNK)
    if isinstance(first, int | float) and first > policy.slow_first:
        return True
    if not _is_turn(span):
        return False
    took = ((span.end_time or 0) - (span.start_time or 0)) / 1e9
    return bool(
        took > policy.slow
        or found.get(semconv.OUTCOME) != "completed"
        or found.get(semconv.TURN_UNREPORTED)
        or found.get(semconv.RESUMED)
    )


def _size(span: ReadableSpan) -> int:
    """About how much memory the span takes: only its texts can be large."""
    texts = sum(len(value) for value in (span.attributes or {}).values() if isinstance(value, str))
    return 1000 + texts + 200 * len(span.events)
