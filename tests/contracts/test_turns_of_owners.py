"""What storage owes about a user's turns, whichever sessions they are in."""

import pytest

from gateway.events.lifecycle import Outcome
from gateway.storage.log import Closing
from gateway.storage.turns import NewTurn, TurnState
from tests.contracts.test_approvals import asked
from tests.product import NotFound, Storage, Usage
from tests.storage.writing import OWNER, accepted, running, writer_of

pytestmark = pytest.mark.anyio


async def found(storage: Storage, state: TurnState | None, owner: str = OWNER) -> list[str]:
    return [turn.id for turn in await storage.turns.of_owner(owner, state, limit=9, before=None)]


async def test_a_turn_is_found_by_its_id_by_its_owner_alone(storage: Storage) -> None:
    """With its session, or whichever it is in."""
    await running(storage)

    by_id = await storage.turns.get(None, "t", OWNER)

    assert by_id == await storage.turns.get("s", "t", OWNER)
    for session_id, turn_id, owner in ((None, "t", "bob"), ("other", "t", OWNER), (None, "other", OWNER)):
        with pytest.raises(NotFound):
            await storage.turns.get(session_id, turn_id, owner)


async def test_turns_are_listed_by_their_status_and_by_their_outcome(storage: Storage) -> None:
    """Parked is neither running nor done, and another user's are not there."""
    await running(storage, "s1", "runs")
    await running(storage, "s2", "parked")
    await storage.approvals.ask([asked()])
    turn = await storage.turns.get("s2", "parked", OWNER)
    assert await storage.approvals.park(turn, ["toolu_1"], 1000)
    await accepted(storage, "s2", "waits", on_conflict="queue")
    ended: tuple[tuple[str, Outcome], ...] = (("good", "completed"), ("bad", "failed"))
    for turn_id, outcome in ended:
        writer = await running(storage, f"s-{turn_id}", turn_id)
        assert await writer.append("done", sync=True, outcome=Closing(outcome, 1, None, None, 9)) is None
    await accepted(storage, "s3", "bobs", owner="bob")

    assert await found(storage, "running") == ["runs"]
    assert await found(storage, "awaiting_approval") == ["parked"]
    assert await found(storage, "accepted") == ["waits"]
    assert await found(storage, "completed") == ["good"]
    assert await found(storage, "failed") == ["bad"]
    assert set(await found(storage, "done")) == {"good", "bad"}
    assert set(await found(storage, None)) == {"runs", "parked", "waits", "good", "bad"}
    assert await found(storage, None, "bob") == ["bobs"]


async def test_the_list_goes_on_behind_the_last_one_of_a_page(storage: Storage) -> None:
    """The newest first; also where several were accepted in the same moment."""
    for number, at in enumerate((5, 6, 6, 6, 7)):
        await accepted(storage, f"s{number}", f"t{number}", at=at)
    seen: list[str] = []
    before: tuple[int, str] | None = None
    while page := await storage.turns.of_owner(OWNER, None, limit=2, before=before):
        seen += [turn.id for turn in page]
        before = (page[-1].created_at, page[-1].id)

    assert seen == ["t4", "t3", "t2", "t1", "t0"]


async def test_a_turn_that_is_over_says_what_it_used(storage: Storage) -> None:
    now = await accepted(storage)
    usage = Usage(input_tokens=3, output_tokens=4)
    closing = Closing("completed", 2, usage, 0.5, 9)
    assert await writer_of(storage, now).append("done", sync=True, outcome=closing) is None

    turn = await storage.turns.get(None, "t", OWNER)

    assert (turn.ended_at, turn.usage, turn.cost, turn.iterations) == (9, usage, 0.5, 2)
    assert now.turn.ended_at is None


async def test_what_an_owner_used_is_added_up_by_model(storage: Storage) -> None:
    """Of turns that are over and began in time: with what is known, and how many have no price."""
    used = Usage(input_tokens=3, output_tokens=4, cache_read_input_tokens=5)
    ended = (("t1", 10, used, 0.5), ("t2", 20, used, None), ("t3", 20, None, None), ("old", 9, used, 2.0))
    for name, at, usage, cost in ended:
        now = await accepted(storage, f"s-{name}", name, at=at)
        closing = Closing("completed", 1, usage, cost, at)
        assert await writer_of(storage, now).append("done", sync=True, outcome=closing) is None
    await accepted(storage, "s-runs", "runs", at=30)
    await accepted(storage, "s-bob", "bobs", owner="bob", at=30)

    [found] = await storage.turns.usage(OWNER, 10)

    assert (found.turns, found.usage, found.cost, found.unpriced) == (3, used + used, 0.5, 1)
    assert await storage.turns.usage(OWNER, 40) == []


async def test_turns_are_found_by_their_mark_the_newest_first(storage: Storage) -> None:
    """By their owner alone; others have none."""
    for turn_id in ("old", "new"):
        new = NewTurn(
            turn_id, f"s-{turn_id}", OWNER, "hi", "m", None, "reject", create_session=True, at=1, mark="m"
        )
        await storage.turns.accept(new, max_queued=0)
    await running(storage, "s", "unmarked")

    assert [turn.id for turn in await storage.turns.marked(OWNER, "m")] == ["new", "old"]
    assert await storage.turns.marked("bob", "m") == []
    assert await storage.turns.marked(OWNER, "other") == []


async def test_a_turn_that_waits_keeps_by_which_dialect_it_was_asked_for(storage: Storage) -> None:
    """Whoever begins it later knows it."""
    first = await running(storage, "s", "first")
    new = NewTurn("t", "s", OWNER, "hi", "m", None, "queue", create_session=False, at=1, dialect="ag-ui")
    accepted = await storage.turns.accept(new, max_queued=1)

    assert accepted.turn.dialect == "ag-ui"
    assert (await storage.turns.get("s", "t", OWNER)).dialect == "ag-ui"
    assert (await storage.turns.get("s", first.turn_id, OWNER)).dialect is None
