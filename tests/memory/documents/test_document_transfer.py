"""Memories made at run time as files, files as memories, and files of older forms."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.memory.changes import Attribution
from gateway.memory.documents.document import as_bytes, document_of, fields_of, file_name
from gateway.memory.documents.document_sync import Documents
from gateway.memory.documents.document_transfer import TransferOutcome, export_files, import_files
from gateway.memory.documents.folder import DocumentFolder
from gateway.memory.documents.migration import MigratedFile, migrate, modern
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories.store import MemoryStore
from tests.memory.documents.filing import NOON, document, fields, write_json
from tests.product import AllScopes, Filter, Scope, StorageError

ANNA, BEN = Scope("anna"), Scope("ben")
BY = Attribution("anna", "test")


async def save(memories: Memories, scope: Scope, content: str, **more: Any) -> str:
    return (await memories.save(scope, NewMemory(content, **more), BY)).row.id


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.anyio
async def test_exporting_importing_and_exporting_again_writes_the_same_bytes(
    memories: Memories, tmp_path: Path
) -> None:
    """Of skills and references, with and without names, in both languages; other memories stay behind."""
    await save(
        memories, ANNA, "标志用网格排版。留白要多。", type="skill", skill="标志设计", context="From a talk"
    )
    await save(memories, ANNA, "Deep blue.", type="reference", skill="logo", reference="brand/colours")
    await save(memories, ANNA, "See page 3.", type="reference", summary="Page 3")
    await save(memories, ANNA, "I like plain design.", type="preference")
    await save(memories, BEN, "Somebody else's.", type="skill", skill="logo")
    first, second = tmp_path / "first", tmp_path / "second"

    exported = await export_files(memories, AllScopes("anna"), first)
    imported = await import_files(memories, Scope("carol"), first, BY)
    await export_files(memories, AllScopes("carol"), second)

    assert [each.outcome for each in exported] == ["written"] * 3
    assert [each.outcome for each in imported] == ["remembered"] * 3
    assert contents(first) == contents(second)
    assert set(contents(first)) == {each.name for each in exported}
    assert "网格" in "".join(content.decode() for content in contents(first).values())
    assert len(DocumentFolder(first, settling=0).scan().documents) == 3
    assert DocumentFolder(first, settling=0).scan().warnings == ()
    kept = await memories.list(Scope("carol"), Filter(), limit=10)
    assert {row.content for row in kept} == {"标志用网格排版。留白要多。", "Deep blue.", "See page 3."}
    assert {(row.source, row.audience) for row in kept} == {("import", kept[0].audience)}


@pytest.mark.anyio
async def test_doing_it_twice_changes_nothing(memories: Memories, tmp_path: Path) -> None:
    """Neither files nor memories: what is as new stays as it is."""
    await save(memories, ANNA, "用网格", type="skill", skill="标志")
    await export_files(memories, ANNA, tmp_path / "files")
    before, rows = contents(tmp_path / "files"), await memories.list(ANNA, Filter(), limit=10)

    assert {each.outcome for each in await export_files(memories, ANNA, tmp_path / "files")} == {"unchanged"}
    assert {each.outcome for each in await import_files(memories, ANNA, tmp_path / "files", BY)} == {
        "unchanged"
    }

    assert contents(tmp_path / "files") == before
    assert await memories.list(ANNA, Filter(), limit=10) == rows


@pytest.mark.anyio
async def test_the_newer_wins_in_both_directions(memories: Memories, folder: Path) -> None:
    """A newer memory is written over an older file, which keeps its id and description; a newer file becomes
    the next version of an older memory."""
    name = file_name(document().key)
    write_json(folder, name, fields("旧的", id="mine", meta={"name": "网格"}, updatedAt=5, createdAt=4))
    memory_id = await save(memories, ANNA, "新的", type="skill", skill="标志设计")

    assert await export_files(memories, ANNA, folder) == [TransferOutcome(name, "written")]
    written = document_of(fields_of((folder / name).read_bytes()), 0)
    assert (written.id, written.meta.name, written.content) == ("mine", "网格", "新的")
    assert written.created_at == 4_000

    later = written.model_copy(update={"content": "更新的", "updated_at": written.updated_at + 5})
    (folder / name).write_bytes(as_bytes(later))
    assert await export_files(memories, ANNA, folder) == [TransferOutcome(name, "unchanged")]
    assert await import_files(memories, ANNA, folder, BY) == [TransferOutcome(name, "updated")]
    row = await memories.get(ANNA, memory_id)
    assert (row.content, row.version, row.updated_at) == ("更新的", 2, later.updated_at)


@pytest.mark.anyio
async def test_what_cannot_be_exchanged_is_told(memories: Memories, store: MemoryStore, folder: Path) -> None:
    """Each file with its reason, and the others go on; a full store too."""
    write_json(folder, "a.json", fields("字" * 9_000, skill="a"))
    write_json(folder, "b.json", "{")
    write_json(folder, "c.json", fields("c", skill="c"))
    write_json(folder, "d.json", fields("C.", skill="d"))
    write_json(folder, "e.json", fields("e", skill="e"))

    done = await import_files(Memories(store, most=1), ANNA, folder, BY)

    assert [(each.name, each.outcome) for each in done] == [
        ("a.json", "left out"),
        ("b.json", "left out"),
        ("c.json", "remembered"),
        ("d.json", "left out"),
        ("e.json", "left out"),
    ]
    assert "at most 8000 are kept" in done[0].reason
    assert "not valid JSON" in done[1].reason
    assert all(each.reason for each in done if each.outcome == "left out")
    with pytest.raises(StorageError, match="The folder cannot be listed"):
        await import_files(memories, ANNA, folder / "c.json", BY)


@pytest.mark.anyio
async def test_documents_are_no_memories_to_export(
    memories: Memories, store: MemoryStore, folder: Path, tmp_path: Path
) -> None:
    """Nor is what is frozen, deleted or in quarantine."""
    write_json(folder, "a.json", fields())
    await Documents(store, folder).refresh()
    frozen = await save(memories, ANNA, "frozen", type="skill", skill="x")
    await memories.edit(ANNA, frozen, {"status": "frozen"}, BY)
    await memories.delete(ANNA, await save(memories, ANNA, "deleted", type="skill", skill="y"), BY)
    await save(memories, ANNA, "from the web", type="skill", skill="z", quarantined=True)

    assert await export_files(memories, ANNA, tmp_path / "files") == []


def test_files_of_older_forms_become_todays(folder: Path) -> None:
    """A dry run says the same and touches nothing; a second run finds nothing to do."""
    old = {
        "type": "skill",
        "content": "用网格",
        "skill": "标志设计",
        "skill_description": "How we draw.",
        "timestamp": 1_795_176_000,
    }
    write_json(folder, "标志设计-skill.json", old)
    write_json(folder, "logo-skill-0f3a2b1c.json", fields(skill="logo", id="m_1", meta=None))
    write_json(folder, "broken.json", "{")
    good = write_json(folder, file_name(document().key), as_bytes(document(skill="现代")).decode())
    good = good.rename(folder / file_name(document(skill="现代").key))
    before = contents(folder)

    planned = migrate(folder, dry_run=True)
    assert contents(folder) == before
    assert migrate(folder) == planned
    after = contents(folder)
    again = migrate(folder)

    assert planned == [
        MigratedFile(
            "broken.json", "broken.json", problem="line 1: it is not valid JSON: unexpected end of data"
        ),
        MigratedFile(
            "logo-skill-0f3a2b1c.json",
            file_name(document(skill="logo").key),
            ("id is filled in", "meta is filled in", "the file's name"),
        ),
        MigratedFile(
            "标志设计-skill.json",
            file_name(document().key),
            (
                "skill_description is skillDescription",
                "timestamp is createdAt",
                "id is filled in",
                "updatedAt is filled in",
                "meta is filled in",
                "the file's name",
            ),
        ),
        MigratedFile(good.name, good.name),
    ]
    assert contents(folder) == after
    assert {each.name for each in again if not each.problem} == set(after) - {"broken.json"}
    assert not any(each.changes for each in again)
    read = json.loads(after[file_name(document().key)])
    assert (read["skillDescription"], read["createdAt"]) == ("How we draw.", NOON)


def test_names_by_content_become_todays(folder: Path) -> None:
    """The file says the same under its new name."""
    write_json(folder, "标志设计__skill__0f3a2b1c.json", fields("用网格", meta={"name": "网格"}))
    name = file_name(document().key)

    (done,) = migrate(folder)

    assert (done.name, done.problem, done.changes[-1]) == (name, None, "the file's name")
    assert list(contents(folder)) == [name]
    assert document_of(fields_of(contents(folder)[name]), 0).content == "用网格"


def test_migrating_never_writes_over_another_file(folder: Path) -> None:
    """Of two files with one name of today the second stays as it is, and so does one with unknown fields."""
    write_json(folder, "a.json", fields("a", created_at=5))
    write_json(folder, "b.json", fields("a"))
    write_json(folder, "c.json", fields("b"))
    write_json(folder, "d.json", fields("d", skill="d", colour="red"))
    name = file_name(document().key)

    done = migrate(folder)

    assert [each.problem and each.problem.partition(":")[0] for each in done] == [
        "created_at is no field of a document",
        None,
        f"{name} is there already, with the same skill, type, reference",
        "colour is no field of a document",
    ]
    assert set(contents(folder)) == {"a.json", name, "c.json", "d.json"}
    assert document_of(fields_of(contents(folder)[name]), 0).content == "a"


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "id",
                "skill_description",
                "snippet",
                "reference",
                "timestamp",
                "created_at",
                "updatedAt",
                "meta",
            ]
        ),
        st.one_of(
            st.none(), st.text(max_size=20), st.integers(), st.floats(), st.dictionaries(st.text(), st.text())
        ),
    )
)
def test_what_was_brought_to_todays_form_stays_so(given_fields: dict[str, Any]) -> None:
    """Whatever an old file says, it is refused, or becomes a file in which nothing is left to change."""
    try:
        migrated, _ = modern({"type": "reference", "content": "x", "skill": "y", **given_fields}, NOON)
    except ValueError:
        return

    again, changes = modern(fields_of(as_bytes(migrated)), 0)

    assert again == migrated
    assert changes == []
