"""A session that begins with a history which a client brings along: turns that are over, marked as seeded."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from gateway.events.content import Text
from gateway.events.envelope import EventData, encode, encode_data, encode_scope
from gateway.events.lifecycle import Done, IterationEnd, IterationStart, TurnStart, attached_files
from gateway.history.archive import ToWrite as ArchiveToWrite
from gateway.history.archive import archive_paths, clear, write_archive
from gateway.history.copies.imports import MAX_ROWS, MAX_ROWS_SIZE
from gateway.ids import now_ms, trace_id_of
from gateway.messages import Attached, Block, Message, attached_block, text_block
from gateway.storage.archives.lines import message_line
from gateway.storage.blobs import Blobs
from gateway.storage.messages import StoredMessage
from gateway.storage.orphans import Orphans
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.copies import (
    Attachment,
    EventCopy,
    Incoming,
    InstructionsCopy,
    MessageCopy,
    Moment,
    SessionCopy,
    TurnCopy,
)
from gateway.storage.sessions.copying import Copies
from gateway.storage.turns import instructions_digest

PIECE = 16_384
"""Characters of one `text` event, as of a model's answer."""


@dataclass(frozen=True, slots=True)
class SeededTurn:
    """A message of the user with its files, and the answer ("": none). `at` is when it was sent, in Unix
    milliseconds; None: when the session was made."""

    id: str
    input: str
    answer: str
    attachments: tuple[Attached, ...] = ()
    at: int | None = None


async def seed_session(
    row: SessionRow,
    turns: Sequence[SeededTurn],
    *,
    model: str,
    copies: Copies,
    blobs: Blobs,
    orphans: Orphans,
    quota: int,
    session_quota: int | None = None,
    instructions: str | None = None,
) -> SessionRow:
    """Adds the session `row`, which is new, with these turns; their tokens and cost are unknown. With very
    many of them it is an archived one. `instructions` are for the turns after them; `model` is theirs unless
    they name another. Must not be cancelled, as `import_session`.

    Raises:
        errors.Conflict, errors.ArtifactsFull, errors.SessionsFull: see `Copies.add`.
        errors.StorageError: nothing was added.
    """
    seeding = _Seeding(row.id, model, row.created_at)
    for turn in turns:
        seeding.take(turn)
    session = SessionCopy(
        id=row.id,
        title=row.title,
        project_id=row.project_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
        head=len(seeding.events),
        last_position=len(seeding.messages),
        compression=None,
        failed_compressions=0,
        epoch_from=0,
        carried=None,
        prefix_hash=None,
        role_id=row.role_id,
        instructions=instructions_digest(instructions) if instructions else None,
        branch=None,
    )
    incoming = Incoming(
        Moment(session, (), None),
        {},
        seeding.turns,
        began=seeding.began,
        seeded=True,
        said=sum(len(each.input.encode()) + len(each.answer.encode()) for each in turns),
        session_quota=session_quota,
        instructions=[
            InstructionsCopy.model_construct(digest=instructions_digest(instructions), text=instructions)
        ]
        if instructions
        else (),
    )
    size = sum(len(each.body) for each in seeding.events) * 2
    if len(seeding.events) + len(seeding.messages) <= MAX_ROWS and size <= MAX_ROWS_SIZE:
        return await copies.add(
            row.owner, incoming._replace(messages=seeding.rows(), events=seeding.events), quota
        )
    paths = archive_paths(row.id, 1)
    try:
        await orphans.suspect(paths, now_ms())
        events = ((each.seq, each.body) for each in seeding.events)
        messages = ((each.position, message_line(each)) for each in seeding.messages)
        archived = await write_archive(blobs, ArchiveToWrite(row.id, 1, paths), events, messages)
        return await copies.add(row.owner, incoming._replace(archived=archived), quota)
    finally:
        await clear(orphans, blobs, paths)


class _Seeding:
    """The rows of turns, as they would be had they run here."""

    def __init__(self, session_id: str, model: str, at: int) -> None:
        self.turns: list[TurnCopy] = []
        self.events: list[EventCopy] = []
        self.messages: list[StoredMessage] = []
        self.began: dict[str, int] = {}
        self._session_id = session_id
        self._model = model
        self._at = self._began = at

    def take(self, turn: SeededTurn) -> None:
        first, iterations = len(self.events) + 1, int(bool(turn.answer))
        self._at = self._began if turn.at is None else turn.at
        self.began[turn.id] = len(self.messages)
        words = [text_block(turn.input)] if turn.input.strip() else []
        self._say(turn.id, [*map(attached_block, turn.attachments), *words])
        self._emit(turn, self._start(turn))
        if turn.answer:
            self._say(turn.id, [text_block(turn.answer)], answers=True)
            self._emit(turn, IterationStart(attempt=1, model=self._model), iteration=1)
            for at in range(0, len(turn.answer), PIECE):
                self._emit(turn, Text(text=turn.answer[at : at + PIECE]), iteration=1)
            self._emit(turn, IterationEnd(stop_reason="end_turn", duration_ms=0), iteration=1)
        self._emit(turn, Done(status="completed", iterations=iterations, duration_ms=0))
        self.turns.append(
            TurnCopy(
                id=turn.id,
                input=turn.input,
                model=self._model,
                outcome="completed",
                client_message_id=None,
                on_conflict="reject",
                epoch=1,
                created_at=self._at,
                ended_at=self._at,
                first_seq=first,
                last_seq=len(self.events),
                cancel_requested=False,
                iterations=iterations,
                usage=None,
                cost=None,
                attachments=[Attachment.trusted(each.model_dump()) for each in turn.attachments] or None,
                instructions=None,
                branch=0,
                parent=None,
                origin="seeded",
            )
        )

    def rows(self) -> list[MessageCopy]:
        return [
            MessageCopy(
                each.position,
                each.turn_id,
                each.message.role,
                orjson.dumps(each.message.content).decode(),
                None,
            )
            for each in self.messages
        ]

    def _start(self, turn: SeededTurn) -> TurnStart:
        return TurnStart(
            input=turn.input,
            model=self._model,
            trace_id=trace_id_of(turn.id),
            attachments=attached_files(turn.attachments),
            seeded=True,
        )

    def _say(self, turn_id: str, content: list[Block], *, answers: bool = False) -> None:
        message = Message("assistant" if answers else "user", content)
        self.messages.append(StoredMessage(len(self.messages) + 1, turn_id, message))

    def _emit(self, turn: SeededTurn, data: EventData, iteration: int | None = None) -> None:
        seq, scope = len(self.events) + 1, encode_scope(self._session_id, turn.id)
        body = encode(seq, data.event_type, self._at, scope, encode_data(data), iteration)
        self.events.append(EventCopy(seq, data.event_type, turn.id, body))
