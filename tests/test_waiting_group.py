"""Files that wait are run by processes of their own, beside those that compute."""

import os
import subprocess
import sys
from pathlib import Path

from tests.loopback import TIMEOUT

ROOT = Path(__file__).resolve().parents[1]
HOOKS = """
from tests.waiting_group import OPTION, check_groups, distribute, is_left_to_others

def pytest_addoption(parser):
    parser.addoption(OPTION, type=int, default=0)

def pytest_configure(config):
    config.addinivalue_line("markers", "waits")
    distribute(config)

def pytest_ignore_collect(collection_path, config):
    return is_left_to_others(collection_path, config) or None

def pytest_collection_modifyitems(items):
    check_groups(items)
"""
COMPUTES = """
import os
from pathlib import Path

def note():
    with Path(__file__).with_suffix(".pids").open("a") as file:
        file.write(f"{os.getpid()}\\n")

note()

def test_one():
    note()

def test_two():
    note()
"""
WAITS = "import pytest\n\npytestmark = [pytest.mark.waits]\n" + COMPUTES
DIES = (
    WAITS
    + """
def test_three():
    if (marked := Path(__file__).with_suffix(".died")).exists():
        return
    marked.touch()
    os._exit(1)
"""
)


def run(folder: Path, *arguments: str, **files: str) -> tuple[int, str, dict[str, list[str]]]:
    """How pytest ended, its last line, and by file the processes that imported it and ran its tests."""
    (folder / "conftest.py").write_text(HOOKS)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    options = ("-p", "xdist", "--dist", "loadfile", "-n", "1", "--waiting-processes", "2")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", folder, *options, *(arguments or (str(folder),))],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    noted = {
        path.stem.removeprefix("test_"): path.read_text().split() for path in sorted(folder.glob("*.pids"))
    }
    return done.returncode, done.stdout.strip().split("\n")[-1] + done.stderr, noted


def test_files_that_wait_have_processes_of_their_own(tmp_path: Path) -> None:
    """One process imports what computes and runs it, two others what waits. One that dies is replaced: its
    test is told as failed, and is run again with the rest of its file."""
    files = {"sum": COMPUTES, "product": COMPUTES, "clock": WAITS, "server": DIES}
    code, told, noted = run(tmp_path, **files)

    assert code == 1
    assert "1 failed, 9 passed" in told
    assert len({*noted["sum"], *noted["product"]}) == 1
    assert len({*noted["clock"], *noted["server"]}) == 3
    assert {noted["sum"][0]} & {*noted["clock"], *noted["server"]} == set()


def test_where_a_file_is_named_it_is_run_whatever_its_group(tmp_path: Path) -> None:
    """By the processes for those that compute."""
    code, told, noted = run(tmp_path, str(tmp_path / "test_clock.py::test_one"), clock=WAITS, sum=COMPUTES)

    assert code == 0, told
    assert "1 passed" in told
    assert noted.keys() == {"clock"}


def test_one_group_may_have_nothing_to_do(tmp_path: Path) -> None:
    """What there is is run, whichever group is told last."""
    assert run(tmp_path, sum=COMPUTES)[0] == 0


def test_a_marker_that_is_not_found_in_the_text_is_refused(tmp_path: Path) -> None:
    """On a test alone, nobody could tell before the file is imported."""
    (tmp_path / "test_clock.py").write_text(
        f"import pytest\n{COMPUTES}\n@pytest.mark.waits\ndef test_x(): pass"
    )

    code, told, _ = run(tmp_path, "-n", "0", str(tmp_path))

    assert code == 4
    assert "test_clock.py: the marker waits belongs on the line of its pytestmark" in told
