"""The server as a process: what it says when it starts, and how it stops."""

import re
import signal
import subprocess
from pathlib import Path

import orjson
import psycopg
import pytest

from gateway.client import GatewayClient
from gateway.wiring import open_model
from tests.cli.calling import Command
from tests.local_endpoint import llama, local_endpoint
from tests.postgres import new_database, on_postgres
from tests.product import SettingsError, load_settings
from tests.running import TIMEOUT, clean_environment, gateway_command, gateway_process, run
from tests.running import command as command_line

KEY = "0123456789abcdef"


def test_the_banner_says_where_everything_is(tmp_path: Path) -> None:
    """Page, API, metrics, data folder, model and access are named, and the curl to copy streams a turn."""
    with gateway_command(tmp_path) as running:
        output = running.output.read_text()
        curl = output.partition("Try it:\n")[2].strip()
        streamed = subprocess.run(
            curl, shell=True, capture_output=True, text=True, timeout=TIMEOUT, check=True
        ).stdout

        for line in (
            f"API      {running.url}/openapi.json",
            f"Metrics  {running.url}/metrics",
            f"Data     {tmp_path / 'data'}",
            "Model    DEMO ",
            "Access   local user, no key needed",
        ):
            assert line in output
        assert running.stop() == 0
    assert "\x1b" not in output
    assert streamed.count("event: turn_start\n") == 1
    assert streamed.count("event: done\n") == 1


def test_production_names_its_model_and_counts_its_keys(
    tmp_path: Path, demo_url: str, command: Command
) -> None:
    """`gateway serve` says which model at which endpoint, and how many keys there are."""
    keys = f"ada:{KEY},bob:{KEY}x"
    with gateway_command(
        tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url, GATEWAY_MODEL="some-model", GATEWAY_API_KEYS=keys
    ) as running:
        output = running.output.read_text()
        asked = command("chat", "/say hello", "--url", running.url, GATEWAY_KEY=KEY)
        refused = command("chat", "/say hello", "--url", running.url)

    assert f"Model    some-model at {demo_url}" in output
    assert "Access   2 API keys" in output
    assert "Bearer YOUR_KEY" in output
    assert KEY not in output
    assert asked.out == "hello\n"
    assert refused.code == 1
    assert "--key" in refused.err


def test_the_model_that_an_endpoint_lists_is_the_one_of_the_banner(tmp_path: Path) -> None:
    """No setting names it: what it reads stands beside it. An endpoint that is not up is named as such."""
    (tmp_path / "up").mkdir()
    with (
        local_endpoint(llama("gemma3-270m", n_ctx=8192)) as url,
        gateway_command(tmp_path / "up", "serve", ANTHROPIC_BASE_URL=url) as running,
    ):
        up = running.output.read_text()
    (tmp_path / "down").mkdir()
    with gateway_command(tmp_path / "down", "serve", ANTHROPIC_BASE_URL=url) as running:
        down = running.output.read_text()

    assert f"Model    gemma3-270m at {url}, which reads 8,192 tokens" in up
    assert f"Model    the one that {url} lists; it has not said yet which" in down


def test_a_setting_that_is_not_sent_is_one_line_at_the_start(tmp_path: Path) -> None:
    """A temperature beside a version of the API that takes none: the gateway starts, and says so once."""
    with gateway_process(tmp_path, GATEWAY_TEMPERATURE="0.5") as running:
        output = running.output.read_text()

    assert output.count("GATEWAY_TEMPERATURE is not sent") == 1


def test_a_budget_that_no_answer_has_room_for_is_refused_at_the_start(tmp_path: Path) -> None:
    """In one sentence that names both settings; the doctor says it as well."""
    with pytest.raises(SettingsError, match=r"^GATEWAY_THINKING_BUDGET \(8192\) must be below GATEWAY_MAX_T"):
        open_model(load_settings(thinking_budget=8192))


def test_the_banner_masks_what_is_secret_in_an_address(tmp_path: Path, demo_url: str) -> None:
    """A name and password in the address of the endpoint are not shown."""
    with gateway_process(
        tmp_path, "serve", ANTHROPIC_BASE_URL=demo_url.replace("://", "://me:hidden@")
    ) as running:
        output = running.output.read_text()

    assert "hidden" not in output
    assert f" at {demo_url.replace('://', '://********@')}" in output


def test_a_locked_data_folder_gets_one_clear_line(tmp_path: Path, command: Command) -> None:
    """A second server on the same data is refused in one line, and so is a migration."""
    with gateway_process(tmp_path):
        second = command("dev", "--port", "0")
        migration = command("migrate")

    assert (second.code, migration.code) == (1, 1)
    for refused in (second, migration):
        assert f"The data folder {tmp_path / 'data'} is in use by" in refused.err
        assert refused.err.count("\n") == 1


def test_migrate_tells_from_where_to_where(command: Command) -> None:
    """The first run makes both databases, the second finds nothing to do."""
    first, second = command("migrate"), command("migrate")

    assert (first.code, second.code) == (0, 0)
    for name, line, known in zip(
        ("gateway", "memory"), first.out.splitlines(), second.out.splitlines(), strict=True
    ):
        assert line.startswith(f"data/{name}.db: empty -> ")
        assert known.startswith(f"data/{name}.db is at ")
        assert known.endswith("already: nothing to do.")


@on_postgres
def test_migrate_makes_the_tables_of_a_server(command: Command) -> None:
    """As it does the files, also while gateways use them. Skills that are switched off are read there."""
    url = new_database("template0")
    with psycopg.connect(url, application_name="chat-gateway"):
        first, second = (command("migrate", GATEWAY_DATABASE_URL=url) for _ in range(2))
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO skill_switches VALUES ('calculate', false, 'ann', 1)")
    listed = command("skills", "list", "--json", GATEWAY_DATABASE_URL=url, GATEWAY_MEMORY="false")

    assert (first.code, second.code, listed.code) == (0, 0, 0), first.err + second.err + listed.err
    for line, known in zip(first.out.splitlines(), second.out.splitlines(), strict=True):
        assert re.fullmatch(r"The schema of (sessions|memories): empty -> \d{4}", line)
        assert known.endswith("already: nothing to do.")
    off = [row["name"] for row in orjson.loads(listed.out)["skills"] if not row["enabled"]]
    assert off == ["calculate"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_running_turn_is_finished_before_the_server_stops(how: signal.Signals, tmp_path: Path) -> None:
    """On SIGTERM and Ctrl-C the reader gets the turn to its done, then the server ends with exit code 0."""
    with gateway_process(tmp_path) as running, GatewayClient(running.url) as client:
        turn = client.start_turn(client.create_session()["id"], "/pieces 30 /pace 20")
        frames = client.follow_session(turn["session_id"], after=turn["seq"], turn_id=turn["turn_id"])
        seen = [next(frames) for _ in range(4)]
        running.send(how)
        seen += frames

        assert running.ended() == 0
    assert seen[-1].load()["data"]["status"] == "completed"
    assert [frame.event for frame in seen].count("text") == 30


def test_a_turn_that_outlasts_the_grace_goes_on_after_the_restart(tmp_path: Path) -> None:
    """With no grace the server stops at once, and the turn's reader finds its end at the next one."""
    with gateway_process(tmp_path, GATEWAY_SHUTDOWN_GRACE="0") as first, GatewayClient(first.url) as client:
        turn = client.start_turn(client.create_session()["id"], "/pieces 100 /pace 10")
        frames = client.follow_session(turn["session_id"], after=turn["seq"], turn_id=turn["turn_id"])
        cursor = [next(frames) for _ in range(4)][-1].seq
        assert first.stop() == 0
        frames.close()
    with gateway_process(tmp_path) as second, GatewayClient(second.url) as client:
        rest = list(client.follow_session(turn["session_id"], after=cursor or 0, turn_id=turn["turn_id"]))

    seqs = [frame.seq for frame in rest]
    assert seqs == list(range((cursor or 0) + 1, (cursor or 0) + 1 + len(seqs)))
    assert [frame.event for frame in rest].count("done") == 1
    assert rest[-1].event == "done"


def test_a_second_control_c_stops_at_once(tmp_path: Path) -> None:
    """Whoever presses Ctrl-C twice does not wait for the turn that runs."""
    with (
        gateway_process(tmp_path, GATEWAY_SHUTDOWN_GRACE="600") as running,
        GatewayClient(running.url) as client,
    ):
        turn = client.start_turn(client.create_session()["id"], "/pieces 60000 /pace 50")
        frames = client.follow_session(turn["session_id"], after=turn["seq"], turn_id=turn["turn_id"])
        next(frames)
        running.send(signal.SIGINT)
        while "draining" not in running.output.read_text():
            next(frames)
        running.send(signal.SIGINT)

        assert running.ended() == 130
        frames.close()


def test_python_m_gateway_is_the_same_command(tmp_path: Path) -> None:
    """`python -m gateway` and the console entry run the same main."""
    shown = subprocess.run(
        command_line("--version"),
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert shown.stdout == run(tmp_path, "--version").stdout


def test_a_setting_without_effect_is_told_at_the_start(tmp_path: Path) -> None:
    """One line of the log, and the server starts all the same."""
    with gateway_command(tmp_path, GATEWAY_TRACE_SLOW_SECONDS="9") as running:
        assert running.stop() == 0
        output = running.output.read_text()

    assert "setting_without_effect" in output
    assert "GATEWAY_TRACE_SLOW_SECONDS has no effect any more: a turn is slow after 30 seconds." in output
