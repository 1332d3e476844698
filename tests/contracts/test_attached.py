"""What every storage engine owes the attachments of a message."""

import pytest

from gateway.storage.artifacts import ArtifactRow, Chunk, blob_path
from gateway.storage.turns import Accepted, NewTurn, OnConflict
from tests.product import Attached, Conflict, NotFound, Storage
from tests.storage.writing import writer_of

pytestmark = pytest.mark.anyio

OWNER = "anna"
SHA = "0" * 64


async def kept(storage: Storage, ref: str, *, turn_id: str | None = None, expires_at: int = 10) -> None:
    """An artifact that no session uses yet; made for a turn, if one is given."""
    row = ArtifactRow(
        owner=OWNER,
        ref=ref,
        mime="text/plain",
        kind="text",
        size=2,
        lines=1,
        sha256=SHA,
        chunks=[Chunk(SHA, 0)],
        path=blob_path(OWNER, SHA),
        compact="",
        created_at=1,
        expires_at=expires_at,
        turn_id=turn_id,
    )
    await storage.orphans.suspect([row.path], 1)
    await storage.artifacts.add(row, quota=1_000_000)


def file(ref: str, name: str = "订单.txt", text: str = "你好") -> Attached:
    return Attached(ref=ref, name=name, mime="text/plain", size=len(text), shown="text", text=text)


async def accept(
    storage: Storage,
    turn_id: str,
    *files: Attached,
    session_id: str = "s",
    message_id: str | None = None,
    on_conflict: OnConflict = "queue",
) -> Accepted:
    new = NewTurn(
        turn_id, session_id, OWNER, "hi", "model", message_id, on_conflict, True, 5, attachments=files
    )
    return await storage.turns.accept(new, max_queued=9)


async def test_a_turn_keeps_its_attachments(storage: Storage) -> None:
    """As they were given and in their order, also when it waits and is claimed later."""
    files = (file("ART-0000000002", "b.txt"), file("ART-0000000001", "a.txt", "日志\n"))
    first = await accept(storage, "t1", *files)
    second = await accept(storage, "t2", *reversed(files))
    await writer_of(storage, first).close()

    claimed = await storage.turns.claim_next("s")

    assert first.turn.attachments == files
    assert (await storage.turns.get("s", "t1", OWNER)).attachments == files
    assert claimed is not None
    assert second.turn.attachments == claimed.turn.attachments == tuple(reversed(files))
    assert (await accept(storage, "t3")).turn.attachments == ()


async def test_a_session_uses_what_is_attached_in_it(storage: Storage) -> None:
    """It is not expired as long as the session is there; what is attached nowhere is."""
    for ref in ("ART-0000000001", "ART-0000000002"):
        await kept(storage, ref)
    await accept(storage, "t", file("ART-0000000001"))

    assert await storage.artifacts.expire(100, 9) == 1

    assert [row.ref for row in await storage.artifacts.find(OWNER, limit=9, session_id="s")] == [
        "ART-0000000001"
    ]


async def test_what_was_made_for_a_turn_goes_with_its_session(storage: Storage) -> None:
    """What was there before, and only attached, stays."""
    await kept(storage, "ART-0000000001", turn_id="t")
    await kept(storage, "ART-0000000002", turn_id="another")
    now = await accept(storage, "t", file("ART-0000000001"), file("ART-0000000002"))
    await writer_of(storage, now).close()
    assert (await storage.artifacts.get(OWNER, "ART-0000000001")).session_id == "s"

    await storage.sessions.delete("s", OWNER)

    assert [row.ref for row in await storage.artifacts.find(OWNER, limit=9)] == ["ART-0000000002"]


async def test_a_message_is_the_same_by_the_names_and_sizes_of_its_files(storage: Storage) -> None:
    """What is uploaded again gets another reference; other files are another message."""
    first = await accept(storage, "t1", file("ART-0000000001", "a.txt"), message_id="m")

    again = await accept(storage, "t2", file("ART-0000000002", "a.txt"), message_id="m")

    assert (again.repeated, again.turn) == (True, first.turn)
    for others in ([], [file("ART-0000000001", "b.txt")], [file("ART-0000000001", "a.txt", "你好!")]):
        with pytest.raises(Conflict):
            await accept(storage, "t3", *others, message_id="m")


async def test_a_message_that_was_sent_is_found_by_its_owner(storage: Storage) -> None:
    """With its attachments; by nobody else, and not by another id or in another session."""
    first = await accept(storage, "t", file("ART-0000000001"), message_id="m")

    assert await storage.turns.sent("s", "m", OWNER) == first.turn
    for session_id, message_id, owner in (("s", "m", "bert"), ("s", "n", OWNER), ("r", "m", OWNER)):
        assert await storage.turns.sent(session_id, message_id, owner) is None


async def test_what_is_gone_meanwhile_is_no_obstacle(storage: Storage) -> None:
    """An artifact that was deleted since it was looked up is used by nobody."""
    await accept(storage, "t", file("ART-0000000001"))

    assert await storage.artifacts.find(OWNER, limit=9, session_id="s") == []
    with pytest.raises(NotFound):
        await storage.artifacts.get(OWNER, "ART-0000000001")
