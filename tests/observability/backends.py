"""Phoenix and MLflow: readers of traces that are not ours, each with a process and an environment."""

import asyncio
import json
import os
from asyncio.subprocess import STDOUT
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.loopback import TIMEOUT, free_port

WITH = "GATEWAY_TEST_BACKENDS"
"""The folder of their environments; without it the tests that ask them are left out."""
START = 120.0
"""Seconds until one is ready; only reached when something is broken."""

with_backends = (
    pytest.mark.backends,
    pytest.mark.skipif(WITH not in os.environ, reason="`make test-observability` asks Phoenix and MLflow"),
)


@asynccontextmanager
async def running_phoenix(folder: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    """Arize Phoenix with its data in `folder`, and a client of its API."""
    port, grpc = free_port(), free_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    async with _running("phoenix", ["-m", "phoenix.server.main", "serve"], folder, settings, port) as http:
        await _until_ready(http, "/healthz")
        yield http


@asynccontextmanager
async def running_mlflow(folder: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    """MLflow's tracking server with its data in `folder`, and a client of its API."""
    port = free_port()
    arguments = ["-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    arguments += ["--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    settings = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    async with _running("mlflow", arguments, folder, settings, port) as http:
        await _until_ready(http, "/health")
        yield http


async def found_by_mlflow(url: str, experiment: str) -> list[dict[str, Any]]:
    """The traces of an experiment as MLflow's own client reads them: id, state, session, tokens and cost."""
    script = Path(__file__).with_name("ask_mlflow.py")
    process = await asyncio.create_subprocess_exec(
        _python("mlflow"),
        script,
        experiment,
        env={**os.environ, "MLFLOW_TRACKING_URI": url, "MLFLOW_DISABLE_TELEMETRY": "true"},
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return json.loads(told.splitlines()[-1])


@asynccontextmanager
async def _running(
    name: str, arguments: list[str], folder: Path, settings: Mapping[str, str], port: int
) -> AsyncGenerator[httpx2.AsyncClient]:
    said = folder / "said.txt"
    with said.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            _python(name),
            *arguments,
            cwd=folder,
            env={**os.environ, **settings},
            stdout=output,
            stderr=STDOUT,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, timeout=TIMEOUT, trust_env=False) as http:
            yield http
    finally:
        os.killpg(process.pid, 15)
        await asyncio.wait_for(process.wait(), START)


async def _until_ready(http: httpx2.AsyncClient, path: str) -> None:
    async with asyncio.timeout(START):
        while True:
            try:
                if (await http.get(path)).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.2)


def _python(name: str) -> Path:
    return Path(os.environ[WITH]) / name / "bin" / "python"
