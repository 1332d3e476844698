"""`gateway documents`: files, looked after by hand."""

import json
from pathlib import Path

import pytest

from gateway.memory.documents.document import file_name
from tests.cli.calling import Command
from tests.memory.documents.filing import document, fields, write_json


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configured folder, beside a data folder."""
    monkeypatch.setenv("GATEWAY_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("GATEWAY_DOCUMENTS_DIR", str(tmp_path / "documents"))
    return tmp_path / "documents"


def test_documents_are_listed_with_their_ids(command: Command, folder: Path) -> None:
    """As a table, or as the API has it; what cannot be used is told beside it."""
    write_json(folder, file_name(document().key), fields(id="logo"))
    write_json(folder, "bad.json", "{")

    table = command("documents", "list")
    listed = json.loads(command("documents", "list", "--json").out)

    assert table.code == 0
    assert "logo" in table.out
    assert "标志设计" in table.out
    assert "bad.json cannot be used" in table.err
    assert [each["id"] for each in listed["documents"]] == ["logo"]
    assert listed["deprecated"] == []
    assert len(listed["warnings"]) == 1


def test_a_folder_that_is_not_there_is_named(command: Command, folder: Path) -> None:
    """Nothing is found in it, and somebody may have written its name wrongly."""
    listed, checked = command("documents", "list"), command("documents", "check")

    said = f"The folder {folder} does not exist: see GATEWAY_DOCUMENTS_DIR"
    assert (listed.code, f"! {said}.") == (0, listed.err.replace("\n", " ").strip())
    assert checked.code == 0
    assert said in checked.out.replace("\n", " ")


def test_a_check_says_what_to_mend(command: Command, folder: Path) -> None:
    """It fails as long as something is wrong, also when the file was written this very moment."""
    folder.mkdir(exist_ok=True)
    none = command("documents", "check")
    (folder / "pumps.md").write_text("Markdown in the wrong place")
    misplaced = command("documents", "check")
    (folder / "pumps.md").unlink()
    name = file_name(document().key)
    write_json(folder, name, fields(id="logo"))

    good = command("documents", "check")
    (folder / "half.json").write_text('{"type": "skill"')
    bad = command("documents", "check", str(folder))

    assert "there are none: JSON is read in the folder, Markdown in its references/" in none.out
    assert misplaced.code == 1
    assert "'pumps.md' is not read: Markdown is read in references/" in misplaced.out
    assert (good.code, good.out) == (0, f"✓ {name}: is document logo\n")
    assert bad.code == 1
    assert "half.json cannot be used: line 1: it is not valid JSON" in bad.out


def test_a_document_is_deprecated_written_anew_and_restored(command: Command, folder: Path) -> None:
    """Without a gateway; each step prints the file, and a wrong id says what to do. The memory is not
    touched: what is recalled follows the folder of the gateway."""
    name = file_name(document().key)
    write_json(folder, name, fields(id="logo"))

    assert command("documents", "update", "logo", "-", given="留白更多".encode()).out == f"{name}\n"
    assert json.loads((folder / name).read_bytes())["content"] == "留白更多"
    assert command("documents", "deprecate", "logo").out == f".deprecated/{name}\n"
    assert "logo" in command("documents", "list", "--deprecated").out
    assert command("documents", "restore", "logo").out == f"{name}\n"
    missing = command("documents", "deprecate", "nothing")
    assert (missing.code, missing.err) == (
        1,
        "gateway: There is no document nothing. List the documents to see their ids.\n",
    )
    assert not (folder.parent / "data").exists()


def test_memories_come_and_go_as_files(command: Command, folder: Path, tmp_path: Path) -> None:
    """What one user's files say, another remembers; what cannot be taken is told and fails."""
    files = tmp_path / "files"
    name = file_name(document().key)
    write_json(files, name, fields())

    taken = command("documents", "import", str(files), "--user", "anna")
    written = command("documents", "export", str(tmp_path / "again"), "--user", "anna")
    nothing = command("documents", "export", str(tmp_path / "none"), "--user", "ben")
    write_json(files, "bad.json", "[]")
    refused = command("documents", "import", str(files), "--user", "anna")

    assert taken.out == f"✓ {name}: remembered\n"
    assert written.out == f"✓ {name}: written\n"
    assert json.loads((tmp_path / "again" / name).read_bytes())["content"] == fields()["content"]
    assert (nothing.code, nothing.out) == (0, "")
    assert refused.code == 1
    assert "✗ bad.json: left out: it is not a JSON object" in refused.out


def test_files_are_migrated_after_a_dry_run(command: Command, folder: Path) -> None:
    """Which says the same and changes nothing."""
    write_json(folder, "old.json", fields(skill_description="How we draw."))
    name = file_name(document().key)

    planned = command("documents", "migrate", "--dry-run")
    assert [path.name for path in folder.iterdir()] == ["old.json"]
    done = command("documents", "migrate")

    assert planned.out.startswith(f"✓ old.json: would become {name}: skill_description is skillDescription")
    assert done.out.startswith(f"✓ old.json: is now {name}: ")
    assert [path.name for path in folder.iterdir()] == [name]
