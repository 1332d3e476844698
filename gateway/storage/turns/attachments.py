"""What came with the message of a turn, in SQL."""

from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, bindparam, update

from gateway.messages import Attached
from gateway.storage.artifacts.uses import use
from gateway.storage.database import Prepared
from gateway.storage.schema import artifacts
from gateway.storage.sessions import SessionRow
from gateway.storage.turns import TurnRow

GIVE_TO_SESSION = Prepared(
    update(artifacts)
    .where(artifacts.c.owner == bindparam("owner"), artifacts.c.turn_id == bindparam("turn"))
    .where(artifacts.c.ref == bindparam("artifact"))
    .values(session_id=bindparam("session"), project_id=bindparam("project"))
)


def json_of(attachments: Sequence[Attached]) -> str | None:
    """For the column of turns; NULL without any."""
    return (
        orjson.dumps([each.model_dump(exclude_none=True) for each in attachments]).decode()
        if attachments
        else None
    )


def attachments_of(text: str | None) -> tuple[Attached, ...]:
    """What `json_of` wrote."""
    return tuple(Attached.trusted(each) for each in orjson.loads(text)) if text else ()


def take_in(connection: Connection, turn: TurnRow) -> None:
    """The turn's session uses what is attached from now on. What was made for the turn, before there was a
    session perhaps, belongs to it, and goes when it goes."""
    session = SessionRow(turn.session_id, turn.session_owner, None, 0, 0, 0, turn.project_id)
    take_into(connection, session, turn.id, turn.attachments)


def take_into(
    connection: Connection, session: SessionRow, turn_id: str, attachments: Sequence[Attached]
) -> None:
    """`take_in`, for a turn of that session."""
    refs = [each.ref for each in attachments]
    for ref in refs:
        GIVE_TO_SESSION.run(
            connection,
            owner=session.owner,
            turn=turn_id,
            artifact=ref,
            session=session.id,
            project=session.project_id,
        )
    use(connection, session.owner, session.id, refs)
