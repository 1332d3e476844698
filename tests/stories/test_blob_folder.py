"""A folder of blobs that cannot be written."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from gateway.wiring import storage as wiring
from tests.harness import TIMEOUT, running_gateway, the
from tests.product import Settings

pytestmark = pytest.mark.anyio

CAN_MOUNT = (
    shutil.which("unshare") is not None
    and subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0
)
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


async def test_a_folder_that_cannot_be_written_is_told_until_it_can(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By /readyz, which still answers 200, and in the log with the folder; turns are taken meanwhile."""
    monkeypatch.setattr(wiring, "FOLDER_PAUSE", 0.02)
    folder = tmp_path / "照片 blobs"
    elsewhere = settings.model_copy(update={"blob_url": f"file://{quote(str(folder))}"})
    async with running_gateway(elsewhere) as client, asyncio.timeout(TIMEOUT):
        assert "failing_tasks" not in (await client.get("/readyz")).json()
        folder.rmdir()
        folder.write_text("a file in its place")
        while not (failing := (ready := await client.get("/readyz")).json().get("failing_tasks")):
            await asyncio.sleep(0.02)
        answer = await client.chat("/say over")

    assert (ready.status_code, failing["blob store"]["why"]) == (200, "blobs_not_writable")
    assert the(answer, "done")["status"] == "completed"
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    told = next(line for line in lines if line["event"] == "blob_store_unusable")
    assert (told["store"], told["error"]) == (str(folder), "The folder of blobs cannot be written.")


@pytest.mark.skipif(not CAN_MOUNT, reason="nobody may mount a folder here")
def test_the_doctor_names_a_folder_on_a_mount_that_is_read_only(tmp_path: Path) -> None:
    """With the reason of the system; where it can be written it says so."""
    folder = tmp_path / "blobs"
    folder.mkdir()
    command = (sys.executable, "-m", "gateway", "doctor")
    environment = {"GATEWAY_BLOB_URL": f"file://{folder}", "GATEWAY_DATA_DIR": str(tmp_path / "data")}

    def said(*before: str) -> tuple[int, str]:
        done = subprocess.run(
            [*before, *command], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    code, good = said()
    assert (code, f"✓ blobs: file://{folder} was written, read and cleared" in good) == (0, True)
    code, bad = said("unshare", "-rm", "sh", "-c", READ_ONLY, "sh", str(folder))
    assert code == 1
    assert f"✗ blobs: file://{folder} cannot be used: " in bad
    assert "Read-only file system" in bad
    assert list(folder.iterdir()) == []
