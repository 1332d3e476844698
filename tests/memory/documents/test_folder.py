"""The folder of the documents: what is read in it, what is not; a half-written file harms nothing."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from gateway.memory.documents import folder as bounds
from gateway.memory.documents import selection
from gateway.memory.documents.document import Key, as_bytes, file_name
from gateway.memory.documents.folder import DocumentFolder, FolderContents
from tests.memory.documents.filing import NOON, document, fields, write_json, write_text


def scan(root: Path) -> FolderContents:
    return DocumentFolder(root, settling=0).scan()


def files(found: FolderContents) -> list[str]:
    return [each.file for each in found.documents]


def test_documents_references_and_deprecated_ones_are_found(tmp_path: Path) -> None:
    """By the names of their files; what is hidden, elsewhere or of another kind is not looked at."""
    name = file_name(document().key)
    write_json(tmp_path, name, fields())
    write_text(tmp_path, "references/颜色.md", "---\nname: 颜色\n---\n深蓝")
    write_json(tmp_path, f".deprecated/{name}", fields("旧的"))
    write_text(tmp_path, ".deprecated/old.md", "---\nname: Old\n---\nOld")
    for other in (
        ".hidden.json",
        ".git/x.json",
        "deep/x.json",
        "references/x.json",
        "README.md",
        "x.json.part",
    ):
        write_text(tmp_path, other, "no document")

    found = scan(tmp_path)

    assert files(found) == ["references/颜色.md", name]
    assert [each.file for each in found.deprecated] == [".deprecated/old.md", f".deprecated/{name}"]
    assert found.warnings == ()


def test_an_absent_folder_is_an_empty_one_until_it_appears(tmp_path: Path) -> None:
    """And it is empty again when it is gone."""
    looking = DocumentFolder(tmp_path / "documents")

    assert looking.scan() == FolderContents()
    write_json(tmp_path / "documents", "a.json", fields())
    assert files(looking.scan()) == ["a.json"]
    (tmp_path / "documents" / "a.json").unlink()
    assert looking.scan().documents == ()


def test_a_bad_file_is_a_warning_and_the_others_go_on(tmp_path: Path) -> None:
    """Each is named with its reason, and never with an absolute path."""
    good = file_name(document().key)
    write_json(tmp_path, good, fields())
    write_json(tmp_path, "empty.json", "")
    write_json(tmp_path, "half.json", json.dumps(fields())[:40])
    write_json(tmp_path, "old.json", {"type": "skill", "content": "x", "skill": "y", "created_at": 5})
    with (tmp_path / "huge.json").open("ab") as file:
        file.truncate(10_000_000)
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    write_text(tmp_path, "references/bare.md", "# Colours")

    found = scan(tmp_path)

    assert files(found) == [good]
    assert found.warnings == (
        "empty.json cannot be used: line 1: it is not valid JSON: Input is a zero-length, empty document.",
        "folder.json cannot be used: it is not a regular file.",
        "half.json cannot be used: line 1: it is not valid JSON: unexpected end of data.",
        "huge.json cannot be used: it is larger than 1048576 bytes.",
        "old.json cannot be used: created_at is no field of a document: `gateway documents migrate` brings "
        "older files to today's form.",
        "pipe.json cannot be used: it is not a regular file.",
        "references/bare.md cannot be used: it does not begin with front matter: a line ---, then "
        "`key: value` lines.",
    )
    assert str(tmp_path) not in "".join(found.warnings)


def test_links_are_followed_only_within_the_folder(tmp_path: Path) -> None:
    """As those of a mounted ConfigMap, which lead to a hidden folder beside them."""
    root, tainted = tmp_path / "documents", tmp_path / "outside"
    write_json(tainted, "secret.json", fields("secret"))
    write_json(root, "..2026/data.json", fields())
    (root / "..data").symlink_to("..2026")
    name = file_name(document().key)
    (root / name).symlink_to("..data/data.json")
    (root / "away.json").symlink_to(tainted / "secret.json")
    (root / "up.json").symlink_to("../outside/secret.json")
    (root / "loop.json").symlink_to("loop.json")
    (root / "nowhere.json").symlink_to("nothing")
    (root / "references").symlink_to(tainted)
    (tmp_path / "named").symlink_to("documents")

    found = scan(tmp_path / "named")

    assert files(found) == [name]
    assert found.warnings[0] == "references is a link that leads out of the folder: not followed."
    assert {warning.partition(" ")[0] for warning in found.warnings[1:]} == {
        "away.json", "loop.json", "nowhere.json", "up.json",
    }  # fmt: skip
    assert "secret" not in repr(found.documents)


def test_a_file_edited_half_way_keeps_what_it_last_said(tmp_path: Path) -> None:
    """While it may be just being written, there is no warning; when it stays so, there is one, and the last
    good version goes on. Whole again, it counts at once."""
    path = write_json(tmp_path, file_name(document().key), fields("第一版"))
    looking = DocumentFolder(tmp_path, settling=3600)
    (first,) = looking.scan().documents
    whole = as_bytes(document("第二版"))

    path.write_bytes(whole[: len(whole) // 2])
    being_written = looking.scan()
    os.utime(path, (1, 1))
    broken = looking.scan()
    path.write_bytes(whole)
    mended = looking.scan()

    assert being_written == FolderContents((first,))
    assert broken.documents == (first,)
    assert [warning.partition(": ")[0] for warning in broken.warnings] == [f"{path.name} cannot be used"]
    assert [each.document.content for each in mended.documents] == ["第二版"]
    assert mended.warnings == ()


@pytest.mark.parametrize("cut", range(1, 12))
def test_no_half_of_a_document_is_taken_for_a_whole(tmp_path: Path, cut: int) -> None:
    """Wherever it is cut, it is read as nothing."""
    whole = as_bytes(document("很好。" * 20))
    (tmp_path / "a.json").write_bytes(whole[: len(whole) * cut // 12])

    assert scan(tmp_path).documents == ()


def test_of_two_files_with_one_key_the_newer_is_in_use(tmp_path: Path) -> None:
    """Of equally new ones the first by name; the other is a warning. Deprecated ones do not compete."""
    write_json(tmp_path, "a.json", fields("老", updatedAt=NOON - 1))
    write_json(tmp_path, "b.json", fields("新"))
    write_json(tmp_path, "c.json", fields("也新"))
    write_json(tmp_path, ".deprecated/d.json", fields("更新", updatedAt=NOON + 1))

    found = scan(tmp_path)

    assert [each.document.content for each in found.documents] == ["新"]
    assert found.warnings[:2] == (
        "a.json is left out: b.json has the same skill, type and reference and is not older.",
        "c.json is left out: b.json has the same skill, type and reference and is not older.",
    )


def test_of_two_documents_with_one_id_the_newer_is_in_use(tmp_path: Path) -> None:
    """An id names one thing."""
    write_json(tmp_path, "a.json", fields("a", id="same"))
    write_json(tmp_path, "b.json", fields("b", id="same", skill="other", updatedAt=NOON + 1))

    found = scan(tmp_path)

    assert files(found) == ["b.json"]
    assert found.warnings[0] == "a.json is left out: b.json has the same id and is not older."


def test_a_file_of_another_name_is_used_and_told(tmp_path: Path) -> None:
    """The name is for people, and for order: what counts is inside."""
    write_json(tmp_path, "mine.json", fields())

    found = scan(tmp_path)

    assert files(found) == ["mine.json"]
    assert found.warnings == (
        f"mine.json should be called {file_name(document().key)}: `gateway documents migrate` gives files "
        "their names.",
    )


def test_everything_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a place, and the contents of all together; what is left out is a warning."""
    monkeypatch.setattr(bounds, "MAX_FILES", 3)
    monkeypatch.setattr(selection, "MAX_CHARACTERS", 20)
    for name in "abcd":
        write_json(tmp_path, f"{name}.json", fields("字" * 9, skill=name))

    found = scan(tmp_path)

    assert files(found) == ["a.json", "b.json"]
    assert "The folder has more than 3 files: what comes after 'c.json' is left out." in found.warnings
    assert "c.json and those after it are left out: all together are too long." in found.warnings


def test_nothing_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unchanged folder costs a listing, and is the same object; a changed file alone is read again."""
    write_json(tmp_path, "a.json", fields(skill="a"))
    path = write_json(tmp_path, "b.json", fields(skill="b"))
    opened: list[str] = []
    read = bounds.content_of

    def counting(root: Path, file: str) -> object:
        opened.append(file)
        return read(root, file)

    monkeypatch.setattr(bounds, "content_of", counting)
    looking = DocumentFolder(tmp_path)

    first = looking.scan()
    assert looking.scan() is first
    assert opened == ["a.json", "b.json"]
    path.write_text(json.dumps(fields("changed", skill="b")))
    assert looking.scan() is not first
    assert opened == ["a.json", "b.json", "b.json"]


def test_a_folder_that_cannot_be_listed_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fails for a moment makes nothing forgotten."""
    write_json(tmp_path, "a.json", fields())
    looking = DocumentFolder(tmp_path)
    before = looking.scan()

    def failing(_: object) -> object:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(bounds.os, "scandir", failing)
        during = looking.scan()

    assert during.documents == before.documents
    assert "The folder cannot be listed: Input/output error." in during.warnings
    assert looking.scan() == before


def test_a_file_may_be_named_by_its_content(tmp_path: Path) -> None:
    """`{skill}__{type}__` and the first 8 of the content's SHA-256 is as good a name; another content's is
    told."""
    content = " 用网格排版。\n"
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    write_json(tmp_path, f"标志设计__skill__{digest}.json", fields(content))
    write_json(tmp_path, f"layout__skill__{digest}.json", fields("Another.", skill="layout"))

    found = scan(tmp_path)

    assert files(found) == [f"layout__skill__{digest}.json", f"标志设计__skill__{digest}.json"]
    (warning,) = found.warnings
    assert warning.startswith(f"layout__skill__{digest}.json should be called layout-skill-")


def test_of_a_skill_the_newest_documents_are_in_use(tmp_path: Path) -> None:
    """As many as the limit says, with a warning for the others; other skills have a limit of their own."""
    for number in (1, 2, 3):
        document = fields(f"{number}", reference=str(number), updatedAt=NOON + number)
        write_json(tmp_path, f"{number}.json", document)
    write_json(tmp_path, "other.json", fields("x", skill="other", updatedAt=NOON))

    found = DocumentFolder(tmp_path, settling=0, most_of_skill=2).scan()

    assert files(found) == ["2.json", "3.json", "other.json"]
    assert "1.json is left out: 2 newer ones of skill 标志设计 are in use" in found.warnings[0]


def test_references_of_written_skills_are_documents_of_theirs(tmp_path: Path) -> None:
    """With or without front matter, under the path that read_skill takes, whatever they say of themselves;
    nothing else of the skill's folder is read, and what is switched off is gone."""
    skill = tmp_path / "skills" / "refund"
    write_text(skill, "SKILL.md", "---\nname: refund\ndescription: x\n---\n")
    write_text(skill, "references/limits.md", "# Limits of refunds\n\nAbove 500 euros ask Mei.")
    write_text(
        skill, "references/fees.md", "---\nskill: other\nname: 手续费\nreference: x\n---\n手续费是 2%。"
    )
    write_text(skill, "notes.md", "not a reference")
    (skill / "references" / "out.md").symlink_to("/etc/hostname")
    in_use = {"refund": skill}
    looking = DocumentFolder(tmp_path / "documents", settling=0, skills=lambda: in_use)

    found = looking.scan()
    (warning,) = found.warnings
    first, second = (each.document for each in found.documents)
    in_use.clear()

    assert files(found) == ["refund/references/fees.md", "refund/references/limits.md"]
    assert first.key == Key("refund", "reference", "references/fees.md")
    assert (first.meta.name, second.meta.name) == ("手续费", "Limits of refunds")
    assert second.content.endswith("ask Mei.")
    assert warning == "refund/references/out.md cannot be used: it leads out of the folder."
    assert looking.scan().documents == ()


def test_a_file_in_the_wrong_place_is_told(tmp_path: Path) -> None:
    """Markdown in the folder itself is not read; a README is no document."""
    for name in ("colours.md", "fonts.md", "README.md", "notes.txt", ".hidden.md"):
        (tmp_path / name).write_text("---\nname: x\n---\nx")
    found = DocumentFolder(tmp_path, settling=0).scan()

    assert found.documents == ()
    assert found.warnings == ("'colours.md' and 1 more are not read: Markdown is read in references/.",)
