"""What is built of the sources of the page, and what there is without."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gateway import page
from tests.clients.programs import needs_npm
from tests.harness import Client
from tests.loopback import TIMEOUT

pytestmark = [pytest.mark.long, pytest.mark.waits]

ROOT = Path(__file__).resolve().parents[2]


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "web" / "build.py", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * TIMEOUT,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the page."""
    folder = tmp_path_factory.mktemp("built") / "page"
    done = build("--to", str(folder))
    assert done.returncode == 0, done.stderr
    assert done.stdout != ""
    return folder


@needs_npm
def test_two_builds_are_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """Names and contents, wherever they are built, and nothing says where; what the page names is there."""
    done = build("--to", str(tmp_path / "second"))
    assert done.returncode == 0, done.stderr

    first = contents(built)

    named = re.findall(r'(?:src|href)="\./([^"]+)"', first["index.html"].decode())
    assert {Path(each).suffix for each in named} == {".js", ".css", ".svg", ".png", ".webmanifest"}
    assert set(named) - {"manifest.webmanifest"} <= set(first)  # which the gateway makes of its settings
    assert first == contents(tmp_path / "second")
    assert [name for name, content in first.items() if str(ROOT).encode() in content] == []


@needs_npm
def test_a_page_that_is_built_is_not_built_again(built: Path) -> None:
    """The second call has nothing to do while no source changed."""
    made = (built / "index.html").stat().st_mtime_ns

    assert build("--to", str(built)).stdout == ""
    assert (built / "index.html").stat().st_mtime_ns == made


@needs_npm
def test_a_wheel_has_the_page(tmp_path: Path) -> None:
    """Built, and without its sources."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=10 * TIMEOUT)

    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()

    assert "gateway/ui/index.html" in names
    assert any(name.startswith("gateway/ui/assets/") and name.endswith(".js") for name in names)
    assert [name for name in names if name.endswith(".tsx")] == []


@pytest.mark.anyio
async def test_without_a_build_the_page_is_a_line_that_says_what_to_do(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway itself works."""
    monkeypatch.setattr(page, "BUILT", tmp_path)

    answer = await client.get("/")

    assert answer.status_code == 404
    assert answer.text.startswith("The page is not built: `make page` does it")
    assert answer.text.count("\n") == 1
    assert (await client.get("/assets/index.js")).status_code == 404
    assert (await client.get("/healthz")).status_code == 200
