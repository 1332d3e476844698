"""How sessions, turns and calls are called in the dialects of other clients, whose ids are of any form."""

import hashlib
import re

from gateway.http.requests import MAX_NAME_LENGTH, ApiRequest
from gateway.ids import TURN_PREFIX, is_id

_OF_A_TURN = re.compile(rf"({TURN_PREFIX}[0-9a-f]{{32}})[-:]")


def id_of(name: str, prefix: str) -> str:
    """The same name where it is an id, else one that is derived from it."""
    return name if is_id(name) else f"{prefix}_{hashlib.sha256(name.encode()).hexdigest()[:40]}"


async def session_of(request: ApiRequest, chat_id: str, prefix: str) -> str:
    """The session of a chat: by its id, or a name that is derived for the user where that cannot be one.
    Raises errors.StorageError."""
    who = request.principal
    name = chat_id if is_id(chat_id) else id_of(f"{who.user_id}:{chat_id}", prefix)
    return await request.gateway.sessions.id_of(who, name)


def call_name(turn_id: str, call_id: str) -> str:
    """The name of a call among all turns, and of the question about it."""
    return f"{turn_id}:{call_id}"


def call_of(name: str) -> str:
    """The id of the call that `call_name` named; "" where it is none of ours."""
    call_id = name.partition(":")[2]
    return call_id if call_id.isprintable() and len(call_id) <= MAX_NAME_LENGTH else ""


def turn_of(name: str) -> str | None:
    """The turn that a message or a call belongs to whose name we gave; None where it is none of ours."""
    found = _OF_A_TURN.match(name)
    return found[1] if found is not None else None
