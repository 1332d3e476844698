"""Sessions with a past: written through the storage as turns write them, without a model."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from hypothesis import strategies as st

from gateway.events.content import Text
from gateway.events.envelope import EventData, StoredEvent, encode, encode_data, encode_scope
from gateway.events.lifecycle import Done, TurnStart
from gateway.history.archive import write_version
from gateway.messages import Message, Usage, text_block
from gateway.settings import Settings, load_settings
from gateway.storage.base import Append, Closing, NewTurn
from gateway.storage.records import CompressionRow, SummaryRow
from gateway.wiring import Storage

OWNER = "ann"
BEGAN = 1_795_187_109_422
USAGE = Usage(input_tokens=7, output_tokens=3)


@dataclass(frozen=True, slots=True)
class Past:
    """A turn to be: what was asked, the pieces of the answer, and milliseconds before each event."""

    asked: str
    pieces: tuple[str, ...]
    gap: int = 20


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
PASTS = st.lists(
    st.builds(Past, WORDS, st.lists(WORDS, max_size=5).map(tuple), st.sampled_from([0, 1, 40, 3_600_000])),
    max_size=4,
)


def settings_in(folder: Path) -> Settings:
    return load_settings(data_dir=folder)


async def write_past(storage: Storage, session_id: str, turns: Sequence[Past], *, name: str = "t") -> None:
    """Adds turns to a session, which is made if need be; their ids are `name` and a number."""
    for number, past in enumerate(turns, 1):
        turn_id = f"{name}{number}-{session_id}"[:64]
        new = NewTurn(
            turn_id, session_id, OWNER, past.asked, "model", None, "reject", create_session=True, at=BEGAN
        )
        accepted = await storage.turns.accept(new, max_queued=0)
        happened: list[EventData] = [
            TurnStart(input=past.asked, model="model", trace_id="0" * 31 + "1"),
            *(Text(text=piece) for piece in past.pieces),
            Done(status="completed", usage=USAGE, iterations=1, duration_ms=past.gap),
        ]
        scope = encode_scope(session_id, turn_id)
        events = [
            StoredEvent(
                seq,
                data.event_type,
                turn_id,
                encode(seq, data.event_type, BEGAN + seq * past.gap, scope, encode_data(data)),
            )
            for seq, data in enumerate(happened, accepted.head + 1)
        ]
        answer = "".join(past.pieces) or "-"
        head = accepted.head
        question = Message("user", [text_block(past.asked)])
        await _append(storage, session_id, head=head, events=events[:1], message=question)
        await _append(
            storage,
            session_id,
            head=head + 1,
            events=events[1:],
            message=Message("assistant", [text_block(answer)]),
            usage=USAGE,
            closing=Closing("completed", 1, USAGE, 0.25, BEGAN + past.gap),
        )


async def _append(
    storage: Storage,
    session_id: str,
    *,
    head: int,
    events: Sequence[StoredEvent],
    message: Message,
    usage: Usage | None = None,
    closing: Closing | None = None,
) -> None:
    fate: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    storage.log.append(
        Append(session_id, events[0].turn_id, 1, head, events, fate.set_result, message, usage, closing)
    )
    assert await fate is None


async def compress_past(storage: Storage, session_id: str, to: int) -> CompressionRow:
    """A version, with its archive, that covers what the one in force does not up to position `to`."""
    history = await storage.sessions.history(session_id)
    parent = history.compression
    begin = parent.to_position + 1 if parent else 1
    version = await storage.compressions.next_version(session_id)
    covered = await storage.sessions.messages(session_id, after=begin - 1, until=to)
    path, size, sha256 = await write_version(storage.blobs, session_id, version, covered)
    row = CompressionRow(
        session_id=session_id,
        version=version,
        parent=parent.version if parent else None,
        from_position=begin,
        to_position=to,
        kept_position=to,
        archive_path=path,
        archive_size=size,
        sha256=sha256,
        summary={"goal": "目标", "facts": ["a", None, 1.5]},
        source="messages",
        model="model",
        prompt_digest="d" * 64,
        tokens_before=100,
        tokens_after=10,
        trigger="manual",
        usage=USAGE,
        cost=None,
        created_at=BEGAN,
    )
    await storage.compressions.add(row)
    return row


async def summarise_past(storage: Storage, session_id: str, to: int) -> None:
    await storage.summaries.save(
        SummaryRow(session_id, OWNER, None, to, {"goal": "x"}, "manual", "model", "d", None, 0.5, BEGAN)
    )


async def everything(storage: Storage, session_id: str) -> list[StoredEvent]:
    return await storage.log.read(session_id, after=0, limit=10_000)


def sealed(lines: Sequence[bytes]) -> bytes:
    """An export of `lines` (without line ends, the last line left out), with a last line that fits them."""
    import hashlib
    from collections import Counter

    from gateway.history.copies.export import counts_of

    body = b"".join(line + b"\n" for line in lines)
    counts = counts_of(Counter(orjson.loads(line)["kind"] for line in lines))
    end = {"kind": "end", "counts": counts, "sha256": hashlib.sha256(body).hexdigest()}
    return body + orjson.dumps(end) + b"\n"
