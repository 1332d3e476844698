"""llama.cpp's server with a real model, started and ended by a test."""

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from tests.loopback import free_port

HERE = Path(__file__).parent
ENVIRONMENT = HERE.parents[1] / ".venv-real-model"
PYTHON = ENVIRONMENT / "bin" / "python"
TEMPLATE = HERE / "chat_template.jinja"
MODEL = "smollm2-135m"
WITHOUT = "GATEWAY_TEST_WITHOUT_REAL_MODEL"
LONG = "GATEWAY_TEST_REAL_MODEL"
START_TIMEOUT = 120.0
"""Seconds for 98 MB of weights, on a machine that does other things as well."""


class RunningLlama:
    """A server that can be ended and started again on its port. `options` are those of `llama_server.py`."""

    def __init__(self, log: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = log
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and returns at once, while it loads."""
        command = [PYTHON, HERE / "llama_server.py", "--port", str(self.port), *self._options]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def wait(self) -> None:
        """Returns when it answers. Raises AssertionError with its last lines when it has ended."""
        ends = time.monotonic() + START_TIMEOUT
        while self.status_of("/health") != 200:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > ends:
                raise AssertionError("\n".join(self._log.read_text(errors="replace").splitlines()[-20:]))
            time.sleep(0.05)

    def kill(self) -> None:
        """Ends it as kill -9 does; a stream that it writes is cut."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def get(self, path: str) -> Any:
        status, body = self._ask(path)
        assert status == 200, (status, body)
        return orjson.loads(body)

    def status_of(self, path: str) -> int:
        """The status of a GET, 0 where nobody listens."""
        try:
            return self._ask(path)[0]
        except OSError:
            return 0

    def slots(self) -> list[bool]:
        """Of each slot whether it is at work."""
        return [each["is_processing"] for each in self.get("/slots")]

    def _ask(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@contextmanager
def running_llama(log: Path, *options: str) -> Generator[RunningLlama]:
    """A server that answers, until the context is left."""
    llama = RunningLlama(log, *options)
    llama.start()
    try:
        llama.wait()
        yield llama
    finally:
        llama.kill()
