"""What storage owes about sign-ins."""

from dataclasses import replace

import pytest

from gateway.storage.sign_ins import SignIn
from tests.product import Storage
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

SIGN_IN = SignIn("a" * 64, "default", OWNER, ("admin", "member"), 5, 100, 5)


async def test_a_sign_in_is_found_as_it_was_added_until_it_is_removed(storage: Storage) -> None:
    await storage.sign_ins.add(SIGN_IN, most=5)
    assert await storage.sign_ins.find(SIGN_IN.digest) == SIGN_IN

    await storage.sign_ins.used(SIGN_IN.digest, 9)
    assert await storage.sign_ins.find(SIGN_IN.digest) == replace(SIGN_IN, used_at=9)
    for _ in range(2):
        await storage.ended_access.end_sign_in(SIGN_IN.digest)
    assert await storage.sign_ins.find(SIGN_IN.digest) is None


async def test_the_oldest_of_a_user_end(storage: Storage) -> None:
    """In each process; nothing of other users."""
    ended: list[str] = []
    storage.signals.on("revoked", ended.append)
    other = replace(SIGN_IN, digest="o" * 64, user_id="team/eva", tenant="team")
    own = [replace(SIGN_IN, digest=f"{number:064}", created_at=50 + number) for number in range(4)]
    for each in (other, *own):
        await storage.sign_ins.add(each, most=2)

    left = [each for each in (other, *own) if await storage.sign_ins.find(each.digest)]
    assert left == [other, *own[2:]]
    assert ended == [each.digest for each in own[:2]]
