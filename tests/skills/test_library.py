"""The catalog of a running gateway: put together, switched, told."""

from pathlib import Path

import pytest
import structlog

from gateway.storage.decisions import SkillSwitches
from gateway.wiring import look_at_skills
from tests.product import Conflict, NotFound, Settings, ToolContext
from tests.skills.writing import Servers, function, library_of, served, skill_text, write_skill

pytestmark = pytest.mark.anyio


async def test_one_catalog_holds_all_three_types(tmp_path: Path, switches: SkillSwitches) -> None:
    """Functions with read_skill among them, written skills of every tier, and tools of servers."""
    write_skill(tmp_path / "skills", "plan", license="MIT", allowed_tools="add", metadata="{author: 安}")
    write_skill(tmp_path / "mine", "周报", allowed_tools="''")
    library = library_of(
        tmp_path,
        switches,
        function("add"),
        servers=Servers(served("files", "read")),
        folders={"project": tmp_path / "skills", "user": tmp_path / "mine", "bundled": None},
    )
    assert [row.name for row in library.catalog.skills] == ["add", "read_skill"]

    catalog = await library.refresh()

    assert catalog is library.catalog
    assert [(row.type, row.name, row.source, row.location) for row in catalog.skills] == [
        ("function", "add", "acme.tools", "acme.tools:add"),
        ("function", "read_skill", "built-in", "read_skill"),
        ("markdown", "plan", "project", "plan/SKILL.md"),
        ("markdown", "周报", "user", "周报/SKILL.md"),
        ("mcp", "mcp__files__read", "files", "read"),
    ]
    assert [spec.name for spec in catalog.tools.specs()] == ["add", "mcp__files__read", "read_skill"]
    metadata = {row.name: row.metadata for row in catalog.skills}
    assert metadata["add"] == {
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
        "effect": "read_only",
    }
    assert metadata["mcp__files__read"]["effect"] == "effectful"
    assert {**metadata["plan"], "digest": ""} == {
        "digest": "",
        "license": "MIT",
        "allowed_tools": ["add"],
        "metadata": {"author": "安"},
    }
    assert metadata["周报"]["allowed_tools"] == []
    assert len(metadata["周报"]["diagnostics"]) == 1


async def test_nothing_is_made_anew_while_nothing_changes(tmp_path: Path, switches: SkillSwitches) -> None:
    """The same object, and the same tools for the prompt's prefix; a change of any source makes another."""
    home = write_skill(tmp_path / "skills", "plan")
    servers = Servers(served("files", "read"))
    library = library_of(tmp_path, switches, servers=servers)
    first = await library.refresh()
    assert await library.refresh() is first

    (home / "SKILL.md").write_text(skill_text("plan", "Other words."))
    second = await library.refresh()
    assert second is not first
    assert second.tools.specs() == first.tools.specs()

    servers.tools = (*servers.tools, served("files", "write"))
    third = await library.refresh()
    assert "mcp__files__write" in third.tools

    await switches.switch("project/plan/SKILL.md", enabled=False, by="ann", at=1)
    fourth = await library.refresh()
    assert "read_skill" not in fourth.tools
    assert await library.refresh() is fourth


async def test_a_switch_is_kept_and_holds_at_once(tmp_path: Path, switches: SkillSwitches) -> None:
    """Off: listed, but neither told nor callable, also for another process. On again: as before."""
    write_skill(tmp_path / "skills", "plan")
    write_skill(tmp_path / "skills", "周报")
    library = library_of(tmp_path, switches, function("add"))
    before = await library.refresh()

    row = await library.switch("plan", enabled=False, by="ann")
    assert not row.enabled
    await library.switch("add", enabled=False, by="ann")

    for each in (library, library_of(tmp_path, switches, function("add"))):
        catalog = await each.refresh()
        assert [skill.name for skill in catalog.skills if not skill.enabled] == ["add", "plan"]
        assert list(catalog.written) == ["周报"]
        assert "add" not in catalog.tools
        assert "plan" not in catalog.snapshot
        assert "add" not in catalog.snapshot

    assert (await library.switch("plan", enabled=True, by="ann")).enabled
    await library.switch("add", enabled=True, by="ann")
    assert library.catalog.snapshot == before.snapshot


async def test_a_switch_stays_with_its_skill_when_that_is_called_otherwise(
    tmp_path: Path, switches: SkillSwitches
) -> None:
    """The namesake that came first goes: what was off is now called by the bare name, and is off; and what
    was on is on, whatever had the name before."""
    home = write_skill(tmp_path / "skills", "plan", body="The project's.")
    write_skill(tmp_path / "mine", "plan", body="The user's.")
    library = library_of(
        tmp_path, switches, folders={"project": tmp_path / "skills", "user": tmp_path / "mine"}
    )

    async def listed() -> dict[str, bool]:
        rows = (await library.refresh()).skills
        return {row.name: row.enabled for row in rows if row.type == "markdown"}

    assert await listed() == {"plan": True, "plan@user": True}
    await library.switch("plan@user", enabled=False, by="ann")
    home.rename(tmp_path / "away")
    assert await listed() == {"plan": False}

    (tmp_path / "away").rename(home)
    assert await listed() == {"plan": True, "plan@user": False}
    await library.switch("plan", enabled=False, by="ann")
    await library.switch("plan@user", enabled=True, by="ann")
    home.rename(tmp_path / "away")
    assert await listed() == {"plan": True}


async def test_both_folders_may_be_given_from_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a settings file has it, where no shell puts anything in the place of ~."""
    monkeypatch.setenv("HOME", str(tmp_path))
    write_skill(tmp_path / "skills", "plan")
    write_skill(tmp_path / "mine", "周报")
    folders = {"skills_dir": "~/skills", "user_skills_dir": "~/mine", "data_dir": tmp_path}
    settings = Settings.model_validate({**folders, "bundled_skills": False})

    catalog = await look_at_skills(settings, (), tuple, 100_000).refresh()

    assert list(catalog.written) == ["plan", "周报"]


async def test_what_is_not_there_cannot_be_switched(tmp_path: Path, switches: SkillSwitches) -> None:
    """It is not found, and nothing is stored."""
    library = library_of(tmp_path, switches)
    await library.refresh()

    with pytest.raises(NotFound, match="There is no skill plan") as raised:
        await library.switch("plan", enabled=False, by="ann")

    assert raised.value.code == "skill_not_found"
    assert await switches.disabled() == frozenset()


async def test_read_skill_is_on_as_long_as_there_is_something_to_read(
    tmp_path: Path, switches: SkillSwitches
) -> None:
    """Before, it cannot be switched off; without a written skill it is not offered; none is ever hidden."""
    write_skill(tmp_path / "skills", "plan")
    library = library_of(tmp_path, switches)
    await library.refresh()
    with pytest.raises(Conflict, match="needed as long as a written skill is on"):
        await library.switch("read_skill", enabled=False, by="ann")

    await library.switch("plan", enabled=False, by="ann")
    assert "read_skill" not in library.catalog.tools
    await library.switch("read_skill", enabled=False, by="ann")
    await library.switch("plan", enabled=True, by="ann")
    assert "read_skill" in library.catalog.tools


async def test_read_skill_reads_what_the_library_has_now(tmp_path: Path, switches: SkillSwitches) -> None:
    """A turn that began with an older catalog reads from the newest."""
    write_skill(tmp_path / "skills", "plan")
    library = library_of(tmp_path, switches)
    tool = (await library.refresh()).tools.get("read_skill")
    write_skill(tmp_path / "skills", "new", body="New steps.")
    await library.refresh()

    context = ToolContext("s_1", "t_1", "toolu_1", "local", "t_1:toolu_1", lambda _: None)
    assert "New steps." in (await tool.run({"name": "new"}, context)).content


async def test_the_snapshot_file_is_the_very_text_of_the_prompt(
    tmp_path: Path, switches: SkillSwitches
) -> None:
    """Written when it changes, when it is missing and when somebody edited it; else not touched."""
    path = tmp_path / "SKILLS_SNAPSHOT.md"
    write_skill(tmp_path / "skills", "周报", description="写周报。")
    library = library_of(tmp_path, switches)

    catalog = await library.refresh()
    assert path.read_bytes() == catalog.snapshot.encode() != b""
    written = path.stat().st_mtime_ns
    await library.refresh()
    assert path.stat().st_mtime_ns == written

    path.unlink()
    await library.refresh()
    assert path.read_bytes() == catalog.snapshot.encode()
    path.write_text("edited")
    await library.refresh()
    assert path.read_bytes() == catalog.snapshot.encode()
    await library.switch("周报", enabled=False, by="ann")
    assert path.read_bytes() == b""
    assert [each.name for each in tmp_path.glob("SKILLS*")] == [path.name]


async def test_the_folder_of_the_snapshot_need_not_be_there(tmp_path: Path, switches: SkillSwitches) -> None:
    """As that of a replica whose record is elsewhere."""
    library = library_of(tmp_path / "data", switches)
    await library.refresh()
    assert (tmp_path / "data" / "SKILLS_SNAPSHOT.md").read_bytes() == library.catalog.snapshot.encode()


async def test_a_snapshot_that_cannot_be_written_is_told_once(
    tmp_path: Path, switches: SkillSwitches
) -> None:
    """The gateway goes on; when it can be written again, it is."""
    path = tmp_path / "SKILLS_SNAPSHOT.md"
    path.mkdir()
    write_skill(tmp_path / "skills", "plan")
    library = library_of(tmp_path, switches)

    with structlog.testing.capture_logs() as lines:
        await library.refresh()
        await library.refresh()

    assert [line["event"] for line in lines] == ["skills_snapshot_not_written"]
    assert str(tmp_path) not in str(lines)
    path.rmdir()
    await library.refresh()
    assert path.read_text() == library.catalog.snapshot


async def test_a_warning_is_logged_when_it_is_new(tmp_path: Path, switches: SkillSwitches) -> None:
    """Once, and again only after it had gone."""
    write_skill(tmp_path / "skills", "plan")
    library = library_of(tmp_path, switches, function("plan"))

    with structlog.testing.capture_logs() as lines:
        await library.refresh()
        write_skill(tmp_path / "skills", "other")
        await library.refresh()

    assert [(line["event"], line["log_level"]) for line in lines] == [("skill_warning", "warning")]
    assert lines[0]["told"] in library.catalog.warnings
