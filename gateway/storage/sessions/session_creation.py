"""The session that a new turn enters, in SQL."""

from typing import NamedTuple

from sqlalchemy import Connection, Text, and_, bindparam, case, func, literal_column, null, select

from gateway.errors import Conflict, SessionIdTaken
from gateway.storage.database import Prepared
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import FLAG, Rows
from gateway.storage.schema import WAITING, approvals, client_calls, heads, sessions, turns
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.access import may_write
from gateway.storage.sessions.purges import free_id
from gateway.storage.sessions.session_sizes import add_new
from gateway.storage.turns import NewTurn
from gateway.storage.turns.heads import OF_SESSION, add_head
from gateway.storage.turns.instructions import begin_with

# What a session is doing. Its head is locked before, so that accepts of two replicas follow each other.
_waiting = (
    select(func.count())
    .select_from(turns)
    .where(turns.c.session_id == sessions.c.id, turns.c.status == WAITING)
    .scalar_subquery()
)
STATE = Prepared(
    select(
        sessions.c.owner,
        heads.c.head,
        heads.c.turn_id,
        heads.c.epoch,
        _waiting,
        sessions.c.project_id,
        sessions.c.role_id,
        heads.c.position,
        heads.c.replica,
        sessions.c.branch,
        sessions.c.instructions,
        sessions.c.created_at,
        sessions.c.shared,
        sessions.c.is_temporary,
    )
    .join_from(sessions, heads, OF_SESSION)
    .where(sessions.c.id == bindparam("session_id"))
)
_active = func.coalesce(sessions.c.branch, literal_column("0"))
_one = select(literal_column("1"))
_asks_client = _one.where(client_calls.c.turn_id == heads.c.turn_id, client_calls.c.status.is_(None))
_asks_person = _one.where(approvals.c.turn_id == heads.c.turn_id, approvals.c.decision.is_(None))
_status = case(
    (heads.c.turn_id.is_(None), null()),
    (heads.c.parked_until.is_(None), literal_column("'running'", Text)),
    (and_(_asks_client.exists(), ~_asks_person.exists()), literal_column("'awaiting_tool_result'", Text)),
    else_=literal_column("'awaiting_approval'", Text),
)
ROWS = Rows(
    SessionRow,
    sessions,
    {"head": heads.c.head, "active_branch": _active, "status": _status},
    is_temporary=FLAG,
)


class Entered(NamedTuple):
    """A session as a turn finds it: its head, its open turn, the epoch of its last owner, how many turns
    wait, its project and its role, how many messages it has, whose its open turn is, its active branch (None:
    it has one only), the digest of the client's instructions in force, when it was made, what members of its
    project may do with it, and whose it is where that is not the sender of the turn."""

    head: int
    open_turn: str | None
    epoch: int
    waiting: int
    project_id: str | None
    role_id: str | None
    position: int
    replica: str | None = None
    branch: int | None = None
    instructions: str | None = None
    made_at: int = 0
    shared: str | None = None
    is_temporary: bool | None = None
    host: str | None = None


def add_session(
    connection: Connection, row: SessionRow, *, position: int = 0, said: int = 0, quota: int | None = None
) -> None:
    """A new session, with `position` messages of `said` bytes. Raises errors.Conflict: rows of one that had
    its id are still there; errors.SessionsFull: beyond the owner's `quota`."""
    free_id(connection, row.id)
    ROWS.add(connection, row)
    add_head(connection, row.id, head=row.head, position=position)
    add_new(connection, row.id, row.owner, said=said, last=position, quota=quota)


def enter_session(connection: Connection, new: NewTurn) -> Entered:
    """The session is made if the caller may; that of another is entered where they may write in it, which
    they may then until this transaction ends. Raises errors.NotFound, errors.Conflict."""
    state = STATE.one(connection, session_id=new.session_id)
    if state is None:
        if not new.create_session:
            raise no_session(new.session_id)
        made = SessionRow(
            new.session_id, new.owner, None, new.at, new.at, 0, project_id=new.project_id, role_id=new.role_id
        )
        add_session(connection, made, quota=new.session_quota)
        digest = None
        if new.first_instructions and new.instructions is None:
            digest = begin_with(connection, new.session_id, new.first_instructions)
        return Entered(0, None, 0, 0, new.project_id, new.role_id, 0, instructions=digest, made_at=new.at)
    owner, *entered = state
    found = Entered(*entered)
    if owner != new.owner:
        if may_write(connection, new.session_id, new.owner):
            found = found._replace(host=owner)
        elif new.create_session:
            raise SessionIdTaken(new.session_id)
        else:
            raise no_session(new.session_id)
    _check_place("project", new.session_id, found.project_id, new.project_id)
    _check_place("role", new.session_id, found.role_id, new.role_id)
    return found


def _check_place(what: str, session_id: str, now: str | None, asked: str | None) -> None:
    """Raises errors.Conflict: the prompt of a session depends on its project and role, so they stay."""
    if asked is not None and asked != now:
        where = f"in the {what} {now}" if now is not None else f"in no {what}"
        raise Conflict(
            f"Session {session_id} is {where}, and stays there: use another session for the {what} {asked}.",
            details={f"{what}_id": now},
        )
