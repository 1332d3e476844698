"""Sessions as tests archive them, also without ever coming from the blobs of an archive to its commit."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import orjson

from gateway.history.archive import archive_session
from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.lines import event_line, message_line
from gateway.storage.archives.segments import Packer
from gateway.storage.archives.store import Archives
from gateway.storage.log import Append, Closing
from gateway.storage.messages import StoredMessage
from tests.product import Block, Message, Storage, StoredEvent, Usage, encode, encode_scope, text_block
from tests.storage.writing import OWNER, accepted, sqlite_storage


def event(session_id: str, turn_id: str, seq: int, kind: str, **data: Any) -> StoredEvent:
    """An event with the body that the emitter gives it."""
    body = encode(seq, kind, 1_000 + seq, encode_scope(session_id, turn_id), orjson.dumps(data))
    return StoredEvent(seq, kind, turn_id, body)


EVENTS = [
    event("s", "t", seq, ("text", "thinking", "text", "tool_call")[seq % 4], text="x" * (seq % 7 * 40))
    for seq in range(11, 41)
]
SAID = [StoredMessage(place, "t", Message("user", [text_block("y" * place * 9)])) for place in range(4, 19)]


def packed_archive(
    folder: Path, events: Sequence[StoredEvent], messages: Sequence[StoredMessage]
) -> ArchiveRow:
    """An archive of small members, as files."""
    of_events, of_messages = Packer(300), Packer(300)
    (folder / "e.gz").write_bytes(b"".join(of_events.pack((each.seq, event_line(each)) for each in events)))
    (folder / "m.gz").write_bytes(
        b"".join(of_messages.pack((each.position, message_line(each)) for each in messages))
    )
    return ArchiveRow(
        session_id="s",
        number=1,
        from_seq=events[0].seq,
        to_seq=events[-1].seq,
        events_path="e.gz",
        events_sha256=of_events.sha256,
        events_index=of_events.index,
        from_position=messages[0].position,
        to_position=messages[-1].position,
        messages_path="m.gz",
        messages_sha256=of_messages.sha256,
        messages_index=of_messages.index,
        created_at=1,
    )


async def append(
    storage: Storage,
    turn_id: str,
    events: Sequence[StoredEvent],
    message: Message | None = None,
    *,
    session_id: str = "s",
    usage: Usage | None = None,
    closing: Closing | None = None,
) -> None:
    """Appends and waits until that is durable."""
    fate: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    head = events[0].seq - 1
    epoch = (await storage.turns.get(session_id, turn_id, OWNER)).epoch
    storage.log.append(
        Append(session_id, turn_id, epoch, head, events, fate.set_result, message, usage, closing)
    )
    failure = await fate
    assert failure is None, repr(failure)


async def converse(
    storage: Storage, turn_id: str, pieces: Sequence[str] = ("well",), *, session_id: str = "s", at: int = 9
) -> None:
    """A whole turn: a question, and an answer in pieces."""
    now = await accepted(storage, session_id, turn_id)
    question: list[Block] = [text_block(f"{turn_id}: 你好")]
    start = event(session_id, turn_id, now.head + 1, "turn_start", input="你好")
    await append(storage, turn_id, [start], Message("user", question), session_id=session_id)
    found = [
        event(session_id, turn_id, seq, "text", text=piece) for seq, piece in enumerate(pieces, now.head + 2)
    ]
    done = event(session_id, turn_id, now.head + 2 + len(pieces), "done", status="completed")
    await append(
        storage,
        turn_id,
        [*found, done],
        Message("assistant", [text_block("".join(pieces) or "nothing")]),
        session_id=session_id,
        usage=Usage(input_tokens=3, output_tokens=len(pieces)),
        closing=Closing("completed", 1, None, None, at),
    )


async def archive(storage: Storage, session_id: str = "s") -> ArchiveRow | None:
    """Archives what the session has."""
    return await archive_session(
        session_id,
        log=storage.log,
        sessions=storage.sessions,
        archives=storage.archives,
        orphans=storage.orphans,
        blobs=storage.blobs,
        exclusive=storage.exclusive,
    )


async def all_events(storage: Storage, session_id: str = "s", *, limit: int = 1000) -> list[StoredEvent]:
    """Everything that happened, page by page."""
    found: list[StoredEvent] = []
    while page := await storage.log.read(session_id, after=found[-1].seq if found else 0, limit=limit):
        found += page
    return found


async def everything(
    storage: Storage, session_id: str = "s"
) -> tuple[list[StoredEvent], Sequence[StoredMessage]]:
    """Everything that happened and that was said."""
    return await all_events(storage, session_id), await storage.sessions.messages(session_id)


class Waiting:
    """`Archives` of somebody who never gets to the commit."""

    def __init__(self, archives: Archives) -> None:
        self._archives = archives

    async def list(self, session_id: str) -> Sequence[ArchiveRow]:
        return await self._archives.list(session_id)

    async def add(self, row: ArchiveRow) -> None:
        sys.stdout.write(f"{row.events_path} {row.messages_path}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def archive_without_end(folder: Path) -> None:
    """Tells the paths of both blobs when they are written, and stays there."""
    asyncio.run(_archive_without_end(folder))


async def _archive_without_end(folder: Path) -> None:
    async with sqlite_storage(folder) as storage:
        await archive_session(
            "s",
            log=storage.log,
            sessions=storage.sessions,
            archives=cast("Archives", Waiting(storage.archives)),
            orphans=storage.orphans,
            blobs=storage.blobs,
            exclusive=storage.exclusive,
        )
