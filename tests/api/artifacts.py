"""Artifacts over HTTP, as tests send and damage them."""

from pathlib import Path
from typing import Any

import httpx2

from tests.harness import Client
from tests.product import Settings


async def send(client: Client, content: bytes, mime: str = "application/octet-stream", **query: str) -> Any:
    """Sends a content as it is; returns the artifact."""
    response = await client.http.post(
        "/api/artifacts", content=content, params=query, headers={"content-type": mime}
    )
    assert response.status_code == 201, response.text
    return response.json()


async def download(client: Client, ref: str, **headers: str) -> httpx2.Response:
    return await client.http.get(f"/api/artifacts/{ref}", headers=headers)


async def part(client: Client, ref: str, **query: str) -> httpx2.Response:
    return await client.http.get(f"/api/artifacts/{ref}", params=query)


def problem(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def blob_of(settings: Settings, sha256: str) -> Path:
    """The file that holds a content."""
    (found,) = settings.data_dir.rglob(f"{sha256}*")
    return found
