"""Profiles of users and households: what may be in one, who may see it, and versions."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.errors import MemoryChanged
from gateway.memory.profiles import MAX_KEY, MAX_KEYS, MAX_PROFILE, MAX_VALUE, ScopedProfiles
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.product import InvalidRequest, NotFound, Scope

pytestmark = pytest.mark.anyio

ANN, BEN = Scope("ann", households=("elm",)), Scope("ben")


@pytest.fixture
async def profiles(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[ScopedProfiles]:
    async with await SqliteMemoryDatabase.open(tmp_path / "memory.db") as database:
        yield ScopedProfiles(MemoryStore(database))


async def test_a_profile_is_empty_until_somebody_writes_it(profiles: ScopedProfiles) -> None:
    """Its versions count from then on, and what is written is the whole of it."""
    assert (await profiles.get(ANN, "user", "ann")).version == 0

    await profiles.put(ANN, "user", "ann", {"name": "安", "city": "台北"}, "ann")
    await profiles.put(ANN, "user", "ann", {" pre ferred\nlanguage ": "中文\u200b\x00"}, "ann")
    now = await profiles.get(ANN, "user", "ann")

    assert (now.version, now.fields, now.actor) == (2, {"pre ferred language": "中文"}, "ann")


async def test_a_version_guards_what_somebody_else_wrote_meanwhile(profiles: ScopedProfiles) -> None:
    """The refusal says which version it is at."""
    await profiles.put(ANN, "user", "ann", {"a": "1"}, "ann", version=0)

    with pytest.raises(MemoryChanged) as stale:
        await profiles.put(ANN, "user", "ann", {"a": "2"}, "ann", version=0)

    assert stale.value.details == {"id": "ann", "version": 1}
    assert (await profiles.put(ANN, "user", "ann", {"a": "2"}, "ann", version=1)).version == 2


async def test_writers_without_a_version_all_get_through(profiles: ScopedProfiles) -> None:
    """One after the other: each makes a version of its own."""
    written = await asyncio.gather(
        *(profiles.put(ANN, "user", "ann", {"n": str(n)}, "ann") for n in range(4))
    )

    assert sorted(profile.version for profile in written) == [1, 2, 3, 4]


async def test_only_its_user_and_the_members_of_a_household_see_a_profile(profiles: ScopedProfiles) -> None:
    """To others it does not exist."""
    await profiles.put(ANN, "household", "elm", {"wifi": "in the kitchen"}, "ann")

    with pytest.raises(NotFound, match="no such profile"):
        await profiles.get(BEN, "household", "elm")
    with pytest.raises(NotFound):
        await profiles.put(BEN, "household", "elm", {"wifi": "gone"}, "ben")
    with pytest.raises(NotFound):
        await profiles.get(BEN, "user", "ann")
    with pytest.raises(NotFound):
        await profiles.get(ANN, "household", "ann")


@pytest.mark.parametrize(
    "fields",
    [
        {str(n): "x" for n in range(MAX_KEYS + 1)},
        {"": "x"},
        {"\u200b": "x"},
        {"k" * (MAX_KEY + 1): "x"},
        {"k": ""},
        {"k": "x" * (MAX_VALUE + 1)},
        {"k": "x", " k": "y"},
        {str(n): "x" * MAX_VALUE for n in range(MAX_PROFILE // MAX_VALUE)},
    ],
)
async def test_a_profile_stays_small(profiles: ScopedProfiles, fields: dict[str, str]) -> None:
    """Few short keys with short values; nothing is stored of more."""
    with pytest.raises(InvalidRequest):
        await profiles.put(ANN, "user", "ann", fields, "ann")

    assert (await profiles.get(ANN, "user", "ann")).version == 0
