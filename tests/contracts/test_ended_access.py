"""What storage owes about access that has ended."""

from dataclasses import replace

import pytest

from gateway.storage.decisions.approvals import ApprovalRow, Verdict
from gateway.storage.ended_access import Held, Overdue
from gateway.storage.webhooks import Webhook
from tests.contracts.test_api_keys import KEY
from tests.contracts.test_approvals import asked
from tests.contracts.test_sign_ins import SIGN_IN
from tests.product import Storage
from tests.storage.writing import OWNER, running

pytestmark = pytest.mark.anyio


async def test_what_has_expired_is_found_until_it_is_ended(storage: Storage) -> None:
    """A key by its time, a sign-in by its time or as nobody used it."""
    await storage.keys.add(replace(KEY, expires_at=50), most=5)
    await storage.sign_ins.add(SIGN_IN, most=5)
    ended = storage.ended_access

    assert await ended.expired(49, 4) == []
    assert await ended.expired(50, 4) == [Overdue("key", KEY.id, OWNER)]
    assert await ended.expired(49, 5) == [Overdue("sign_in", SIGN_IN.digest, OWNER)]
    await ended.end_key(KEY.id, 50)
    await ended.end_sign_in(SIGN_IN.digest)
    assert await ended.expired(500, 500) == []


async def test_what_holds_is_told_of_what_is_asked(storage: Storage) -> None:
    """Neither what has ended, nor what never was."""
    await storage.keys.add(replace(KEY, expires_at=50), most=5)
    await storage.keys.add(replace(KEY, id="b" * 16), most=5)
    await storage.sign_ins.add(SIGN_IN, most=5)
    asked = Held(frozenset((KEY.id, "b" * 16, "c" * 16)), frozenset((SIGN_IN.digest, "none")))

    assert await storage.ended_access.holds(asked, 49, 4) == Held(
        frozenset((KEY.id, "b" * 16)), frozenset((SIGN_IN.digest,))
    )
    await storage.ended_access.end_key("b" * 16, 9)
    assert await storage.ended_access.holds(asked, 50, 5) == Held(frozenset(), frozenset())


async def test_a_webhook_of_a_key_is_off_with_it_until_it_is_switched_on_with_another(
    storage: Storage,
) -> None:
    """One that was made later with the revoked key is still used."""
    await storage.keys.add(KEY, most=5)
    await storage.keys.add(replace(KEY, id="b" * 16), most=5)
    hook = Webhook("wh_a", OWNER, "https://x.example/", ("turn.finished",), "secret", 5, key_id=KEY.id)
    await storage.webhooks.add(hook, most=5)

    ended = await storage.ended_access.end_key(KEY.id, 9)

    assert list(ended.webhooks) == ["wh_a"]
    off = await storage.webhooks.get("wh_a", OWNER)
    assert (off.disabled_at, off.reason) == (9, "key_revoked")
    on = await storage.webhooks.switch("wh_a", OWNER, disabled_at=None, key_id="b" * 16)
    assert (on.disabled_at, on.reason, on.key_id) == (None, None, "b" * 16)
    assert await storage.ended_access.still_used() == []
    await storage.webhooks.add(replace(hook, id="wh_b"), most=5)
    assert await storage.ended_access.still_used() == [Overdue("key", KEY.id, OWNER)]


async def test_what_was_granted_with_a_key_ends_with_it(storage: Storage) -> None:
    """Neither what a person granted in another way, nor with another key. What was granted later with the
    revoked key is still used."""
    await storage.keys.add(KEY, most=5)
    await storage.keys.add(replace(KEY, id="b" * 16), most=5)
    await running(storage)
    rows = [asked(f"toolu_{name}", name=name) for name in ("mine", "of_b", "of_key", "late")]
    await storage.approvals.ask(rows)

    async def grant(row: ApprovalRow, key_id: str | None) -> None:
        await storage.approvals.decide(row, Verdict("approved", OWNER, 20, "always", key_id=key_id))

    async def granted() -> list[tuple[str, str | None]]:
        return [(each.tool, each.key_id) for each in await storage.approvals.grants(OWNER)]

    for row, key_id in zip(rows, (None, "b" * 16, KEY.id), strict=False):
        await grant(row, key_id)
    assert await granted() == [("mine", None), ("of_b", "b" * 16), ("of_key", KEY.id)]

    ended = await storage.ended_access.end_key(KEY.id, 30)

    assert list(ended.grants) == ["of_key"]
    assert await granted() == [("mine", None), ("of_b", "b" * 16)]
    assert await storage.ended_access.still_used() == []
    await grant(rows[3], KEY.id)
    assert await storage.ended_access.still_used() == [Overdue("key", KEY.id, OWNER)]
    assert list((await storage.ended_access.end_key(KEY.id, 30)).grants) == ["late"]


async def test_a_grant_of_a_key_that_is_nowhere_ends(storage: Storage) -> None:
    """As what was made with one of the settings that is gone."""
    await running(storage)
    await storage.approvals.ask([asked()])
    await storage.approvals.decide(asked(), Verdict("approved", OWNER, 20, "session", key_id="gone"))

    assert await storage.ended_access.unlisted(("gone",), 21) == []
    assert await storage.ended_access.unlisted((), 20) == []
    assert await storage.ended_access.unlisted((), 21) == [Overdue("key", "gone", "gone", is_unlisted=True)]
    assert list((await storage.ended_access.end_unlisted("gone", 30)).grants) == ["send"]


async def test_what_a_person_grants_in_another_way_rests_on_no_key_any_more(storage: Storage) -> None:
    """What rests on none stays so, whatever it is granted with again."""
    await running(storage)
    rows = [asked(f"toolu_{number}") for number in range(3)]
    await storage.approvals.ask(rows)
    for row, key_id, rests_on in zip(rows, (KEY.id, None, KEY.id), (KEY.id, None, None), strict=True):
        await storage.approvals.decide(row, Verdict("approved", OWNER, 20, "always", key_id=key_id))
        (grant,) = await storage.approvals.grants(OWNER)
        assert grant.key_id == rests_on


async def test_a_key_that_is_nowhere_is_told_by_what_was_made_with_it_before(storage: Storage) -> None:
    """Not a stored one, nor one of the settings, nor what a replica with newer settings may have made."""
    await storage.keys.add(KEY, most=5)
    hook = Webhook("wh_a", OWNER, "https://x.example/", ("turn.finished",), "secret", 5, key_id="gone")
    for other, key_id in (("a", "gone"), ("b", KEY.id), ("c", "listed"), ("d", None)):
        await storage.webhooks.add(replace(hook, id=f"wh_{other}", key_id=key_id), most=9)

    assert await storage.ended_access.unlisted(("listed",), 5) == []
    found = await storage.ended_access.unlisted(("listed",), 6)
    assert found == [Overdue("key", "gone", "gone", is_unlisted=True)]
    assert list((await storage.ended_access.end_unlisted("gone", 9)).webhooks) == ["wh_a"]
    assert await storage.ended_access.unlisted(("listed",), 6) == []
    on = await storage.webhooks.switch("wh_a", OWNER, disabled_at=None, key_id=KEY.id)
    assert on.key_id == KEY.id
