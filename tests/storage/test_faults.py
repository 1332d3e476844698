"""A database that fails at any statement: the caller is told in our words, nothing half-done remains, and the
same works afterwards."""

import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import pytest

from gateway.storage.decisions.approvals import ApprovalRow, Verdict
from gateway.storage.log import Closing
from gateway.storage.sqlite import SqliteDatabase
from tests.disk import LEFT_OUT, Disk
from tests.faults import CODES, Faults, ways
from tests.product import Message, Storage, StorageError, TurnLost, Usage, storage_on, text_block
from tests.storage.writing import OWNER, Writer, accepted, running

pytestmark = pytest.mark.anyio

Step = Callable[[], Awaitable[object]]
"""Something that changes the record, to be tried until it works."""
Make = Callable[[Storage, str], Awaitable[Step]]
"""Brings a session of that name to where the step may be taken."""
SAID = Message("user", [text_block("hello")])
USED = Usage(input_tokens=3, output_tokens=4)


async def told(fate: Awaitable[Exception | None]) -> None:
    if (refused := await fate) is not None:
        raise refused


def again(writer: Writer, **what: Any) -> Step:
    """Appends, from the same head each time: what was refused was not numbered."""

    async def append() -> None:
        head, sent = writer.head, list(writer.sent)
        try:
            await told(writer.append("text", "tool_call", message=SAID, usage=USED, **what))
        except StorageError:
            writer.head, writer.sent = head, sent
            raise

    return append


async def append(storage: Storage, name: str) -> Step:
    return again(await running(storage, f"s{name}", f"t{name}"))


async def synced_append(storage: Storage, name: str) -> Step:
    return again(await running(storage, f"s{name}", f"t{name}"), sync=True)


async def close(storage: Storage, name: str) -> Step:
    writer = await running(storage, f"s{name}", f"t{name}")
    return again(writer, sync=True, outcome=Closing("completed", 1, USED, 0.5, 9, "hash"))


async def accept(storage: Storage, name: str) -> Step:
    return lambda: accepted(storage, f"s{name}", f"t{name}")


async def queue(storage: Storage, name: str) -> Step:
    await running(storage, f"s{name}", f"before{name}")
    return lambda: accepted(storage, f"s{name}", f"t{name}", on_conflict="interrupt")


async def asked(storage: Storage, name: str) -> tuple[Any, ApprovalRow]:
    turn = (await accepted(storage, f"s{name}", f"t{name}")).turn
    row = ApprovalRow(f"s{name}", f"t{name}", "call", OWNER, "send", {"to": "you"}, None, 5, 10**15)
    await storage.approvals.ask([row])
    return turn, row


async def park(storage: Storage, name: str) -> Step:
    turn, _ = await asked(storage, name)
    return lambda: storage.approvals.park(turn, {"call"}, 10**15)


async def decide(storage: Storage, name: str) -> Step:
    turn, row = await asked(storage, name)
    assert await storage.approvals.park(turn, {"call"}, 10**15)
    return lambda: storage.approvals.decide(row, Verdict("approved", OWNER, 6, "session"))


STEPS = (append, synced_append, accept, queue, park, decide, close)


def rows(path: Path, name: str) -> dict[str, Sequence[str]]:
    """All that the tables hold of what has this name, the same for every name."""
    with closing(sqlite3.connect(path)) as raw:
        tables = [table for (table,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        found: dict[str, Sequence[str]] = {}
        for table in tables:
            columns = [column for _, column, *_ in raw.execute(f"PRAGMA table_info({table})")]
            kept = [column for column in columns if column != "number"]
            if "session_id" in columns or table == "sessions":
                key = "id" if table == "sessions" else "session_id"
                query = f"SELECT {', '.join(kept)} FROM {table} WHERE {key} = ?"
                found[table] = sorted(
                    str(row).replace(name, "#") for row in raw.execute(query, (f"s{name}",))
                )
    return found


async def whole(storage: Storage, make: Make, path: Path) -> dict[str, Sequence[str]]:
    """What is there once the step has been taken without a fault."""
    step = await make(storage, "_whole_")
    await step()
    return rows(path, "_whole_")


class Struck(Protocol):
    """A fault, and whether it has been met."""

    struck: bool


async def survives(step: Step, path: Path, name: str, fault: Struck) -> bool:
    """The step fails as it should and leaves nothing, and then it works. False when it came to its end before
    it met the fault."""
    before = rows(path, name)
    try:
        await step()
    except TurnLost as lost:
        raise AssertionError("nobody else has the turn") from lost
    except StorageError:
        assert fault.struck
        assert rows(path, name) == before
        await step()
        return True
    assert not fault.struck
    return False


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("make", STEPS)
async def test_a_failing_statement_is_a_storage_error_and_leaves_nothing(
    make: Make, code: str, tmp_path: Path
) -> None:
    """Whichever statement of the transaction it is, BEGIN and COMMIT among them, and whether or not SQLite
    undoes the transaction by itself."""
    faults, path = Faults(), tmp_path / "gateway.db"
    with faults.failing():
        database = await SqliteDatabase.open(path)
    async with database:
        storage = storage_on(database)
        met: list[str] = []
        wanted = await whole(storage, make, path)
        for undoes in ways(code):
            for at in count():
                name = f"_{at}_{undoes}_"
                step = await make(storage, name)
                fault = faults.next(at=at, code=code, undoes=undoes)
                is_over = not await survives(step, path, name, fault)
                assert rows(path, name) == wanted
                if is_over:
                    met += fault.seen
                    faults.next()
                    break
    kinds = {statement.split()[0] for statement in met}
    assert {"BEGIN", "COMMIT"} < kinds
    assert kinds & {"INSERT", "UPDATE"}


@dataclass(slots=True)
class Broken:
    """A disk on which one call fails, after `left` that do not."""

    call: str
    code: int
    left: int
    struck: bool = False

    def __call__(self, call: str, _: Path) -> int:
        if call != self.call or self.struck:
            return sqlite3.SQLITE_OK
        self.left -= 1
        self.struck = self.left < 0
        return self.code if self.struck else sqlite3.SQLITE_OK


@pytest.mark.skipif(**LEFT_OUT)
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("write", sqlite3.SQLITE_IOERR_WRITE),
        ("write", sqlite3.SQLITE_FULL),
        ("sync", sqlite3.SQLITE_IOERR_FSYNC),
    ],
)
@pytest.mark.parametrize("make", [synced_append, accept, decide])
async def test_a_failing_disk_is_a_storage_error_and_leaves_nothing(
    make: Make, call: str, code: int, tmp_path: Path
) -> None:
    """Whichever write or sync of the write-ahead log it is."""
    (tmp_path / "data").mkdir()
    disk = Disk(tmp_path / "data", tmp_path / "synced", failing=True)
    path = disk.folder / "gateway.db"
    with disk.plugged_in():
        database = await SqliteDatabase.open(path)
    async with database:
        storage = storage_on(database)
        wanted = await whole(storage, make, path)
        for left in count():
            name = f"_{left}_"
            step = await make(storage, name)
            disk.fails = broken = Broken(call, code, left)
            is_over = not await survives(step, path, name, broken)
            assert rows(path, name) == wanted
            if is_over:
                assert left > 0
                break
