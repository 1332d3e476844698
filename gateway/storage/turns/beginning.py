"""How a turn begins: accepted, claimed when its time comes, or taken from a lease holder that is lost."""

from typing import Any

from sqlalchemy import (
    Connection,
    Text,
    bindparam,
    case,
    false,
    func,
    insert,
    literal_column,
    select,
    update,
)

from gateway.errors import Conflict, QueueFull
from gateway.ids import now_ms
from gateway.storage.archives.summaries import has_any
from gateway.storage.branches import ROOT
from gateway.storage.branches.branch_positions import place_of
from gateway.storage.branches.forks import Entry, enter
from gateway.storage.database import Prepared, send
from gateway.storage.limits.counters import charge
from gateway.storage.messages import History
from gateway.storage.refusals import is_answering
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import sampling_text
from gateway.storage.schema import RUNNING, WAITING, messages, sessions, turns
from gateway.storage.sessions.message_queries import view_of
from gateway.storage.sessions.session_creation import STATE, Entered, enter_session
from gateway.storage.sessions.session_sizes import add_asked
from gateway.storage.turns import Accepted, NewTurn, TurnRow, title_from_message
from gateway.storage.turns import heads as fence
from gateway.storage.turns import instructions as client_instructions
from gateway.storage.turns.attachments import json_of, take_in
from gateway.storage.turns.cancellation import request_cancel
from gateway.storage.turns.client_tool_sets import add_tools
from gateway.storage.turns.rows import OF_ID, OF_SESSION, SAME_MESSAGE, SESSION_OF, accepted_of, turn_of

MAX_HISTORY_MESSAGES = 64
MAX_HISTORY_CHARACTERS = 65_536
"""Messages of a session, and characters of them, that are read while its turn is accepted. More would hold up
the others' writes."""

NEXT = Prepared(
    select(turns.c.id, turns.c.parent)
    .where(OF_SESSION, turns.c.status == WAITING)
    .order_by(case((turns.c.on_conflict == literal_column("'interrupt'", Text), 0), else_=1), turns.c.number)
    .limit(1)
)
TOUCH_SESSION = Prepared(
    update(sessions)
    .where(sessions.c.id == bindparam("session_id"))
    .values(updated_at=bindparam("at"), title=func.coalesce(sessions.c.title, bindparam("title")))
)
_ADDED = (
    *("id", "session_id", "owner", "status", "input", "model", "client_message_id", "on_conflict"),
    *("created_at", "first_seq", "attachments", "branch", "parent", "after_position", "instructions"),
    *("client_tools", "mark", "dialect", "key_id", "sign_in", "scopes", "sampling"),
)
ADD_TURN = Prepared(
    insert(turns).values(
        {name: bindparam(name) for name in _ADDED}
        | {"last_seq": 0, "cancel_requested": false(), "iterations": 0}
    )
)
CLAIM = Prepared(
    update(turns)
    .where(OF_ID)
    .values(
        status=RUNNING,
        first_seq=bindparam("first_seq"),
        branch=bindparam("branch"),
        parent=bindparam("parent"),
        after_position=bindparam("after_position"),
        instructions=func.coalesce(turns.c.instructions, bindparam("instructions")),
    )
)
COUNT_RECOVERY = Prepared(update(turns).where(OF_ID).values(recoveries=turns.c.recoveries + 1))
SIZE = Prepared(
    select(func.coalesce(func.sum(func.length(messages.c.content)), 0)).where(
        messages.c.session_id == bindparam("session_id")
    )
)


def accept(connection: Connection, replica: str, new: NewTurn, max_queued: int) -> Accepted:
    """Stores the turn as running, or as accepted (waiting) when another runs and on_conflict is queue or
    interrupt. A session without a title takes it from the first line of the message.

    Raises:
        errors.NotFound: no such session (or another owner's, who does not let the sender write in it) and
            create_session is false; or no such parent.
        errors.TurnInProgress: another turn runs and on_conflict is reject; details: turn_id, seq.
        errors.QueueFull: `max_queued` turns wait already.
        errors.LimitReached: one of its charges is more than its limit has left.
        errors.Conflict: the client_message_id was used with another message, other attachments (by their
            names and sizes) or by another sender; the session is in another project or role than is
            given; or create_session and the id belongs to another owner; (no_branch_point) nothing can
            follow the parent: it never began, or waits; (too_many_branches).
    """
    session = enter_session(connection, new)
    running, waiting = session.open_turn, session.waiting
    if new.client_message_id is not None:
        row = SAME_MESSAGE.one(connection, session_id=new.session_id, client_message_id=new.client_message_id)
        if row is not None:
            return repeated(row, new)
    # No turn overtakes those that wait, also not in the moment between two turns.
    waits = running is not None or waiting > 0
    if waits and new.on_conflict == "reject":
        running = running or next(iter(NEXT.run(connection, session_id=new.session_id)))[0]
        raise is_answering(new.session_id, running, session.head)
    if waits and waiting >= max_queued:
        raise QueueFull(f"{waiting} turns are waiting in session {new.session_id} already.")
    if waits and new.parent_turn_id is not None and new.parent_turn_id != ROOT:
        place_of(connection, new.session_id, new.parent_turn_id)  # it is entered when the turn begins
    place = Entry(0, new.parent_turn_id) if waits else _entered(connection, session, new)
    # What a guest brings would be in force for the turns of others, too.
    digest = new.instructions if session.host is None else None
    digest = client_instructions.keep(connection, new.session_id, digest) if digest is not None else None
    before = None if waits else _in_force(connection, new.session_id, session, new.parent_turn_id)
    digest = before if digest is None else digest
    tools = add_tools(connection, new.session_id, new.client_tools)
    turn = _added(connection, new, session, place, digest=digest, tools=tools, waits=waits)
    if not waits:
        _put_in_force(connection, turn, before)
        fence.begin_turn(connection, turn.session_id, turn.id, replica)
    # From here on no other writer adds to it, and the turn need not wait for a reader's thread.
    history = None if waits else _at_hand(connection, turn, session)
    take_in(connection, turn)
    title = title_from_message(new.input, new.attachments)
    TOUCH_SESSION.run(connection, session_id=new.session_id, at=new.at, title=title)
    # Last, as others wait for what these lock.
    add_asked(
        connection, new.session_id, session.host or new.owner, len(new.input.encode()), new.session_quota
    )
    standings = charge(connection, new.session_id, new.id, new.charges, new.at) if new.charges else ()
    interrupts = running if new.on_conflict == "interrupt" else None
    if waits:
        send(connection, Signal("waiting", new.session_id, to=session.replica or replica))
    if interrupts is not None:
        request_cancel(connection, interrupts)
    return Accepted(
        turn,
        session.head,
        interrupts=interrupts,
        history=history,
        made_at=session.made_at,
        standings=standings,
    )


def _entered(connection: Connection, session: Entered, new: NewTurn) -> Entry:
    """Where a turn begins that does not wait."""
    if new.parent_turn_id is None and session.branch is None:
        return Entry(0, None)
    return enter(connection, new.session_id, new.parent_turn_id, new.at)


def _at_hand(connection: Connection, turn: TurnRow, session: Entered) -> History | None:
    """The history before the turn, where it is read in no time; of a new session where none of its user's has
    a summary that it could begin with."""
    if not session.head and not session.position:
        return None if has_any(connection, turn.owner) else History([])
    if _is_short(connection, turn.session_id, session.position):
        return view_of(connection, turn.session_id, whole=False).preloaded()
    return None


def _is_short(connection: Connection, session_id: str, position: int) -> bool:
    """Whether a session of that many messages is read in no time."""
    if not 0 < position <= MAX_HISTORY_MESSAGES:
        return False
    size = SIZE.one(connection, session_id=session_id)
    return size is not None and size[0] <= MAX_HISTORY_CHARACTERS


def repeated(row: tuple[Any, ...], new: NewTurn) -> Accepted:
    """The turn that the same client_message_id started before."""
    turn = turn_of(row)
    if turn.owner != new.owner or turn.input != new.input or _files(turn) != _files(new):
        raise Conflict(
            f"client_message_id {new.client_message_id} was used with another message.",
            details={"turn_id": turn.id},
        )
    return Accepted(turn, row[-2], repeated=True, made_at=row[-1])


def claim_next(connection: Connection, replica: str, session_id: str) -> Accepted | None:
    """Makes the longest-waiting turn of an idle session the running one; a turn that interrupts goes
    first. None when nothing waits or one runs."""
    state = STATE.one(connection, session_id=session_id)
    if state is None:
        return None
    session = Entered(*state[1:])
    if session.open_turn is not None or not session.waiting:
        return None
    chosen = NEXT.one(connection, session_id=session_id)
    assert chosen is not None
    turn_id, asked = chosen
    branch, parent = 0, None
    if asked is not None or session.branch is not None:
        branch, parent = enter(connection, session_id, asked, now_ms())
    before = _in_force(connection, session_id, session, asked)
    CLAIM.run(
        connection,
        turn_id=turn_id,
        first_seq=session.head + 1,
        branch=branch,
        parent=parent,
        after_position=session.position,
        instructions=before,
    )
    fence.begin_turn(connection, session_id, turn_id, replica)
    accepted = accepted_of(connection, turn_id)
    _put_in_force(connection, accepted.turn, before)
    return accepted


def take_over(connection: Connection, replica: str, turn_id: str, *, recovered: bool) -> Accepted | None:
    """Gives a running turn that is this replica's, or has no lease holder, a new epoch: appends under
    the former one are refused from then on. `recovered`: its writer was lost, which is counted. None when
    the turn is over, suspended or another replica's (see `Replicas.beat`)."""
    found = SESSION_OF.one(connection, turn_id=turn_id)
    if found is None or not fence.take_turn(connection, found[0], turn_id, replica):
        return None
    if recovered:
        COUNT_RECOVERY.run(connection, turn_id=turn_id)
    return accepted_of(connection, turn_id)


def _in_force(connection: Connection, session_id: str, session: Entered, asked: str | None) -> str | None:
    """The digest of the instructions before a turn that begins, where it comes after the turn `asked`: those
    of the branch that it has entered."""
    if asked is None and session.branch is None:
        return session.instructions
    return client_instructions.digest_in_force(connection, session_id)


def _put_in_force(connection: Connection, turn: TurnRow, before: str | None) -> None:
    if turn.instructions != before:
        client_instructions.put_in_force(connection, turn.session_id, turn.instructions)


def _added(
    connection: Connection,
    new: NewTurn,
    session: Entered,
    place: Entry,
    *,
    digest: str | None,
    tools: str | None,
    waits: bool,
) -> TurnRow:
    turn = TurnRow(
        id=new.id,
        session_id=new.session_id,
        owner=new.owner,
        status="accepted" if waits else "running",
        outcome=None,
        input=new.input,
        model=new.model,
        client_message_id=new.client_message_id,
        epoch=0 if waits else session.epoch + 1,
        created_at=new.at,
        first_seq=0,
        last_seq=0,
        cancel_requested=False,
        project_id=session.project_id,
        role_id=session.role_id,
        attachments=new.attachments,
        branch=place.branch,
        parent_turn_id=place.parent,
        instructions=digest or None,
        client_tools=tools,
        dialect=new.dialect,
        key_id=new.key_id,
        sign_in=new.sign_in,
        scopes=new.scopes,
        is_shared=session.shared is not None,
        is_temporary=bool(session.is_temporary),
        host=session.host,
        sampling=new.sampling,
    )
    ADD_TURN.run(
        connection,
        id=turn.id,
        session_id=turn.session_id,
        owner=turn.owner,
        status=turn.status,
        input=turn.input,
        model=turn.model,
        client_message_id=turn.client_message_id,
        on_conflict=new.on_conflict,
        created_at=turn.created_at,
        first_seq=0 if waits else session.head + 1,
        attachments=json_of(turn.attachments),
        branch=place.branch,
        parent=place.parent,
        after_position=None if waits else session.position,
        instructions=digest,
        client_tools=turn.client_tools,
        mark=new.mark,
        dialect=new.dialect,
        key_id=new.key_id,
        sign_in=new.sign_in,
        scopes=new.scopes,
        sampling=sampling_text(new.sampling),
    )
    return turn


def _files(turn: NewTurn | TurnRow) -> list[tuple[str, int]]:
    """What is the same when a message is sent again: what is uploaded again gets another reference."""
    return [("" if each.name == each.ref else each.name, each.size) for each in turn.attachments]
