"""Turns: rows, what is needed to accept one, and what they used. The class is in store.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, NamedTuple

from gateway.events.lifecycle import Outcome
from gateway.events.session_changes import Feedback
from gateway.messages import UNCHANGED, Attached, Sampling, ToolSpec, Usage
from gateway.storage.limits import Charge, Standing
from gateway.storage.messages import History
from gateway.thinking_in_text import without_thinking

TurnStatus = Literal["accepted", "running", "awaiting_approval", "awaiting_tool_result", "done"]
TurnState = TurnStatus | Outcome
"""Where a turn is: its status or, once it is done, its outcome."""
OnConflict = Literal["reject", "queue", "interrupt"]
Origin = Literal["seeded"]
"""Where a turn of a file comes from that did not run where that was written: a client brought it along."""
Brought = Literal["seeded", "imported"]
"""How a turn came here that did not run here: a client brought it along, or it was in a file."""

MAX_INSTRUCTIONS = 131_072
"""Characters of a client's instructions."""


def instructions_digest(text: str) -> str:
    """By which a client's instructions are kept; "" of an empty text."""
    return sha256(text.encode()).hexdigest() if text else ""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn. `first_seq` and `last_seq` bound its events; 0 while it has none. Between them lie no others
    but those of a turn that was cancelled while it waited for this one. `epoch` is the number of its lease
    holder, which alone may append: it grows with each one in the session, and is 0 of a turn that is not
    open. `recoveries` counts the lease holders that were lost. A turn that awaits something is suspended: it
    has no lease holder, and is its session's running one nevertheless; awaiting_tool_result: nothing but
    results of its client. `project_id` and `role_id` are those of its session, `attachments` came with its
    message. `ended_at`, `usage`, `cost` and `iterations` are known once it is done. `branch` is the one that
    it is in (0 while it waits), `parent_turn_id` what it comes after, a turn or branches.ROOT, where that is
    not the turn that ran before it. `origin` is None for a turn that ran here. `instructions` is the digest
    (SHA-256 in hex) of those of its client; None: it has none, or waits and brought none. `client_tools`
    names the set of tools that came with it (see `Turns.client_tools`). `dialect` names the adapter by which
    it was asked for; None: the gateway's own routes. `key_id` is the key that it was asked for with, or that
    made its schedule; `sign_in` is the digest of the sign-in on the page that it was asked for by; `scopes`
    what these allow, where that is less than a member may. `feedback` is what was thought of it last. `owner`
    sent it: who that is decides about limits, keys and grants. `is_temporary`: its session is;
    `is_shared`: the members of its session's
    project read it. `host` is whose its session is, where that is somebody else. `sampling` is how its client
    wants the model to write."""

    id: str
    session_id: str
    owner: str
    status: TurnStatus
    outcome: Outcome | None
    input: str
    model: str
    client_message_id: str | None
    epoch: int
    created_at: int
    first_seq: int
    last_seq: int
    cancel_requested: bool
    project_id: str | None = None
    role_id: str | None = None
    attachments: tuple[Attached, ...] = ()
    recoveries: int = 0
    ended_at: int | None = None
    usage: Usage | None = None
    cost: float | None = None
    iterations: int = 0
    branch: int = 0
    parent_turn_id: str | None = None
    origin: Brought | None = None
    instructions: str | None = None
    client_tools: str | None = None
    dialect: str | None = None
    key_id: str | None = None
    sign_in: str | None = None
    scopes: str | None = None
    feedback: Feedback | None = None
    is_shared: bool = False
    is_temporary: bool = False
    host: str | None = None
    sampling: Sampling = UNCHANGED

    @property
    def session_owner(self) -> str:
        """Whose the session is, with its artifacts."""
        return self.host or self.owner


class OwnedTurn(NamedTuple):
    """A turn that runs, and the epoch of its lease holder."""

    session_id: str
    turn_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class NewTurn:
    """What is needed to accept a turn. `session_id` must be an id; `create_session` makes it if it is new, in
    that project and role. The session uses the artifacts of `attachments` from then on, and those that were
    made for this turn (their `turn_id`) belong to it. It comes after the turn `parent_turn_id`, in a new
    branch where others do already (branches.ROOT: before all turns); None: after the last one of the active
    branch. `instructions` are the client's, from this turn on; None: those of the turn before stay; "": it
    has none any more, and `first_instructions` those of a session that is made where there are none else.
    `client_tools` are run by the client. By its `mark` a client finds it that sends the
    whole conversation each time. `dialect`, `key_id`, `sign_in` and `scopes`: see `TurnRow`. `charges` are
    what it takes of limits, `session_quota` the bytes that all sessions of the session's owner may count.
    `sampling`: see `TurnRow`."""

    id: str
    session_id: str
    owner: str
    input: str
    model: str
    client_message_id: str | None
    on_conflict: OnConflict
    create_session: bool
    at: int
    project_id: str | None = None
    role_id: str | None = None
    attachments: tuple[Attached, ...] = ()
    parent_turn_id: str | None = None
    instructions: str | None = None
    first_instructions: str | None = None
    client_tools: Sequence[ToolSpec] = ()
    mark: str | None = None
    dialect: str | None = None
    key_id: str | None = None
    sign_in: str | None = None
    scopes: str | None = None
    charges: Sequence[Charge] = ()
    session_quota: int | None = None
    sampling: Sampling = UNCHANGED


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn was accepted, or (`repeated`) had been before under the same client_message_id. `head` is the
    session's last seq at that moment, `interrupts` the running turn that has to make way. `history` is the
    session's as of then, without the turn, where it was at hand; of a new session, where no summary
    of another may be carried into it. `lost`: so many events before `head` had been shown and are gone.
    `recovered`: its former lease holder was lost. `made_at`: when its session was made, which
    distinguishes it from others that have had its id. `standings` are those of the limits that it was charged
    to."""

    turn: TurnRow
    head: int
    repeated: bool = False
    interrupts: str | None = None
    history: History | None = None
    lost: int = 0
    recovered: bool = False
    made_at: int = 0
    standings: Sequence[Standing] = ()


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What turns with a model used: how many they were, their tokens, their cost in US dollars as far as
    known (None: of none), and how many are `unpriced`: they used tokens of which no price is known."""

    model: str
    turns: int
    usage: Usage
    cost: float | None
    unpriced: int


@dataclass(frozen=True, slots=True)
class UsedTurns:
    """What turns used: tokens that were read (from the prompt cache too) and written, US dollars of those
    whose price is known, and how many are `unpriced`: they used tokens of which no price is known."""

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "UsedTurns") -> "UsedTurns":
        return UsedTurns(
            self.turns + other.turns,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
        )


class UsedWhen(NamedTuple):
    """What the turns with a model used that were accepted in the quarter of an hour from `at`."""

    at: int
    model: str
    used: UsedTurns


class UsedIn(NamedTuple):
    """What turns in a session used; `title` is None of one that is not their owner's (`is_own`)."""

    session_id: str
    title: str | None
    is_own: bool
    used: UsedTurns


DELETED_SESSIONS = "deleted_sessions"
"""The purpose under which is kept, beside calls beside turns, what the turns of deleted sessions used."""

TITLE_LENGTH = 80
_TITLE_FROM = 10_000  # characters of a message in which thinking is looked for


def title_from_message(text: str, files: Sequence[Attached] = ()) -> str | None:
    """The first line of a message that is no thinking, or the name of its first file where it has no words,
    cut to TITLE_LENGTH characters; None when there is nothing in it."""
    said = without_thinking(text[:_TITLE_FROM]).strip() or text.strip()
    title = said.partition("\n")[0].strip() or (files[0].name if files else "")
    return title[:TITLE_LENGTH] or None
