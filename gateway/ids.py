"""New ids and the clock: the only two impurities that the values of this package have."""

import re
import secrets
import time

ID_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def new_session_id() -> str:
    """A session id: `s_` and 128 random bits in hex."""
    return f"s_{secrets.token_hex(16)}"


def new_turn_id() -> str:
    """A turn id: `t_` and 128 random bits in hex."""
    return f"t_{secrets.token_hex(16)}"


def new_request_id() -> str:
    """A request id for one HTTP request: `r_` and 64 random bits in hex."""
    return f"r_{secrets.token_hex(8)}"


def new_trace_id() -> str:
    """A W3C trace id: 128 random bits in hex, never all zero."""
    return f"{secrets.randbits(128) or 1:032x}"


def is_id(text: str) -> bool:
    """Whether `text` may be an id: 1 to 64 of letters, digits, `_` and `-`."""
    return _ID.fullmatch(text) is not None


def now_ms() -> int:
    """Unix time in whole milliseconds."""
    return time.time_ns() // 1_000_000
