"""Keeps secrets out of what is written down: by the name they go under, and by the look of them."""

import math
import re
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any

from gateway.messages import clean_text

REDACTED = "[redacted]"

_SECRET_NAME = re.compile(r"authorization|api[_-]?key|cookie|passw(or)?d|secret|token$", re.IGNORECASE)

# No part of it may look at the same characters from many beginnings: texts are long, and not ours.
_SECRET_LOOK = re.compile(
    r"""
      \bsk-ant-[\w-]+                                           # an Anthropic key
    | \bsk-[\w-]{16,}                                           # one of others that begin alike
    | \bgh[oprsu]_\w{16,} | \bgithub_pat_\w{16,}                # GitHub
    | \bxox[a-z]-[\w-]{8,}                                      # Slack
    | (?-i:\b(?:AKIA|ASIA)[0-9A-Z]{16}\b)                       # AWS
    | (?-i:(?<![\w-])eyJ[\w-]{8,}+(?:\.[\w-]*+){2,4})           # a JSON web token
    | -----BEGIN[ ][a-z0-9 ]{0,40}PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
      (?:[^-]|-(?!----))*+(?:-----END[^-]{0,60}-----)?          # a key file, whole or cut off
    | (?<=\bbearer\s)[^\s"',;]+                                  # a credential in a header
    | (?<=://)[^\s/:@]*:[^\s/@]+(?=@)                            # user and password in a URL
    | (?P<cookie>cookie\\?["']?\s*[:=]\s*\\?["']?)[^"'\r\n]+    # name: value, as in a dump of headers
    | (?P<variable>(?-i:(?:API_?KEY|SECRET|TOKEN|PASSW(?:OR)?D|(?<=_)KEY|KEY(?=S?=))[A-Z0-9_]{0,64})
      \\?["']?[ \t]*[:=][ \t]*)                                 # of an environment
      (?: \\?"[^"\r\n]*+"? | \\?'[^'\r\n]*+'?
        | [^\s"'&}]+(?:(?<=,)[ ]+[^\s"':&}]+:[^\s"'&}]+)* )     # with the pairs of GATEWAY_API_KEYS
    | (?P<name>(?:authorization|api[_-]?key|passw(?:or)?d|secret|token)\\?["']?\s*[:=]\s*\\?["']?)
      (?:basic\s|bearer\s)?[^\s"',;&}]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HINTS = (
    *("sk-", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "xox", "akia", "asia", "eyj"),
    *("-----begin", "bearer", "://", "cookie", "key", "authorization", "passw", "secret", "token"),
)
"""What every match contains in lower case: to look for these is much faster, and most texts have none."""

_DEEPEST = 8
_SHORT = 64
"""Characters of a name that is looked at once: those of our lines are few, and come again and again."""


def redact(value: Any, depth: int = 0) -> Any:
    """`value` as plain JSON values, without secrets; what is not JSON becomes its `repr`."""
    if type(value) is str:  # as nearly all that is written
        return redact_text(value)
    if isinstance(value, Mapping | list | tuple | Set):
        return _redact_container(value, depth) if depth < _DEEPEST else f"<{type(value).__name__}>"
    match value:
        case None | bool():
            return value
        case int():
            return value if value.bit_length() < 64 else str(value)
        case float():
            return value if math.isfinite(value) else str(value)
        case _:
            return redact_text(_as_text(value))


def _redact_container(value: Any, depth: int) -> Any:
    match value:
        case Mapping():
            return dict(_redact_named(name, inner, depth) for name, inner in value.items())
        case (str() | bytes() as name, inner):  # a header, as a pair
            return [*_redact_named(name, inner, depth)]
        case _:
            return [redact(inner, depth + 1) for inner in value]


def _redact_named(name: object, value: Any, depth: int) -> tuple[str, Any]:
    text = _as_text(name)
    redacted, is_secret = _look_at_short(text) if len(text) <= _SHORT else _look_at(text)
    if is_secret and value is not None and not isinstance(value, bool):
        return redacted, REDACTED
    return redacted, redact(value, depth + 1)


def _look_at(name: str) -> tuple[str, bool]:
    """The name as it may be written, and whether what goes under it is a secret."""
    return redact_text(name), _SECRET_NAME.search(name) is not None


_look_at_short = lru_cache(maxsize=1024)(_look_at)


def redact_text(text: str) -> str:
    """`text` without what looks like a secret, and without what no encoder accepts."""
    text = clean_text(text)
    folded = text.casefold()
    for hint in _HINTS:  # a third of what `any` takes
        if hint in folded:
            return _SECRET_LOOK.sub(_keep_name, text)
    return text


def _as_text(value: object) -> str:
    match value:
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case _:
            return repr(value)


def _keep_name(found: re.Match[str]) -> str:
    return f"{found['cookie'] or found['variable'] or found['name'] or ''}{REDACTED}"
