"""The skills that come with the gateway, and the text of a new one: strictly valid, and complete."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.skills.definition import check, name_problem, read_definition
from gateway.skills.files import listing
from gateway.skills.folders import SkillFolders, bundled_folder
from gateway.skills.template import template
from gateway.tools.builtin import builtin_tools
from tests.skills.writing import catalog_of

BUNDLED = sorted(path.parent for path in bundled_folder().glob("*/SKILL.md"))
OTHER_TOOLS = {"read_skill", "read_archive", "http_fetch"}
HEADINGS = re.compile(r"^## (.+)$", re.MULTILINE)


def test_several_come_with_the_gateway() -> None:
    """All are found, one of them in Chinese, and each description is told whole."""
    found = SkillFolders({"bundled": bundled_folder()}).scan()

    assert found.warnings == ()
    assert [skill.folder for skill in found.skills] == BUNDLED
    assert len(BUNDLED) >= 3
    assert "hand-over: 把对话整理成交接说明" in (snapshot := catalog_of(*found.skills).snapshot)
    assert "…" not in snapshot


@pytest.mark.parametrize("home", BUNDLED, ids=lambda home: home.name)
def test_each_is_valid_and_says_when_how_and_what_to_mind(home: Path) -> None:
    """Under the strict rules, with the three parts, and with every file that it names."""
    definition = read_definition(home)

    assert check(home) == ((), ())
    assert HEADINGS.findall(definition.body) in (
        ["When to use", "Steps", "Cautions"],
        ["何时使用", "步骤", "注意"],
    )
    assert set(re.findall(r"`(references/[^`]+)`", definition.body)) == set(listing(home))


@pytest.mark.parametrize("home", BUNDLED, ids=lambda home: home.name)
def test_each_names_only_tools_that_exist(home: Path) -> None:
    """Allowed tools are exact names, and what looks like a tool's name in the text is one."""
    definition = read_definition(home)
    known = {tool.spec.name for tool in builtin_tools()} | OTHER_TOOLS

    assert set(definition.allowed_tools or ()) <= known
    assert set(re.findall(r"`((?:read|search|current|http)_\w+)`", definition.body)) <= known


def test_a_new_skill_is_valid_and_holds_advice(tmp_path: Path) -> None:
    """No blank to fill in: every section says what belongs there."""
    home = tmp_path / "周报-2026"
    home.mkdir()
    (home / "SKILL.md").write_text(template("周报-2026"), encoding="utf-8")

    assert check(home) == ((), ())
    text = read_definition(home).body
    assert HEADINGS.findall(text) == ["When to use", "Steps", "Cautions"]
    assert "TODO" not in text
    assert "{" not in text


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "1 to 64 characters"), ("Plan", "lower case"), ("a b", "letters, digits"), ("../x", "letters")],
)
def test_a_new_skill_needs_a_name_that_is_one(name: str, message: str) -> None:
    """What is wrong with it is said."""
    with pytest.raises(ValueError, match=message):
        template(name)


@given(st.from_regex(r"[a-z0-9一-龥]{1,20}(-[a-z0-9]{1,9}){0,3}", fullmatch=True))
def test_any_name_makes_a_valid_skill(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    """Also one that YAML would take for a number, a date or nothing."""
    assert name_problem(name) is None
    home = tmp_path_factory.mktemp("skills") / name
    home.mkdir()
    (home / "SKILL.md").write_text(template(name), encoding="utf-8")

    assert check(home) == ((), ())
    assert read_definition(home).name == name
