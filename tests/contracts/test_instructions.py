"""What a client application tells the model: each text kept once, and which turn has which."""

from dataclasses import replace
from hashlib import sha256

import pytest

from gateway.storage.branches import ROOT
from gateway.storage.log import Closing
from gateway.storage.turns import Accepted, NewTurn, OnConflict
from tests.history.copying import exported, imported
from tests.product import Message, Storage, text_block
from tests.storage.writing import OWNER, writer_of

pytestmark = pytest.mark.anyio

BRIEF, LONG = "Be brief.", "Explain everything."

START = b'{"input":"hi","model":"model","trace_id":"%s"}' % (b"0" * 32)
DONE = b'{"status":"completed","iterations":1,"duration_ms":1}'


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


async def asked(
    storage: Storage,
    turn_id: str,
    told: str | None,
    on_conflict: OnConflict = "reject",
    session: str = "s",
    *,
    parent: str | None = None,
    first: str | None = None,
) -> Accepted:
    new = NewTurn(turn_id, session, OWNER, "hi", "model", turn_id, on_conflict, True, 5, instructions=told)
    return await storage.turns.accept(
        replace(new, parent_turn_id=parent, first_instructions=first), max_queued=9
    )


async def over(storage: Storage, now: Accepted) -> str | None:
    """Ends the turn; what its session has been told then."""
    writer = writer_of(storage, now)
    await writer.append("turn_start", body=START, sync=True, message=Message("user", [text_block("hi")]))
    await writer.append("done", body=DONE, sync=True, outcome=Closing("completed", 1, None, None, 9))
    return (await storage.sessions.history(now.turn.session_id)).instructions


async def told_of(storage: Storage, turn_id: str) -> str | None:
    return (await storage.turns.get("s", turn_id, OWNER)).instructions


async def test_instructions_stay_until_others_come_or_none_are_wanted(storage: Storage) -> None:
    """A turn has those that it brings, or those of the turn before it, and says which; "" ends that."""
    seen = [
        await over(storage, await asked(storage, f"t{number}", told))
        for number, told in enumerate([None, BRIEF, None, LONG, "", None])
    ]

    assert seen == [None, BRIEF, BRIEF, LONG, None, None]
    digests = [await told_of(storage, f"t{number}") for number in range(6)]
    assert digests == [digest_of(text) if text else None for text in seen]
    assert await storage.sessions.instructions("s") is None


async def test_a_text_is_kept_once_however_often_it_comes(storage: Storage) -> None:
    """Clients that send everything each time send it with each turn."""
    for number, told in enumerate([BRIEF, BRIEF, LONG, BRIEF]):
        await over(storage, await asked(storage, f"t{number}", told))
    kept = await storage.copies.instructions("s", after="", limit=9)

    assert sorted(each.text for each in kept) == [BRIEF, LONG]
    assert [each.digest for each in kept] == sorted(map(digest_of, [BRIEF, LONG]))
    assert await storage.copies.instructions("s", after=kept[-1].digest, limit=9) == []
    assert len(await storage.copies.instructions("s", after="", limit=1)) == 1


async def test_a_turn_that_waits_brings_its_own_when_its_time_comes(storage: Storage) -> None:
    """The running turn keeps what it began with; one that brings none has those of the turn before it, in the
    order in which they run."""
    first = await asked(storage, "t1", BRIEF)
    assert (await asked(storage, "t2", LONG, "queue")).turn.status == "accepted"
    await asked(storage, "t3", None, "queue")
    await asked(storage, "t4", None, "interrupt")
    assert (await storage.sessions.history("s")).instructions == BRIEF
    await over(storage, first)
    seen: list[tuple[str, str | None]] = []
    while (now := await storage.turns.claim_next("s")) is not None:
        assert now.turn.instructions == await told_of(storage, now.turn.id)
        assert await storage.sessions.instructions("s") == await over(storage, now)
        seen.append((now.turn.id, now.turn.instructions))

    assert seen == [("t4", digest_of(BRIEF)), ("t2", digest_of(LONG)), ("t3", digest_of(LONG))]


async def test_a_message_that_is_sent_again_is_the_same_turn_whatever_it_brings(storage: Storage) -> None:
    """A system message may hold the time; a repetition changes nothing of the session."""
    first = await asked(storage, "t1", BRIEF)
    new = NewTurn("t9", "s", OWNER, "hi", "model", "t1", "reject", True, 5, instructions=LONG)
    again = await storage.turns.accept(new, max_queued=0)

    assert (again.repeated, again.turn.id) == (True, first.turn.id)
    assert await storage.sessions.instructions("s") == BRIEF


async def test_the_history_of_a_turn_that_begins_has_its_instructions(storage: Storage) -> None:
    """Also the one that is read while it is accepted."""
    writer = writer_of(storage, await asked(storage, "t1", BRIEF))
    await writer.append("turn_start", sync=True, message=Message("user", [text_block("hi")]))
    await writer.close()
    now = await asked(storage, "t2", LONG)

    assert now.history is not None
    assert now.history.instructions == LONG
    outline = await storage.sessions.outline("s", OWNER)
    assert outline.history.instructions == LONG


async def test_a_branch_has_those_of_the_turn_that_it_follows(storage: Storage) -> None:
    """At once or when it has waited; the branch that is left keeps its own, and before all turns those in
    force stay."""
    await over(storage, await asked(storage, "t1", BRIEF))
    second = await asked(storage, "t2", LONG)
    await asked(storage, "t3", None, "queue", parent="t1")
    await over(storage, second)
    waited = await storage.turns.claim_next("s")
    assert waited is not None
    seen = [
        await over(storage, waited),
        await over(storage, await asked(storage, "t4", None, parent="t2")),
        await over(storage, await asked(storage, "t5", None, parent="t1")),
        await over(storage, await asked(storage, "t6", "", parent="t2")),
        await over(storage, await asked(storage, "t7", None, parent=ROOT)),
    ]
    assert seen == [BRIEF, LONG, BRIEF, None, None]
    await storage.branches.activate("s", 0)
    assert await storage.sessions.instructions("s") == LONG
    assert await over(storage, await asked(storage, "t8", None)) == LONG


async def test_instructions_go_with_their_session(storage: Storage) -> None:
    """Nobody finds them in another that takes its id."""
    await over(storage, await asked(storage, "t1", BRIEF))
    await over(storage, await asked(storage, "t2", LONG, session="other"))
    await storage.sessions.delete("s", OWNER)
    while await storage.purges.next_slice() is not None:
        pass
    await storage.sessions.create("s", OWNER, None, 5)

    assert await storage.copies.instructions("s", after="", limit=9) == []
    assert await storage.sessions.instructions("s") is None
    assert await storage.sessions.instructions("other") == LONG


async def test_a_copy_has_all_that_turns_were_told(storage: Storage) -> None:
    """Export, import under another id, export: the same, and the session goes on with those in force."""
    for number, told in enumerate([BRIEF, None, LONG, "", BRIEF]):
        await over(storage, await asked(storage, f"t{number}", told))
    first = await exported(storage)
    await storage.sessions.delete("s", OWNER)
    while await storage.purges.next_slice() is not None:
        pass
    await imported(storage, first, "bob")

    assert await exported(storage, owner="bob") == first
    assert (await storage.sessions.history("s")).instructions == BRIEF
    new = NewTurn("next", "s", "bob", "hi", "model", None, "reject", False, 5)
    assert (await storage.turns.accept(new, max_queued=0)).turn.instructions == digest_of(BRIEF)


async def test_a_session_has_instructions_before_its_first_turn_and_others_from_the_next_on(
    storage: Storage,
) -> None:
    """What a turn began with stays known, and leaves with the session in a copy."""
    await storage.sessions.create("s", OWNER, None, 5, instructions=BRIEF)
    assert await storage.sessions.instructions("s") == BRIEF

    assert await over(storage, await asked(storage, "t1", None)) == BRIEF
    await storage.sessions.change("s", OWNER, 6, instructions=LONG)
    assert await told_of(storage, "t1") == digest_of(BRIEF)
    assert await over(storage, await asked(storage, "t2", None)) == LONG
    await storage.sessions.change("s", OWNER, 7, instructions="")
    assert await over(storage, await asked(storage, "t3", None)) is None


async def test_instructions_that_no_turn_has_had_yet_are_in_the_copy_of_a_session(storage: Storage) -> None:
    await storage.sessions.create("s", OWNER, None, 5)
    await over(storage, await asked(storage, "t1", None))
    await storage.sessions.change("s", OWNER, 6, instructions=BRIEF)
    lines = await exported(storage, "s")
    await storage.sessions.delete("s", OWNER)
    await imported(storage, lines)

    assert await storage.sessions.instructions("s") == BRIEF


async def test_a_session_that_is_made_with_a_turn_begins_with_the_first_instructions(
    storage: Storage,
) -> None:
    """Unless the turn brings its own; a session that is there keeps what it has."""
    made = await asked(storage, "t1", None, session="made", first=BRIEF)
    own = await asked(storage, "t2", LONG, session="own", first=BRIEF)

    assert (made.turn.instructions, own.turn.instructions) == (digest_of(BRIEF), digest_of(LONG))
    assert await storage.sessions.instructions("made") == BRIEF
    await over(storage, own)
    later = await asked(storage, "t3", None, session="own", first=BRIEF)
    assert later.turn.instructions == digest_of(LONG)
