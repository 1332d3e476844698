"""Statuses, error bodies and headers become failures of ours."""

import base64
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import quote

import pytest

from gateway.model.upstream_failures import (
    MAX_MESSAGE,
    decoded_body,
    failure_of_status,
    presentable,
    unreachable,
)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (302, "upstream_error", False),
        (400, "upstream_error", False),
        (401, "upstream_auth", False),
        (403, "upstream_auth", False),
        (404, "upstream_error", False),
        (408, "upstream_timeout", True),
        (409, "upstream_error", True),
        (413, "context_overflow", False),
        (422, "upstream_error", False),
        (429, "upstream_rate_limited", True),
        (500, "upstream_error", True),
        (503, "upstream_error", True),
        (504, "upstream_timeout", True),
        (529, "upstream_overloaded", True),
    ],
)
def test_every_status_has_a_code(status: int, code: str, retryable: bool) -> None:
    """The status alone is enough, also with a body that says nothing."""
    for body in (None, "<html>502</html>", {"error": {"message": 7}}, ["?"]):
        failure = failure_of_status(status, {}, body)
        assert (failure.code, failure.retryable) == (code, retryable)
        assert "<" not in failure.message


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 208310 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
        "This model's maximum context length is 8192 tokens.",
        "the request exceeds the available context size",
        "prompt too long; exceeded max context length by 5 tokens",
    ],
)
def test_a_prompt_that_does_not_fit_is_an_overflow(message: str) -> None:
    """However an endpoint words it, and whatever the shape of its body."""
    for body in (
        {"error": {"type": "invalid_request_error", "message": message}},
        {"detail": message},
        message,
    ):
        failure = failure_of_status(400, {}, body)
        assert (failure.code, failure.retryable) == ("context_overflow", False)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "9", "retry-after-ms": "50"}, 0.05),
        ({"retry-after": "2", "retry-after-ms": "soon"}, 2),
        ({"retry-after": "3600"}, 3600),
        ({"retry-after": "soon, very soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds or a date; what cannot be read is as if it were absent."""
    assert failure_of_status(429, headers, None).retry_after == seconds


def test_retry_after_may_be_a_date_to_come() -> None:
    """A date becomes the seconds until then."""
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    seconds = failure_of_status(429, {"retry-after": then}, None).retry_after
    assert seconds is not None
    assert 50 < seconds <= 60


def test_the_endpoint_may_know_better_whether_to_retry() -> None:
    """x-should-retry overrules the status."""
    assert failure_of_status(400, {"x-should-retry": "true"}, None).retryable
    assert not failure_of_status(500, {"x-should-retry": "false"}, None).retryable
    assert failure_of_status(500, {"x-should-retry": "perhaps"}, None).retryable


@pytest.mark.parametrize(
    ("body", "charset", "expected"),
    [
        (b'{"error":"no"}', None, {"error": "no"}),
        ('{"error":"没有"}'.encode("gbk"), "gbk", {"error": "没有"}),
        (b" out of order \n", "utf-8", "out of order"),
        (b"\xff", "no such charset", "\ufffd"),
        (b"abc", "hex", "abc"),
        (b"[" * 100_000, None, "[" * 100_000),
        (b"", None, ""),
    ],
)
def test_a_body_says_its_json_or_its_text(body: bytes, charset: str | None, expected: object) -> None:
    """Whatever an endpoint sends, and whatever it calls it."""
    assert decoded_body(body, charset) == expected


def test_a_message_is_one_line_short_and_without_the_key() -> None:
    """The endpoint's own words are passed on, cleaned, and never with the key, wherever it stands."""
    for before in (0, MAX_MESSAGE - 40, MAX_MESSAGE - 60, MAX_MESSAGE):
        text = "x\n\x00\ud800\x1b[31m" + "y" * before + "sk-ant-secret" + "z" * 5000
        failure = presentable(failure_of_status(401, {}, {"error": {"message": text}}), "sk-ant-secret")
        assert "sk-" not in failure.message
        assert failure.message.isprintable()
        assert len(failure.message) <= MAX_MESSAGE
        assert str(failure) == failure.message
    assert "refused" in presentable(unreachable("http://x", OSError("Connection refused")), None).message


KEY = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789-_xyz"


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        KEY[: len(KEY) // 2],
        KEY[len(KEY) // 2 :],
        KEY[-12:],
        KEY.upper(),
        KEY[::-1],
        "-".join(KEY),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode(),
        KEY.encode().hex(),
        quote(KEY, safe="").replace("-", "%2D"),
    ],
)
def test_a_key_is_masked_in_whatever_form_an_endpoint_repeats_it(echo: str) -> None:
    """No eight letters and digits of it in a row are left, and the rest of the message is."""
    message = f"The key {echo} is not known; send another x-api-key."
    shown = presentable(failure_of_status(401, {}, {"error": {"message": message}}), KEY).message
    left = "".join(char for char in shown.lower() if char.isalnum())
    form = "".join(char for char in echo.lower() if char.isalnum())
    assert "[key]" in shown
    assert "is not known; send another x-api-key." in shown
    assert not any(form[at : at + 8] in left for at in range(8, len(form) - 8))
