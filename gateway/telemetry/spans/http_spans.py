"""One span per HTTP request: a root of its own for every client, with links to the turn it starts or
follows."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from opentelemetry.trace import INVALID_SPAN, Link, Span, SpanContext, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from gateway.ids import OPERATION_PREFIX, root_span_id, trace_id_of
from gateway.telemetry import semconv
from gateway.telemetry.metrics.request_metrics import METHODS
from gateway.telemetry.metrics.stream_metrics import CloseReason, StreamKind
from gateway.telemetry.spans.span_creation import Traces
from gateway.telemetry.spans.turn_spans import Spans
from gateway.telemetry.spans.upkeep_spans import UpkeepSpans

UNTRACED = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that machines ask for all the time: no spans."""
MAX_LINKS = 32

OUTCOMES: Mapping[CloseReason, str] = {
    "done": "completed",
    "client": "disconnected",
    "slow": "disconnected",
    "shutdown": "interrupted",
    "access_ended": "interrupted",
    "error": "failed",
}
"""What became of a stream. A reader that left does not affect the turn, whose outcome is its own."""

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?")


class RequestSpan:
    """The span of one request; does nothing when no traces are kept."""

    __slots__ = ("_followed", "_links", "_spans", "_upkeep", "span")

    def __init__(
        self, span: Span = INVALID_SPAN, spans: Spans | None = None, upkeep: UpkeepSpans | None = None
    ) -> None:
        self.span = span
        self._spans = spans
        self._upkeep = upkeep
        self._followed: str | None = None
        self._links = 0

    @property
    def ids(self) -> dict[str, str]:
        """What ties a log line to the request's trace; nothing when there is none."""
        context = self.span.get_span_context()
        if not context.is_valid:
            return {}
        return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}

    @property
    def traceparent(self) -> str | None:
        """The span in the form of W3C Trace Context, for the client to see."""
        ids = self.ids
        return f"00-{ids['trace_id']}-{ids['span_id']}-01" if ids else None

    def starts(self, turn_id: str) -> None:
        """The request asked for that turn, and got it."""
        if self._spans is not None:
            self._spans.asked(turn_id, self.span.get_span_context())
            self.follows(turn_id)
            self.span.set_attribute(semconv.STARTED_TURN, True)

    def compresses(self, session_id: str) -> None:
        """The request asks for a compression; it owes a `compressed`."""
        if self._upkeep is not None:
            self._upkeep.asked(session_id, self.span.get_span_context())

    def compressed(self, session_id: str) -> None:
        if self._upkeep is not None:
            self._upkeep.answered(session_id)

    def follows(self, turn_id: str) -> None:
        """The request is about that turn, or its stream has come to it. Costs a comparison when that is
        known."""
        if turn_id == self._followed or self._spans is None or turn_id.startswith(OPERATION_PREFIX):
            return
        self._followed = turn_id
        self._links += 1
        if self._links > MAX_LINKS:
            return
        trace_id = trace_id_of(turn_id)
        root = SpanContext(int(trace_id, 16), int(root_span_id(trace_id), 16), is_remote=False)
        self.span.add_link(root, {semconv.LINK: "turn"})
        if self._links == 1:
            self.span.set_attributes({semconv.TURN: turn_id, semconv.TURN_TRACE: trace_id})

    def streamed(self, kind: StreamKind, from_seq: int, sent: int, reason: CloseReason) -> None:
        """What became of the stream that answered the request; `from_seq` is the cursor it began at."""
        self.span.set_attributes(
            {
                semconv.STREAM_KIND: kind,
                semconv.STREAM_FROM: from_seq,
                semconv.STREAM_SENT: sent,
                semconv.STREAM_OUTCOME: OUTCOMES[reason],
                semconv.STREAM_CLOSED: reason,
            }
        )
        if reason == "error":
            self._fail("storage_unavailable")

    def end(
        self, method: str, route: str | None, status: int, session_id: str | None, error: str | None = None
    ) -> None:
        """The request is answered; `route` is the template of its path, `status` 0 if nothing was sent."""
        if not self.span.is_recording():
            return
        if route is not None:
            self.span.update_name(f"{_word(method)} {route}")
            self.span.set_attribute(semconv.HTTP_ROUTE, route)
        if session_id is not None:
            self.span.set_attribute(semconv.BESIDE_SESSION, session_id)
        if status:
            self.span.set_attribute(semconv.HTTP_STATUS, status)
        if error is not None or status >= 500:
            self._fail(error or str(status))
        self.span.end()

    def _fail(self, error: str) -> None:
        self.span.set_status(StatusCode.ERROR)
        self.span.set_attribute(semconv.ERROR_TYPE, error)


class HttpSpans:
    """Begins the spans of requests. Without `traces` they do nothing."""

    def __init__(
        self, traces: Traces | None = None, spans: Spans | None = None, upkeep: UpkeepSpans | None = None
    ) -> None:
        self._traces = traces
        self._spans = spans
        self._upkeep = upkeep

    def begin(
        self,
        scope: Mapping[str, object],
        headers: Mapping[str, str],
        request_id: str,
        dialect: str | None = None,
    ) -> RequestSpan:
        """The span of the request with that ASGI scope, from now on. The path is recorded, the query is not:
        the words of a search are content."""
        path = str(scope["path"])
        if self._traces is None or path in UNTRACED:
            return RequestSpan()
        method = str(scope["method"])
        attributes: dict[str, AttributeValue] = {
            semconv.HTTP_METHOD: _method(method),
            semconv.URL_PATH: path[:1000],
            semconv.URL_SCHEME: str(scope.get("scheme", "http")),
            semconv.PROTOCOL_VERSION: str(scope.get("http_version", "1.1")),
            semconv.REQUEST_ID: request_id,
        }
        if dialect is not None:
            attributes[semconv.DIALECT] = dialect
        if method not in METHODS:
            attributes[semconv.HTTP_METHOD_ORIGINAL] = method[:64]
        server = scope.get("server")
        if isinstance(server, tuple | list) and len(server) == 2 and server[1] is not None:
            attributes[semconv.SERVER_ADDRESS], attributes[semconv.SERVER_PORT] = (
                str(server[0]),
                int(server[1]),
            )
        client = client_context(headers.get("traceparent") or _asked_parent(scope.get("query_string", b"")))
        links = [Link(client, {semconv.LINK: "client"})] if client is not None else []
        span = self._traces.request(_word(method), attributes=attributes, links=links)
        return RequestSpan(span, self._spans, self._upkeep)


def client_context(traceparent: str | None) -> SpanContext | None:
    """The caller's span as W3C Trace Context has it; None when it is absent or malformed. It is only linked
    to: its sampling decision and its baggage do not bind a server on the internet."""
    found = _TRACEPARENT.fullmatch(traceparent.strip()) if traceparent else None
    if found is None or found[1] == "ff" or (found[1] == "00" and found[4] is not None):
        return None
    context = SpanContext(int(found[2], 16), int(found[3], 16), is_remote=True, trace_flags=TraceFlags(0))
    return context if context.is_valid else None


def _asked_parent(query: object) -> str | None:
    """`?traceparent=`: an EventSource cannot set headers."""
    if not isinstance(query, bytes) or b"traceparent=" not in query:
        return None
    try:
        return parse_qs(query.decode("latin-1"), max_num_fields=100).get("traceparent", [None])[0]
    except ValueError:
        return None


def _word(method: str) -> str:
    """What a span's name begins with."""
    return method if method in METHODS else "HTTP"


def _method(method: str) -> str:
    return method if method in METHODS else semconv.OTHER
