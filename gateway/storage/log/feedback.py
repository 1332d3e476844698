"""What a person thinks of a turn: kept in its row, and told by an event beside it."""

from sqlalchemy import Connection, bindparam, select, update

from gateway.errors import NotFound
from gateway.events.envelope import encode_data
from gateway.events.session_changes import Feedback
from gateway.storage.database import Prepared
from gateway.storage.log import FORMER_TURN
from gateway.storage.log.outbox import Outcome, append_beside
from gateway.storage.schema import turns

_OF_TURN = (turns.c.id == bindparam("turn_id"), turns.c.session_id == bindparam("session_id"))
RATED = Prepared(select(turns.c.feedback).where(*_OF_TURN))
RATE = Prepared(update(turns).where(*_OF_TURN).values(feedback=bindparam("feedback")))


def rate(
    connection: Connection, session_id: str, turn_id: str, data: Feedback, at: int, *, owner: str
) -> Outcome:
    """Keeps with a turn what a person thinks of it, and appends that if it is new."""
    row = RATED.one(connection, session_id=session_id, turn_id=turn_id)
    if row is None:
        raise NotFound(f"There is no turn {turn_id} in session {session_id}.", code="turn_not_found")
    text = feedback_text(data)
    if row[0] == text:
        return Outcome()
    RATE.run(connection, session_id=session_id, turn_id=turn_id, feedback=text)
    return append_beside(connection, session_id, FORMER_TURN + turn_id, [data], at, owner=owner)


def feedback_text(data: Feedback) -> str | None:
    """What the turn's row has of it; None: nothing, as it was taken back."""
    return encode_data(data).decode() if data.rating != "none" else None
