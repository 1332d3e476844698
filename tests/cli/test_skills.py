"""Skills on the command line: listed, and told as the prompt tells them."""

import json
import sqlite3
from pathlib import Path

import httpx2
import pytest

from gateway import wiring
from tests.cli.calling import Command
from tests.mcp_servers.serving import program
from tests.product import load_settings, now_ms
from tests.running import Running
from tests.skills.writing import write_skill


def rows(shown: str) -> dict[str, list[str]]:
    """The table's cells but the description, by name."""
    return {(cells := line.split())[0]: cells[1:4] for line in shown.splitlines()[1:]}


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_list_shows_every_skill_with_its_type_source_and_state(command: Command, tmp_path: Path) -> None:
    """Functions, bundled and project skills stand in one table."""
    write_skill(tmp_path / "skills", "核对发票", description="Checks an invoice. 核对发票。")

    shown = command("skills", "list")

    assert shown.code == 0
    assert rows(shown.out)["calculate"] == ["function", "built-in", "on"]
    assert rows(shown.out)["hand-over"] == ["markdown", "bundled", "on"]
    assert rows(shown.out)["核对发票"] == ["markdown", "project", "on"]
    assert "Checks an invoice. 核对发票。" in shown.out
    assert shown.err == ""


def test_the_list_can_be_of_one_type(command: Command) -> None:
    """`--type` leaves the others out, and a type that there is not is refused with those there are."""
    assert {cells[0] for cells in rows(command("skills", "list", "--type", "markdown").out).values()} == {
        "markdown"
    }
    refused = command("skills", "list", "--type", "tool")
    assert refused.code == 2
    assert "'function', 'markdown', 'mcp'" in refused.err


def test_the_list_is_what_a_gateway_returns(
    command: Command, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--json` on the folders of a running gateway, which has them locked, is what GET /api/skills returns;
    a skill that was switched off there is off here."""
    monkeypatch.setenv("GATEWAY_DATA_DIR", str(running.output.parent / "data"))
    with httpx2.Client(base_url=running.url, trust_env=False) as http:
        http.patch("/api/skills/hand-over", json={"enabled": False}).raise_for_status()
        try:
            answer = http.get("/api/skills").json()
            shown = command("skills", "list", "--json")
            table = rows(command("skills", "list").out)
        finally:
            http.patch("/api/skills/hand-over", json={"enabled": True}).raise_for_status()

    assert shown.code == 0
    assert json.loads(shown.out) == answer
    assert table["hand-over"] == ["markdown", "bundled", "off"]


@pytest.mark.anyio
async def test_a_database_that_nobody_has_open_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switches are read without a lock, and without a file more or less than before."""
    monkeypatch.chdir(tmp_path)
    settings = load_settings(data_dir=tmp_path / "数据 100%?#")
    async with wiring.open_storage(settings) as storage:
        catalog = await wiring.look_at_skills(settings, (), tuple, 200_000).refresh()
        skill = catalog.find("hand-over")
        assert skill is not None
        await storage.switches.switch(skill.switched_as, enabled=False, by="ada", at=now_ms())
    before = contents(settings.data_dir)

    catalog = await wiring.look_at_skills(settings, (), tuple, 200_000).refresh()

    assert [skill.name for skill in catalog.skills if not skill.enabled] == ["hand-over"]
    assert contents(settings.data_dir) == before


def test_without_switches_everything_is_on(command: Command, tmp_path: Path) -> None:
    """A folder without a database stays without one; an older database without that table is no trouble."""
    assert command("skills", "list").code == 0
    assert not (tmp_path / "data").exists()

    (tmp_path / "data").mkdir()
    sqlite3.connect(tmp_path / "data" / "gateway.db").close()
    with sqlite3.connect(tmp_path / "data" / "gateway.db") as database:
        database.execute("CREATE TABLE turns (id TEXT)")
    database.close()
    assert "off" not in {cells[2] for cells in rows(command("skills", "list").out).values()}


def test_a_file_that_is_no_database_is_told(command: Command, tmp_path: Path) -> None:
    """What cannot be read is named in one line."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "gateway.db").write_text("这不是数据库" * 100)

    shown = command("skills", "list")

    assert shown.code == 1
    assert shown.err == "gateway: The database data/gateway.db cannot be read: file is not a database.\n"


def test_what_cannot_be_used_is_told_on_stderr(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken file, a conflict of names and a module without tools are warnings; the others are listed."""
    write_skill(tmp_path / "skills", "calculate")
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").write_text("没有 front matter")
    monkeypatch.setenv("GATEWAY_SKILL_MODULES", "tests.cli.calling")

    shown = command("skills", "list")

    assert shown.code == 0
    assert "md:calculate" in rows(shown.out)
    assert len(shown.err.splitlines()) == 3
    assert "! The module tests.cli.calling has no tools: decorate its functions with @tool.\n" in shown.err
    assert (
        "! project skills: broken/SKILL.md cannot be used: it does not begin with front matter" in shown.err
    )
    assert "! The project skill calculate/SKILL.md is called md:calculate" in shown.err


def test_a_description_cannot_steer_the_terminal(command: Command, tmp_path: Path) -> None:
    """Control characters of a file are not printed, and its markup is text."""
    write_skill(tmp_path / "skills", "sly", description='"[red]sly[/] \\x1b[2J here"')

    assert "[red]sly[/] [2J here" in command("skills", "list").out


def test_mcp_servers_are_started_only_when_asked(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --mcp their tools are missing, which is told; with it those of the servers that are there are
    listed, and why another is not."""
    server = program("scripted.py", "plain")
    servers = {
        "shop": {"command": server.command, "args": server.args},
        "gone": {"command": "there-is-no-such-program"},
    }
    monkeypatch.setenv("GATEWAY_MCP_SERVERS", json.dumps(servers))

    without = command("skills", "list", "--type", "mcp")
    started = command("skills", "list", "--type", "mcp", "--mcp")

    assert (without.code, rows(without.out)) == (0, {})
    assert without.err == "! Without the tools of shop, gone: --mcp starts these servers.\n"
    assert rows(started.out) == {
        "mcp__shop__echo": ["mcp", "shop", "on"],
        "mcp__shop__pid": ["mcp", "shop", "on"],
    }
    connecting, warning = started.err.splitlines()
    assert connecting == "Connecting to MCP servers: gone, shop …"
    assert warning.startswith("! MCP server gone: its program cannot be started")


def test_the_snapshot_is_the_file_of_a_gateway(
    command: Command, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte what the running gateway wrote and tells the model; nothing else is on stdout."""
    folder = running.output.parent / "data"
    monkeypatch.setenv("GATEWAY_DATA_DIR", str(folder))

    shown = command("skills", "snapshot")

    assert shown.code == 0
    assert shown.out == (folder / "SKILLS_SNAPSHOT.md").read_text()
    assert "Type markdown, in bundled/NAME/SKILL.md:\n- " in shown.out
    assert shown.err.startswith("About ")


def test_the_snapshot_of_nothing_says_so(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is printed, the reason is told, and no file is written."""
    monkeypatch.setenv("GATEWAY_BUNDLED_SKILLS", "false")
    monkeypatch.setenv("GATEWAY_SKILLS_IN_PROMPT", "false")

    shown = command("skills", "snapshot")

    assert (shown.code, shown.out) == (0, "")
    assert shown.err.startswith("It is empty: no written skill is on")
    assert "GATEWAY_SKILLS_IN_PROMPT is false" in shown.err
    assert list(tmp_path.iterdir()) == []
