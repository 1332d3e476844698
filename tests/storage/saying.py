"""Turns that are over, with what was said in them, as a test wants them; and sessions moved to archives."""

from dataclasses import replace

import orjson

from gateway.storage.archives import CompressionRow, SummaryRow, Trigger
from gateway.storage.log import Closing
from gateway.storage.messages import History
from gateway.storage.sessions import Outline
from gateway.storage.turns import OnConflict
from tests.product import Message, Storage, Usage, text_block
from tests.storage import archiving
from tests.storage.writing import OWNER, Writer, accepted, writer_of


async def add_turn(
    storage: Storage,
    session_id: str,
    turn_id: str,
    question: str,
    *answers: str,
    owner: str = OWNER,
    parent: str | None = None,
) -> None:
    """A whole turn: what the user said, and each answer as a message of its own."""
    await finish(await ask(storage, session_id, turn_id, question, owner=owner, parent=parent), *answers)


async def ask(
    storage: Storage,
    session_id: str,
    turn_id: str,
    question: str,
    *,
    owner: str = OWNER,
    on_conflict: OnConflict = "reject",
    parent: str | None = None,
) -> Writer:
    """A turn that runs, with its first event and message."""
    now = await accepted(
        storage, session_id, turn_id, owner=owner, text=question, on_conflict=on_conflict, parent=parent
    )
    writer = writer_of(storage, now)
    await tell(writer, "turn_start", Message("user", [text_block(question)]))
    return writer


async def finish(writer: Writer, *answers: str) -> None:
    """Answers, and ends the turn."""
    for answer in answers:
        await tell(writer, "iteration_end", Message("assistant", [text_block(answer)]))
    await tell(writer, "done", closing=Closing("completed", len(answers), None, None, 9))


async def tell(
    writer: Writer, kind: str, message: Message | None = None, closing: Closing | None = None
) -> None:
    """Appends one event, whose body tells its place as a real one does, and a message with it."""
    event = {"v": 1, "seq": writer.head + 1, "type": kind, "turn_id": writer.turn_id}
    body = orjson.dumps(event | {"session_id": writer.session_id})
    assert await writer.append(kind, body=body, sync=True, message=message, outcome=closing) is None


async def talk(storage: Storage, turns: int, *, first: int = 1) -> None:
    """Turns of two messages each, in the session s."""
    for number in range(first, first + turns):
        await add_turn(storage, "s", f"t{number}", f"question {number}", f"answer {number}")


async def snapshot(storage: Storage, owner: str = OWNER, *, whole: bool = False) -> tuple[Outline, History]:
    """The session s as of one moment, and its history once all pages were read."""
    outline = await storage.sessions.outline("s", owner, whole=whole)
    found = [each async for page in storage.sessions.pages(outline) for each in page]
    return outline, replace(outline.history, messages=found)


async def positions(storage: Storage, *, whole: bool = False) -> list[int]:
    """Where the messages are that the view of s is made of."""
    return [stored.position for stored in (await storage.sessions.history("s", whole=whole)).messages]


async def archive(storage: Storage, session_id: str) -> None:
    """Moves everything that the session's tables hold to an archive."""
    assert await archiving.archive(storage, session_id) is not None


def version(
    number: int,
    first: int,
    last: int,
    *,
    parent: int | None = None,
    kept: int | None = None,
    trigger: Trigger = "automatic",
    session_id: str = "s",
) -> CompressionRow:
    """A version that covers the messages `first` to `last`."""
    return CompressionRow(
        session_id=session_id,
        version=number,
        parent=parent,
        from_position=first,
        to_position=last,
        kept_position=kept,
        archive_path=f"sessions/{session_id}/archive/{number}.jsonl.gz",
        archive_size=100,
        sha256="0" * 64,
        summary={"goal": 'a "quoted" 目标', "facts": [f"version {number}"]},
        source="messages",
        model="model",
        prompt_digest="d" * 64,
        tokens_before=1000,
        tokens_after=100,
        trigger=trigger,
        usage=Usage(input_tokens=900, output_tokens=90, cache_read_input_tokens=3),
        cost=0.25,
        created_at=number,
    )


async def add_version(storage: Storage, row: CompressionRow) -> None:
    """As a compressor does: its archive is a candidate before the row names it."""
    await storage.orphans.suspect([row.archive_path], 1)
    await storage.compressions.add(row)


def summary(session_id: str, at: int, *, project_id: str | None = None, to: int = 2) -> SummaryRow:
    """A summary of a session of OWNER."""
    return SummaryRow(
        session_id=session_id,
        owner=OWNER,
        project_id=project_id,
        to_position=to,
        summary={"goal": f'what "{session_id}" is for，目标'},
        trigger="manual",
        model="model",
        prompt_digest="d" * 64,
        usage=None,
        cost=None,
        created_at=at,
    )
