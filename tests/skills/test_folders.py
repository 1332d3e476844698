"""Finding written skills: where they lie, what is left out, and that nothing is read twice."""

import errno
import os
from pathlib import Path

import pytest

from gateway.skills import folders
from gateway.skills.folders import FoundSkills, SkillFolders
from tests.skills.writing import skill_text, write_skill


def scan(root: Path) -> FoundSkills:
    return SkillFolders({"project": root}).scan()


def names(found: FoundSkills) -> list[str]:
    return [skill.name for skill in found.skills]


def told(found: FoundSkills) -> list[str]:
    """The warnings, which all name the tier."""
    assert all(warning.startswith("project skills: ") for warning in found.warnings)
    return [warning.removeprefix("project skills: ") for warning in found.warnings]


def test_skills_are_found_in_the_order_of_their_tiers(tmp_path: Path) -> None:
    """The strongest tier first, by location within; a location is relative to its tier's folder."""
    for tier in ("project", "user", "bundled"):
        write_skill(tmp_path / tier, "b")
        write_skill(tmp_path / tier, "会议", under="a/deep")

    found = SkillFolders(
        {"bundled": tmp_path / "bundled", "project": tmp_path / "project", "user": tmp_path / "user"}
    ).scan()

    assert [(skill.tier, skill.location) for skill in found.skills] == [
        (tier, location)
        for tier in ("project", "user", "bundled")
        for location in ("a/deep/会议/SKILL.md", "b/SKILL.md")
    ]
    assert found.warnings == ()


def test_an_absent_folder_is_an_empty_one_until_it_appears(tmp_path: Path) -> None:
    """The project's folder need not exist, and a tier need not have one."""
    looking = SkillFolders({"project": tmp_path / "skills", "user": None})

    assert looking.scan().skills == ()
    write_skill(tmp_path / "skills", "new")
    assert names(looking.scan()) == ["new"]
    assert looking.scan().warnings == ()


def test_a_broken_file_is_a_warning_and_the_others_go_on(tmp_path: Path) -> None:
    """Each unusable file is named with its reason, relative to its tier, and never with an absolute path."""
    write_skill(tmp_path, "good")
    (write_skill(tmp_path, "latin") / "SKILL.md").write_bytes(b"---\nname: caf\xe9\n---\n")
    (write_skill(tmp_path, "bomb") / "SKILL.md").write_text("---\na: &a [x]\nb: *a\n---\n")
    with (write_skill(tmp_path, "huge") / "SKILL.md").open("ab") as file:
        file.truncate(10_000_000)
    (tmp_path / "folder" / "SKILL.md").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    (tmp_path / "SKILL.md").write_text(skill_text("lost"))

    found = scan(tmp_path)

    assert names(found) == ["good"]
    assert told(found) == [
        "SKILL.md must lie in a folder of its own, named like the skill.",
        "bomb/SKILL.md cannot be used: line 2: anchors and aliases (& and *) are not allowed.",
        "folder/SKILL.md cannot be used: it is not a regular file.",
        "huge/SKILL.md cannot be used: it is larger than 1048576 bytes.",
        "latin/SKILL.md cannot be used: it is not UTF-8 text at byte 13.",
        "pipe/SKILL.md cannot be used: it is not a regular file.",
    ]


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    """Neither a folder nor a SKILL.md outside is read; each link is named. Links within are harmless."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    write_skill(outside, "secret")
    home = write_skill(root, "own")
    (root / "away").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "again").symlink_to("own")
    (root / "loop").symlink_to("loop")
    (root / "borrowed").mkdir()
    (root / "borrowed" / "SKILL.md").symlink_to(outside / "secret" / "SKILL.md")
    (root / "dangling").mkdir()
    (root / "dangling" / "SKILL.md").symlink_to("nowhere")
    (home / "SKILL.md").rename(home / "real.md")
    (home / "SKILL.md").symlink_to("real.md")

    found = scan(root)

    assert names(found) == ["own"]
    assert told(found) == [
        "away is a link that leads out of the folder: not followed.",
        "up is a link that leads out of the folder: not followed.",
        "borrowed/SKILL.md cannot be used: it leads out of the folder.",
        "dangling/SKILL.md cannot be used: it cannot be read: No such file or directory.",
    ]


def test_what_is_no_place_for_skills_is_not_looked_into(tmp_path: Path) -> None:
    """Hidden folders, dependencies, the inside of a skill, more than four folders down, names of control
    characters."""
    write_skill(tmp_path, "deep", under="1/2/3")
    write_skill(tmp_path, "deeper", under="1/2/3/4")
    write_skill(tmp_path, "hidden", under=".git")
    write_skill(tmp_path, "package", under="node_modules")
    write_skill(tmp_path, "example", under="deep-one/assets")
    (tmp_path / "deep-one" / "SKILL.md").write_text(skill_text("deep-one"))
    write_skill(tmp_path, "x", under="two\nlines")
    (tmp_path / "skill.md").write_text("another name")

    found = scan(tmp_path)

    assert names(found) == ["deep", "deep-one"]
    assert told(found) == [r"'two\nlines' has a name that cannot be shown: not looked into."]


def test_a_folder_that_cannot_be_listed_is_a_warning(tmp_path: Path) -> None:
    """Also when it is a file."""
    (tmp_path / "skills").write_text("no folder")

    assert told(scan(tmp_path / "skills")) == ["the folder cannot be listed: Not a directory."]


def test_folders_and_skills_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest and first by name are kept, and a warning says that there were more."""
    for number in range(5):
        write_skill(tmp_path, f"s{number}", under="deep" if number == 0 else "")

    monkeypatch.setattr(folders, "MAX_SKILLS", 3)
    found = scan(tmp_path)
    assert names(found) == ["s1", "s2", "s3"]
    assert told(found) == ["there are more than 3 skills: the rest is left out."]

    monkeypatch.setattr(folders, "MAX_FOLDERS", 3)
    found = scan(tmp_path)
    assert names(found) == ["s1"]
    assert told(found) == ["there are more than 3 folders: the rest is left out."]


def test_nothing_is_read_again_while_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same object comes back, also with broken files among them, without a look into any of them."""
    write_skill(tmp_path, "good")
    (write_skill(tmp_path, "bad") / "SKILL.md").write_text("broken")
    looking = SkillFolders({"project": tmp_path})
    first = looking.scan()
    monkeypatch.setattr(folders, "read_definition", None)

    assert looking.scan() is first
    assert len(first.warnings) == 1


def test_what_could_not_be_read_just_now_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as it was, so its state says nothing of a failure that is over; one that lasts is kept."""
    write_skill(tmp_path, "周报")
    looking = SkillFolders({"project": tmp_path})

    def fail(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", fail)
        assert told(looking.scan()) == [
            "周报/SKILL.md cannot be used: it cannot be read: Too many open files."
        ]

    assert names(looking.scan()) == ["周报"]


def test_each_change_is_seen(tmp_path: Path) -> None:
    """An edit, a replacement of the same size and time, a removal, and that a broken file was mended."""
    looking = SkillFolders({"project": tmp_path})
    path = write_skill(tmp_path, "one") / "SKILL.md"
    first = looking.scan()

    path.write_text(skill_text("one", "Other words."))
    edited = looking.scan()
    assert edited.skills[0].description == "Other words."
    assert edited.skills[0].digest != first.skills[0].digest

    before = path.stat()
    (tmp_path / "new").write_text(skill_text("one", "Other wards."))
    (tmp_path / "new").replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert looking.scan().skills[0].description == "Other wards."

    path.write_text("broken")
    assert len(looking.scan().warnings) == 1
    path.write_text(skill_text("one"))
    assert looking.scan().warnings == ()

    path.unlink()
    assert looking.scan().skills == ()
