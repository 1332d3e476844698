"""The meaning of a collector's answer to OTLP over HTTP: a 200 alone does not mean that anything was
taken."""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from gateway.telemetry.endpoints import Signal
from gateway.telemetry.redaction import redact_text

MAX_WORDS = 200
"""Characters of an answer's body that are shown."""

_READ = 4000  # of a body's characters, before it is tidied
_MARKUP = re.compile(r"<(script|style)\b.*?(</\1>|$)|<[^>]*(>|$)", re.IGNORECASE | re.DOTALL)

_Answer = ExportTraceServiceResponse | ExportMetricsServiceResponse | ExportLogsServiceResponse
_ANSWERS: Mapping[Signal, type[_Answer]] = {
    "traces": ExportTraceServiceResponse,
    "metrics": ExportMetricsServiceResponse,
    "logs": ExportLogsServiceResponse,
}


class TrialVerdict(NamedTuple):
    """`reason` is in the words of the server, without secrets; it may come with `accepted` too."""

    outcome: Literal["accepted", "refused", "not understood"]
    reason: str = ""


def verdict_on(signal: Signal, status: int, phrase: str, content_type: str, body: bytes) -> TrialVerdict:
    """The outcome of one record of the signal, by the answer to it (OpenTelemetry Protocol Specification,
    "OTLP/HTTP Response"): `phrase` is the status line's."""
    text = f"{status} {phrase}".strip()
    if not 200 <= status < 300:
        return TrialVerdict("refused", _with_words(text, _words(content_type, body)))
    answer = _decoded(_ANSWERS[signal](), content_type, body)
    if answer is None:
        kind = content_type.partition(";")[0] or "no content type"
        return TrialVerdict("not understood", _with_words(f"{text} with {kind}", _words(content_type, body)))
    words = _tidy(answer.partial_success.error_message)
    if _rejected(answer) > 0:
        return TrialVerdict("refused", _with_words(f"{text}, but it was rejected", words))
    return TrialVerdict("accepted", words)


def _decoded(answer: _Answer, content_type: str, body: bytes) -> _Answer | None:
    """`answer`, filled from the body; None when that is something else. Nothing at all is an empty answer."""
    try:
        if "json" in content_type:
            Parse(body, answer, ignore_unknown_fields=True)
        elif not content_type or "protobuf" in content_type or "octet-stream" in content_type:
            answer.ParseFromString(body)
        elif body.strip():
            return None
    except (DecodeError, ParseError, UnicodeDecodeError):
        return None if body.strip() else answer
    return answer


def _rejected(answer: _Answer) -> int:
    match answer:
        case ExportTraceServiceResponse():
            return answer.partial_success.rejected_spans
        case ExportMetricsServiceResponse():
            return answer.partial_success.rejected_data_points
        case ExportLogsServiceResponse():
            return answer.partial_success.rejected_log_records


def _words(content_type: str, body: bytes) -> str:
    if "protobuf" in content_type:
        try:
            return _tidy(Status.FromString(body).message)
        except DecodeError:
            return ""
    text = body.decode(errors="replace")[:_READ]
    return _tidy(_MARKUP.sub(" ", text) if "html" in content_type else text)


def _tidy(text: str) -> str:
    words = " ".join(redact_text(text[:_READ]).split())
    return words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS]}…"


def _with_words(text: str, words: str) -> str:
    return f"{text}: {words}" if words else text
