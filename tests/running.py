"""A gateway in a process of its own, as a person starts it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PATIENCE = 30.0  # seconds; only reached when something is broken


def clean_environment(**more: str) -> dict[str, str]:
    """The environment without anything that would configure a gateway, and with `more`."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("GATEWAY_", "ANTHROPIC_"))
    }
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **more}


def command(*arguments: str) -> list[str]:
    """The `gateway` command with `arguments`."""
    return [sys.executable, "-m", "gateway", *arguments]


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that ends by itself, in `folder`."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@dataclass(frozen=True)
class Running:
    """A gateway that is ready at `url`; what it has said is in `said`."""

    url: str
    process: subprocess.Popen[bytes]
    said: Path

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop and returns its exit code."""
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@contextmanager
def gateway_process(folder: Path, *arguments: str, **environment: str) -> Generator[Running]:
    """`gateway dev` on a free port with its data in `folder`; other `arguments` take the place of `dev`."""
    said = folder / f"said-{time.monotonic_ns()}.txt"
    with said.open("wb") as output:
        process = subprocess.Popen(
            command(*(arguments or ("dev",)), "--port", "0"),
            cwd=folder,
            env=clean_environment(**environment),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Running(_url(process, said), process, said)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)


def _url(process: subprocess.Popen[bytes], said: Path) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(r"Page +(http://\S+)\n(?:.*\n)*Try it:\n.*\n.*\n", said.read_text()):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"The gateway did not start:\n{said.read_text()}")
