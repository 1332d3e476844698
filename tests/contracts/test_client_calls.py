"""What storage owes about calls that the user's client runs, and about the tools that it brought."""

from dataclasses import replace

import pytest

from gateway.storage.decisions.client_calls import ClientCall, ClientResult
from gateway.storage.turns import NewTurn, TurnRow, TurnState
from tests.contracts.test_approvals import APPROVED, asked
from tests.product import Conflict, NotFound, Storage, ToolSpec
from tests.storage.writing import OWNER, running, taken_anew

pytestmark = pytest.mark.anyio

RESULT = ClientResult("ok", 20, "digest", '{"text":"Basel 巴塞尔","files":[]}')
TOOLS = (ToolSpec("a", "", {"type": "object"}), ToolSpec("b", "巴", {"type": "object"}))


def wanted(call_id: str = "client_1", *, expires_at: int = 1000) -> ClientCall:
    return ClientCall("s", "t", call_id, OWNER, "locate", 10, expires_at)


async def turn_of(storage: Storage) -> TurnRow:
    return await storage.turns.get("s", "t", OWNER)


async def parked(storage: Storage, *calls: ClientCall, until: int = 1000) -> None:
    """The turn, given up for these calls."""
    await running(storage)
    await storage.client_calls.expect(calls)
    waiting = [call.tool_call_id for call in calls]
    assert await storage.approvals.park(await turn_of(storage), waiting, until)


async def test_what_is_expected_is_kept_in_its_order(storage: Storage) -> None:
    await running(storage)
    calls = [wanted("client_b"), wanted("client_a")]

    await storage.client_calls.expect(calls)
    await storage.client_calls.expect([replace(calls[0], name="changed")])

    assert await storage.client_calls.of_turn("t") == calls
    assert await storage.client_calls.get("s", "t", "client_a", OWNER) == calls[1]
    for session_id, call_id, owner in (("s", "client_a", "bob"), ("x", "client_a", OWNER), ("s", "x", OWNER)):
        with pytest.raises(NotFound):
            await storage.client_calls.get(session_id, "t", call_id, owner)


async def test_a_result_hands_the_parked_turn_to_whoever_took_it(storage: Storage) -> None:
    """Nobody else gets it: the former owner gave it up."""
    await parked(storage, wanted())
    assert (await turn_of(storage)).status == "awaiting_tool_result"
    assert await taken_anew(storage) == []

    call, accepted = await storage.client_calls.answer(wanted(), RESULT)

    assert call == replace(wanted(), result=RESULT)
    assert accepted is not None
    assert (accepted.turn.id, accepted.turn.status) == ("t", "running")
    assert await storage.client_calls.of_turn("t") == [call]


async def test_a_turn_awaits_a_person_as_long_as_one_has_to_decide(storage: Storage) -> None:
    """Then only its client, which both lists of turns say."""
    await running(storage)
    await storage.client_calls.expect([wanted()])
    await storage.approvals.ask([asked()])
    waiting = ["client_1", "toolu_1"]
    assert await storage.approvals.park(await turn_of(storage), waiting, 1000)
    assert (await turn_of(storage)).status == "awaiting_approval"

    _, accepted = await storage.approvals.decide(asked(), APPROVED)
    assert accepted is not None
    assert not await storage.approvals.park(accepted.turn, waiting, 1000)
    assert await storage.approvals.park(accepted.turn, ["client_1"], 1000)

    wanted_in: dict[TurnState, int] = {"awaiting_tool_result": 1, "awaiting_approval": 0, "running": 0}
    for state, found in wanted_in.items():
        assert len(await storage.turns.of_owner(OWNER, state, limit=9, before=None)) == found


async def test_a_result_before_the_turn_is_parked_keeps_it_from_being_so(storage: Storage) -> None:
    await running(storage)
    await storage.client_calls.expect([wanted()])

    _, accepted = await storage.client_calls.answer(wanted(), RESULT)

    assert accepted is None
    assert not await storage.approvals.park(await turn_of(storage), ["client_1"], 1000)


async def test_the_same_result_again_changes_nothing_and_another_is_refused(storage: Storage) -> None:
    """Also when the turn has taken it, and its content is gone."""
    await parked(storage, wanted())
    first, _ = await storage.client_calls.answer(wanted(), RESULT)
    assert await storage.client_calls.answer(wanted(), replace(RESULT, at=30)) == (first, None)
    await storage.client_calls.clear("t")

    again, accepted = await storage.client_calls.answer(wanted(), replace(RESULT, at=40))

    assert (again, accepted) == (replace(first, result=replace(RESULT, content=None)), None)
    for other in (replace(RESULT, digest="other"), replace(RESULT, status="error")):
        with pytest.raises(Conflict):
            await storage.client_calls.answer(wanted(), other)


async def test_what_comes_too_late_is_refused(storage: Storage) -> None:
    """After its time, whether that was noticed or not, and after the turn."""
    writer = await running(storage)
    await storage.client_calls.expect([wanted("client_1", expires_at=20), wanted("client_2")])
    with pytest.raises(Conflict):
        await storage.client_calls.answer(wanted("client_1"), RESULT)
    await storage.client_calls.expire("t", 20)

    (timed_out, open_one) = await storage.client_calls.of_turn("t")
    assert timed_out.result == ClientResult("timeout", 20)
    assert open_one.result is None
    assert await writer.close() is None
    for call_id in ("client_1", "client_2"):
        with pytest.raises(Conflict):
            await storage.client_calls.answer(wanted(call_id), RESULT)
    with pytest.raises(NotFound):
        await storage.client_calls.answer(wanted("client_3"), RESULT)


async def test_a_set_of_tools_is_kept_once_and_goes_with_its_session(storage: Storage) -> None:
    """Each turn names the set that came with it, whoever goes on with it."""
    names: list[str | None] = []
    for number, tools in enumerate((TOOLS, TOOLS, TOOLS[:1], ())):
        new = NewTurn(f"t{number}", "s", OWNER, "hi", "model", None, "queue", True, 5, client_tools=tools)
        names.append((await storage.turns.accept(new, max_queued=9)).turn.client_tools)
        if names[-1] is not None:
            assert list(await storage.turns.client_tools("s", names[-1])) == list(tools)

    assert names[0] == names[1] != names[2]
    assert names[3] is None
    taken = await taken_anew(storage)
    assert [now.turn.client_tools for now in taken] == [names[0]]
    assert names[0] is not None
    assert await storage.turns.client_tools("other", names[0]) == []
