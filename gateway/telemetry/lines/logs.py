"""Log lines: JSON on stderr, or prettier in a terminal; with the ids they belong to and without secrets."""

import json
import logging
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TextIO, cast

import structlog
from opentelemetry import trace
from pydantic import ValidationError
from structlog.typing import EventDict, ExcInfo, Processor, WrappedLogger

from gateway.telemetry.redaction import redact

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "pretty"]

_MIN_LEVELS = {
    "sse_starlette": logging.INFO,  # writes every frame it sends at debug
    "anthropic": logging.INFO,  # writes request bodies at debug
    "sqlalchemy": logging.WARNING,  # writes bound parameters at info
    "httpx2": logging.WARNING,  # writes a line per request at info
    "alembic": logging.WARNING,
    "mcp": logging.CRITICAL,  # writes ids of sessions at info, and content in its tracebacks
    "client": logging.CRITICAL,  # a logger of the MCP SDK's, too
    "uvicorn.access": logging.WARNING,  # writes queries, and a search for words is content
}

_WITH_HANDLERS_OF_THEIR_OWN = ("uvicorn", "uvicorn.error", "uvicorn.access")


_chain: list[Processor] = []


def configure_logging(
    level: LogLevel = "info", format: LogFormat = "auto", stream: TextIO | None = None
) -> None:
    """Sends every line of the process, ours and the libraries', to `stream` (default stderr) in one form.

    `auto` is pretty in a terminal and JSON elsewhere. Libraries write from info up at any level: their debug
    lines have content. May be called again; the last call counts.
    """
    threshold = logging.getLevelNamesMapping()[level.upper()]
    pretty = format == "pretty" or (format == "auto" and (stream or sys.stderr).isatty())

    handler = _Handler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*_context(), structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.ExceptionRenderer(_format_exception),
                _redact,
                *_renderers(pretty),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(threshold, logging.INFO))
    logging.getLogger("gateway").setLevel(threshold)
    for name, least in _MIN_LEVELS.items():
        logging.getLogger(name).setLevel(max(threshold, least))
    for name in _WITH_HANDLERS_OF_THEIR_OWN:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True

    # One list for the life of the process: loggers keep the one they were made with.
    _chain[:] = [
        structlog.stdlib.filter_by_level,
        *_context(),
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ]
    structlog.configure(
        processors=_chain,
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


class _Handler(logging.Handler):
    """Writes to `stream`, or to the stderr of the moment: what captures it replaces it."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        try:
            stream = self._stream or sys.stderr
            stream.write(self.format(record) + "\n")
            stream.flush()
        except Exception:  # noqa: BLE001 - a line that cannot be written must not stop the work it is about
            self.handleError(record)


def _context() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
    ]


def _renderers(pretty: bool) -> Sequence[Processor]:
    if pretty:
        return [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
    return [structlog.processors.JSONRenderer(json.dumps, ensure_ascii=False)]


def _format_exception(exc_info: ExcInfo) -> str:
    """The traceback. A failed validation is shown without the values it failed for, and what a database
    server refused without the row: they may be anything."""
    text = "".join(traceback.format_exception(*exc_info)).rstrip("\n")
    for error in _with_causes(exc_info[1]):
        if isinstance(error, ValidationError):
            text = text.replace(str(error), f"{error.error_count()} errors in {error.title}")
        elif sqlstate := getattr(error, "sqlstate", None):  # psycopg's, which is an extra
            first, *more = (line for line in str(error).splitlines() if line.strip())
            for line in more:
                text = text.replace(line, "")
            text = text.replace(first, f"SQLSTATE {sqlstate}")
    return text


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """It, and all that led to it."""
    found, seen = [error], set[int]()
    while found:
        if (each := found.pop()) is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        found += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            found += cast("BaseExceptionGroup[BaseException]", each).exceptions


def _add_trace(_logger: WrappedLogger, _method: str, line: EventDict) -> EventDict:
    # is_valid, not is_recording: a trace that was not sampled here still ties lines together
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        line.setdefault("trace_id", f"{context.trace_id:032x}")
        line.setdefault("span_id", f"{context.span_id:016x}")
    return line


def _redact(_logger: WrappedLogger, _method: str, line: EventDict) -> dict[str, Any]:
    return redact(line)
