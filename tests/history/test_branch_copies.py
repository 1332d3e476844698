"""A session with branches as a file: every branch is there again, and a forged one is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.errors import BadImport
from gateway.history.archive import read_version
from gateway.storage.branches import ROOT
from tests.history.copying import exported, imported
from tests.history.past import Past, compress_past, sealed, settings_in, write_past
from tests.history.test_export import is_empty
from tests.product import Storage, open_storage
from tests.storage.saying import archive
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


async def write_branches(storage: Storage) -> None:
    """Three branches: the first with four messages in a version, one after its second turn with a version of
    its own on top, one of its own, and the first is gone on in."""
    await write_past(storage, "s", [Past(f"question {n}", ("a", "b")) for n in range(5)])
    await compress_past(storage, "s", 2)
    await write_past(storage, "s", [Past("other", ("c",)), Past("next", ("d",))], name="o", parent="t2-s")
    await compress_past(storage, "s", 12)
    await write_past(storage, "s", [Past("anew", ("e",))], name="r", parent=ROOT)
    await storage.branches.activate("s", 0)
    await write_past(storage, "s", [Past("back", ("f",))], name="b")


async def a_file(folder: Path) -> bytes:
    async with open_storage(settings_in(folder)) as storage:
        await write_branches(storage)
        return await exported(storage)


async def views(storage: Storage) -> list[tuple[Any, ...]]:
    """What each branch's model sees; the active one stays as it is."""
    found: list[tuple[Any, ...]] = []
    branches = await storage.branches.list("s")
    for row in branches.rows:
        await storage.branches.activate("s", row.branch)
        history = await storage.sessions.history("s")
        version = history.compression
        positions = [stored.position for stored in history.messages]
        found.append((row, version.version if version is not None else None, positions))
    await storage.branches.activate("s", branches.active)
    return found


@pytest.mark.parametrize("most_rows", [0, 9_999])
async def test_every_branch_is_imported_as_it_was(tmp_path: Path, most_rows: int) -> None:
    """As rows or as an archive: the same views, parents and versions, and the same bytes once more."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        await write_branches(storage)
        file = await exported(storage)
        before = await views(storage)
        turns = [turn for _, turn in await storage.copies.turns("s", after=0, limit=99)]
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file, most_rows=most_rows)
        assert await exported(storage) == file
        assert await views(storage) == before
        assert [each for _, each in await storage.copies.turns("s", after=0, limit=99)] == turns
        archived = [
            len([line async for line in read_version(storage.blobs, row)]) for row in await chain(storage)
        ]
        assert archived == [2, 4]
        await write_past(storage, "s", [Past("more", ("g",))], name="m", parent="o1-s")
        history = await storage.sessions.history("s")
        assert [stored.turn_id for stored in history.messages] == ["o1-s", "m1-s", "m1-s"]
        assert await storage.branches.parent("s", "o1-s") == "t2-s"

    assert [positions for _, _, positions in before] == [
        [2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 18],
        [12, 13, 14],
        [15, 16],
    ]
    assert [(turn.id, turn.branch, turn.parent) for turn in turns][5:] == [
        ("o1-s", 1, "t2-s"),
        ("o2-s", 1, None),
        ("r1-s", 2, ROOT),
        ("b1-s", 0, "t5-s"),
    ]


async def chain(storage: Storage) -> list[Any]:
    """The versions of the second branch."""
    await storage.branches.activate("s", 1)
    return list(await storage.compressions.list("s"))


async def test_branches_of_an_archived_session_are_exported(tmp_path: Path) -> None:
    """The same file as before its rows moved."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_branches(storage)
        before = await exported(storage)
        await archive(storage, "s")
        assert await exported(storage) == before


def branch(lines: list[dict[str, Any]], number: int) -> dict[str, Any]:
    return [line for line in lines if line["kind"] == "branch"][number]


def turn(lines: list[dict[str, Any]], turn_id: str) -> dict[str, Any]:
    [found] = [line for line in lines if line["kind"] == "turn" and line["id"] == turn_id]
    return found


def version(lines: list[dict[str, Any]], number: int) -> dict[str, Any]:
    return [line for line in lines if line["kind"] == "compression"][number]


FORGERIES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "no branch where one is active": lambda lines: lines.__setitem__(
        slice(None), [line for line in lines if line["kind"] != "branch"]
    ),
    "an active branch that is not there": lambda lines: lines[0].update(branch=7),
    "no active branch": lambda lines: lines[0].update(branch=None),
    "a branch out of order": lambda lines: branch(lines, 1).update(branch=2),
    "a branch after a turn that is not there": lambda lines: branch(lines, 1).update(fork_turn_id="nobody"),
    "a branch of a parent that is not there": lambda lines: branch(lines, 1).update(parent=9),
    "a parent without a fork": lambda lines: branch(lines, 2).update(parent=0),
    "ranges out of order": lambda lines: branch(lines, 0)["ranges"].reverse(),
    "an empty range": lambda lines: branch(lines, 1).update(ranges=[[0, 4], [10, 10]]),
    "a range beyond the last message": lambda lines: branch(lines, 1).update(ranges=[[0, 99]]),
    "a branch that goes on beside the active one": lambda lines: branch(lines, 1).update(ranges=[[0, 2**53]]),
    "an active branch that has an end": lambda lines: branch(lines, 0).update(ranges=[[0, 10]]),
    "a version in force that is not there": lambda lines: branch(lines, 1).update(compression=9),
    "a generation of the future": lambda lines: branch(lines, 1).update(generation_from=99),
    "a turn of a branch that is not there": lambda lines: turn(lines, "t1-s").update(branch=3),
    "a turn after one that is not there": lambda lines: turn(lines, "o1-s").update(parent="nobody"),
    "a turn of an unknown origin": lambda lines: turn(lines, "o1-s").update(origin="magic"),
    "a version of another branch": lambda lines: version(lines, 1).update(branch=0),
    "a version of a branch that is not there": lambda lines: version(lines, 1).update(branch=3),
}


@pytest.mark.parametrize("name", FORGERIES)
async def test_forged_branches_are_refused(tmp_path: Path, name: str) -> None:
    """Nothing of the session comes in."""
    lines = [orjson.loads(line) for line in (await a_file(tmp_path / "a")).splitlines()][:-1]
    FORGERIES[name](lines)
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(BadImport):
            await imported(storage, sealed([orjson.dumps(line) for line in lines]))

        assert await is_empty(storage)


async def test_a_turn_has_not_the_name_of_no_turn(tmp_path: Path) -> None:
    """What comes after it would come before all."""
    file = await a_file(tmp_path / "a")
    forged = [orjson.loads(line.replace(b"t1-s", b"root")) for line in file.splitlines()][:-1]
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(BadImport, match="the id root"):
            await imported(storage, sealed([orjson.dumps(line) for line in forged]))

        assert await storage.sessions.list(OWNER, limit=9) == []
