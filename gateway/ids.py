"""New ids and the clock, the only two impurities that the values of this package have; and the ids of traces
and spans, which follow from the ids of what they are about."""

import hashlib
import re
import secrets
import time

ID_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"
USER_PATTERN = r"^[A-Za-z0-9_.-]{1,160}$"
"""Of users: an id, or what `auth` makes of one that a delegate key names."""
OPERATION_PREFIX = "c_"
TURN_PREFIX = "t_"
CLIENT_CALL_PREFIX = "client_"
"""What the ids begin with that stand in place of a turn's."""

DAY_MS = 86_400_000
"""Milliseconds of a day."""

ARTIFACT_PATTERN = r"ART-[0-9a-hjkmnp-tv-z]{10}"
"""What references of artifacts look like, wherever they stand in a text."""

_BASE_32 = "0123456789abcdefghjkmnpqrstvwxyz"
_USER = re.compile(r"[A-Za-z0-9_.-]{1,160}")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def new_session_id() -> str:
    """A session id: `s_` and 128 random bits in hex."""
    return f"s_{secrets.token_hex(16)}"


def new_turn_id() -> str:
    """A turn id: `t_` and 128 random bits in hex."""
    return f"{TURN_PREFIX}{secrets.token_hex(16)}"


def new_operation_id() -> str:
    """An id for work on a session that belongs to no turn: `c_` and 128 random bits in hex. It stands where
    a turn's id stands in events."""
    return f"{OPERATION_PREFIX}{secrets.token_hex(16)}"


def new_replica_id(name: str = "p") -> str:
    """An id for a process that has the database open: its name and 64 random bits in hex."""
    return f"{name}_{secrets.token_hex(8)}"


def new_memory_id() -> str:
    """A memory's id: `m_` and 64 random bits in hex, short because models repeat it."""
    return f"m_{secrets.token_hex(8)}"


def new_schedule_id() -> str:
    """A schedule's id: `sch_` and 64 random bits in hex, short because models repeat it."""
    return f"sch_{secrets.token_hex(8)}"


def new_link_id() -> str:
    """The id of a link to a session: `ln_` and 64 random bits in hex. It opens nothing."""
    return f"ln_{secrets.token_hex(8)}"


def new_webhook_id() -> str:
    """A webhook's id: `wh_` and 64 random bits in hex."""
    return f"wh_{secrets.token_hex(8)}"


def new_saved_prompt_id() -> str:
    """A saved prompt's id: `sp_` and 64 random bits in hex."""
    return f"sp_{secrets.token_hex(8)}"


def new_project_id() -> str:
    """A project's id: `p_` and 128 random bits in hex, so that it is nobody's label by chance."""
    return f"p_{secrets.token_hex(16)}"


def new_key_id() -> str:
    """An API key's id: 64 random bits in hex. It is no secret."""
    return secrets.token_hex(8)


def new_hold_id() -> str:
    """A legal hold's id: `hold_` and 64 random bits in hex."""
    return f"hold_{secrets.token_hex(8)}"


def new_erasure_id() -> str:
    """The id of a person's erasure: `erasure_` and 128 random bits in hex."""
    return f"erasure_{secrets.token_hex(16)}"


def new_artifact_ref() -> str:
    """An artifact's reference: `ART-` and 50 random bits, in Crockford's base 32 without capitals, short
    because models repeat it. It names one of its owner's artifacts."""
    return "ART-" + "".join(secrets.choice(_BASE_32) for _ in range(10))


def new_tool_call_id() -> str:
    """An id for a tool call whose own cannot be used: `toolu_` and 96 random bits in hex."""
    return f"toolu_{secrets.token_hex(12)}"


def new_client_call_id() -> str:
    """An id for a tool call that the user's client runs. Its prefix shows readers that the client ran it."""
    return f"{CLIENT_CALL_PREFIX}{secrets.token_hex(12)}"


def is_client_call(tool_call_id: str) -> bool:
    """Whether the user's client runs the call."""
    return tool_call_id.startswith(CLIENT_CALL_PREFIX)


def new_request_id() -> str:
    """A request id for one HTTP request: `r_` and 64 random bits in hex."""
    return f"r_{secrets.token_hex(8)}"


def trace_id_of(turn_id: str) -> str:
    """The W3C trace id, 32 hex digits, of the trace of a turn (or of an operation that belongs to none).

    It is derived from the id, so that any process at any time, and any reader of an event, names the same
    trace. The id cannot be derived from it.
    """
    return hashlib.sha256(f"trace {turn_id}".encode()).hexdigest()[:32]


def root_span_id(trace_id: str) -> str:
    """The id, 16 hex digits, of the root span of a turn's trace: the lower half of the trace id."""
    return trace_id[16:] if int(trace_id[16:], 16) else f"{1:016x}"


def span_id_of(trace_id: str, part: str) -> str:
    """The id, 16 hex digits, of the span of one part of a turn: `iteration 2`, `tool_call toolu_…`."""
    return hashlib.sha256(f"span {trace_id} {part}".encode()).hexdigest()[:16]


def is_id(text: str) -> bool:
    """Whether `text` may be an id: 1 to 64 of letters, digits, `_` and `-`."""
    return _ID.fullmatch(text) is not None


def is_user(text: str) -> bool:
    """Whether `text` may be a user's id (see USER_PATTERN)."""
    return _USER.fullmatch(text) is not None


SET_BY = 1_000
"""Milliseconds by which the two differ when somebody has set the system's clock; less is its regulation."""


class SteadyClock:
    """Unix milliseconds of when it was made, and of as much later as has passed since: durations by it are
    right also where somebody sets the system's clock meanwhile."""

    __slots__ = ("_began", "_made_at")

    def __init__(self) -> None:
        self._made_at, self._began = now_ms(), time.monotonic_ns()

    def now(self) -> int:
        """The time of the clock in whole milliseconds."""
        return self._made_at + (time.monotonic_ns() - self._began) // 1_000_000

    def of(self, at: int) -> int:
        """`at`, which the system's clock shows now; where that was set since, the time by this one."""
        now = self._made_at + (time.monotonic_ns() - self._began) // 1_000_000
        return at if -SET_BY < at - now < SET_BY else now


def now_ms() -> int:
    """Unix time in whole milliseconds."""
    return time.time_ns() // 1_000_000
