"""What storage owes about API keys."""

from dataclasses import replace

import pytest

from gateway.storage.api_keys import ApiKey
from tests.product import Conflict, Storage
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

USERS = (("default", "ada"), ("default", "bob"), ("team", "team/ada"))
KEY = ApiKey("a" * 16, "default", OWNER, "a script", ("member",), ("chat", "read"), "00" * 32, 5, OWNER)


async def test_a_key_is_found_as_it_was_added(storage: Storage) -> None:
    whole = replace(KEY, id="b" * 16, expires_at=2**50, tenant="team", user_id="team/bert")
    for key in (KEY, whole):
        await storage.keys.add(key, most=1)

    assert [await storage.keys.find(key.id) for key in (KEY, whole)] == [KEY, whole]
    assert await storage.keys.find("c" * 16) is None


async def test_keys_are_listed_for_a_user_a_tenant_or_all(storage: Storage) -> None:
    """The oldest first, revoked ones too."""
    keys = [
        replace(KEY, id=f"{number:016x}", tenant=tenant, user_id=user, created_at=number)
        for number, (tenant, user) in enumerate(
            [("default", "ada"), ("default", "bob"), ("team", "team/ada")]
        )
    ]
    for key in reversed(keys):
        await storage.keys.add(key, most=1)
    await storage.ended_access.end_key(keys[0].id, 9)
    first = replace(keys[0], revoked_at=9)

    assert list(await storage.keys.list()) == [first, *keys[1:]]
    assert list(await storage.keys.list(tenant="default")) == [first, keys[1]]
    assert list(await storage.keys.list(user_id="team/ada")) == [keys[2]]
    assert list(await storage.keys.list(user_id="nobody")) == []


async def test_a_user_has_no_more_keys_than_they_may(storage: Storage) -> None:
    """One that is revoked makes room; what another user has takes none."""
    await storage.keys.add(KEY, most=1)
    await storage.keys.add(replace(KEY, id="b" * 16, user_id="bob"), most=1)
    with pytest.raises(Conflict) as refused:
        await storage.keys.add(replace(KEY, id="c" * 16), most=1)
    assert refused.value.code == "too_many_keys"

    await storage.ended_access.end_key(KEY.id, 9)

    await storage.keys.add(replace(KEY, id="c" * 16), most=1)


async def test_whoever_knows_a_key_or_a_sign_in_is_told_that_it_ended(storage: Storage) -> None:
    """In each process: what it remembers of it holds no longer than it takes to be told."""
    ended: list[str] = []
    storage.signals.on("revoked", ended.append)
    await storage.keys.add(KEY, most=1)

    await storage.ended_access.end_key(KEY.id, 9)
    await storage.ended_access.end_sign_in("digest")

    assert ended == [KEY.id, "digest"]


async def test_a_key_is_revoked_once_and_for_good(storage: Storage) -> None:
    await storage.keys.add(KEY, most=1)
    await storage.keys.used(KEY.id, 7)
    for now in (9, 10):
        await storage.ended_access.end_key(KEY.id, now)
    await storage.ended_access.end_key("c" * 16, 9)  # which was never there

    found = await storage.keys.find(KEY.id)
    assert found == replace(KEY, used_at=7, revoked_at=9)
    assert found is not None
    assert not found.holds(8)


async def test_a_user_has_a_live_key_until_it_is_revoked_or_expires(storage: Storage) -> None:
    assert not await storage.keys.has_live(OWNER, 8)
    await storage.keys.add(replace(KEY, expires_at=9), most=1)

    assert [await storage.keys.has_live(OWNER, now) for now in (8, 9)] == [True, False]
    assert not await storage.keys.has_live("bob", 8)
    await storage.ended_access.end_key(KEY.id, 5)
    assert not await storage.keys.has_live(OWNER, 8)
