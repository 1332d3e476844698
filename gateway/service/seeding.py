"""From a history that a client brings along to a session that has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.artifacts.artifact_store import Origin
from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest, SessionIdTaken
from gateway.history.copies.seeding import SeededTurn, seed_session
from gateway.ids import new_turn_id
from gateway.messages import Role
from gateway.service.dependencies import Dependencies
from gateway.storage.sessions import SessionRow
from gateway.storage.turns import title_from_message

MAX_SEEDED = 1000
"""Messages of a history that a session begins with."""


@dataclass(frozen=True, slots=True)
class SeedMessage:
    """A message of a conversation elsewhere; `attachments` are references of artifacts, and files, `at` when
    it was sent, in Unix milliseconds."""

    role: Role
    text: str
    attachments: Sequence[str | Upload] = ()
    at: int | None = None


async def seed(
    deps: Dependencies, session: SessionRow, messages: Sequence[SeedMessage], instructions: str | None = None
) -> SessionRow:
    """Makes the `session` with these messages: a turn for each of the user, with what was answered before the
    next one; `instructions` are for the turns after them. Of what is attached nothing stays when it is
    refused. Must not be cancelled.

    Raises:
        errors.InvalidRequest: the first message is not the user's, or the assistant's has files.
        errors.SessionIdTaken.
        GatewayError: what `Attachments.attach` raises. errors.StorageError.
    """
    groups = _by_turn(messages)
    if await deps.copies.taken(session.id):
        raise SessionIdTaken(session.id)
    made: list[str] = []
    turns: list[SeededTurn] = []
    try:
        for asked, answers in groups:
            turn_id = new_turn_id()
            attached = await deps.attachments.attach(
                asked.attachments, Origin(session.owner, turn_id=turn_id)
            )
            made += attached.made
            turns.append(SeededTurn(turn_id, asked.text, "\n\n".join(answers), attached.files, asked.at))
        named = replace(
            session, title=session.title or title_from_message(turns[0].input, turns[0].attachments)
        )
        return await seed_session(
            named,
            turns,
            model=deps.settings.model,
            copies=deps.copies,
            blobs=deps.blobs,
            orphans=deps.orphans,
            instructions=instructions,
            quota=deps.settings.artifact_quota,
            session_quota=deps.settings.session_quota,
        )
    except BaseException:
        await deps.attachments.withdraw(session.owner, made)
        raise


def _by_turn(messages: Sequence[SeedMessage]) -> list[tuple[SeedMessage, list[str]]]:
    """Each message of the user, with the answers to it."""
    found: list[tuple[SeedMessage, list[str]]] = []
    for number, message in enumerate(messages, 1):
        if message.role == "user":
            found.append((message, []))
        elif not found:
            raise InvalidRequest(
                "The first of messages must be the user's: leave out what the assistant said before."
            )
        elif message.attachments:
            raise InvalidRequest(f"Message {number} is the assistant's: it has no attachments.")
        else:
            found[-1][1].append(message.text)
    return found
