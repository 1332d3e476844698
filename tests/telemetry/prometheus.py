"""A real Prometheus on loopback that scrapes one gateway."""

import asyncio
import shutil
import socket
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from tests.harness import PATIENCE

CONFIG = """
global: {{scrape_interval: 500ms, scrape_timeout: 500ms}}
scrape_configs:
  - job_name: gateway
    static_configs: [{{targets: ["{target}"]}}]
"""


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Asks its HTTP API."""

    http: httpx2.AsyncClient

    async def ask(self, path: str, **parameters: str) -> list[dict[str, Any]]:
        """What the API answers: the series of a query, or of `query_exemplars`."""
        answer = (await self.http.get(f"/api/v1/{path}", params=parameters)).json()
        assert answer["status"] == "success", answer
        return answer["data"] if path == "query_exemplars" else answer["data"]["result"]

    async def value(self, query: str) -> float | None:
        """The sum over what a query finds; None when it finds nothing."""
        found = await self.ask("query", query=query)
        return sum(float(series["value"][1]) for series in found) if found else None

    async def until(self, query: str, wanted: float) -> None:
        """Waits for a scrape after which the query gives `wanted`.

        Raises:
            TimeoutError: it never did.
        """
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    if await self.value(query) == wanted:
                        return
                except (httpx2.TransportError, ValueError):
                    pass  # not listening yet, or not ready
                await asyncio.sleep(0.1)


@asynccontextmanager
async def running_prometheus(folder: Path, gateway_url: str) -> AsyncGenerator[Prometheus]:
    """Prometheus with its data in `folder`. It needs some seconds until its first scrape: `until` waits."""
    program = shutil.which("prometheus")
    assert program, "Prometheus is not installed (Debian: apt-get install prometheus)"
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(target=urlsplit(gateway_url).netloc), encoding="utf-8")
    address = f"127.0.0.1:{_free_port()}"
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
        await asyncio.wait_for(process.wait(), PATIENCE)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
