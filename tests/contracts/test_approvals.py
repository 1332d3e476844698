"""What storage owes about approvals, parked turns, grants and the switches of skills."""

from dataclasses import replace

import pytest

from gateway.events.tool_calls import Scope
from gateway.storage.decisions.approvals import ApprovalRow, Granted, Verdict
from gateway.storage.turns import TurnRow
from tests.product import Conflict, NotFound, Storage, TurnLost
from tests.storage.writing import OWNER, Factory, Writer, accepted, left_open, running, taken_anew, writer_of

pytestmark = pytest.mark.anyio

APPROVED = Verdict("approved", OWNER, 20)


def asked(call_id: str = "toolu_1", *, name: str = "send", expires_at: int = 1000) -> ApprovalRow:
    return ApprovalRow(
        "s", "t", call_id, OWNER, name, {"to": "李雷"}, "It has effects.", 10, expires_at, tool_digest="d1"
    )


async def turn_of(storage: Storage) -> TurnRow:
    return await storage.turns.get("s", "t", OWNER)


async def parked(storage: Storage, *rows: ApprovalRow, until: int = 1000) -> Writer:
    """The writer of a turn that was given up for the calls in `rows`."""
    writer = await running(storage)
    await storage.approvals.ask(rows)
    assert await storage.approvals.park(await turn_of(storage), [row.tool_call_id for row in rows], until)
    return writer


async def test_what_is_asked_is_kept_in_its_order(storage: Storage) -> None:
    await running(storage)
    rows = [asked("toolu_b"), asked("toolu_a")]

    await storage.approvals.ask(rows)
    await storage.approvals.ask([replace(rows[0], name="changed")])

    assert await storage.approvals.of_turn("t") == rows
    assert await storage.approvals.get("s", "t", "toolu_a", OWNER) == rows[1]


async def test_nobody_reads_the_approvals_of_others(storage: Storage) -> None:
    await running(storage)
    await storage.approvals.ask([asked()])

    for session_id, turn_id, call_id, owner in (
        ("s", "t", "toolu_1", "bob"),
        ("other", "t", "toolu_1", OWNER),
        ("s", "other", "toolu_1", OWNER),
        ("s", "t", "other", OWNER),
    ):
        with pytest.raises(NotFound):
            await storage.approvals.get(session_id, turn_id, call_id, owner)


async def test_a_parked_turn_is_its_sessions_running_one_and_has_no_owner(storage: Storage) -> None:
    """It awaits an approval, another turn has to wait for it, and a new process leaves it where it is."""
    await parked(storage, asked())

    assert (await turn_of(storage)).status == "awaiting_approval"
    open_turn = await storage.turns.open_turn("s")
    assert open_turn is not None
    assert open_turn.id == "t"
    waiting = await accepted(storage, "s", "t2", on_conflict="queue")
    assert waiting.turn.status == "accepted"
    assert await storage.turns.claim_next("s") is None
    assert await taken_anew(storage) == []
    assert (await turn_of(storage)).recoveries == 0


async def test_a_decision_hands_the_parked_turn_to_whoever_made_it(storage: Storage) -> None:
    """The former owner, who gave it up, can append no more, neither before nor after. Edited arguments and
    reasons are kept."""
    writer = await parked(storage, asked())
    verdict = replace(APPROVED, arguments={"to": "韩梅梅"}, reason="ok")
    former = replace(writer)
    assert isinstance(await former.append("text"), TurnLost)

    row, taken = await storage.approvals.decide(asked(), verdict)

    assert row == replace(asked(), verdict=verdict)
    assert taken is not None
    assert (taken.turn.status, taken.turn.epoch, taken.head) == ("running", writer.epoch + 2, writer.head)
    assert ((await turn_of(storage)).status, taken.turn.recoveries) == ("running", 0)
    assert isinstance(await writer.append("text"), TurnLost)
    assert await writer_of(storage, taken).append("text") is None


async def test_a_decision_while_the_turn_runs_is_stored_and_keeps_it_from_being_parked(
    storage: Storage,
) -> None:
    await running(storage)
    await storage.approvals.ask([asked(), asked("toolu_2")])

    _, taken = await storage.approvals.decide(asked(), APPROVED)

    assert taken is None
    assert not await storage.approvals.park(await turn_of(storage), ["toolu_1", "toolu_2"], 1000)
    assert await storage.approvals.park(await turn_of(storage), ["toolu_2"], 1000)


async def test_the_same_decision_again_changes_nothing_and_another_is_refused(storage: Storage) -> None:
    await parked(storage, asked())
    first, _ = await storage.approvals.decide(asked(), APPROVED)

    assert await storage.approvals.decide(asked(), replace(APPROVED, at=99)) == (first, None)
    others = (
        Verdict("denied", OWNER, 30),
        replace(APPROVED, arguments={}),
        replace(APPROVED, scope="always"),
    )
    for other in others:
        with pytest.raises(Conflict):
            await storage.approvals.decide(asked(), other)


async def test_a_decision_that_comes_too_late_is_refused(storage: Storage) -> None:
    """After its time, and when the turn is over."""
    await parked(storage, asked(expires_at=20), asked("toolu_2"))
    with pytest.raises(Conflict, match="denial"):
        await storage.approvals.decide(asked(), APPROVED)

    taken = await storage.approvals.wake("t")
    assert taken is not None
    assert await writer_of(storage, taken).close() is None
    with pytest.raises(Conflict, match="over"):
        await storage.approvals.decide(asked("toolu_2"), APPROVED)


async def test_only_its_owner_parks_a_turn_and_a_cancelled_one_not_at_all(storage: Storage) -> None:
    await running(storage)
    turn = await turn_of(storage)

    with pytest.raises(TurnLost):
        await storage.approvals.park(replace(turn, epoch=2), [], 1000)
    await storage.turns.request_cancel("t")
    assert not await storage.approvals.park(turn, [], 1000)
    assert await storage.approvals.wake("t") is None


async def test_parked_turns_are_found_when_they_are_due(storage: Storage) -> None:
    assert await storage.approvals.count_parked() == 0
    await parked(storage, asked(), until=50)

    assert await storage.approvals.count_parked() == 1
    assert await storage.approvals.overdue(49, 9) == []
    assert await storage.approvals.overdue(50, 9) == ["t"]
    assert await storage.approvals.overdue(50, 0) == []
    assert await storage.approvals.wake("t") is not None
    assert await storage.approvals.wake("t") is None
    assert await storage.approvals.overdue(50, 9) == []


async def test_an_approval_for_longer_is_a_grant_that_can_be_taken_back(storage: Storage) -> None:
    """For the session or always; a denial never is one."""
    await running(storage)
    rows = [asked("toolu_1"), asked("toolu_2", name="post"), asked("toolu_3", name="drop")]
    await storage.approvals.ask(rows)
    await storage.approvals.decide(rows[0], replace(APPROVED, scope="session"))
    await storage.approvals.decide(rows[1], replace(APPROVED, scope="always"))
    await storage.approvals.decide(rows[2], Verdict("denied", OWNER, 20, "always"))
    tools = dict.fromkeys(["send", "post", "drop"], "d1")

    assert await storage.approvals.granted(OWNER, "s", tools) == Granted(
        {"send": "session", "post": "always"}
    )
    assert await storage.approvals.granted(OWNER, "other", tools) == Granted({"post": "always"})
    assert await storage.approvals.granted("bob", "s", tools) == Granted({})
    assert [(grant.tool, grant.session_id) for grant in await storage.approvals.grants(OWNER)] == [
        ("post", None),
        ("send", "s"),
    ]
    assert await storage.approvals.revoke("bob", "post") == 0
    assert await storage.approvals.revoke(OWNER, "post") == 1
    assert await storage.approvals.granted(OWNER, "other", tools) == Granted({})


@pytest.mark.parametrize("scope", ["session", "always"])
async def test_a_grant_is_for_what_the_tool_said_of_itself(storage: Storage, scope: Scope) -> None:
    """Granted anew it is for what it says now, and no more for what it said; one whose words then are not
    known is for nothing."""
    await running(storage)
    rows = [
        replace(asked("toolu_1"), tool_digest=None),
        replace(asked("toolu_2"), tool_digest="d1"),
        replace(asked("toolu_3"), tool_digest="d2"),
    ]
    await storage.approvals.ask(rows)
    for row, now in zip(rows, (None, "d1", "d2"), strict=True):
        await storage.approvals.decide(row, replace(APPROVED, scope=scope))
        for digest in ("d1", "d2"):
            found = await storage.approvals.granted(OWNER, "s", {"send": digest})
            assert found == (Granted({"send": scope}) if digest == now else Granted({}, frozenset({"send"})))
        (grant,) = await storage.approvals.grants(OWNER)
        assert grant.tool_digest == now


async def test_what_is_granted_twice_is_one_grant(storage: Storage) -> None:
    await running(storage)
    rows = [asked("toolu_1"), asked("toolu_2")]
    await storage.approvals.ask(rows)
    for row in rows:
        await storage.approvals.decide(row, replace(APPROVED, scope="always"))

    assert [grant.tool for grant in await storage.approvals.grants(OWNER)] == ["send"]


async def test_a_parked_turn_that_is_to_be_cancelled_is_found_at_once(storage: Storage) -> None:
    """Whoever cancelled it may have ended before it could wake the turn."""
    await parked(storage, asked())
    await storage.turns.request_cancel("t")

    assert await storage.approvals.overdue(0, 9) == ["t"]


async def test_a_turn_that_was_given_up_does_not_end_by_its_former_owner(storage: Storage) -> None:
    """Also where that one had its time run out in the same moment: the turn waits, and ends for the next."""
    writer = await parked(storage, asked())

    assert isinstance(await writer.close(), TurnLost)
    assert await storage.approvals.count_parked() == 1
    taken = await storage.approvals.wake("t")
    assert taken is not None
    assert await writer_of(storage, taken).close() is None

    assert (await turn_of(storage)).status == "done"
    assert await storage.approvals.count_parked() == 0


async def test_what_was_decided_goes_with_its_session(storage: Storage) -> None:
    """The grants for all sessions stay."""
    writer = await running(storage)
    rows = [asked("toolu_1"), asked("toolu_2", name="post")]
    await storage.approvals.ask(rows)
    await storage.approvals.decide(rows[0], replace(APPROVED, scope="session"))
    await storage.approvals.decide(rows[1], replace(APPROVED, scope="always"))
    await writer.close()

    await storage.sessions.delete("s", OWNER)

    assert await storage.approvals.of_turn("t") == []
    assert [grant.tool for grant in await storage.approvals.grants(OWNER)] == ["post"]


async def test_parked_turns_switches_and_grants_outlive_the_process(
    factory: Factory, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("kept")
    async with factory(folder) as first:
        await parked(first, asked())
        await first.switches.switch("calculate", enabled=False, by=OWNER, at=5)
        await first.switches.switch("md:calculate", enabled=False, by=OWNER, at=6)
        await first.switches.switch("md:calculate", enabled=True, by=OWNER, at=7)

    async with factory(folder) as second:
        assert not await left_open(second)
        assert (await turn_of(second)).status == "awaiting_approval"
        _, taken = await second.approvals.decide(asked(), APPROVED)
        assert taken is not None
        assert await second.switches.disabled() == {"calculate"}


async def test_what_nobody_decided_in_time_is_a_stored_denial(storage: Storage) -> None:
    """What was decided before stays, and so does what still has time."""
    await running(storage)
    rows = [asked("toolu_1", expires_at=50), asked("toolu_2", expires_at=50), asked("toolu_3", expires_at=51)]
    await storage.approvals.ask(rows)
    await storage.approvals.decide(rows[0], APPROVED)

    await storage.approvals.expire("t", 50, "too late")

    verdicts = [row.verdict for row in await storage.approvals.of_turn("t")]
    assert verdicts == [APPROVED, Verdict("denied", "expiry", 50, "once", "too late"), None]


async def test_an_owner_finds_what_waits_for_a_decision(storage: Storage) -> None:
    """Not what is decided, and nothing of a turn that is over."""
    await parked(storage, asked(), asked("toolu_2"))
    _, taken = await storage.approvals.decide(asked(), APPROVED)
    assert taken is not None

    assert await storage.approvals.waiting(OWNER, 9) == [asked("toolu_2")]
    assert await storage.approvals.waiting("bob", 9) == []
    assert await writer_of(storage, taken).close() is None
    assert await storage.approvals.waiting(OWNER, 9) == []
