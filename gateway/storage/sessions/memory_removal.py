"""Removal of a memory's words from the sessions that have them. Its id stays: a session sees by it, at its
next turn, that the memory is out of date."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, and_, bindparam, null, select, update

from gateway.messages import FORGOTTEN, RECALLED
from gateway.storage.database import Prepared
from gateway.storage.schema import branches, messages, sessions

Places = tuple[Sequence[tuple[str, int | None]], Sequence[tuple[str, int]]]
"""Sessions, or branches of them that are not active, by their prompts; and messages."""

_ID = sessions.c.id == bindparam("session_id")
_PLACE = messages.c.session_id == bindparam("session_id"), messages.c.position == bindparam("position")
PROMPT = Prepared(select(sessions.c.told_memories).where(_ID))
CHANGE_PROMPT = Prepared(
    update(sessions).where(_ID).values(told_memories=bindparam("memories"), prefix_hash=null())
)
_BRANCH = and_(branches.c.session_id == bindparam("session_id"), branches.c.branch == bindparam("of"))
BRANCH_PROMPT = Prepared(select(branches.c.told_memories).where(_BRANCH))
CHANGE_BRANCH_PROMPT = Prepared(
    update(branches).where(_BRANCH).values(told_memories=bindparam("memories"), prefix_hash=null())
)
CONTENT = Prepared(select(messages.c.content).where(*_PLACE))
REWRITE = Prepared(update(messages).where(*_PLACE).values(content=bindparam("content")))


def places_of(connection: Connection, owner: str, memory_id: str) -> Places:
    """The owner's sessions whose prompts may have the memory, and the messages that may record its recall.
    Reads all prompts and messages of the owner."""
    prompts = select(sessions.c.id, null()).where(
        sessions.c.owner == owner, sessions.c.told_memories.contains(memory_id, autoescape=True)
    )
    left = (
        select(branches.c.session_id, branches.c.branch)
        .join(sessions, sessions.c.id == branches.c.session_id)
        .where(sessions.c.owner == owner, branches.c.told_memories.contains(memory_id, autoescape=True))
    )
    prompts_with = [(row[0], row[1]) for each in (prompts, left) for row in connection.execute(each)]
    recalled = (
        select(messages.c.session_id, messages.c.position)
        .join(sessions, sessions.c.id == messages.c.session_id)
        .where(sessions.c.owner == owner, messages.c.content.contains(memory_id, autoescape=True))
    )
    found = connection.execute(recalled)
    return prompts_with, [(session_id, position) for session_id, position in found]


def forget(connection: Connection, memory_id: str, places: Places) -> None:
    """Empties the memory's text at these places, where they still exist. The hash of a session's prompt is
    forgotten with it, so that a prompt generation begins."""
    for session_id, branch in places[0]:
        read, change = (PROMPT, CHANGE_PROMPT) if branch is None else (BRANCH_PROMPT, CHANGE_BRANCH_PROMPT)
        row = read.one(connection, session_id=session_id, of=branch)
        if row is not None and row[0] is not None and memory_id in (known := orjson.loads(row[0]))["digests"]:
            known |= {"text": "", "digests": known["digests"] | {memory_id: ""}}
            memories = orjson.dumps(known).decode()
            change.run(connection, session_id=session_id, of=branch, memories=memories)
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
        "memories": [
            each | {"text": ""} if each["id"] == memory_id and each["digest"] != FORGOTTEN else each
            for each in block["memories"]
        ]
    }
