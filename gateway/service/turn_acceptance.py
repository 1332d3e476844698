"""From what was asked to a turn that is accepted, with what the message brings along."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from gateway.artifacts.artifact_store import Origin
from gateway.artifacts.attached_files import Upload
from gateway.artifacts.content import bytes_content, measure_as_kept, plain_name
from gateway.auth import Principal, stored_scopes
from gateway.errors import Conflict, GatewayError, InvalidRequest, NotFound, TooLarge
from gateway.ids import new_turn_id, now_ms
from gateway.messages import Attached
from gateway.prompt.text_cleaning import clean
from gateway.service.dependencies import Dependencies
from gateway.storage.turns import MAX_INSTRUCTIONS, Accepted, NewTurn, TurnRow
from gateway.turn.request import TurnRequest


def new_turn(deps: Dependencies, who: Principal, request: TurnRequest, first: str | None = None) -> NewTurn:
    """The turn that is asked for, without its attachments; `first` are the instructions of a session that is
    made for it. Raises errors.InvalidRequest (model,
    instructions), errors.TooLarge (the message: in a request of our own it has no more room)."""
    settings = deps.settings
    if len(request.message) > (most := settings.max_body_size):
        raise TooLarge(f"The message has more than {most} characters: attach it as a file.")
    if request.model is not None and request.model not in (models := settings.models):
        raise InvalidRequest(
            f"The model must be one of {', '.join(models)}.", details={"models": list(models)}
        )
    instructions = request.instructions
    if instructions is not None and len(instructions) > MAX_INSTRUCTIONS:
        raise InvalidRequest(
            f"instructions must have at most {MAX_INSTRUCTIONS} characters, not {len(instructions)}.",
            details={"max_instructions": MAX_INSTRUCTIONS},
        )
    session_id = request.session_id or deps.session_ids.for_message(who.user_id, request.client_message_id)
    return NewTurn(
        id=new_turn_id(),
        session_id=session_id,
        owner=who.user_id,
        input=request.message,
        model=request.model or settings.model,
        client_message_id=request.client_message_id,
        on_conflict=request.on_conflict,
        create_session=request.create_session or request.session_id is None,
        at=now_ms(),
        project_id=request.project_id,
        role_id=request.role_id,
        parent_turn_id=request.parent_turn_id,
        instructions=clean(instructions) if instructions is not None else None,
        first_instructions=first,
        mark=request.mark,
        dialect=who.dialect,
        key_id=who.key_id,
        session_quota=settings.session_quota,
        sign_in=who.sign_in,
        scopes=stored_scopes(who.scopes),
        sampling=request.sampling,
    )


async def accept_with(deps: Dependencies, new: NewTurn, given: Sequence[str | Upload]) -> Accepted:
    """Keeps what is attached and accepts the turn with it; when it is refused nothing stays of what was kept.
    A message that was accepted before needs neither quota nor its files any more.

    Raises:
        errors.Conflict: its client_message_id was used with other attachments.
        GatewayError: what `Attachments.attach` and `Turns.accept` raise.
    """
    most = deps.settings.max_queued_turns
    if (before := await _sent(deps, new)) is not None:
        await _check_same(deps, before, given)
        return await deps.turns.accept(replace(new, attachments=before.attachments), max_queued=most)
    # In a session of somebody else's the files become theirs.
    access = await deps.projects.access(new.session_id, new.owner)
    host = access.owner if access is not None and access.may("write") else new.owner
    within = new.session_id if host != new.owner else None
    attached = await deps.attachments.attach(given, Origin(host, turn_id=new.id), within=within)
    try:
        accepted = await deps.turns.accept(replace(new, attachments=attached.files), max_queued=most)
    except GatewayError:
        await deps.attachments.withdraw(host, attached.made)
        raise
    if accepted.repeated:
        await deps.attachments.withdraw(host, attached.made)
        await _check_same(deps, accepted.turn, given)
    return accepted


async def _sent(deps: Dependencies, new: NewTurn) -> TurnRow | None:
    if new.client_message_id is None:
        return None
    return await deps.turns.sent(new.session_id, new.client_message_id, new.owner)


async def _check_same(deps: Dependencies, turn: TurnRow, given: Sequence[str | Upload]) -> None:
    """Raises errors.Conflict: these are not the files that the turn began with; errors.NotFound
    (artifact_not_found): one is not there that it did not begin with."""
    same = len(given) == len(turn.attachments)
    within = turn.session_id if turn.host is not None else None
    for before, now in zip(turn.attachments, given, strict=False):
        same = same and await _is_same(deps, turn.session_owner, before, now, within)
    if not same:
        raise Conflict(
            f"client_message_id {turn.client_message_id} was used with other attachments.",
            details={"turn_id": turn.id},
        )


async def _is_same(
    deps: Dependencies, owner: str, before: Attached, now: str | Upload, within: str | None
) -> bool:
    """By reference or else by name, size and, as long as the former one is there, content. `within`: what
    this session does not use is not there."""
    if now == before.ref:
        return True
    if isinstance(now, Upload):
        _, measured = await asyncio.to_thread(measure_as_kept, bytes_content(now.data))
        name, size, sha256 = plain_name(now.name), measured.size, measured.sha256
    else:
        row = await deps.artifact_store.get(owner, now, within=within)
        name, size, sha256 = row.name, row.size, row.sha256
    if (name or before.ref, size) != (before.name, before.size):
        return False
    with suppress(NotFound):
        return (await deps.artifact_store.get(owner, before.ref)).sha256 == sha256
    return True
