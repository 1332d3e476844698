"""What storage owes about temporary sessions."""

import pytest

from tests.product import Storage

pytestmark = pytest.mark.anyio

ADA = "ada"


async def test_a_temporary_session_is_found_by_who_exports_and_erases_everything(storage: Storage) -> None:
    await storage.sessions.create("t", ADA, None, 5, is_temporary=True)
    await storage.sessions.create("s", ADA, None, 6)

    assert [each.id for each in await storage.sessions.list(ADA, limit=9)] == ["s"]
    assert [each.id for each in await storage.sessions.list(ADA, limit=9, temporary=True)] == ["s", "t"]
    assert [each.is_temporary for each in await storage.retention.idle(before=99, after="", limit=9)] == [
        False,
        True,
    ]
