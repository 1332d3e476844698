"""Memories as a file: what goes out comes back, and a file is not believed."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import MemoryFull
from gateway.memory.changes import Attribution
from gateway.memory.export import PAGE, export
from gateway.memory.import_file import MAX_LINE_LENGTH, MAX_REPORTED, ImportReport, MemoryImport, lines_of
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Evidence, Link
from gateway.storage.memories.store import MemoryStore
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.memory.correcting import Corrections
from tests.product import AllScopes, Filter, InvalidRequest, MemoryRow, Scope, StorageError, now_ms

pytestmark = pytest.mark.anyio

ANN, BOB = AllScopes("ann", ("home",)), AllScopes("bob")
ANN_ALONE = Scope("ann")
BY = Attribution("ann", "by hand")
QUOTED = {"session_id": "s", "position": 1, "quote": "At noon."}


@pytest.fixture
async def memories(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Memories]:
    async with await SqliteMemoryDatabase.open(tmp_path / "memory.db") as database:
        yield Memories(MemoryStore(database), most=1000)


@pytest.fixture
async def others(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Memories]:
    """The memories of another gateway."""
    async with await SqliteMemoryDatabase.open(tmp_path / "other.db") as database:
        yield Memories(MemoryStore(database), most=1000)


async def all_of(evidence: Sequence[Evidence]) -> Sequence[Evidence]:
    return evidence


async def none_of(_: Sequence[Evidence]) -> Sequence[Evidence]:
    return ()


async def taken(
    memories: Memories, file: bytes, viewer: AllScopes = ANN, verify: Any = all_of
) -> ImportReport:
    importing = MemoryImport(memories, viewer, Attribution(viewer.user_id, "from a file"), verify)
    return await importing.run(lines_of(pieces([file])))


async def pieces(chunks: Sequence[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def exported(memories: Memories, viewer: AllScopes = ANN) -> bytes:
    return b"".join([chunk async for chunk in export(memories.store, viewer)])


async def rows_of(memories: Memories, viewer: AllScopes = ANN) -> dict[str, MemoryRow]:
    return {row.id: row for row in await memories.store.list(viewer, limit=1000)}


def line(**fields: Any) -> bytes:
    return orjson.dumps(fields) + b"\n"


async def varied(memories: Memories) -> list[str]:
    """Memories of all kinds: their ids."""
    scope = Scope("ann", "designer", "site", "s1", ("home",))
    quotes = [Evidence("s1", 3, "喜歡簡約的設計"), Evidence("s1", 2, "簡約的設計如何？", "assistant")]
    new = [
        NewMemory(
            "喜欢简约的设计风格。",
            "preference",
            tags=("设计", "logo"),
            pinned=True,
            importance=5,
            metadata={"page": 3},
        ),
        NewMemory("The release is on 3 May.", "project_decision", owner_type="project", decisions=("3 May",)),
        NewMemory("Dinner is at seven.", owner_type="household", owner_id="home"),
        NewMemory("Asked for a short answer.", "feedback", owner_type="session", confidence=0.5),
        NewMemory("A page claimed this.", quarantined=True, context="seen on the web", refs=("a.md",)),
        NewMemory("Not any more.", skill="deploy", reference="steps"),
    ]
    made = [(await memories.save(scope, each, BY, evidence=quotes)).row.id for each in new]
    await memories.edit(ANN, made[-1], {"status": "frozen"}, BY, operation="frozen")
    return made


async def test_what_goes_out_comes_back_in_another_gateway(memories: Memories, others: Memories) -> None:
    """Everything but versions is the same: ids, owners, times, evidence, what is frozen or in quarantine. A
    second time nothing changes."""
    made = await varied(memories)
    file = await exported(memories)

    first = await taken(others, file)
    second = await taken(others, file)

    assert (first.imported, first.known, second.imported, second.known) == (6, 0, 0, 6)
    before, after = await rows_of(memories), await rows_of(others)
    assert set(before) == set(made)
    for memory_id, row in before.items():
        changes = {"version": 1}
        assert {**asdict(row), **changes} == asdict(after[memory_id])
        assert await others.store.evidence(ANN, memory_id) == await memories.store.evidence(ANN, memory_id)


def asdict(row: MemoryRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in MemoryRow.__dataclass_fields__}


async def test_what_is_remembered_already_is_reinforced_not_doubled(memories: Memories) -> None:
    """In whatever spelling it is said."""
    await memories.save(Scope("ann"), NewMemory("她喜歡簡約的設計"), BY)

    report = await taken(memories, line(content="她喜欢简约的设计。") + line(content="And tea."))

    assert (report.reinforced, report.imported) == (1, 1)
    assert sorted(row.content for row in (await rows_of(memories)).values()) == [
        "And tea.",
        "她喜歡簡約的設計",
    ]


async def test_a_deleted_memory_can_be_had_back_under_another_id(memories: Memories) -> None:
    """Its former id stays that of what was deleted."""
    row = (await memories.save(Scope("ann"), NewMemory("Likes tea."), BY)).row
    file = await exported(memories)
    await memories.delete(ANN, row.id, BY)

    report = await taken(memories, file)

    ((found, again),) = (await rows_of(memories)).items()
    assert (report.imported, again.content) == (1, "Likes tea.")
    assert found != row.id


async def test_what_points_to_one_another_does_so_under_new_ids(memories: Memories) -> None:
    """Chains, dependences, flags and sources: ids that somebody else has are changed everywhere."""
    corrections = Corrections(memories)
    root = (await memories.save(ANN_ALONE, NewMemory("Ann lives in Berlin"), BY)).row
    new = NewMemory("Her gym is around the corner", source="model")
    leaf = (await memories.save(ANN_ALONE, new, BY, depends_on=[root.id])).row
    _, successor, _ = await corrections.correct(ANN, root.id, "replace", BY, new_content="Ann lives in Paris")

    report = await taken(memories, await exported(memories), BOB)

    assert (report.imported, report.links_dropped) == (3, 0)
    theirs = {row.content: row for row in (await rows_of(memories, BOB)).values()}
    assert not {row.id for row in theirs.values()} & {root.id, leaf.id, successor.row.id}
    old, gym, paris = (theirs[each.content] for each in (root, leaf, successor.row))
    assert (old.status, old.superseded_by) == ("replaced", paris.id)
    assert (gym.source, gym.flagged) == ("model", f"It depends on {root.id}, which was replaced.")
    assert set(await memories.store.links(gym.id)) == {
        Link(gym.id, old.id, "depends_on"),
        Link(gym.id, paris.id, "depends_on"),
    }
    assert set(await memories.store.links(old.id)) == {
        Link(gym.id, old.id, "depends_on"),
        Link(paris.id, old.id, "contradicts"),
    }


async def test_what_points_out_of_the_file_is_counted_and_left_out(memories: Memories) -> None:
    """So is a quote that cannot be held to its session. What is here under that id can be pointed to."""
    here = (await memories.save(ANN_ALONE, NewMemory("Likes tea."), BY)).row
    gone, theirs = "m_00000000000000aa", (await memories.save(Scope("bob"), NewMemory("Bob's."), BY)).row.id
    links = [{"to_id": each, "relation": "depends_on"} for each in (here.id, gone, theirs)]
    file = line(content="Drinks it at noon.", links=links, evidence=[QUOTED]) + line(
        id="m_00000000000000bb", content="Old.", status="replaced", superseded_by=gone
    )

    report = await taken(memories, file, verify=none_of)

    assert (report.imported, report.links_dropped, report.quotes_dropped) == (2, 3, 1)
    rows = {row.content: row for row in (await rows_of(memories)).values()}
    noon, old = rows["Drinks it at noon."], rows["Old."]
    assert await memories.store.links(noon.id) == [Link(noon.id, here.id, "depends_on")]
    assert (old.status, old.superseded_by) == ("replaced", None)
    with pytest.raises(InvalidRequest, match="replaced by one that is gone"):
        await Corrections(memories).correct(ANN, old.id, "freeze", BY)


async def test_an_import_that_was_cut_off_is_completed_by_the_next(
    memories: Memories, others: Memories
) -> None:
    """What one that ended before the links took is not left without them."""
    root = (await memories.save(ANN_ALONE, NewMemory("Ann lives in Berlin"), BY)).row
    _, successor = await Corrections(memories).correct(ANN, root.id, "replace", BY, new_content="In Paris")
    file = await exported(memories)

    async def breaking() -> AsyncIterator[bytes]:
        for each in file.splitlines():
            yield each
        raise StorageError("the disk failed")

    with pytest.raises(StorageError):
        await MemoryImport(others, ANN, BY, all_of).run(breaking())
    assert (await rows_of(others))[root.id].superseded_by is None
    second, third = await taken(others, file), await taken(others, file)

    assert (second.known, third.known) == (2, 2)
    row = (await rows_of(others))[root.id]
    assert (row.superseded_by, row.version) == (successor.row.id, 2)
    assert len(await others.store.links(root.id)) == 1


async def test_a_file_of_somebody_else_makes_memories_of_ones_own(memories: Memories) -> None:
    """The ids in it say nothing of whether somebody else has them, and theirs are untouched."""
    theirs = (await memories.save(Scope("ann"), NewMemory("Ann likes tea."), BY)).row

    report = await taken(memories, await exported(memories), BOB)

    assert (report.imported, report.known) == (1, 0)
    assert (await memories.get(ANN, theirs.id)) == theirs
    ((_, mine),) = (await rows_of(memories, BOB)).items()
    assert (mine.user_id, mine.content, mine.owner_id) == ("bob", "Ann likes tea.", "bob")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{", "line"),
        (b"[]", "line"),
        (b"\xff\xfe", "line"),
        (line(), "content"),
        (line(content=""), "content is missing"),
        (line(content=7), "content"),
        (line(content="x", colour="red"), "colour: unknown name"),
        (line(content="x" * 9000), "at most 8000"),
        (line(content="x", source="document"), "source: must be"),
        (line(content="x", user_id="bob"), "user_id: unknown name"),
        (line(content="x", type="secret"), "type"),
        (line(content="x", importance=9), "importance"),
        (line(content="x", confidence=2), "confidence"),
        (line(content="x", id="m_1"), "id"),
        (line(content="x", owner_type="household", owner_id="smiths"), "household"),
        (line(content="x", visibility="project"), "project"),
        (
            line(content="x", evidence=[{"session_id": "s", "position": 0, "quote": "x"}]),
            "evidence.0.position",
        ),
        (line(kind="error", code="storage_error", message="disk"), "content"),
    ],
)
async def test_a_line_that_cannot_be_used_is_told_with_its_number(
    memories: Memories, bad: bytes, says: str
) -> None:
    """The others are taken; blank lines are nothing."""
    good = line(content="Likes tea.")

    report = await taken(memories, good + b"\n" + bad.strip() + b"\n" + line(content="喜欢咖啡。"))

    assert (report.imported, report.refused) == (2, 1)
    (refused,) = report.refusals
    assert (refused.line, says in refused.reason) == (3, True), refused


async def test_a_file_cannot_claim_what_nobody_said(memories: Memories) -> None:
    """Evidence that does not hold is left out, the memory is taken."""
    quote = {"session_id": "s1", "position": 1, "quote": "I said so"}

    await taken(memories, line(content="Said so.", evidence=[quote]), verify=none_of)

    ((found, _),) = (await rows_of(memories)).items()
    assert await memories.store.evidence(ANN, found) == []


async def test_times_of_a_file_are_never_in_the_future(memories: Memories) -> None:
    """Freshness and order follow from them."""
    await taken(memories, line(content="Later.", created_at=2**52, updated_at=2**52, last_used=2**52))

    ((_, row),) = (await rows_of(memories)).items()
    assert max(row.created_at, row.updated_at, row.last_used) <= now_ms()


async def test_a_full_store_says_at_which_line(tmp_path: Path, anyio_backend: str) -> None:
    """What came before stays."""
    async with await SqliteMemoryDatabase.open(tmp_path / "small.db") as database:
        small = Memories(MemoryStore(database), most=2)
        with pytest.raises(MemoryFull) as full:
            await taken(small, b"".join(line(content=f"Fact {number}.") for number in range(4)))

        assert full.value.details is not None
        assert (full.value.details["line"], full.value.details["limit"]) == (3, 2)
        assert len(await small.store.list(ANN, Filter(), limit=10)) == 2


async def test_only_the_first_refusals_are_told_and_all_are_counted(memories: Memories) -> None:
    """A file of rubbish makes a short report."""
    report = await taken(memories, b"rubbish\n" * (MAX_REPORTED + 7))

    assert (report.refused, len(report.refusals)) == (MAX_REPORTED + 7, MAX_REPORTED)


async def test_a_line_without_an_end_is_refused(memories: Memories) -> None:
    """It is not held in memory to see how it goes on."""
    endless = pieces([b"x" * 300_000] * (MAX_LINE_LENGTH // 100_000))

    with pytest.raises(InvalidRequest, match="longer than"):
        await anext(lines_of(endless))
    assert await anext(endless)  # the rest is not read


@given(
    st.lists(st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(0, 400), max_size=6).map(sorted),
)
async def test_lines_are_the_same_however_an_upload_is_cut(whole: list[bytes], cuts: list[int]) -> None:
    """A line may come in any number of pieces, and many in one."""
    file = b"\n".join(whole)
    chunks = [file[begin:end] for begin, end in pairwise([0, *cuts, len(file) + 400])]

    found = [each async for each in lines_of(pieces(chunks))]

    assert [each for each in found if each] == [each for each in whole if each]


async def test_a_memory_that_changes_while_it_is_exported_is_there_once(memories: Memories) -> None:
    """It moves to the front of the list, where the reader was already."""
    scope = Scope("ann")
    first = (await memories.save(scope, NewMemory("Number one."), BY)).row
    for number in range(PAGE + 3):
        await memories.save(scope, NewMemory(f"Fact {number}."), BY)

    chunks = export(memories.store, ANN)
    file = await anext(chunks)
    await memories.edit(ANN, first.id, {"importance": 5}, BY)
    file += b"".join([chunk async for chunk in chunks])

    ids = [orjson.loads(each)["id"] for each in file.splitlines()]
    assert len(ids) == len(set(ids)) == PAGE + 4
    assert first.id in ids
