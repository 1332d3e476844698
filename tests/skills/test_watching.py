"""The catalog of a running gateway is looked at again, whatever happens meanwhile."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import structlog

from gateway.files import polling
from gateway.skills.catalog import Catalog
from gateway.skills.library import SkillLibrary
from gateway.storage.decisions import SkillSwitches
from tests.loopback import TIMEOUT
from tests.product import StorageError
from tests.skills.writing import Servers, library_of, served, write_skill

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def watching(library: SkillLibrary) -> AsyncGenerator[None]:
    task = asyncio.create_task(library.watch())
    await asyncio.sleep(0)  # it has begun
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def other_than(library: SkillLibrary, former: Catalog) -> Catalog:
    """The next catalog."""
    async with asyncio.timeout(TIMEOUT):
        while library.catalog is former:
            await asyncio.sleep(0.005)
    return library.catalog


async def test_an_edit_is_noticed_without_being_told(
    tmp_path: Path, switches: SkillSwitches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders are looked at again and again, and one that appears is seen."""
    monkeypatch.setattr(polling, "POLL", 0.01)
    library = library_of(tmp_path, switches)
    first = await library.refresh()

    async with watching(library):
        write_skill(tmp_path / "skills", "plan")
        second = await other_than(library, first)

    assert list(second.written) == ["plan"]


async def test_whoever_knows_of_a_change_says_so_from_any_thread(
    tmp_path: Path, switches: SkillSwitches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watcher looks at once; without a watcher, or after it, nothing happens."""
    monkeypatch.setattr(polling, "POLL", 3600)
    servers = Servers()
    library = library_of(tmp_path, switches, servers=servers)
    first = await library.refresh()
    library.changed()

    async with watching(library):
        servers.tools = (served("files", "read"),)
        thread = threading.Thread(target=library.changed)
        thread.start()
        thread.join()
        second = await other_than(library, first)

    assert "mcp__files__read" in second.tools
    library.changed()


async def test_a_look_that_fails_is_told_and_tried_again(
    tmp_path: Path, switches: SkillSwitches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is away for a moment does not end the watch; whoever asks directly is told."""
    monkeypatch.setattr(polling, "POLL", 0.01)
    away = asyncio.Event()
    away.set()

    class Failing:
        async def disabled(self) -> frozenset[str]:
            if away.is_set():
                raise StorageError("The database is away.")
            return await switches.disabled()

        async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
            await switches.switch(name, enabled=enabled, by=by, at=at)

    write_skill(tmp_path / "skills", "plan")
    library = library_of(tmp_path, Failing())
    first = library.catalog
    with pytest.raises(StorageError):
        await library.refresh()

    with structlog.testing.capture_logs() as lines:
        async with watching(library):
            async with asyncio.timeout(TIMEOUT):
                while not lines:
                    await asyncio.sleep(0.005)
            away.clear()
            assert list((await other_than(library, first)).written) == ["plan"]
    assert lines[0]["event"] == "skills_not_refreshed"


async def test_a_look_whose_caller_gave_up_leaves_nothing_stale(
    tmp_path: Path, switches: SkillSwitches
) -> None:
    """Cancelled in the middle, by whatever ends a request: the next look has what is there."""
    library = library_of(tmp_path, switches)
    await library.refresh()

    for number in range(20):
        write_skill(tmp_path / "skills", f"s{number}")
        looking = asyncio.create_task(library.refresh())
        for _ in range(number):
            await asyncio.sleep(0)
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        assert len((await library.refresh()).written) == number + 1


async def test_many_at_once_get_the_same(tmp_path: Path, switches: SkillSwitches) -> None:
    """Looks at the same time, from requests and the watch, end with one catalog."""
    write_skill(tmp_path / "skills", "plan")
    library = library_of(tmp_path, switches)

    found: list[Any] = await asyncio.gather(*(library.refresh() for _ in range(16)))

    assert all(each is library.catalog for each in found)
