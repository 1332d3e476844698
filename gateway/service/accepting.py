"""From what was asked to a turn that is accepted, with what the message brings along."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from gateway.artifacts.attachments import Upload
from gateway.artifacts.shelf import Origin
from gateway.auth import Principal
from gateway.errors import GatewayError, InvalidRequest
from gateway.ids import new_session_id, new_turn_id, now_ms
from gateway.settings import Settings
from gateway.storage.base import Accepted, NewTurn
from gateway.turn.parts import Parts
from gateway.turn.request import TurnRequest


def new_turn(settings: Settings, who: Principal, request: TurnRequest) -> NewTurn:
    """The turn that is asked for, without its attachments. Raises errors.InvalidRequest (model)."""
    models = settings.models
    if request.model is not None and request.model not in models:
        raise InvalidRequest(
            f"The model must be one of {', '.join(models)}.", details={"models": list(models)}
        )
    return NewTurn(
        id=new_turn_id(),
        session_id=request.session_id or _session_id_for(who, request),
        owner=who.user_id,
        input=request.message,
        model=request.model or models[0],
        client_message_id=request.client_message_id,
        on_conflict=request.on_conflict,
        create_session=request.create_session or request.session_id is None,
        at=now_ms(),
        project_id=request.project_id,
        role_id=request.role_id,
    )


async def accept_with(parts: Parts, new: NewTurn, given: Sequence[str | Upload]) -> Accepted:
    """Keeps what is attached and accepts the turn with it; when it is refused, or had been accepted before,
    nothing stays of what was kept.

    Raises:
        GatewayError: what `Attachments.attach` and `Turns.accept` raise.
    """
    attached = await parts.attachments.attach(given, Origin(new.owner, turn_id=new.id))
    try:
        accepted = await parts.turns.accept(
            replace(new, attachments=attached.files), max_queued=parts.settings.max_queued_turns
        )
    except GatewayError:
        await parts.attachments.withdraw(new.owner, attached.made)
        raise
    if accepted.repeated:
        await parts.attachments.withdraw(new.owner, attached.made)
    return accepted


def _session_id_for(who: Principal, request: TurnRequest) -> str:
    """A new session's id. With a client_message_id always the same one: a client that repeats a request whose
    answer it never saw cannot know the session that the first one made."""
    if request.client_message_id is None:
        return new_session_id()
    named = hashlib.sha256(f"{who.user_id}\0{request.client_message_id}".encode())
    return f"s_{named.hexdigest()[:32]}"
