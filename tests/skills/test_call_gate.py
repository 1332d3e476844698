"""Read, then act: what the written skills forbid."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.skills.call_gate import refusal
from tests.skills.writing import catalog_of, function, served, skill

CATALOG = catalog_of(
    function("calculate"),
    function("deploy_site"),
    function("report"),
    function("gone"),
    served("files", "read"),
    skill("free"),
    skill("数学", allowed=("calc*",)),
    skill("deploy", allowed=("deploy_*", "mcp__*")),
    skill("silent", allowed=()),
    skill("report"),
    skill("off"),
    skill("free", "bundled"),
    disabled=("off", "gone"),
)


def refused(tool: str, *active: str, only: tuple[str, ...] = ()) -> str:
    """Why, after these skills were read as they stand in the catalog."""
    read = [(name, CATALOG.written[name].allowed_tools) for name in active]
    return refusal(tool, CATALOG, read, only) or ""


def test_tools_are_free_as_long_as_no_skill_says_otherwise() -> None:
    """Nothing read, or a skill that names no tools: every tool may be called."""
    for tool in CATALOG.tools.specs():
        assert refused(tool.name) == refused(tool.name, "free") == ""


@pytest.mark.parametrize("name", ["free", "md:free", "free@project", "数学"])
def test_a_written_skill_is_no_tool(name: str) -> None:
    """Called like one, it is refused with what to do instead."""
    shown = name if name == "数学" else "free"

    assert refused(name).startswith(
        f"{shown} is a written skill, not a tool: read it with read_skill(name='{shown}') first"
    )


def test_a_function_that_shares_its_name_with_a_written_skill_may_be_called() -> None:
    """The bare name is the function's; the marked one is the procedure's."""
    assert refused("report") == ""
    assert "read_skill(name='md:report')" in refused("md:report")


@pytest.mark.parametrize("name", ["off", "gone"])
def test_what_is_switched_off_says_so(name: str) -> None:
    """Written skill or function."""
    assert refused(name) == f"{name} is switched off, so it cannot be used."


def test_an_unknown_name_is_left_to_the_registry() -> None:
    """It has the better answer: the names that exist."""
    assert refused("weather") == refused("weather", "free") == ""


def test_an_active_skill_narrows_the_tools_to_those_it_names() -> None:
    """By glob, with the reason; read_skill may always be called."""
    assert refused("calculate", "数学") == ""
    assert refused("deploy_site", "数学") == (
        "The skill 数学, which this turn follows, does not allow deploy_site. It allows: calc*."
    )
    assert "It allows: none but read_skill." in refused("calculate", "silent")
    assert refused("read_skill", "silent") == ""


def test_several_active_skills_narrow_together() -> None:
    """A tool must be allowed by all of them that name any."""
    assert refused("mcp__files__read", "deploy", "free") == ""
    assert "数学" in refused("mcp__files__read", "deploy", "数学")
    assert "deploy" in refused("calculate", "数学", "deploy")


def test_a_tool_held_back_needs_an_active_skill_that_allows_it() -> None:
    """The reason names the skills that would; where there is none, it says so."""
    only = ("deploy_*", "calculate", "report")

    assert refused("deploy_site", only=only) == (
        "deploy_site may be called only while a skill that allows it is active. Read one with read_skill "
        "first: deploy."
    )
    assert refused("deploy_site", "deploy", only=only) == ""
    assert refused("deploy_site", "free", only=only) != ""
    assert refused("calculate", "deploy", only=only).endswith("first: 数学.")
    assert refused("report", only=only).endswith("and none here does.")
    assert refused("mcp__files__read", only=only) == ""


@pytest.mark.parametrize("name", ["数学", "free", "off", "never-was"])
def test_what_was_told_when_a_skill_was_read_holds(name: str) -> None:
    """Whatever the catalog says of it now: another list, none, switched off, or no such skill."""

    def reason(tools: list[str] | None, *only: str) -> str | None:
        return refusal("calculate", CATALOG, [(name, tools)], only)

    assert reason(["calc*"]) is None
    assert reason(None) is None
    assert reason(["other"]) == (
        f"The skill {name}, which this turn follows, does not allow calculate. It allows: other."
    )
    assert reason(["calc*"], "calculate") is None
    assert reason(None, "calculate") is not None


GLOBS = st.lists(st.sampled_from(["a", "b", "c", "*", "a*", "[ab]", "?b"]), max_size=3).map(tuple)
TOOLS = ("a", "b", "ab", "c")


@given(st.lists(st.none() | GLOBS, min_size=1, max_size=5), st.data(), GLOBS)
def test_reading_one_more_skill_never_allows_more_than_it_was_held_back_for(
    allowed: list[tuple[str, ...] | None], data: st.DataObject, only: tuple[str, ...]
) -> None:
    """Whatever is refused stays refused, unless it waited for exactly this skill."""
    skills = [skill(f"s{number}", allowed=globs) for number, globs in enumerate(allowed)]
    catalog = catalog_of(*skills, *map(function, TOOLS))
    known = [(each.name, each.allowed_tools) for each in skills]
    active = data.draw(st.lists(st.sampled_from([*known, ("gone", ("a",))]), unique=True))
    read = data.draw(st.sampled_from(skills))

    for tool in TOOLS:
        before = refusal(tool, catalog, active, only)
        after = refusal(tool, catalog, [*active, (read.name, read.allowed_tools)], only)
        waited = any(fnmatchcase(tool, glob) for glob in only)
        lets = any(fnmatchcase(tool, glob) for glob in read.allowed_tools or ())
        assert before is None or after is not None or (waited and lets)
