"""The documents of a running gateway: recalled beside what was remembered, taken out of use and back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gateway.files import polling
from gateway.memory.changes import Attribution
from gateway.memory.documents import document_sync, file_changes
from gateway.memory.documents.document import as_bytes, document_of, fields_of, file_name
from gateway.memory.documents.document_sync import Documents
from gateway.memory.memories import Memories
from gateway.memory.search.query import MemoryQuery
from gateway.memory.search.searcher import Searcher
from gateway.memory.validation import NewMemory, make
from gateway.storage.memories import Indexed
from gateway.storage.memories.store import MemoryStore
from tests.loopback import TIMEOUT
from tests.memory.documents.filing import NOON, document, fields, write_json, write_text
from tests.product import (
    AllScopes,
    Conflict,
    Filter,
    InvalidRequest,
    MemoryRow,
    NotFound,
    Scope,
    StorageError,
    query_tokens,
)

pytestmark = pytest.mark.anyio

ANNA, BEN = Scope("anna"), Scope("ben", role_id="designer")
RECALLED = Filter(recallable=True)
BY = Attribution("anna", "she said so")


def documents_of(store: MemoryStore, folder: Path) -> Documents:
    return Documents(store, folder, settling=0)


async def found(store: MemoryStore, viewer: Scope, text: str) -> Sequence[MemoryRow]:
    return [match.row for match in await store.match(viewer, query_tokens(text), RECALLED, limit=10)]


async def contents(store: MemoryStore, viewer: Scope, text: str) -> list[str]:
    return [row.content for row in await found(store, viewer, text)]


async def remember(
    memories: Memories, scope: Scope, content: str, at: int, reference: str | None = None
) -> MemoryRow:
    """A runtime memory on the subject of `fields()`, last changed at `at`."""
    new = NewMemory(content, type="skill", skill="标志设计", reference=reference)
    row = make(new, scope, f"m_{at:016x}", at)
    await memories.apply([await memories.plan(row, "remembered", BY)])
    return row


async def test_everybody_finds_what_documents_say(store: MemoryStore, folder: Path) -> None:
    """In Chinese of either script and in English, by content and by names; nobody's own list has it."""
    write_json(folder, "a.json", fields(meta={"name": "Logo grid", "description": "Rules for logos."}))
    write_text(folder, "references/颜色.md", "---\nname: 品牌颜色\n---\nThe brand is deep blue.")

    await documents_of(store, folder).refresh()

    for viewer in (ANNA, BEN):
        for query in ("网格", "標誌設計怎麼排版", "logos"):
            assert await contents(store, viewer, query) == ["用网格排版，留白要多。"]
        for query in ("brands", "品牌", "颜色"):
            assert await contents(store, viewer, query) == ["The brand is deep blue."]
    assert await store.list(AllScopes("anna"), limit=10) == []


async def test_an_edited_added_or_removed_file_counts_at_the_next_look(
    store: MemoryStore, folder: Path
) -> None:
    """A folder that is gone leaves nothing; an id stays while the content changes."""
    documents = documents_of(store, folder)
    await documents.refresh()
    path = write_json(folder, "a.json", fields("旧的网格"))
    await documents.refresh()
    (before,) = await found(store, ANNA, "网格")

    path.write_bytes(as_bytes(document("新的网格", meta={"name": "Grid"})))
    await documents.refresh()
    (after,) = await found(store, ANNA, "grid")

    assert (before.content, after.content) == ("旧的网格", "新的网格")
    assert before.id == after.id
    path.unlink()
    await documents.refresh()
    assert await contents(store, ANNA, "网格") == []


async def test_a_running_gateway_looks_by_itself(
    store: MemoryStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a look at which the store failed, which is logged."""
    monkeypatch.setattr(polling, "POLL", 0.001)
    stored = asyncio.Event()
    put, failures = store.put_documents, [StorageError("The disk is full.")]

    async def once_full(rows: Sequence[tuple[MemoryRow, Sequence[Indexed]]]) -> None:
        if failures:
            raise failures.pop()
        await put(rows)
        stored.set()

    monkeypatch.setattr(store, "put_documents", once_full)
    write_json(folder, "a.json", fields())
    with capture_logs() as lines:
        watching = asyncio.create_task(documents_of(store, folder).watch())
        await asyncio.wait_for(stored.wait(), TIMEOUT)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)

    assert await contents(store, ANNA, "网格") == ["用网格排版，留白要多。"]
    assert {line["event"] for line in lines} == {"document_warning", "documents_not_refreshed"}


async def test_a_bad_file_is_told_once_and_keeps_what_it_said(store: MemoryStore, folder: Path) -> None:
    """One line of the log, a warning as long as it is bad, and what it said last is still found."""
    name = file_name(document().key)
    path = write_json(folder, name, fields())
    documents = documents_of(store, folder)
    await documents.refresh()

    path.write_text("{")
    with capture_logs() as lines:
        await documents.refresh()
        await documents.refresh()

    assert await contents(store, ANNA, "网格") == ["用网格排版，留白要多。"]
    assert len(documents.found.warnings) == 1
    assert [(line["event"], line["told"]) for line in lines] == [
        ("document_warning", documents.found.warnings[0])
    ]


async def test_nothing_is_stored_when_nothing_changed(store: MemoryStore, folder: Path) -> None:
    """Looking costs the store nothing, so that what others hold of it stays good."""
    write_json(folder, "a.json", fields())
    documents = documents_of(store, folder)
    await documents.refresh()
    state = (folder.parent / "memory.db-wal").read_bytes()

    await documents.refresh()
    await documents_of(store, folder).refresh()

    assert (folder.parent / "memory.db-wal").read_bytes() == state


@pytest.mark.parametrize(
    ("at", "wins"), [(NOON - 1, "文件说网格"), (NOON, "文件说网格"), (NOON + 1, "记忆说网格")]
)
async def test_of_a_document_and_a_memory_the_newer_counts(
    store: MemoryStore, memories: Memories, folder: Path, at: int, wins: str
) -> None:
    """With the same skill, type and reference; a tie goes to the file. What one user remembers does not hide
    the document from another."""
    write_json(folder, "a.json", fields("文件说网格"))
    await documents_of(store, folder).refresh()
    await remember(memories, ANNA, "记忆说网格", at)

    assert await contents(store, ANNA, "网格") == [wins]
    assert await contents(store, BEN, "网格") == ["文件说网格"]
    listed = await store.list(ANNA, RECALLED, limit=10)
    assert [row.content for row in listed] == [wins]


async def test_documents_and_memories_on_other_subjects_are_recalled_together(
    store: MemoryStore, memories: Memories, folder: Path
) -> None:
    """Another reference is another subject."""
    write_json(folder, "a.json", fields("文件说网格"))
    await documents_of(store, folder).refresh()
    await remember(memories, ANNA, "记忆说网格", NOON + 1, reference="排版")

    assert set(await contents(store, ANNA, "网格")) == {"文件说网格", "记忆说网格"}


async def test_two_documents_may_say_the_same(store: MemoryStore, folder: Path) -> None:
    """Files are what decides, whatever they say."""
    write_json(folder, "a.json", fields("网格", skill="a"))
    write_json(folder, "b.json", fields("网格", skill="b"))

    await documents_of(store, folder).refresh()

    assert await contents(store, ANNA, "网格") == ["网格", "网格"]


@pytest.mark.parametrize("kind", ["json", "markdown"])
async def test_a_deprecated_document_can_be_restored(store: MemoryStore, folder: Path, kind: str) -> None:
    """It is not recalled meanwhile, its file is kept byte for byte, and it comes back where it was."""
    if kind == "json":
        path = write_json(folder, file_name(document().key), fields())
    else:
        path = write_text(folder, "references/网格.md", "---\nname: 网格\n---\n用网格排版，留白要多。")
    content, file = path.read_bytes(), str(path.relative_to(folder))
    documents = documents_of(store, folder)
    (filed,) = (await documents.refresh()).documents

    gone = await documents.deprecate(filed.document.id)

    assert gone.file == f".deprecated/{path.name}"
    assert (folder / gone.file).read_bytes() == content
    assert [each.document for each in documents.found.deprecated] == [filed.document]
    assert await contents(store, ANNA, "网格") == []
    with pytest.raises(Conflict, match="deprecated already"):
        await documents.deprecate(filed.document.id)

    back = await documents.restore(filed.document.id)

    assert back == filed
    assert (folder / file).read_bytes() == content
    assert documents.found.deprecated == ()
    assert await contents(store, ANNA, "网格") == ["用网格排版，留白要多。"]
    with pytest.raises(Conflict, match="is in use"):
        await documents.restore(filed.document.id)


async def test_deprecating_never_overwrites_what_was_deprecated_before(
    store: MemoryStore, folder: Path
) -> None:
    """Each is kept under a number, the last one is restored first, and none over a file in use."""
    name = file_name(document().key)
    documents = documents_of(store, folder)
    for content in ("第一版", "第二版", "第三版"):
        write_json(folder, name, fields(content))
        gone = await documents.deprecate(document().id)

    assert gone.file == f".deprecated/{name.removesuffix('.json')}~3.json"
    back = await documents.restore(document().id)
    assert (back.file, back.document.content) == (name, "第三版")
    before = (folder / name).read_bytes()
    write_json(folder, "another.json", fields("x", id="another"))
    write_json(folder, f".deprecated/{name}", fields("第一版", id="first"))
    with pytest.raises(Conflict, match="Deprecate that one first"):
        await documents.restore("first")
    assert (folder / name).read_bytes() == before
    assert len(list((folder / ".deprecated").iterdir())) == 2


@pytest.mark.parametrize("way", ["deprecate", "restore"])
async def test_a_move_that_was_killed_half_way_is_completed_by_the_next(
    store: MemoryStore, folder: Path, way: str
) -> None:
    """Nothing empty takes the place of a file, which may have both its names meanwhile."""
    name = file_name(document().key)
    path, aside = folder / name, folder / ".deprecated" / name
    content = write_json(folder, name, fields()).read_bytes()
    documents = documents_of(store, folder)
    await documents.refresh()
    if way == "restore":
        await documents.deprecate(document().id)
    aside.parent.mkdir(exist_ok=True)
    first, last = (path, aside) if way == "deprecate" else (aside, path)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    move = file_changes.deprecate if way == "deprecate" else file_changes.restore
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            move(folder, str(first.relative_to(folder)))

    assert [each.read_bytes() for each in (path, aside)] == [content] * 2
    moved = await (documents.deprecate if way == "deprecate" else documents.restore)(document().id)
    assert folder / moved.file == last
    assert (last.read_bytes(), first.exists()) == (content, False)


async def test_files_are_moved_where_there_are_no_links(store: MemoryStore, folder: Path) -> None:
    """And still not over another one."""
    name = file_name(document().key)
    content = write_json(folder, name, fields()).read_bytes()
    (folder / ".deprecated").mkdir()
    (folder / ".deprecated" / name).write_text("another")

    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "hardlink_to", refused)
        aside = file_changes.deprecate(folder, name)

    assert aside == f".deprecated/{name.removesuffix('.json')}~2.json"
    assert ((folder / aside).read_bytes(), (folder / name).exists()) == (content, False)
    assert (folder / ".deprecated" / name).read_text() == "another"


async def test_what_is_not_there_is_not_found(store: MemoryStore, folder: Path) -> None:
    """Whatever is to be done with it; an id is never a path."""
    write_json(folder, "a.json", fields(id="here"))
    documents = documents_of(store, folder)

    for document_id in ("nothing", "../a", "a.json", ""):
        for change in (documents.deprecate, documents.restore):
            with pytest.raises(NotFound) as refused:
                await change(document_id)
            assert refused.value.code == "document_not_found"
        with pytest.raises(NotFound):
            await documents.update(document_id, "x")


async def test_nothing_is_moved_through_a_link(store: MemoryStore, folder: Path) -> None:
    """A link in the place of .deprecated would take files out of the folder."""
    path = write_json(folder, "a.json", fields(id="here"))
    (folder.parent / "outside").mkdir()
    (folder / ".deprecated").symlink_to(folder.parent / "outside")

    with pytest.raises(StorageError, match=r"\.deprecated is a link"):
        await documents_of(store, folder).deprecate("here")

    assert path.exists()
    assert list((folder.parent / "outside").iterdir()) == []


async def test_a_document_is_written_anew_as_a_whole(store: MemoryStore, folder: Path) -> None:
    """With what was said beside its content, dated now, under its id; no other file is left."""
    path = write_json(folder, file_name(document().key), fields(meta={"name": "网格"}, snippet="旧"))
    documents = documents_of(store, folder)

    after = await documents.update(document().id, "留白更多的网格")

    read = document_of(fields_of(path.read_bytes()), 0)
    assert read == after.document
    assert (read.content, read.snippet, read.meta.name) == ("留白更多的网格", "", "网格")
    assert read.created_at == document().created_at
    assert read.updated_at > NOON - 1
    assert list(folder.iterdir()) == [path]
    assert await contents(store, ANNA, "留白") == ["留白更多的网格"]


async def test_a_bad_update_changes_nothing(
    store: MemoryStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither an empty content nor a disk that fails half-way, nor one of a Markdown file."""
    path = write_json(folder, file_name(document().key), fields())
    write_text(folder, "references/a.md", "---\nname: a\nid: md\n---\nx")
    before = path.read_bytes()
    documents = documents_of(store, folder)

    with pytest.raises(InvalidRequest, match="content: must not be empty"):
        await documents.update(document().id, " ")
    with pytest.raises(InvalidRequest, match="is a Markdown file"):
        await documents.update("md", "y")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"json cannot be written: No space left on device\.$"):
        await documents.update(document().id, "y")

    assert path.read_bytes() == before
    assert set(folder.iterdir()) == {path, folder / "references"}


async def test_two_processes_deprecating_at_once_move_a_file_once(store: MemoryStore, folder: Path) -> None:
    """One of them does it, the other gets a conflict."""
    write_json(folder, "a.json", fields(id="here"))
    results = await asyncio.gather(
        *(documents_of(store, folder).deprecate("here") for _ in range(4)), return_exceptions=True
    )

    assert sum(not isinstance(result, BaseException) for result in results) == 1
    assert all(
        isinstance(result, document_sync.DocumentFile | Conflict | NotFound | StorageError)
        for result in results
    )
    assert list((folder / ".deprecated").iterdir()) == [folder / ".deprecated" / "a.json"]
    assert not (folder / "a.json").exists()


async def test_what_somebody_else_took_out_is_put_back(
    store: MemoryStore, folder: Path, tmp_path: Path
) -> None:
    """Another process that stored what another folder says is corrected at the next look."""
    documents = documents_of(store, folder)
    write_json(folder, "a.json", fields("用网格排版"))
    await documents.refresh()

    for other in (tmp_path / "empty", tmp_path / "other"):
        if other.name == "other":
            write_json(other, "b.json", fields("Everything is crooked."))
        await documents_of(store, other).refresh()
        assert await contents(store, ANNA, "网格") == []
        await documents.refresh()

        assert await contents(store, ANNA, "网格") == ["用网格排版"]
        assert await contents(store, ANNA, "crooked") == []


async def test_whoever_has_no_store_changes_files_alone(store: MemoryStore, folder: Path) -> None:
    """As the commands do: the gateway, which looks at its own folder, decides what is recalled."""
    gateway, command = documents_of(store, folder), Documents(None, folder, settling=0)
    write_json(folder, "a.json", fields("用网格排版", id="grid"))
    await gateway.refresh()

    await command.deprecate("grid")
    assert await contents(store, ANNA, "网格") == ["用网格排版"]
    await gateway.refresh()
    assert await contents(store, ANNA, "网格") == []


async def test_deprecated_files_go_when_their_time_is_over(store: MemoryStore, folder: Path) -> None:
    """It counts from when a file was put there; without a setting they stay."""
    name = file_name(document().key)
    write_json(folder, name, fields())
    long, short = (Documents(store, folder, settling=0, deprecated_ttl=ttl) for ttl in (3600.0, 0.001))
    await long.refresh()

    aside = folder / (await long.deprecate(document().id)).file
    await long.refresh()
    assert aside.exists()
    with capture_logs() as logs:
        while (await short.refresh()).deprecated:
            await asyncio.sleep(0.002)

    assert not aside.exists()
    assert [(each["event"], each["file"]) for each in logs] == [("document_removed", f".deprecated/{name}")]


async def test_a_skills_own_file_is_recalled_and_not_deprecated(store: MemoryStore, folder: Path) -> None:
    """It belongs to the skill, where it can be taken away."""
    skill = folder.parent / "refund"
    path = write_text(skill, "references/limits.md", "# Limits\n\nAbove 500 euros ask Mei.")
    documents = Documents(store, folder, settling=0, skills=lambda: {"refund": skill})

    (filed,) = (await documents.refresh()).documents

    (row,) = await found(store, BEN, "500 euros")
    assert (row.type, row.skill, row.reference) == ("reference", "refund", "references/limits.md")
    with pytest.raises(Conflict, match="belongs to the skill refund"):
        await documents.deprecate(filed.document.id)
    assert path.exists()


async def test_a_folder_full_of_files_of_every_kind_answers(store: MemoryStore, folder: Path) -> None:
    """2,000 of them, one more, large ones and links out of it: what can be used is found, of long ones the
    passage, what cannot is a warning, and nothing is stored a second time."""
    for number in range(1_998):
        text = f"Shelf {number} holds the glasses of ward {number}. " + "Dust is wiped off at noon. " * 30
        write_json(folder, f"{number:04}.json", fields(text, skill=f"shelf {number}"))
    pages = [
        f"## Room {number}\n\n" + f"In room {number} stands bed {number}. " * 20 for number in range(200)
    ]
    write_json(folder, "1998.json", fields("\n\n".join(pages)[:150_000], skill="rooms"))
    with (folder / "1999.json").open("ab") as file:
        file.truncate(10_000_000)
    write_text(folder.parent, "outside.json", as_bytes(document("The outside is secret.")).decode())
    (folder / "2000.json").symlink_to(folder.parent / "outside.json")
    documents = documents_of(store, folder)

    seen = await documents.refresh()

    assert len(seen.documents) == 1_999
    assert any(warning.startswith("1999.json cannot be used: it is larger than") for warning in seen.warnings)
    assert any("more than 2000 files: what comes after '1999.json'" in warning for warning in seen.warnings)
    for question, answer in (
        ("glasses of ward 1234", "Shelf 1234 "),
        ("which bed stands in room 142?", "bed 142."),
    ):
        (hit, *_) = (await Searcher(store).find(ANNA, MemoryQuery(question))).hits
        begin, end = (hit.passage.begin, hit.passage.end) if hit.passage else (0, 999)
        assert answer in hit.row.content[begin:end]
    assert await found(store, ANNA, "outside secret") == []
    state = await store.state()
    await documents.refresh()
    await documents_of(store, folder).refresh()
    assert await store.state() == state
