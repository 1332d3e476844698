"""A real Prometheus on loopback that scrapes one gateway, and promtool."""

import asyncio
import json
import os
import shutil
import subprocess
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.harness import TIMEOUT
from tests.loopback import free_port

WITHOUT = "GATEWAY_TEST_WITHOUT_PROMETHEUS"
CONFIG = """
global: {{scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s}}
rule_files: {rules}
scrape_configs:
  - job_name: chat-gateway
    static_configs: [{{targets: ["{target}"]}}]
"""


Test = TypeVar("Test", bound=Callable[..., object])


def needs_prometheus(test: Test) -> Test:
    """For a test that cannot be without Prometheus or promtool."""
    leave_out = pytest.mark.skipif(os.environ.get(WITHOUT) == "1", reason=f"{WITHOUT}=1 leaves it out")
    return pytest.mark.prometheus(leave_out(test))


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Asks its HTTP API."""

    http: httpx2.AsyncClient

    async def ask(self, path: str, **parameters: str) -> list[dict[str, Any]]:
        """What the API answers: the series of a query, or of `query_exemplars`."""
        answer = (await self.http.get(f"/api/v1/{path}", params=parameters)).json()
        assert answer["status"] == "success", answer
        return answer["data"] if path == "query_exemplars" else answer["data"]["result"]

    async def rules(self) -> list[dict[str, Any]]:
        """Every rule that it evaluates, with its `health`."""
        groups = (await self.http.get("/api/v1/rules")).json()["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    async def value(self, query: str) -> float | None:
        """The sum over what a query finds; None when it finds nothing."""
        found = await self.ask("query", query=query)
        return sum(float(series["value"][1]) for series in found) if found else None

    async def until(self, query: str, wanted: float) -> None:
        """Waits for a scrape after which the query gives `wanted`.

        Raises:
            TimeoutError: it never did.
        """
        async with asyncio.timeout(TIMEOUT):
            while True:
                try:
                    if await self.value(query) == wanted:
                        return
                except (httpx2.TransportError, ValueError):
                    pass  # not listening yet, or not ready
                await asyncio.sleep(0.1)


def promtool(*arguments: str | Path, given: str | None = None) -> tuple[int, str]:
    """Its exit code and all that it said; `given` is its standard input."""
    ran = subprocess.run(
        [installed("promtool"), *arguments], input=given, capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


def installed(program: str) -> str:
    """The path of a program of Prometheus, which must be there: dashboards that no Prometheus has answered
    are not tested."""
    path = shutil.which(program)
    if path is None:
        pytest.fail(
            f"{program} is not installed (Debian: apt-get install prometheus). Install it, or leave out what "
            f"needs it with {WITHOUT}=1.",
            pytrace=False,
        )
    return path


@asynccontextmanager
async def running_prometheus(
    folder: Path, gateway_url: str, rules: Sequence[Path] = ()
) -> AsyncGenerator[Prometheus]:
    """Prometheus with its data in `folder`, which evaluates the files `rules` each second. It needs some
    seconds until its first scrape: `until` waits."""
    program = installed("prometheus")
    config = folder / "prometheus.yml"
    target, files = urlsplit(gateway_url).netloc, [str(path) for path in rules]
    config.write_text(CONFIG.format(target=target, rules=json.dumps(files)), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    process = await asyncio.create_subprocess_exec(
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={address}",
        "--enable-feature=exemplar-storage",
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        async with httpx2.AsyncClient(base_url=f"http://{address}", trust_env=False) as http:
            yield Prometheus(http)
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), TIMEOUT)
