"""The form of a log line, and what must never be in one."""

import contextlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import NonRecordingSpan, SpanContext, use_span
from pydantic import BaseModel, ValidationError

from gateway.telemetry.lines.logs import configure_logging
from gateway.telemetry.redaction import REDACTED, redact
from tests.postgres import on_postgres, server

SECRET = "hunter2canary"
KEY = f"sk-ant-api03-{SECRET}_x-9"

NAMED = ["", "gateway", "sse_starlette", "anthropic", "sqlalchemy", "httpx2", "alembic"]


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where lines go; the process's logging is put back as it was."""
    loggers = [logging.getLogger(name) for name in [*NAMED, "uvicorn", "uvicorn.error", "uvicorn.access"]]
    before = [(logger, logger.level, logger.handlers, logger.propagate) for logger in loggers]
    yield io.StringIO()
    for logger, level, handlers, propagate in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_the_ids_of_its_turn(stream: io.StringIO) -> None:
    """Bound ids are merged, and what is in the message stays readable in any language."""
    configure_logging("info", "json", stream)
    structlog.contextvars.bind_contextvars(session_id="s_1", turn_id="t_1", request_id="r_1")

    structlog.get_logger("gateway.api").info("您好", path="/api/chat")

    (line,) = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "您好",
        "level": "info",
        "logger": "gateway.api",
        "session_id": "s_1",
        "turn_id": "t_1",
        "request_id": "r_1",
        "path": "/api/chat",
    }
    assert "您好" in stream.getvalue()


def test_the_current_span_is_told_unless_the_line_has_one(stream: io.StringIO) -> None:
    """trace_id and span_id come from the current span, sampled or not; bound values win."""
    configure_logging("info", "json", stream)
    log = structlog.get_logger("gateway.api")

    with use_span(NonRecordingSpan(SpanContext(0xABC, 0xDEF, is_remote=False))):
        log.info("inside")
        log.info("bound", trace_id="of the turn", span_id="of the turn")
    log.info("outside")

    inside, bound, outside = lines(stream)
    assert (inside["trace_id"], inside["span_id"]) == (f"{0xABC:032x}", f"{0xDEF:016x}")
    assert (bound["trace_id"], bound["span_id"]) == ("of the turn", "of the turn")
    assert "trace_id" not in outside


@pytest.mark.parametrize("name", ["uvicorn.error", "sse_starlette", "anthropic", "aiohttp", "asyncio"])
def test_libraries_write_the_same_form(stream: io.StringIO, name: str) -> None:
    """Lines of the standard logging module go through the same renderer, with extras and exceptions."""
    configure_logging("debug", "json", stream)
    try:
        raise ValueError(f"no {KEY}")
    except ValueError:
        logging.getLogger(name).exception("failed %s", "here", extra={"port": 1, "api_key": SECRET})

    (line,) = lines(stream)
    assert (line["event"], line["level"], line["logger"]) == ("failed here", "error", name)
    assert (line["port"], line["api_key"]) == (1, REDACTED)
    assert line["exception"].endswith(f"ValueError: no {REDACTED}")
    assert SECRET not in stream.getvalue()


@pytest.mark.parametrize("name", ["sse_starlette.sse", "anthropic._base_client", "aiohttp.client"])
def test_libraries_never_write_at_debug(stream: io.StringIO, name: str) -> None:
    """At debug they write bodies; ours may be debugged all the same."""
    configure_logging("debug", "json", stream)

    logging.getLogger(name).debug("chunk: %s", SECRET)
    structlog.get_logger("gateway.turn").debug("ours")

    assert [line["event"] for line in lines(stream)] == ["ours"]


def test_the_level_is_the_least_that_is_written(stream: io.StringIO) -> None:
    """Ours and the libraries' lines below it are dropped, and the last configuration counts."""
    configure_logging("debug", "json", io.StringIO())
    configure_logging("warning", "json", stream)

    structlog.get_logger("gateway.turn").info("no")
    logging.getLogger("uvicorn.error").info("no")
    structlog.get_logger("gateway.turn").warning("yes")

    assert [line["event"] for line in lines(stream)] == ["yes"]


def test_auto_is_json_unless_a_person_looks(stream: io.StringIO) -> None:
    """A pipe gets JSON, a terminal lines for eyes; secrets go to neither."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    for target in (stream, terminal):
        configure_logging("info", "auto", target)
        try:
            raise ValueError(KEY)
        except ValueError:
            structlog.get_logger("gateway.api").exception("failed", password=SECRET)

    assert lines(stream)[0]["event"] == "failed"
    assert "failed" in terminal.getvalue()
    assert "Traceback" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")
    assert SECRET not in stream.getvalue() + terminal.getvalue()


def test_stderr_may_be_replaced(stream: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines go to what stderr is when they are written."""
    configure_logging("info", "json")
    with contextlib.redirect_stderr(stream):
        structlog.get_logger("gateway.api").info("redirected")
    structlog.get_logger("gateway.api").info("not any more")

    assert [line["event"] for line in lines(stream)] == ["redirected"]
    assert json.loads(capsys.readouterr().err)["event"] == "not any more"


def test_a_failed_validation_is_told_without_its_values(stream: io.StringIO) -> None:
    """What could not be read may be what somebody said; also when it is only the cause."""

    class Asked(BaseModel):
        number: int

    configure_logging("info", "json", stream)
    try:
        try:
            Asked.model_validate({"number": SECRET})
        except ValidationError as error:
            raise RuntimeError("no") from error
    except RuntimeError:
        structlog.get_logger("gateway.api").exception("failed")

    (line,) = lines(stream)
    assert "1 errors in Asked" in line["exception"]
    assert line["exception"].endswith("RuntimeError: no")
    assert SECRET not in stream.getvalue()


@on_postgres
def test_a_row_that_a_database_refused_is_not_told(stream: io.StringIO) -> None:
    """The server quotes it in what follows its message, and sometimes in that; also of several at a time."""
    configure_logging("info", "json", stream)
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE t (said text PRIMARY KEY, n int CHECK (n > 1))")
        for statement in (
            f"INSERT INTO t VALUES ('{SECRET}', 2), ('{SECRET}', 3)",
            f"INSERT INTO t VALUES ('{SECRET}', 0)",
            f"INSERT INTO t SELECT 'a', '{SECRET}'::text::int",
            f"SELECT '{{{SECRET}'::text::json",
        ):
            for several in (False, True):
                try:
                    try:
                        connection.execute(statement)
                    except psycopg.Error as error:
                        raise RuntimeError("no") from ExceptionGroup("two", [error]) if several else error
                except RuntimeError:
                    structlog.get_logger("gateway.api").exception("failed")

    seen = [line["exception"] for line in lines(stream)]
    assert len(seen) == 8
    assert all("SQLSTATE 2" in each and "RuntimeError: no" in each for each in seen)
    assert SECRET not in stream.getvalue()


SECRETIVE = [
    {"authorization": f"Basic {SECRET}"},
    {"headers": {"X-API-Key": SECRET, "Set-Cookie": f"a={SECRET}; b={SECRET}"}},
    {"scope": {"headers": [(b"cookie", SECRET.encode()), ("authorization", SECRET)]}},
    {"nested": [{"deep": ({"accessToken": SECRET},)}]},
    {"client_secret": SECRET, "api_keys": [SECRET], "db_password": SECRET, "token": SECRET},
    {"event": f"called with {KEY} in it"},
    {"note": f"curl -H 'Authorization: Bearer {SECRET}' http://127.0.0.1"},
    {"note": f"Headers({{'x-api-key': '{SECRET}', 'cookie': 'a=b; c={SECRET}'}})"},
    {"url": f"postgresql://user:{SECRET}@db/gateway"},
    {"query": f"?token={SECRET}&x=1"},
    {"body": f'{{"password": "{SECRET}"}}'.encode()},
    {"error": ValueError(KEY)},
    {KEY: 1},
]


@pytest.mark.parametrize("fields", SECRETIVE)
def test_a_secret_is_written_nowhere(stream: io.StringIO, fields: dict[str, Any]) -> None:
    """By its name or by its look, at any depth, in text, bytes, objects and keys."""
    configure_logging("info", "json", stream)

    structlog.get_logger("gateway.api").info(**{"event": "said", **fields})

    assert len(lines(stream)) == 1
    assert SECRET not in stream.getvalue()
    assert REDACTED in stream.getvalue()


def test_counts_of_tokens_are_no_secrets() -> None:
    """What only sounds like a secret is told, and so is that a secret is missing."""
    fields = {
        "input_tokens": 3,
        "max_tokens": 5,
        "tokens": 1,
        "token_count": 4,
        "api_key": None,
        "cookie": False,
    }

    assert redact(fields) == fields
    assert redact("max_tokens=5 and tokens: 7") == "max_tokens=5 and tokens: 7"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner, inner)
    ),
)


@given(JSON)
def test_whatever_is_logged_becomes_json(value: object) -> None:
    """Odd values, lone surrogates and non-finite numbers included: a log line must not raise."""
    written = json.dumps(redact(value), ensure_ascii=False, allow_nan=False).encode()

    assert json.loads(written) == redact(value)


def test_a_value_that_holds_itself_ends() -> None:
    """The depth is bounded."""
    endless: list[Any] = []
    endless.append(endless)

    assert "<list>" in json.dumps(redact(endless))
