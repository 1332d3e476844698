"""Sessions with a past: written through the storage as turns write them, without a model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import orjson
from hypothesis import strategies as st

from gateway.history.archive import version_path, write_version
from gateway.storage.archives import CompressionRow, SummaryRow
from tests.product import (
    Attached,
    Closing,
    Done,
    EventData,
    Message,
    NewTurn,
    Settings,
    Storage,
    StoredEvent,
    Text,
    TurnStart,
    Usage,
    attached_block,
    encode,
    encode_data,
    encode_scope,
    load_settings,
    text_block,
)
from tests.storage.archiving import append
from tests.storage.saying import add_version, version
from tests.storage.writing import OWNER

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


async def write_past(
    storage: Storage,
    session_id: str,
    turns: Sequence[Past],
    *,
    name: str = "t",
    attachments: tuple[Attached, ...] = (),
    parent: str | None = None,
) -> None:
    """Adds turns to a session, which is made if need be; their ids are `name` and a number. Each has these
    attachments; the first comes after `parent`."""
    for number, past in enumerate(turns, 1):
        turn_id = f"{name}{number}-{session_id}"[:64]
        new = NewTurn(
            turn_id,
            session_id,
            OWNER,
            past.asked,
            "model",
            None,
            "reject",
            create_session=True,
            at=BEGAN,
            attachments=attachments,
            parent_turn_id=parent if number == 1 else None,
        )
        accepted = await storage.turns.accept(new, max_queued=0)
        happened: list[EventData] = [
            TurnStart(
                input=past.asked,
                model="model",
                trace_id="0" * 31 + "1",
                parent_turn_id=accepted.turn.parent_turn_id,
            ),
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
        question = Message("user", [*map(attached_block, attachments), text_block(past.asked)])
        await append(storage, turn_id, events[:1], question, session_id=session_id)
        await append(
            storage,
            turn_id,
            events[1:],
            Message("assistant", [text_block(answer)]),
            session_id=session_id,
            usage=USAGE,
            closing=Closing("completed", 1, USAGE, 0.25, BEGAN + past.gap),
        )


async def compress_past(storage: Storage, session_id: str, to: int) -> CompressionRow:
    """A version, with its archive, that covers what the one in force does not up to position `to`."""
    history = await storage.sessions.history(session_id)
    parent = history.compression
    begin = parent.to_position + 1 if parent else 1
    number = await storage.compressions.next_version(session_id)
    branch = history.branch
    covered = await storage.sessions.messages(session_id, after=begin - 1, until=to, branch=branch)
    begin = covered[0].position
    path = version_path(session_id, number)
    size, sha256 = await write_version(storage.blobs, path, covered)
    row = replace(
        version(
            number,
            begin,
            to,
            parent=parent.version if parent else None,
            kept=to,
            trigger="manual",
            session_id=session_id,
        ),
        archive_path=path,
        archive_size=size,
        sha256=sha256,
        summary={"goal": "目标", "facts": ["a", None, 1.5]},
        branch=branch.number if branch is not None else 0,
    )
    await add_version(storage, row)
    return row


async def summarise_past(storage: Storage, session_id: str, to: int) -> None:
    await storage.summaries.save(
        SummaryRow(session_id, OWNER, None, to, {"goal": "x"}, "manual", "model", "d", None, 0.5, BEGAN)
    )


def sealed(lines: Sequence[bytes]) -> bytes:
    """An export of `lines` (without line ends, the last line left out), with a last line that fits them."""
    import hashlib
    from collections import Counter

    from gateway.history.copies.export import counts_of

    body = b"".join(line + b"\n" for line in lines)
    counts = counts_of(Counter(orjson.loads(line)["kind"] for line in lines))
    end = {"kind": "end", "counts": counts, "sha256": hashlib.sha256(body).hexdigest()}
    return body + orjson.dumps(end) + b"\n"
