"""How sessions, turns and calls are called in the dialects of other clients, whose ids are of any form."""

import base64
import hashlib
import re

from gateway.http.requests import MAX_NAME_LENGTH, ApiRequest
from gateway.ids import CLIENT_CALL_PREFIX, TURN_PREFIX, is_id

_OF_A_TURN = re.compile(rf"({TURN_PREFIX}[0-9a-f]{{32}})[-:]")
_CLIENT_CALL = re.compile(rf"{TURN_PREFIX}([0-9a-f]{{32}}):{CLIENT_CALL_PREFIX}([0-9a-f]{{24}})")
_SHORT_PREFIX = "k_"
_SHORT_SIZE = 40
"""OpenAI takes ids of at most 40 characters, Anthropic those of letters, digits, _ and - alone: a chat may go
on at another provider. The random parts of a turn's id and a call's are 28 bytes: 38 characters in base64
(RFC 4648, 5)."""


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
    """The name of a call among all turns, and of the question about it. That of a call which the client runs
    has 40 letters, digits, _ and -."""
    name = f"{turn_id}:{call_id}"
    if (found := _CLIENT_CALL.fullmatch(name)) is None:
        return name
    return _SHORT_PREFIX + base64.urlsafe_b64encode(bytes.fromhex(found[1] + found[2])).decode().rstrip("=")


def call_in_full(name: str) -> str:
    """The name of a call as turn and call, with a colon between them, as former versions gave it to clients;
    the same of others."""
    if len(name) != _SHORT_SIZE or not name.startswith(_SHORT_PREFIX):
        return name
    try:
        ids = base64.b64decode(f"{name.removeprefix(_SHORT_PREFIX)}==", b"-_", validate=True).hex()
    except ValueError:
        return name
    full = f"{TURN_PREFIX}{ids[:32]}:{CLIENT_CALL_PREFIX}{ids[32:]}"
    return full if call_name(*full.split(":")) == name else name


def call_of(name: str) -> str:
    """The id of the call that `call_name` named; "" where it is none of ours."""
    call_id = call_in_full(name).partition(":")[2]
    return call_id if call_id.isprintable() and len(call_id) <= MAX_NAME_LENGTH else ""


def turn_of(name: str) -> str | None:
    """The turn that a message or a call belongs to whose name we gave; None where it is none of ours."""
    found = _OF_A_TURN.match(call_in_full(name))
    return found[1] if found is not None else None
