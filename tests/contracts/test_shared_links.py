"""What storage owes about links to sessions."""

from dataclasses import replace

import pytest

from gateway.storage.shared_links import SharedLink
from tests.product import Conflict, Storage
from tests.storage.writing import OWNER, accepted, running

pytestmark = pytest.mark.anyio

LINK = SharedLink("ln_1", "d1", OWNER, "s", "signed_in", 4, 0, 10)


async def begin(storage: Storage, session_id: str = "s") -> None:
    writer = await running(storage, session_id, f"t-{session_id}")
    assert await writer.close() is None


async def test_a_link_is_found_by_its_digest_until_it_is_ended(storage: Storage) -> None:
    """By its owner alone; what was opened is counted."""
    await begin(storage)
    other = replace(
        LINK, id="ln_2", digest="d2", audience="anybody", until_seq=None, branch=None, created_at=11
    )
    for link in (LINK, other):
        await storage.shared_links.add(link, most=9)
    await storage.shared_links.opened("ln_1", 20)
    await storage.shared_links.opened("ln_1", 30)

    opened = replace(LINK, opened_at=30, openings=2)
    assert await storage.shared_links.find("d1") == opened
    assert await storage.shared_links.list(OWNER) == [(other, "hello"), (opened, "hello")]
    assert await storage.shared_links.list("bob") == []
    assert await storage.shared_links.end("bob", "ln_1") is False
    assert [await storage.shared_links.end(OWNER, "ln_1") for _ in range(2)] == [True, False]
    assert await storage.shared_links.find("d1") is None
    assert await storage.shared_links.find("nothing") is None


async def test_a_link_ends_with_its_session(storage: Storage) -> None:
    """Also where one is made again under the same id, by whomever."""
    await begin(storage)
    await storage.shared_links.add(LINK, most=9)

    await storage.sessions.delete("s", OWNER)
    while await storage.purges.next_slice() is not None:
        pass

    assert await storage.shared_links.find("d1") is None
    await accepted(storage, "s", "t2", at=50)
    await storage.shared_links.add(LINK, most=9)  # as one that a version left which does not know links
    assert await storage.shared_links.find("d1") is None
    assert await storage.shared_links.list(OWNER) == []


async def test_there_are_no_more_links_than_may_be(storage: Storage) -> None:
    """Those that have expired make room."""
    await begin(storage)
    await storage.shared_links.add(replace(LINK, expires_at=20), most=1)
    with pytest.raises(Conflict) as refused:
        await storage.shared_links.add(replace(LINK, id="ln_2", digest="d2", created_at=19), most=1)
    await storage.shared_links.add(replace(LINK, id="ln_3", digest="d3", created_at=20), most=1)

    assert refused.value.code == "too_many_links"
    assert await storage.shared_links.find("d1") is None
    assert await storage.shared_links.find("d3") is not None
