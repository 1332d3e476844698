"""Every test of this folder starts with a demo that has forgotten the others."""

from collections.abc import Awaitable, Callable

import pytest

from tests.demo.bare import Received, fetch

Send = Callable[..., Awaitable[Received]]


@pytest.fixture
def send(demo_url: str) -> Send:
    """`bare.fetch` from the demo of this session."""

    async def send(body: object, **given: str) -> Received:
        return await fetch(demo_url, body, **given)

    return send


@pytest.fixture(autouse=True)
async def forgotten(send: Send, anyio_backend: str) -> None:
    assert (await send(b"", method="DELETE", path="/demo/requests")).status == 200
