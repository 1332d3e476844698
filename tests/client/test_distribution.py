"""The distribution chat-gateway-client: the client without the server, with httpx2 and nothing else."""

import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from anyio import run_process
from packaging.requirements import Requirement

from gateway import __version__
from tests.harness import running_gateway
from tests.loopback import TIMEOUT
from tests.product import Settings

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "gateway" / "client"
TURN = """
import asyncio, sys
from chat_gateway_client import AsyncGatewayClient, GatewayClient, RequestRefused

url = sys.argv[1]
with GatewayClient(url) as client:
    session = client.create_session()["id"]
    turn = client.start_turn(session, "/say from a wheel")
    frames = client.follow_session(session, after=turn["seq"], turn_id=turn["turn_id"])
    print("".join(frame.load()["data"]["text"] for frame in frames if frame.event == "text"))
    try:
        client.session("s_none")
    except RequestRefused as refused:
        print(refused.code)

async def again():
    async with AsyncGatewayClient(url) as client:
        print(len((await client.sessions())["sessions"]))

asyncio.run(again())
loaded = {name.partition(".")[0] for name in sys.modules}
print(sorted(loaded & {"gateway", "orjson", "pydantic", "starlette"}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(made)]
    folder = SOURCES / "distribution"
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=10 * TIMEOUT)
    return next(made.glob("*.whl"))


def needed(name: str, found: set[str]) -> set[str]:
    """Adds the distributions that `name` needs on this machine, itself among them."""
    if name not in found:
        found.add(name)
        for each in map(Requirement, metadata.requires(name) or ()):
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                needed(each.name, found)
    return found


async def test_a_program_chats_where_only_the_client_and_httpx2_are(
    wheel: Path, settings: Settings, tmp_path: Path
) -> None:
    """No site-packages: what the client needs is linked beside it, one distribution at a time."""
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path)
    for name in needed("httpx2", set()):
        for file in metadata.files(name) or ():
            top = file.parts[0]
            if top != ".." and not (link := tmp_path / top).exists():
                link.symlink_to(Path(str(metadata.distribution(name).locate_file(top))))

    async with running_gateway(settings) as client:
        script = ["import sys", f"sys.path.insert(0, {str(tmp_path)!r})", TURN]
        command = [sys.executable, "-I", "-S", "-c", "\n".join(script), str(client.http.base_url)]
        ran = await run_process(command, check=False)

    assert ran.stderr.decode() == ""
    assert ran.stdout.decode().splitlines() == ["from a wheel", "session_not_found", "1", "[]"]


def test_the_wheel_has_all_of_the_client_under_the_version_of_the_gateway(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
        about = next(name for name in names if name.endswith("/METADATA"))
        told = packed.read(about).decode()

    assert {f"chat_gateway_client/client/{file.name}" for file in SOURCES.glob("*.py")} <= names
    assert f"\nVersion: {__version__}\n" in told
    assert re.findall(r"^Requires-Dist: (.*)$", told, re.MULTILINE) == ["httpx2<3,>=2.16"]
