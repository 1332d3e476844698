"""Two replicas that add artifacts at the same moment, for which there is room once."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.storage.artifacts import MIN_COUNTED
from tests.postgres import needs_postgres
from tests.product import ArtifactsFull, Storage
from tests.storage.artifact_rows import artifact
from tests.storage.writing import postgres_storage

pytestmark = [*needs_postgres, pytest.mark.anyio]

ROUNDS = 40


@pytest.fixture
async def two(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[tuple[Storage, Storage]]:
    async with postgres_storage(tmp_path) as one, postgres_storage(tmp_path) as other:
        yield one, other


@pytest.mark.parametrize(
    ("users", "quota", "tenant_quota"), [(("anna", "anna"), 1, None), (("anna", "bob"), 9, 1)]
)
async def test_one_is_added_and_the_other_refused(
    two: tuple[Storage, Storage], users: tuple[str, str], quota: int, tenant_quota: int | None
) -> None:
    """Of one user, or of two of one tenant."""
    most = quota * MIN_COUNTED
    tenant_most = tenant_quota and tenant_quota * MIN_COUNTED
    for number in range(ROUNDS):
        rows = [
            artifact(at, f"content {number} {at}", owner=f"tenant-{number}/{user}")
            for at, user in enumerate(users)
        ]
        for row in rows:
            await two[0].orphans.suspect([row.path], 5)
        found = await asyncio.gather(
            *(
                storage.artifacts.add(row, quota=most, tenant_quota=tenant_most)
                for storage, row in zip(two, rows, strict=True)
            ),
            return_exceptions=True,
        )
        assert {type(each) for each in found} == {type(None), ArtifactsFull}, found
