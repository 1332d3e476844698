"""Who is called what when several skills want one name."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.skills.definition import MAX_REFERENCE, TIERS, MarkdownSkill, Tier
from gateway.skills.files import MAX_LISTED
from gateway.skills.folders import SkillFolders
from gateway.skills.name_conflicts import named
from gateway.skills.skill import FunctionSkill
from tests.skills.writing import catalog_of, function, served, skill, write_skill


def test_a_function_owns_its_bare_name_and_the_written_namesake_is_marked() -> None:
    """The function stays callable under its name, and the written skill readable as md:name."""
    catalog = catalog_of(function("report"), skill("report"))

    assert "report" in catalog.tools
    assert list(catalog.written) == ["md:report"]
    assert [(row.name, row.type) for row in catalog.skills] == [
        ("report", "function"),
        ("md:report", "markdown"),
    ]
    assert catalog.warnings == (
        "The project skill report/SKILL.md is called md:report: a tool owns the name report.",
    )


def test_among_written_skills_the_project_comes_before_the_user_and_the_user_before_the_bundled() -> None:
    """Those that lose stay reachable as name@source; each of them is one warning."""
    catalog = catalog_of(skill("plan", "bundled"), skill("plan", "project"), skill("plan", "user"))

    assert {name: each.tier for name, each in catalog.written.items()} == {
        "plan": "project",
        "plan@user": "user",
        "plan@bundled": "bundled",
    }
    winner = "the project skill plan/SKILL.md comes first."
    assert catalog.warnings == (
        f"The user skill plan/SKILL.md is called plan@user: {winner}",
        f"The bundled skill plan/SKILL.md is called plan@bundled: {winner}",
    )


def test_byte_identical_copies_collapse_without_a_word() -> None:
    """The strongest copy stays, wherever the others lie, also when it lost to another itself."""
    catalog = catalog_of(
        skill("plan", "project", digest="one"),
        skill("plan", "project", digest="one", location="copy/SKILL.md"),
        skill("plan", "user", digest="two"),
        skill("plan", "bundled", digest="two"),
    )

    assert {name: each.tier for name, each in catalog.written.items()} == {
        "plan": "project",
        "plan@user": "user",
    }
    assert len(catalog.warnings) == 1


def test_several_of_one_tier_are_told_apart_by_where_they_lie() -> None:
    """The first by location wins; the others get a number, the same each time."""
    catalog = catalog_of(*(skill("plan", location=f"{place}/SKILL.md") for place in "dbca"))

    assert {name: each.location for name, each in catalog.written.items()} == {
        "plan": "a/SKILL.md",
        "plan@project": "b/SKILL.md",
        "plan@project-2": "c/SKILL.md",
        "plan@project-3": "d/SKILL.md",
    }


def test_a_function_beside_two_written_skills_leaves_one_marked_and_one_with_its_source() -> None:
    """Both rules at once: two conflicts, two warnings."""
    catalog = catalog_of(function("plan"), skill("plan", "user"), skill("plan", "bundled"))

    assert list(catalog.written) == ["md:plan", "plan@bundled"]
    assert len(catalog.warnings) == 2


def test_copies_with_other_files_beside_them_are_no_copies(tmp_path: Path) -> None:
    """The same SKILL.md may send the model to another text: a conflict, unless all files are the same."""
    roots: dict[Tier, Path] = {tier: tmp_path / tier for tier in TIERS}
    for tier, rates in zip(TIERS, ("19 %", "19 %", "两成"), strict=True):
        home = write_skill(roots[tier], "税率")
        (home / "references").mkdir()
        (home / "references" / "rates.md").write_text(rates)

    catalog = catalog_of(*SkillFolders(roots).scan().skills)

    assert {name: each.tier for name, each in catalog.written.items()} == {
        "税率": "project",
        "税率@bundled": "bundled",
    }
    assert len(catalog.warnings) == 1


@pytest.mark.parametrize(("count", "size"), [(MAX_LISTED, 1), (1, MAX_REFERENCE + 1)])
def test_what_is_too_much_to_compare_is_no_copy(tmp_path: Path, count: int, size: int) -> None:
    """More files than are listed, or one that is larger than can be read: both skills are kept."""
    roots: dict[Tier, Path] = {"project": tmp_path / "one", "user": tmp_path / "two"}
    for root in roots.values():
        home = write_skill(root, "plan")
        for number in range(count):
            (home / f"{number}.md").write_bytes(b"x" * size)

    assert list(catalog_of(*SkillFolders(roots).scan().skills).written) == ["plan", "plan@user"]


def test_a_function_wins_over_a_tool_of_a_server() -> None:
    """The server's tool is left out, with a warning; so is the second of two functions, or of two tools."""
    catalog = catalog_of(
        function("mcp__files__read"),
        function("mcp__files__read", "acme.other"),
        served("files", "read"),
        served("files", "list"),
        served("files", "list"),
    )

    assert [(row.name, row.type) for row in catalog.skills] == [
        ("mcp__files__read", "function"),
        ("mcp__files__list", "mcp"),
    ]
    assert [warning.partition(" is left out: ")[::2] for warning in catalog.warnings] == [
        (
            "The function acme.other:mcp__files__read",
            "acme.tools:mcp__files__read owns the name mcp__files__read.",
        ),
        ("The tool mcp__files__list of MCP server files", "the server files owns the name."),
        ("The tool mcp__files__read of MCP server files", "acme.tools:mcp__files__read owns the name."),
    ]


def test_a_tool_whose_name_no_model_can_call_is_left_out() -> None:
    """The others go on; the warning says which characters a name may have."""
    weather = function("weather").tool
    chinese = replace(weather, spec=replace(weather.spec, name="天气"))

    catalog = catalog_of(
        FunctionSkill(chinese, "acme", "acme:天气"), function("add"), served("files", "read it")
    )

    assert [row.name for row in catalog.skills] == ["add"]
    rule = "cannot be a tool's name: use 1 to 64 letters, digits, _ and -."
    assert catalog.warnings == (
        f"The function acme:天气 is left out: '天气' {rule}",
        f"A tool of MCP server files is left out: 'mcp__files__read it' {rule}",
    )


def test_a_skill_that_allows_nothing_that_is_here_says_so() -> None:
    """A file made for another program names that one's tools; its row tells what comes of it."""
    catalog = catalog_of(
        function("add"), skill("far", allowed=("Read", "Grep")), skill("near", allowed=("a*",))
    )

    diagnostics = {row.name: row.metadata.get("diagnostics") for row in catalog.skills}
    assert diagnostics["near"] is None
    assert diagnostics["far"] == [
        "it allows no tool that there is: after reading it only read_skill can be called"
    ]


def test_switching_something_off_renames_nothing() -> None:
    """A name means the same skill whatever is disabled, so that a stored switch keeps its meaning."""
    parts = (function("plan"), skill("plan", "user"), skill("plan", "bundled"))

    on = catalog_of(*parts)
    off = catalog_of(*parts, disabled=("plan", "md:plan"))

    assert [row.name for row in off.skills] == [row.name for row in on.skills]
    assert [row.name for row in off.skills if row.enabled] == ["plan@bundled"]


PLACES = st.tuples(st.sampled_from(["a", "b", "报告"]), st.sampled_from(TIERS), st.sampled_from("xyz"))
WRITTEN = st.dictionaries(PLACES, st.sampled_from(["one text", "another", ""]), max_size=12).map(
    lambda digests: [
        skill(name, tier, location=f"{place}/{name}/SKILL.md", digest=digest)
        for (name, tier, place), digest in digests.items()
    ]
)


@given(WRITTEN, st.data())
def test_the_order_of_discovery_makes_no_difference(found: list[MarkdownSkill], data: st.DataObject) -> None:
    """The same skills get the same names and warnings. Every text keeps a name, and a tool's name is left to
    it."""
    shuffled = data.draw(st.permutations(found))

    names, warnings = named(found, {"a"})

    assert named(shuffled, {"a"}) == (names, warnings)
    assert "a" not in names
    assert {(each.name, each.digest) for each in names.values()} == {
        (each.name, each.digest) for each in found
    }
