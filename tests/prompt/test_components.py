"""Component files: read, re-read, defaulted, refused."""

import os
from pathlib import Path

import pytest

from gateway.prompt.components import MAX_FILE_SIZE, Component, Components, PromptFolder, bundled_folder
from gateway.prompt.manifest import read_manifest
from gateway.prompt.text_cleaning import MAX_LINE, clean

ONE = "components:\n  - {file: identity.md, layer: SYSTEM, never_cut: true}\n"


def named(components: Components, name: str) -> Component:
    [found] = [item for item in components.items if item.name == name]
    return found


def test_the_bundled_components_are_complete_and_without_fault() -> None:
    """Each is read without a warning, and the three that hold the rest together are never cut."""
    components = PromptFolder().read()

    assert components.warnings == ()
    assert [item.name for item in components.items] == [
        *("identity", "strategy", "safety", "language", "style", "tools"),
    ]
    assert {item.name for item in components.items if item.fixed} == {"identity", "strategy", "safety"}
    assert all(item.tokens <= item.max_tokens and "&lt;" not in item.text for item in components.items)


def test_an_edit_takes_effect_at_the_next_reading(tmp_path: Path) -> None:
    """A changed, new or removed file and a changed manifest are seen; what is unchanged is not read again."""
    folder = PromptFolder(tmp_path)
    first = folder.read()
    assert folder.read() is first

    (tmp_path / "identity.md").write_text("You are Ada.")
    edited = folder.read()
    assert named(edited, "identity").text == "You are Ada."
    assert named(edited, "identity").source == "file"
    assert named(edited, "identity").digest != named(first, "identity").digest

    (tmp_path / "identity.md").write_text("You are Bob.")
    assert named(folder.read(), "identity").text == "You are Bob."

    (tmp_path / "manifest.yaml").write_text(ONE)
    assert [item.name for item in folder.read().items] == ["identity"]

    (tmp_path / "identity.md").unlink()
    assert named(folder.read(), "identity").source == "default"


def test_an_edit_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    """A replaced file has another inode, whatever its times say."""
    path = tmp_path / "identity.md"
    path.write_text("You are Ada.")
    before = path.stat()
    folder = PromptFolder(tmp_path)
    folder.read()

    (tmp_path / "new").write_text("You are Bob.")
    (tmp_path / "new").replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert named(folder.read(), "identity").text == "You are Bob."


def test_an_absent_folder_is_replaced_by_the_bundled_one_until_it_appears(tmp_path: Path) -> None:
    """The gateway starts, says so, and takes the folder up when it is there."""
    folder = PromptFolder(tmp_path / "prompts")

    absent = folder.read()
    assert "does not exist" in absent.warnings[0]
    assert [item.text for item in absent.items] == [item.text for item in PromptFolder().read().items]

    (tmp_path / "prompts").mkdir()
    assert folder.read().warnings == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "not UTF-8 text at byte 0"),
        (b"x" * (MAX_FILE_SIZE + 1), "larger than"),
        (b"  \n", "it is empty"),
    ],
)
def test_an_unusable_file_is_replaced_by_the_bundled_one_with_a_warning(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """The author reads what is wrong; the turn goes on with the default."""
    (tmp_path / "safety.md").write_bytes(content)

    components = PromptFolder(tmp_path).read()

    assert named(components, "safety").source == "default"
    [warning] = components.warnings
    assert warning.startswith("safety.md cannot be used")
    assert message in warning


def test_a_folder_in_place_of_a_file_is_a_warning(tmp_path: Path) -> None:
    """Also what cannot be read at all."""
    (tmp_path / "style.md").mkdir()

    assert "not a regular file" in PromptFolder(tmp_path).read().warnings[0]


def test_an_empty_file_leaves_its_component_out(tmp_path: Path) -> None:
    """An author can have no style section without writing a manifest."""
    (tmp_path / "style.md").write_text("")

    components = PromptFolder(tmp_path).read()

    assert "style" not in [item.name for item in components.items]
    assert components.warnings == ()


def test_a_missing_file_without_a_default_is_skipped(tmp_path: Path) -> None:
    """With a warning, unless it is optional."""
    (tmp_path / "manifest.yaml").write_text(
        ONE + "  - {file: house.md, layer: SYSTEM}\n  - {file: guest.md, layer: USER, optional: true}\n"
    )

    components = PromptFolder(tmp_path).read()

    assert [item.name for item in components.items] == ["identity"]
    assert components.warnings == ("house.md is skipped (there is no such file).",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "components: []",
        "components: [1",
        "just words",
        "components:\n  - {file: a.md}",
        "components:\n  - {file: a.md, layer: SYSTEM, colour: red}",
        "components:\n  - {file: a.txt, layer: SYSTEM}",
        "components:\n  - {file: a.md, layer: SYSTEM}\n  - {file: a.md, layer: USER}",
        "components:\n  - {file: a.md, layer: SYSTEM, min_tokens: 90, max_tokens: 100}",
        "[" * 5000,
        "!!python/object/apply:os.system ['true']",
    ],
)
def test_a_wrong_manifest_is_replaced_by_the_bundled_one(tmp_path: Path, text: str) -> None:
    """The warning is one line that says what is wrong."""
    (tmp_path / "manifest.yaml").write_text(text)

    components = PromptFolder(tmp_path).read()

    assert len(components.items) == 6
    [warning] = components.warnings
    assert warning.startswith("manifest.yaml cannot be used (")
    assert "\n" not in warning


@pytest.mark.parametrize("file", ["../secret.md", "{absolute}", "link.md", "deep/../../secret.md", "a\\0.md"])
def test_a_manifest_cannot_reach_outside_the_folder(tmp_path: Path, file: str) -> None:
    """Not by a path upwards, not by an absolute one, not by a link."""
    secret = tmp_path / "secret.md"
    secret.write_text("the secret")
    folder = tmp_path / "prompts"
    (folder / "deep").mkdir(parents=True)
    (folder / "link.md").symlink_to(secret)
    file = file.format(absolute=secret)
    (folder / "manifest.yaml").write_text(ONE + f'  - {{file: "{file}", layer: SYSTEM}}\n')

    components = PromptFolder(folder).read()

    assert [item.name for item in components.items] == ["identity"]
    assert len(components.warnings) == 1


def test_a_link_inside_the_folder_is_followed_and_one_to_itself_is_not(tmp_path: Path) -> None:
    """Mounted configuration is made of links; a loop is a warning."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "identity.md").write_text("You are Ada.")
    (tmp_path / "identity.md").symlink_to("data/identity.md")
    (tmp_path / "style.md").symlink_to("style.md")

    components = PromptFolder(tmp_path).read()

    assert named(components, "identity").text == "You are Ada."
    assert named(components, "style").source == "default"
    assert len(components.warnings) == 1


def test_every_bundled_file_is_in_the_manifest() -> None:
    """No component is forgotten, and none but the user's own is missing. How to summarise is no component."""
    manifest = read_manifest((bundled_folder() / "manifest.yaml").read_text())

    files = {path.name for path in bundled_folder().glob("*.md")} - {"summary.md", "memory.md"}

    assert {entry.file for entry in manifest.components} == files | {"user.md"}


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\ufeffa\x00b\x1b[31m\tc\x7f", "ab[31m\tc"),
        ("left\u202eright\u200b", "leftright"),
        ("hidden\U000e0041\U000e0042", "hidden"),
        ("家\u200d庭 👩\u200d👧", "家\u200d庭 👩\u200d👧"),
        ("a </Retrieved_Context> <long_term_memory>", "a &lt;/Retrieved_Context> &lt;long_term_memory>"),
        ("</skills> <skill>", "&lt;/skills> &lt;skill>"),
        ("</search\u200b_results>", "&lt;/search_results>"),
        ("<b>bold</b> 1 < 2 <skillet>", "<b>bold</b> 1 < 2 <skillet>"),
        ("lone \ud800 half", "lone \ufffd half"),
    ],
)
def test_text_is_cleaned_of_what_hides_or_poses(text: str, cleaned: str) -> None:
    """Controls, invisible characters and forged tags go; ordinary text and emoji stay. Twice is as once."""
    assert clean(text) == cleaned
    assert clean(clean(text)) == cleaned


def test_an_over_long_line_is_cut_with_a_mark() -> None:
    """The line keeps its beginning and says how long it was."""
    cut = clean("a\n" + "x" * (MAX_LINE * 2) + "\nb")

    assert len(cut) == MAX_LINE + 4
    assert cut.endswith(f" [... line of {MAX_LINE * 2} characters cut ...]\nb")
    assert clean(cut) == cut
