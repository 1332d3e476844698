"""The commands of docs/scaling.md start what it says, without Docker, and users are served by that."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.page import BUILT
from tests.forked_program import gateway_program
from tests.harness import TIMEOUT, client_at, events, text_of, the
from tests.loopback import free_port
from tests.postgres import USER, needs_postgres, program
from tests.running import ROOT, clean_environment

PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"

pytestmark = [
    pytest.mark.waits,
    *needs_postgres,
    pytest.mark.anyio,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("nginx", path=PATH) is None, reason="nginx is not installed"),
]

PORTS = ("5433", "9000", "9001", "8000", "8001", "8002", "8003")
# Of the system's own PostgreSQL, which root runs as its user: in the test it is in the test's folder.
SYSTEM = "/var/lib/postgresql"


def commands(page: str, title: str, number: int = 0) -> str:
    """A block of commands below a title, by default the first."""
    text = (ROOT / page).read_text()
    return re.findall(r"```sh\n(.*?)```", text[text.index(f"\n## {title}\n") :], re.DOTALL)[number]


@pytest.fixture
def ports() -> dict[str, str]:
    """Others than those of the page, which somebody may have."""
    return {each: str(free_port()) for each in PORTS}


def on(ports: dict[str, str], text: str) -> str:
    """The text with those ports."""
    text = text.replace("--port 800$n", '--port "${port[$n]}"')
    return re.sub(r"\b({})\b".format("|".join(ports)), lambda found: ports[found[0]], text)


@pytest.fixture
def folder() -> Generator[Path]:
    """One that another user may enter."""
    with tempfile.TemporaryDirectory(prefix="scaling-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "data").mkdir(mode=0o700)  # as a gateway has made it
        (folder / "system").mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder / "system", USER)
        yield folder


@pytest.fixture
def commands_of_the_gateway(folder: Path) -> Generator[Path]:
    """The folder of the `gateway` command, whose processes did not have to import everything first."""
    (folder / "bin").mkdir()
    with gateway_program(folder / "bin") as gateway:
        yield gateway.parent


@pytest.fixture
def started(folder: Path, ports: dict[str, str], commands_of_the_gateway: Path) -> Generator[str]:
    """The address, once the commands have come to their end."""
    script, installing = commands("docs/scaling.md", "Without Docker"), "pip install 'moto[server]'\n"
    assert installing in script
    replicas = " ".join(ports[name] for name in PORTS[4:])
    script = f"port=(none {replicas})\n{on(ports, script.replace(installing, ''))}"
    script = script.replace(SYSTEM, f"{folder}/system")
    path = f"{commands_of_the_gateway}:{PATH}:{Path(program('initdb')).parent}"
    environment = {**clean_environment(), "PATH": path}
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            ["bash", "-euc", script],
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        assert process.wait(TIMEOUT) == 0, (folder / "said").read_text()
        yield f"http://127.0.0.1:{ports['8000']}"
    finally:
        with suppress(OSError):
            os.kill(int((folder / "data" / "nginx.pid").read_text()), signal.SIGTERM)
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in (*folder.glob("data/postgres/postmaster.pid"), *folder.glob("system/*/postmaster.pid")):
            os.kill(int(pid.read_text().split()[0]), signal.SIGQUIT)


async def test_what_the_commands_start_serves_the_page_and_outlives_a_replica(
    started: str, ports: dict[str, str]
) -> None:
    """Through the proxy: a script of the page, as a browser asks for it, README's question, a message that
    is longer than a buffer; and a stream goes on with every byte when its turn's replica is killed."""
    asking = on(ports, commands("README.md", "Run it", 1))
    answer = await asyncio.to_thread(
        subprocess.run, asking, shell=True, capture_output=True, text=True, check=True, timeout=TIMEOUT
    )
    assert "391" in answer.stdout
    assert "event: done" in answer.stdout
    async with client_at(started) as client, asyncio.timeout(TIMEOUT):
        scripts = sorted((BUILT / "assets").glob("index-*.js"))  # none, where the page cannot be built
        script = f"/assets/{scripts[0].name if scripts else 'index.js'}"
        asked = await client.http.get(script, headers={"origin": started, "sec-fetch-mode": "cors"})
        assert asked.status_code == (200 if scripts else 404)
        assert the(await client.chat(f"/say hi\n{'long ' * 20_000}"), "done")["status"] == "completed"
        assert (await client.get("/readyz")).json()["replicas"] == {"alive": 3, "differ": []}

        session = await client.session()
        turn = (await client.begin(session, "/pieces 60 /pace 20"))["turn_id"]
        path, killed = f"/api/sessions/{session}/events?turn_id={turn}", False
        seen = list[dict[str, Any]]()
        while not seen or seen[-1]["type"] != "done":
            after = {"last-event-id": str(seen[-1]["seq"])} if seen else {}
            with suppress(httpx2.HTTPError):
                async with client.frames(path, headers=after) as frames:
                    async for frame in frames:
                        seen += events([frame])
                        if len(seen) == 20 and not killed:
                            killed = True
                            os.kill(await asyncio.to_thread(owner, ports, session), signal.SIGKILL)
        assert seen == events(await client.all_frames(f"{path}&follow=0"))

    assert [event["seq"] for event in seen] == list(range(1, len(seen) + 1))
    assert "059" in text_of(seen)


def owner(ports: dict[str, str], session: str) -> int:
    """The process that runs the turn of a session, as the page finds it."""
    asking = on(ports, commands("docs/scaling.md", "Without Docker", 1))
    path = f"{PATH}:{Path(program('initdb')).parent}"
    told = subprocess.check_output(asking, shell=True, text=True, env={**os.environ, "PATH": path})
    (pid,) = re.findall(rf"^{session}\|.*-(\d+)_\w+$", told, re.MULTILINE)
    return int(pid)
