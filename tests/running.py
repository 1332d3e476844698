"""A gateway in a process of its own, as a person starts it."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gateway.cli import main
from tests.forked import forked, write_to
from tests.loopback import TIMEOUT
from tests.product import serve_demo

ROOT = Path(__file__).parent.parent


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
    """Runs a command that ends by itself, in `folder`, in a process that did not have to import everything
    first."""
    output, errors = _new_output(folder), _new_output(folder)
    given = (folder, arguments, clean_environment(**environment), output)
    process = forked(partial(run_command, errors=errors), *given)
    process.join(TIMEOUT)
    assert process.exitcode is not None, "it does not end"
    return subprocess.CompletedProcess(
        command(*arguments), process.exitcode, output.read_text(), errors.read_text()
    )


@dataclass(frozen=True)
class Running:
    """A gateway that is ready at `url`; `output` is a file of all it printed. `ended` waits and returns
    its exit code."""

    url: str
    pid: int
    output: Path
    ended: Callable[[], int]

    def send(self, how: signal.Signals) -> None:
        """Sends it a signal."""
        os.kill(self.pid, how)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop and returns its exit code."""
        self.send(how)
        return self.ended()


@contextmanager
def gateway_command(folder: Path, *arguments: str, **environment: str) -> Generator[Running]:
    """`gateway dev` on a free port with its data in `folder`, started as a person starts it; other
    `arguments` take the place of `dev`."""
    messages = _new_output(folder)
    with messages.open("wb") as output:
        process = subprocess.Popen(
            command(*_on_a_free_port(arguments)),
            cwd=folder,
            env=clean_environment(**environment),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        url = _url(messages, lambda: process.poll() is None)
        yield Running(url, process.pid, messages, lambda: process.wait(TIMEOUT))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(TIMEOUT)


def gateway_process(folder: Path, *arguments: str, **environment: str) -> AbstractContextManager[Running]:
    """The same, in a process that did not have to import everything first, whose demo model sends its pieces
    at once: a page that draws each by itself takes seconds of CPU for an answer."""
    return limited_gateway_process(folder, None, *arguments, begin=hurry, **environment)


def hurry() -> None:
    """The demo model of this process sends its pieces at once, unless it is told otherwise."""
    vars(serve_demo)["__wrapped__"].__kwdefaults__["pace"] = 0


@contextmanager
def limited_gateway_process(
    folder: Path,
    open_files: tuple[int, int] | None,
    *arguments: str,
    begin: Callable[[], None] | None = None,
    **environment: str,
) -> Generator[Running]:
    """The same with these limits, the soft and the hard one, of open files. The process calls `begin`
    first."""
    output = _new_output(folder)
    given = (folder, _on_a_free_port(arguments), clean_environment(**environment), output, open_files)
    process = forked(partial(run_command, begin=begin), *given)

    def ended() -> int:
        process.join(TIMEOUT)
        assert process.exitcode is not None, "it does not end"
        return process.exitcode

    try:
        assert process.pid is not None
        yield Running(_url(output, process.is_alive), process.pid, output, ended)
    finally:
        process.kill()
        process.join(TIMEOUT)
        process.close()


def run_command(
    folder: Path,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    output: Path,
    open_files: tuple[int, int] | None = None,
    *,
    errors: Path | None = None,
    begin: Callable[[], None] | None = None,
) -> None:
    """What a shell does for a command, and then the `gateway` command, in a forked process. What it prints
    goes to the end of the file `output`, its errors too unless there is a file for `errors`."""
    os.chdir(folder)
    if open_files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, open_files)
    os.environ.clear()
    os.environ.update(environment)
    write_to(_opened(output))
    os.dup2(1 if errors is None else _opened(errors), 2)
    sys.path.insert(0, "")
    sys.argv = ["gateway", *arguments]
    if begin is not None:
        begin()
    main()


def _on_a_free_port(arguments: Sequence[str]) -> Sequence[str]:
    return (*(arguments or ("dev",)), "--port", "0")


def _opened(output: Path) -> int:
    return os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _new_output(folder: Path) -> Path:
    output = folder / f"said-{time.monotonic_ns()}.txt"
    output.touch()
    return output


def _url(output: Path, alive: Callable[[], bool]) -> str:
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end and alive():
        if found := re.search(r"Page +(http://\S+)\n(?:.*\n)*Try it:\n.*\n.*\n", output.read_text()):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"The gateway did not start:\n{output.read_text()}")
