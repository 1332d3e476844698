"""What every storage engine owes about what turns used: nothing is lost with a chat, nothing counts twice."""

from typing import Any, cast

import pytest
from sqlalchemy import Connection

from gateway.storage.api_keys import ApiKey
from gateway.storage.limits import SideCall
from gateway.storage.log import Closing
from gateway.storage.schema import turns
from gateway.storage.sessions import purges
from gateway.storage.sign_ins import SignIn
from gateway.storage.turns import UsedTurns
from gateway.storage.turns.usage import QUARTER
from tests.product import DAY_MS, Storage, Usage
from tests.storage.writing import OWNER, accepted, writer_of

pytestmark = pytest.mark.anyio

USED = Usage(input_tokens=3, output_tokens=4, cache_read_input_tokens=5, cache_creation_input_tokens=6)


async def ended(
    storage: Storage,
    turn_id: str,
    at: int,
    *,
    session_id: str | None = None,
    owner: str = OWNER,
    usage: Usage | None = USED,
    cost: float | None = 0.5,
) -> None:
    now = await accepted(storage, session_id or f"s-{turn_id}", turn_id, owner=owner, at=at, text=turn_id)
    closing = Closing("completed", 1, usage, cost, at)
    assert await writer_of(storage, now).append("done", sync=True, outcome=closing) is None


async def test_usage_is_added_up_by_time_and_model(storage: Storage) -> None:
    """From the first moment to the last, of turns that are over; what has no price is counted apart."""
    for turn_id, at, cost in (
        ("a", 1, 0.5),
        ("b", QUARTER - 1, None),
        ("c", QUARTER, 0.25),
        ("d", 9 * QUARTER, 1.0),
    ):
        await ended(storage, turn_id, at, cost=cost)
    await ended(storage, "early", 0)
    await ended(storage, "bobs", 2, owner="bob")
    await accepted(storage, "s-open", "open", at=3)

    first, second = await storage.turns.used_when(OWNER, 1, 9 * QUARTER - 1)

    assert (first.at, first.model, first.used) == (0, "model", UsedTurns(2, 28, 8, 0.5, 1))
    assert (second.at, second.used) == (QUARTER, UsedTurns(1, 14, 4, 0.25, 0))
    assert await storage.turns.first_used(OWNER) == 0
    assert await storage.turns.first_used("nobody") is None


async def test_the_sessions_that_cost_most_come_first(storage: Storage) -> None:
    """With their titles, but for those of others; what costs the same comes by its tokens."""
    for turn_id, cost, usage in (("cheap", 0.1, USED), ("dear", 2.0, USED), ("free", None, USED + USED)):
        await ended(storage, turn_id, 5, cost=cost, usage=usage)
    await ended(storage, "bobs", 5, owner="bob")

    found = await storage.turns.used_in(OWNER, 0, 9, 2)

    assert [(each.session_id, each.title, each.is_own) for each in found] == [
        ("s-dear", "dear", True),
        ("s-cheap", "cheap", True),
    ]
    assert found[0].used == UsedTurns(1, 14, 4, 2.0, 0)
    assert await storage.turns.used_in("nobody", 0, 9, 2) == []


async def test_usage_of_several_users_is_each_ones_own(storage: Storage) -> None:
    await ended(storage, "anns", 5)
    await ended(storage, "bobs", 5, owner="bob")
    await ended(storage, "bobs2", 6, owner="bob")

    found = await storage.turns.used_by([OWNER, "bob", "nobody"], 0, 9)

    assert found == {OWNER: UsedTurns(1, 14, 4, 0.5, 0), "bob": UsedTurns(2, 28, 8, 1.0, 0)}


async def test_what_a_deleted_session_used_still_counts(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, for whoever's turns they were, also of a session that is removed in several slices."""
    monkeypatch.setattr(purges, "SLICE_TIME", 0.0)
    monkeypatch.setattr(purges, "MIN_FIRST", 1)
    count = purges.BATCH + 5
    for number in range(count):
        await ended(storage, f"t{number}", DAY_MS + number, session_id="s", cost=None if number == 2 else 0.5)
    await ended(storage, "none", DAY_MS, session_id="s", usage=None, cost=None)
    await ended(storage, "kept", DAY_MS)

    await storage.sessions.delete("s", OWNER)
    while await storage.purges.next_slice() is not None:
        pass

    [day] = await storage.limits.side_usage_of_days(OWNER, 0, 3)
    assert (day.day, day.used.purpose, day.used.model) == (1, "deleted_sessions", "model")
    assert (day.used.calls, day.used.input_tokens, day.used.output_tokens) == (count, 14 * count, 4 * count)
    assert (day.used.cost, day.used.unpriced) == (500_000 * (count - 1), 1)
    [left] = await storage.turns.used_when(OWNER, 0, 9 * DAY_MS)
    assert left.used == UsedTurns(1, 14, 4, 0.5, 0)
    assert await storage.limits.side_usage_of_days(OWNER, 2, 3) == []
    assert await storage.limits.first_side_day(OWNER) == 1
    assert await storage.limits.first_side_day("bob") is None


async def test_side_calls_are_found_by_the_day_and_by_several_users(storage: Storage) -> None:
    for owner, day in ((OWNER, 1), (OWNER, 2), ("bob", 2)):
        call = SideCall(owner, "title", "model", USED, 100, day * DAY_MS)
        await storage.limits.settle_call([], call)

    days = await storage.limits.side_usage_of_days(OWNER, 1, 2)
    users = await storage.limits.side_usage_of_users([OWNER, "bob"], 2, 2)

    assert [(each.day, each.used.calls, each.used.cost) for each in days] == [(1, 1, 100), (2, 1, 100)]
    assert [(owner, used.purpose, used.calls) for owner, used in users] == [
        (OWNER, "title", 1),
        ("bob", "title", 1),
    ]


async def test_users_are_found_page_by_page(storage: Storage) -> None:
    """Everybody with a turn, a key or a sign-in, and those named in asking; with the roles of what holds."""
    await ended(storage, "t", 50, owner="carl")
    await ended(storage, "t2", 60, owner="red/ada")
    keys = (
        ("k1", "bob", ("admin",), None),
        ("k2", "bob", ("member",), 5),
        ("k3", "red/eve", ("member",), None),
    )
    for id_, user, roles, expires in keys:
        key = ApiKey(id_, "default", user, "k", roles, (), "d", 1, "root", expires)
        await storage.keys.add(key, most=9)
    await storage.sign_ins.add(SignIn("digest", "red", "red/ada", ("reader",), 1, 1000, 70), most=9)

    first = await storage.users.page(100, after="", limit=2, named=("zoe",))
    rest = await storage.users.page(100, after="carl", limit=9, named=("zoe",))

    assert [(each.user_id, each.roles, each.keys, each.seen_at) for each in (*first, *rest)] == [
        ("bob", {"admin"}, 1, None),
        ("carl", frozenset(), 0, 50),
        ("red/ada", {"reader"}, 0, 70),
        ("red/eve", {"member"}, 1, None),
        ("zoe", frozenset(), 0, None),
    ]


async def test_an_admin_of_a_tenant_sees_its_users_alone(storage: Storage) -> None:
    for owner in ("ann", "blue/bob", "red/ada", "red/eve", "redder/zed", "zoe"):
        await ended(storage, owner.replace("/", "-"), 5, owner=owner)

    async def of(tenant: str, after: str = "") -> list[str]:
        return [each.user_id for each in await storage.users.page(9, after=after, limit=9, tenant=tenant)]

    assert await of("red") == ["red/ada", "red/eve"]
    assert await of("red", "red/ada") == ["red/eve"]
    assert await of("red", "zzz") == await of("none") == []
    assert await of("") == ["ann", "zoe"]


async def test_turns_that_ran_elsewhere_are_not_counted(storage: Storage) -> None:
    """Imported ones tell what they cost at another gateway."""
    await ended(storage, "ran", 5)
    await ended(storage, "came", 5)
    database = cast("Any", storage.turns).database  # what an import writes

    def bring(connection: Connection) -> None:
        connection.execute(turns.update().where(turns.c.id == "came").values(is_imported=True))

    await database.write(bring)

    [when] = await storage.turns.used_when(OWNER, 0, 9)
    [model] = await storage.turns.usage(OWNER, 0)

    assert when.used.turns == model.turns == 1
