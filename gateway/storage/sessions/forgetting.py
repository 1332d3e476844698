"""Taking the words of a memory out of the sessions that were told them. Its id stays there: by that a session
sees, at its next turn, that what it was told is no longer so."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, null, select, update

from gateway.messages import RECALLED
from gateway.storage.database import Prepared
from gateway.storage.schema import messages, sessions

Places = tuple[Sequence[str], Sequence[tuple[str, int]]]

_ID = sessions.c.id == bindparam("session_id")
_PLACE = messages.c.session_id == bindparam("session_id"), messages.c.position == bindparam("position")
TOLD = Prepared(select(sessions.c.told_memories).where(_ID))
TELL = Prepared(update(sessions).where(_ID).values(told_memories=bindparam("told"), prefix_hash=null()))
CONTENT = Prepared(select(messages.c.content).where(*_PLACE))
REWRITE = Prepared(update(messages).where(*_PLACE).values(content=bindparam("content")))


def places_of(connection: Connection, owner: str, memory_id: str) -> Places:
    """The owner's sessions whose prompts may have been told it, and the messages that may record its recall.
    Reads all that the owner has there."""
    told = select(sessions.c.id).where(
        sessions.c.owner == owner, sessions.c.told_memories.contains(memory_id, autoescape=True)
    )
    said = (
        select(messages.c.session_id, messages.c.position)
        .join(sessions, sessions.c.id == messages.c.session_id)
        .where(sessions.c.owner == owner, messages.c.content.contains(memory_id, autoescape=True))
    )
    return list(connection.scalars(told)), [(at, position) for at, position in connection.execute(said)]


def forget(connection: Connection, memory_id: str, places: Places) -> None:
    """Leaves nothing of what it said at these places, where they are still there. What a session's prompt was
    like counts no more: with the change of it a prompt generation is to begin."""
    for session_id in places[0]:
        row = TOLD.one(connection, session_id=session_id)
        if row is not None and row[0] is not None and memory_id in (told := orjson.loads(row[0]))["digests"]:
            told |= {"text": "", "digests": told["digests"] | {memory_id: ""}}
            TELL.run(connection, session_id=session_id, told=orjson.dumps(told).decode())
    for session_id, position in places[1]:
        row = CONTENT.one(connection, session_id=session_id, position=position)
        if row is not None:
            stored = orjson.loads(row[0])
            content = [_without(block, memory_id) for block in stored]
            if content != stored:
                text = orjson.dumps(content).decode()
                REWRITE.run(connection, session_id=session_id, position=position, content=text)


def _without(block: dict[str, Any], memory_id: str) -> dict[str, Any]:
    if block["type"] != RECALLED:
        return block
    return block | {
        "memories": [each | {"text": ""} if each["id"] == memory_id else each for each in block["memories"]]
    }
