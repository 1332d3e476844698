"""Functions become skills."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.skills.catalog import build_catalog
from gateway.skills.functions import load_functions
from tests.product import SettingsError

TOOLS = '''
from gateway.tools.function import tool

@tool(effect="read_only", category="天气", examples=["上海的天气"])
async def weather(city: str) -> str:
    """Tells the weather."""
    return city

@tool(effect="read_only")
def air(city: str) -> str:
    """Tells how good the air is."""
    return city

same = weather
no_tool = 7
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory, where modules may stand; what is imported is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def install(folder: Path, **entry_points: str) -> None:
    """Makes a package known, as an installer would, that brings `entry_points`."""
    info = folder / "acme-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    lines = [f"{name} = {value}\n" for name, value in entry_points.items()]
    (info / "entry_points.txt").write_text("[gateway.skills]\n" + "".join(lines))
    sys.path.append(str(folder))


def test_the_tools_of_a_module_are_skills(folder: Path) -> None:
    """Each once, in the order of their names in the module, with where they stand."""
    (folder / "my_tools.py").write_text(TOOLS)

    skills, warnings = load_functions(["my_tools"])

    assert [(skill.tool.spec.name, skill.source, skill.location) for skill in skills] == [
        ("air", "my_tools", "my_tools:air"),
        ("weather", "my_tools", "my_tools:same"),
    ]
    assert (skills[1].tool.category, skills[1].tool.examples) == ("天气", ("上海的天气",))
    assert warnings == []


def test_without_modules_and_packages_there_are_none() -> None:
    """And the path of modules is left as it is."""
    before = [*sys.path]

    assert load_functions([]) == ([], [])
    assert sys.path == before


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (None, "ModuleNotFoundError: No module named 'my_tools'"),
        ("import nothing_like_it", "ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("def (:", "SyntaxError: invalid syntax"),
        ("raise ValueError('first\\nsecond')", "ValueError: first"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        (TOOLS.replace("async def weather", "async def 天气"), "ValueError: '天气' cannot be a tool's name"),
        (TOOLS.replace('"""Tells the weather."""', ""), "TypeError: weather: a tool needs a docstring"),
    ],
)
def test_a_module_that_settings_name_and_that_breaks_stops_the_start(
    folder: Path, source: str | None, why: str
) -> None:
    """With one line that says which module, and why."""
    if source is not None:
        (folder / "my_tools.py").write_text(source)

    with pytest.raises(SettingsError) as caught:
        load_functions(["my_tools"])

    message = caught.value.message
    assert message.startswith(f"GATEWAY_SKILL_MODULES names my_tools, which cannot be imported: {why}")
    assert "\n" not in message


def test_a_module_without_tools_is_a_warning(folder: Path) -> None:
    """Somebody forgot the decorator."""
    (folder / "my_tools.py").write_text("def weather(city: str) -> str: ...")

    assert load_functions(["my_tools"]) == (
        [],
        ["The module my_tools has no tools: decorate its functions with @tool."],
    )


def test_installed_packages_bring_their_tools_along(folder: Path) -> None:
    """An entry point names a module, a tool or a list of tools; what is found twice is there once."""
    (folder / "acme.py").write_text(TOOLS + "pair = [air, weather]")
    install(folder, a="acme:air", b="acme:pair", c="acme")

    skills, warnings = load_functions(["acme"])
    assert [skill.location for skill in skills] == ["acme:air", "acme:same"]

    skills, warnings = load_functions([])
    assert [(skill.source, skill.location) for skill in skills] == [
        ("acme", "acme:air"),
        ("acme", "acme:pair[1]"),
    ]
    assert warnings == []


def test_a_package_that_breaks_is_left_out_with_a_warning(folder: Path) -> None:
    """It stops neither the start nor the others."""
    (folder / "acme.py").write_text(TOOLS)
    (folder / "broken.py").write_text("raise RuntimeError('no licence')")
    install(folder, a="broken", b="acme:no_tool", c="acme:nothing", d="acme:air")

    skills, warnings = load_functions([])

    assert [skill.location for skill in skills] == ["acme:air"]
    assert warnings == [
        "The tools of broken are left out: RuntimeError: no licence",
        "The tools of acme:no_tool are left out: TypeError: it is neither a module nor a tool nor a list of "
        "tools",
        "The tools of acme:nothing are left out: AttributeError: module 'acme' has no attribute 'nothing'",
    ]


def test_of_two_tools_with_one_name_the_first_has_it(folder: Path) -> None:
    """The catalog says which one is left out."""
    (folder / "first.py").write_text(TOOLS)
    (folder / "second.py").write_text(TOOLS)
    skills, _ = load_functions(["first", "second"])

    catalog = build_catalog(skills, (), (), (), share_tokens=1000)

    rows = {skill.name: skill.location for skill in catalog.skills if skill.type == "function"}
    assert rows == {"air": "first:air", "weather": "first:same"}
    assert "The function second:air is left out: first:air owns the name air." in catalog.warnings
