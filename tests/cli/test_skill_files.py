"""SKILL.md files on the command line: checked, and begun."""

from pathlib import Path

import pytest

from tests.cli.calling import Command
from tests.skills.writing import skill_text, write_skill


@pytest.mark.parametrize("way", ["", "SKILL.md", "."])
def test_a_good_skill_passes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """By its folder, by its file, and from within its folder."""
    folder = write_skill(tmp_path / "skills", "核对发票", allowed_tools="calculate read_skill")
    if way == ".":
        monkeypatch.chdir(folder)

    shown = command("skills", "check", "." if way == "." else str(folder / way))

    assert shown.code == 0
    assert shown.out.startswith("✓ ")
    assert shown.out.endswith("SKILL.md: 核对发票 is as the specification has it\n")


def test_every_problem_is_told_with_its_file(command: Command, tmp_path: Path) -> None:
    """A folder of skills is looked at as the gateway does; one bad skill is enough to fail."""
    skills = tmp_path / "skills"
    write_skill(skills, "good")
    write_skill(skills, "other", under="发票", version="2", license="MIT")
    (skills / "发票" / "other" / "SKILL.md").write_text(skill_text("another", version="2"))
    (skills / "broken").mkdir()
    (skills / "broken" / "SKILL.md").write_bytes(b"---\nname: broken\n---\n\xff")

    strict = command("skills", "check", "skills")
    lenient = command("skills", "check", "skills/发票", "--lenient")

    assert strict.code == 1
    assert sorted(strict.out.splitlines()) == [
        "✓ skills/good/SKILL.md: good is as the specification has it",
        "✗ skills/发票/other/SKILL.md: name differs from the folder's, which is other",
        "✗ skills/发票/other/SKILL.md: version is no field of the specification and is ignored",
        "✗ skills: broken/SKILL.md cannot be used: it is not UTF-8 text at byte 21.",
    ]
    assert lenient.code == 0
    assert lenient.out.splitlines() == [
        "! skills/发票/other/SKILL.md: name differs from the folder's, which is other",
        "! skills/发票/other/SKILL.md: version is no field of the specification and is ignored",
    ]
    assert command("skills", "check", "skills/broken", "--lenient").code == 1


def test_allowed_tools_that_are_none_here_are_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the name that was meant, if there is one near; the skill is a good one elsewhere, so it passes.
    What a configured MCP server has is not known without it."""
    monkeypatch.setenv("GATEWAY_MCP_SERVERS", '{"shop": {"command": "true"}}')
    names = "calculat calc* read_archive Bash mcp__shop__* mcp__* mcp__none__pay"
    folder = write_skill(tmp_path, "pay", allowed_tools=names)

    shown = command("skills", "check", str(folder))

    assert shown.code == 0
    assert [line.partition("allowed-tools: ")[2] for line in shown.out.splitlines()] == [
        "calculat is no tool of this gateway: did you mean calculate?",
        "Bash is no tool of this gateway: `gateway tools list` shows those there are",
        "mcp__none__pay is of no MCP server in GATEWAY_MCP_SERVERS",
    ]


def test_a_check_of_nothing_fails(command: Command, tmp_path: Path) -> None:
    """No folder, an empty one, and a file of another name are told apart."""
    (tmp_path / "skill.md").write_text(skill_text("skill"))
    (tmp_path / "empty").mkdir()

    assert command("skills", "check", "nowhere").code == 2
    empty, misnamed = command("skills", "check", "empty"), command("skills", "check", "skill.md")
    assert (empty.code, empty.out) == (
        1,
        "✗ empty: there is no SKILL.md in it. `gateway skills new` writes one\n",
    )
    assert (misnamed.code, misnamed.out) == (1, "✗ skill.md: it must be called SKILL.md\n")


UNTOUCHED = "the description is still the template's: say what it does, and when to use it"


@pytest.mark.parametrize("name", ["check-invoice", "核对发票", "ｃｈｅｃｋ-2"])
def test_a_new_skill_passes_the_check(command: Command, tmp_path: Path, name: str) -> None:
    """`new` writes a skill that is found and strictly valid, and says what to do next: its description is
    still nobody's."""
    written = command("skills", "new", name)

    assert written.code == 0
    file = Path(written.out.rstrip("\n"))
    assert file.is_file()
    assert f"gateway skills check {file.parent}" in written.err
    checked = command("skills", "check", str(file.parent))
    assert checked.code == 0
    assert checked.out == f"! {file}: {UNTOUCHED}\n"
    file.write_text(file.read_text().replace("the way we do it here", "to the cent"))
    assert command("skills", "check", str(file.parent)).out.startswith("✓ ")
    assert file.parent.name in command("skills", "list", "--type", "markdown").out


@pytest.mark.parametrize("name", ["Check", "a_b", "-a", "a--b", "../a", "a/b", "", "长" * 65, "/tmp/a"])
def test_a_bad_name_is_refused(command: Command, tmp_path: Path, name: str) -> None:
    """With the rule that it breaks, and nothing is written."""
    refused = command("skills", "new", "--", name)

    assert (refused.code, refused.out) == (2, "")
    assert "a skill's name m" in refused.err
    assert list(tmp_path.iterdir()) == []


def test_a_new_skill_overwrites_nothing(command: Command, tmp_path: Path) -> None:
    """A folder that is there stays as it is; `--dir` chooses another place."""
    file = write_skill(tmp_path / "skills", "mine") / "SKILL.md"
    before = file.read_bytes()

    refused = command("skills", "new", "mine")
    elsewhere = command("skills", "new", "mine", "--dir", "more/技能")
    impossible = command("skills", "new", "mine", "--dir", str(file))

    assert (refused.code, file.read_bytes()) == (1, before)
    assert (
        refused.err == "gateway: skills/mine is there already. Choose another name, or edit what is there.\n"
    )
    assert (elsewhere.code, elsewhere.out) == (0, "more/技能/mine/SKILL.md\n")
    assert impossible.code == 1
    assert "cannot be written: Not a directory." in impossible.err
