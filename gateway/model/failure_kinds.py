"""The kinds of failures of a model's endpoint, and what each is known by: status, type, code or plain words.

Sources: docs.claude.com "Errors" (statuses and types); types, numbers and words of other servers as their
documents and reports of their users have them. The words for a prompt that is too long are in
upstream_failures.py.
"""

import re
from typing import NamedTuple


class Kind(NamedTuple):
    code: str
    retryable: bool
    text: str


RATE_LIMITED = Kind("upstream_rate_limited", True, "The model's endpoint limits the rate of requests")
OVERLOADED = Kind("upstream_overloaded", True, "The model's endpoint is overloaded")
TIMEOUT = Kind("upstream_timeout", True, "The model's endpoint ran into a timeout")
AUTH = Kind("upstream_auth", False, "The model's endpoint refused the API key")
QUOTA = Kind("upstream_quota", False, "The account at the model's endpoint has no quota or credit left")
OVERFLOW = Kind("context_overflow", False, "The conversation is longer than the model can read")
REFUSED = Kind("upstream_error", False, "The model's endpoint refused the request")
FORBIDDEN = Kind("upstream_error", False, "The model's endpoint, or something before it, denied access")
FAILED = Kind("upstream_error", True, "The model's endpoint failed")
NOT_FOUND = Kind(
    "upstream_error",
    False,
    "The model or the address is not known: check the model's name and ANTHROPIC_BASE_URL, without /v1",
)
REDIRECTED = Kind(
    "upstream_error",
    False,
    "The model's endpoint redirects, which is not followed: check ANTHROPIC_BASE_URL",
)

STATUSES = {
    401: AUTH,
    402: QUOTA,
    403: AUTH,
    408: TIMEOUT,
    413: OVERFLOW,
    429: RATE_LIMITED,
    504: TIMEOUT,
    529: OVERLOADED,
}
"""Statuses that decide, for any body."""

TYPES = {
    "api_error": FAILED,
    "authentication_error": AUTH,
    "billing_error": QUOTA,
    "context_length_exceeded": OVERFLOW,
    "engine_overloaded_error": OVERLOADED,
    "exceed_context_size_error": OVERFLOW,
    "exceeded_current_quota_error": QUOTA,
    "insufficient_quota": QUOTA,
    "invalid_api_key": AUTH,
    "invalid_authentication_error": AUTH,
    "invalid_request_error": REFUSED,
    "not_found_error": NOT_FOUND,
    "overloaded_error": OVERLOADED,
    "permission_error": AUTH,
    "rate_limit_error": RATE_LIMITED,
    "rate_limit_exceeded": RATE_LIMITED,
    "rate_limit_reached_error": RATE_LIMITED,
    "request_too_large": OVERFLOW,
    "timeout_error": TIMEOUT,
}
"""The types of the Anthropic API, and types and codes of OpenAI, Kimi and llama.cpp."""

CODES = {
    "1008": QUOTA,  # MiniMax
    "1113": QUOTA,
    "1261": OVERFLOW,
    "1302": RATE_LIMITED,
    "1303": RATE_LIMITED,
    "1305": OVERLOADED,
    "1308": QUOTA,
}
"""Numbers that mean one thing only, most of them Zhipu's ("错误码汇总" of docs.bigmodel.cn)."""

STOPS = {
    "abort": FAILED,  # vLLM, SGLang
    "aborted": FAILED,
    "error": FAILED,  # Mistral, OpenRouter, vLLM, Cohere
    "insufficient_system_resource": OVERLOADED,  # DeepSeek
    "internal_error": FAILED,
    "malformed_model_output": FAILED,  # Bedrock
    "network_error": FAILED,  # Zhipu
    "server_error": FAILED,
    "timeout": TIMEOUT,  # Cohere
}
"""Stop reasons of answers that are none: the endpoint failed while the model wrote."""

_PLAIN_WORDS = (
    (
        RATE_LIMITED,
        r"\brate[ _-]?limit|too many requests|\bthrottl|requests? (per|/) ?(minute|second|hour|day)"
        r"|(retry|try again) (in|after) (about )?\d|限流|請求過於|请求过于频繁|请求(数|次数)?过多"
        r"|频率|频次|頻率|速率限制|并发(数|请求)?(过|超|已达)",
    ),
    (
        QUOTA,
        r"insufficient[ _](user[ _])?(quota|balance|funds|credit)"
        r"|quota[ _]?(has |is |was )?(been )?(exhausted|exceeded|used up|reached)"
        r"|(exceed|exhaust)\w{0,8}( \w{1,40}){0,3} quota|\busage limits?\b|overdue|in good standing|\barrear"
        r"|\bbudget (has |is |was )?(been )?exceeded|(hourly|daily|weekly|monthly) (request |token )?limit"
        r"|free (tier|allocation)\b.{0,40}exhausted|used up\b.{0,30}(free|allocation|quota)"
        r"|\b(no|low|out of|more) credits?\b"
        r"|\bcredits? (balance |limit )?(is |are |has |have )?(been )?"
        r"(too low|exhausted|depleted|used up|insufficient)"
        r"|\bbalance (is )?(too low|not enough|insufficient|exhausted)|\bbilling\b|payment required"
        r"|(余额|餘額|额度|額度|配额|配額|资源包|資源包)(已|不足|不够|用|耗|为零)|欠费|欠費|充值",
    ),
    (
        OVERLOADED,
        r"\boverloaded?\b|\b(server|service|model|system|engine)s?( is| are)?( currently| too)? busy\b"
        r"|\b(at|over|no|insufficient|out of) capacity\b|capacity (exceeded|reached|constraints?)"
        r"|(high|heavy) (demand|load|traffic)|繁忙|忙碌|过载|過載|负载过|負載過|访问量过大|算力不足",
    ),
    (
        AUTH,
        r"\b(invalid|incorrect|wrong|missing|expired) (x-)?api[ _-]?key\b|\bapi[ _-]?key (is )?(not valid"
        r"|invalid|incorrect|missing|expired)|\bauthentication (error|failed|failure)|\blogin fail"
        r"|(密钥|密鑰|令牌|api ?key)(无效|無效|错误|錯誤|不正确|已过期|過期)|无效的(api|密钥|令牌)"
        r"|(鉴权|鑑權|认证|認證|身份验证)失败",
    ),
)
"""Words that say plainly what is wrong, whatever the status, in the order in which they are looked for."""
_PATTERNS = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _PLAIN_WORDS)
LATE = re.compile(r"\btime[ds]?[ -]?out\b|deadline exceeded|超时|逾時|超時", re.IGNORECASE)
UNSUPPORTED = re.compile(
    r"\b(does not|doesn't|do not|don't|cannot|can't) support\b|\b(is|are) not supported|\bunsupported\b"
    r"|不支持|不支援",
    re.IGNORECASE,
)
"""The words of a server that will never do what it was asked, also where it reports a failure of its own."""
NAMES_ACCESS = re.compile(
    r"\bkey\b|token|auth|credential|permission|access|forbidden|denied|sign in|log ?in|密钥|密鑰|令牌|认证"
    r"|認證|鉴权|权限|權限",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://\S+")


def kind_of_words(words: str) -> Kind | None:
    """The kind that the words name plainly; addresses in them say nothing."""
    words = _ADDRESS.sub(" ", words)
    return next((kind for kind, pattern in _PATTERNS if pattern.search(words)), None)
