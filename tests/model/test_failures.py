"""Statuses, error bodies and headers become failures of ours."""

import base64
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from time import thread_time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model.upstream_failures import (
    MAX_MESSAGE,
    decoded_body,
    failure_of_body,
    failure_of_event,
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
        (402, "upstream_quota", False),
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
        if not (status == 403 and isinstance(body, str)):  # a page says nothing of the key
            assert (failure.code, failure.retryable) == (code, retryable)
        assert "<" not in failure.message


LITELLM = (
    "litellm.BadRequestError: AnthropicException - "
    '{"type":"error","error":{"type":"invalid_request_error","message":"no such field"}}'
)
DETAILS = [{"loc": ["body", "messages", 0], "msg": "Input should be a valid string", "type": "string_type"}]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"type": "x", "message": "words"}}, "words"),
        ({"error": "words"}, "words"),
        ({"errors": [{"message": "words"}, {"message": "more"}]}, "words; more"),
        ({"error": {"message": "", "detail": "words"}}, "words"),
        ({"error": {}, "message": "words"}, "words"),
        ({"message": "words"}, "words"),
        ({"msg": "words", "code": 500}, "words"),
        ({"error_msg": "words"}, "words"),
        ({"errorMessage": "words"}, "words"),
        ({"detail": "words"}, "words"),
        ({"detail": DETAILS}, "body.messages.0: Input should be a valid string"),
        ({"detail": {"error": {"message": "words"}}}, "words"),
        ([{"error": {"message": "words", "code": 400}}], "words"),
        ({"object": "error", "message": "words", "code": 400}, "words"),
        ({"base_resp": {"status_code": 2013, "status_msg": "words"}}, "words"),
        ({"error": {"message": '{"error":{"message":"words"}}'}}, "words"),
        ({"error": {"message": LITELLM}}, "litellm.BadRequestError: AnthropicException: no such field"),
        ({"error": {"message": "set {x} to 1"}}, "set {x} to 1"),
        ("plain words", "plain words"),
        ("<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head></html>", "502 Bad Gateway"),
        ("<html><style>p{}</style><script>x()</script><body><p>No &amp; no</p></body></html>", "No & no"),
        ('<?xml version="1.0"?><Error><Message>words</Message></Error>', "words"),
    ],
)
def test_the_words_of_an_error_are_found_wherever_they_stand(body: object, words: str) -> None:
    """In each form that servers write, also one packed in the text of another."""
    assert failure_of_status(422, {}, body).message.endswith(f"(HTTP 422): {words}")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("ab{<\x00\ud800", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "code", "type", "loc", "x"]), inner)
    ),
    max_leaves=12,
)


@given(st.integers(300, 599), json_values)
def test_any_body_is_an_error_that_can_be_shown(status: int, body: object) -> None:
    """Whatever JSON it is."""
    message = presentable(failure_of_status(status, {}, body), None).message
    assert message.isprintable()
    assert len(message) <= MAX_MESSAGE
    assert failure_of_event(body).message


def test_hostile_bodies_are_read_in_time() -> None:
    """Nested without end, a page of open tags, braces without number: what is looked at is bounded."""
    deep: object = "x"
    for _ in range(500):
        deep = {"error": deep}
    for body in (deep, "<html>" + "<script>" * 100_000, "{" * 1_000_000, {"message": '{"a":' * 100_000}):
        assert failure_of_status(400, {}, body).code == "upstream_error"


@pytest.mark.parametrize(
    ("status", "words", "code", "retryable"),
    [
        (400, "Too many requests, please wait before trying again.", "upstream_rate_limited", True),
        (500, "Rate limit reached for requests", "upstream_rate_limited", True),
        (400, "当前请求过于频繁，请稍后再试", "upstream_rate_limited", True),
        (500, "您的账户已达到速率限制，请您控制请求频率", "upstream_rate_limited", True),
        (503, "The server is busy now, please try again later", "upstream_overloaded", True),
        (500, "The engine is currently overloaded", "upstream_overloaded", True),
        (503, "系统繁忙，请稍后重试", "upstream_overloaded", True),
        (500, "We are experiencing high demand", "upstream_overloaded", True),
        (400, "Your credit balance is too low to access the Anthropic API.", "upstream_quota", False),
        (429, "You exceeded your current quota, please check your plan", "upstream_quota", False),
        (429, "余额不足或无可用资源包,请充值。", "upstream_quota", False),
        (403, "quota exhausted for today", "upstream_quota", False),
        (402, "Insufficient Balance", "upstream_quota", False),
        (403, "账户已欠费", "upstream_quota", False),
        (500, "upstream request timeout", "upstream_timeout", True),
        (400, "timeout must be a number", "upstream_error", False),
        (400, "api_error: gemma3 does not support tools", "upstream_error", False),
        (500, "registry.ollama.ai/library/x does not support tools", "upstream_error", False),
        (500, "该模型不支持工具调用", "upstream_error", False),
        (500, "model runner has unexpectedly stopped", "upstream_error", True),
        (429, "Please slow down", "upstream_rate_limited", True),
        (401, "Insufficient balance. Manage your billing here: https://x.example/b", "upstream_quota", False),
        (403, "Request not allowed", "upstream_error", False),
        (403, "Your API key does not have permission to use the specified resource", "upstream_auth", False),
        (403, "", "upstream_auth", False),
        (403, "<!DOCTYPE html><title>Attention Required! | Cloudflare</title>", "upstream_error", False),
    ],
)
def test_plain_words_decide_where_the_status_does_not(
    status: int, words: str, code: str, retryable: bool
) -> None:
    """Overloaded, too fast, no credit: in English and Chinese. What cannot succeed is not asked again, and
    403 is a question of the key only where it is one."""
    bodies: list[object] = [words, {"error": {"message": words}}, {"code": "x", "msg": words}]
    for body in bodies:
        failure = failure_of_status(status, {}, body)
        assert (failure.code, failure.retryable) == (code, retryable), failure.message
    if status == 403 and code != "upstream_auth":
        assert "key" not in failure_of_status(status, {}, words).message


@pytest.mark.parametrize("type", ["api_error", "server_error", "something_new"])
def test_a_request_that_was_refused_is_not_asked_again(type: str) -> None:
    """Whatever the body calls it, and it can be asked in another way."""
    failure = failure_of_status(400, {}, {"error": {"type": type, "message": "x does not support tools"}})
    assert (failure.code, failure.retryable, failure.refused) == ("upstream_error", False, True)


def test_a_limit_that_says_when_it_ends_is_one_of_rate() -> None:
    """A quota of a minute is none of money."""
    body = {"error": {"message": "You exceeded your current quota. Please retry in 32.1s."}}
    assert failure_of_status(429, {}, body).code == "upstream_rate_limited"
    exhausted = {"error": {"message": "quota exceeded"}}
    assert failure_of_status(429, {"retry-after": "20"}, exhausted).code == "upstream_rate_limited"


@pytest.mark.parametrize(
    ("event", "code", "retryable"),
    [
        (
            {"code": 500, "message": "The model produced output", "type": "server_error"},
            "upstream_error",
            True,
        ),
        ({"code": 400, "message": "no", "type": "invalid_request_error"}, "upstream_error", False),
        ({"error": {"code": 429, "message": "slow"}}, "upstream_rate_limited", True),
        ({"error": {"code": 503, "message": "Loading model"}}, "upstream_error", True),
        ({"error": {"code": "1113", "message": "x"}}, "upstream_quota", False),
        ({"code": 1113, "msg": "x"}, "upstream_quota", False),
        ({"error": {"code": "1302", "message": "x"}}, "upstream_rate_limited", True),
        ({"error": {"code": "1305", "message": "x"}}, "upstream_overloaded", True),
        ({"error": {"code": "1261", "message": "x"}}, "context_overflow", False),
        ({"error": {"type": "insufficient_quota", "message": "x"}}, "upstream_quota", False),
        ({"error": {"code": "rate_limit_exceeded", "message": "x"}}, "upstream_rate_limited", True),
        ("overloaded", "upstream_overloaded", True),
    ],
)
def test_an_error_without_a_status_is_known_by_its_code_type_or_words(
    event: object, code: str, retryable: bool
) -> None:
    """As it stands in a stream, or in the body of a success."""
    failure = failure_of_event(event)
    assert (failure.code, failure.retryable) == (code, retryable)
    failure = failure_of_body(200, "application/json", event)
    assert isinstance(event, str) or (failure.code, failure.retryable) == (code, retryable)


def test_what_is_not_reached_is_told_without_settings_of_the_client() -> None:
    """No "ssl:default" behind a plain address."""
    why = OSError("Cannot connect to host 127.0.0.1:8400 ssl:default [Connect call failed]")
    assert "127.0.0.1:8400 [Connect call failed]" in unreachable("http://127.0.0.1:8400", why).message


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


REPORTED: list[tuple[int, object, str, str]] = [
    # status, body, code, words that must be told
    (
        401,
        {"message": "Insufficient balance. See https://x.example", "type": "CreditsError"},
        "upstream_quota",
        "balance",
    ),
    (
        403,
        {"code": 30011, "message": "Your paid balance is insufficient.", "data": None},
        "upstream_quota",
        "paid",
    ),
    (
        429,
        {"error": {"http_code": "429", "message": "insufficient balance (1008)"}},
        "upstream_quota",
        "1008",
    ),
    (
        500,
        {"type": "error", "error": {"type": "api_error", "message": "insufficient balance (1008)"}},
        "upstream_quota",
        "1008",
    ),
    (401, {"error": {"message": "该令牌额度已用尽", "type": "new_api_error"}}, "upstream_quota", "额度"),
    (
        400,
        {"code": "Arrearage", "message": "Please make sure your account is in good standing."},
        "upstream_quota",
        "account",
    ),
    (
        403,
        {"code": "AllocationQuota.FreeTierOnly", "message": "The free tier of the model has been exhausted."},
        "upstream_quota",
        "free",
    ),
    (
        403,
        {"error": {"code": "AccountOverdueError", "message": "Your account has an overdue balance."}},
        "upstream_quota",
        "overdue",
    ),
    (
        429,
        {"error": {"message": "usage limit exceeded, 5-hour usage limit reached for Token Plan (2056)"}},
        "upstream_quota",
        "2056",
    ),
    (
        400,
        {"error": {"message": "You have reached your specified API usage limits."}},
        "upstream_quota",
        "limits",
    ),
    (
        400,
        {"error": {"message": "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0"}},
        "upstream_quota",
        "10.1",
    ),
    (
        429,
        {"errors": [{"message": "you have used up your daily free allocation of 10,000 neurons"}]},
        "upstream_quota",
        "neurons",
    ),
    (
        400,
        {"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}},
        "upstream_auth",
        "key",
    ),
    (200, {"base_resp": {"status_code": 2049, "status_msg": "invalid api key"}}, "upstream_auth", "invalid"),
    (
        200,
        {"base_resp": {"status_code": 1004, "status_msg": "login fail: Please carry the API secret key"}},
        "upstream_auth",
        "login",
    ),
    (
        200,
        {"errors": [{"code": 10000, "message": "Authentication error"}], "success": False},
        "upstream_auth",
        "Authentication",
    ),
    (
        200,
        {"error_code": 336501, "error_msg": "Rate limit reached for requests"},
        "upstream_rate_limited",
        "Rate",
    ),
    (
        200,
        {"Response": {"Error": {"Code": "LimitExceeded", "Message": "请求的次数超过了频率限制。"}}},
        "upstream_rate_limited",
        "频率",
    ),
    (
        200,
        {"ResponseStatus": {"Error": {"Code": "X", "Message": "引擎层请求失败"}}},
        "upstream_error",
        "引擎层",
    ),
    (200, {"header": {"code": 11200, "message": "AppIdNoAuthError"}}, "upstream_error", "AppIdNoAuthError"),
    (200, {"fault": {"faultstring": "Policy violation.", "detail": {}}}, "upstream_error", "Policy"),
    (200, {"exception": "org.x.TimeoutException: read timed out"}, "upstream_timeout", "timed out"),
    (200, {"status": "error", "result": {"note": "no workers"}}, "upstream_error", "no workers"),
    (500, {"outcome": ["nothing", "works"]}, "upstream_error", "works"),
    (
        400,
        {
            "error": {
                "message": "Provider returned error",
                "metadata": {"raw": '{"error":{"message":"prompt is too long: 9 tokens"}}'},
            }
        },
        "context_overflow",
        "prompt is too long",
    ),
    (
        429,
        {
            "error": {
                "message": "Provider returned error",
                "code": 429,
                "metadata": {"raw": "x:free is rate-limited upstream"},
            }
        },
        "upstream_rate_limited",
        "rate-limited upstream",
    ),
    (
        200,
        {"object": "chat.completion", "choices": [{"message": {"content": "Hi"}}]},
        "upstream_error",
        "OpenAI's chat completions",
    ),
]


@pytest.mark.parametrize(("status", "body", "code", "words"), REPORTED)
def test_bodies_as_providers_were_reported_to_send_them(
    status: int, body: object, code: str, words: str
) -> None:
    """Each has the code that its words mean, and the words are told."""
    failed = (
        failure_of_status(status, {}, body)
        if status != 200
        else failure_of_body(200, "application/json", body)
    )
    assert failed.code == code
    assert words in failed.message


def test_work_for_an_error() -> None:
    """Words in which a pattern could begin anywhere, in a body with very many."""
    long = "exceed" * 680
    body: object = [[[[long] * 3] * 3] * 3] * 3
    before = thread_time()
    failure_of_status(400, {}, body)
    failure_of_status(400, {}, {"error": {"message": long}})
    assert thread_time() - before < 0.1
