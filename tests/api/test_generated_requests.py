"""Whatever is sent: no answer says that the server failed, and each is one that the API's description has."""

import asyncio
import os

import pytest
from pydantic import SecretStr

from tests.api.generated_requests import Found, bombard
from tests.harness import Client, running_gateway
from tests.product import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.long]

KEY = {"x-api-key": "ada-secret-0123456789"}
REQUESTS = int(os.environ.get("GATEWAY_TEST_REQUESTS", "0"))
"""How many in all `make fuzz` wants; 0: one of each."""
PER_EXAMPLE = 210
"""Requests that one example of each route is, and one against it, where there can be one."""


async def _sent(client: Client, share: float, headers: dict[str, str] | None = None) -> Found:
    examples = max(1, round(REQUESTS * share / PER_EXAMPLE))
    found = await asyncio.to_thread(bombard, client.url, examples, headers)
    if REQUESTS:
        print(f"\n{found}")  # noqa: T201 - the figures are what `make fuzz` is for
    return found


async def test_without_accounts_no_request_makes_the_server_fail(client: Client) -> None:
    """As the local user, who may all."""
    await client.chat("/say hi", session_id="mine")

    found = await _sent(client, 0.5)

    assert found.problems == []


@pytest.mark.parametrize(("headers", "share"), [(KEY, 0.4), (None, 0.1)], ids=["with a key", "without"])
async def test_with_accounts_no_request_makes_the_server_fail(
    settings: Settings, headers: dict[str, str] | None, share: float
) -> None:
    """With a key, and with none: then nothing is told."""
    given = {
        "api_keys": SecretStr("ada:ada-secret-0123456789"),
        "admins": ("ada",),
        "limits": ("user:requests=1M/second",),
    }
    async with running_gateway(settings.model_copy(update=given)) as client:
        found = await _sent(client, share, headers)

    assert found.problems == []
    assert headers is not None or found.statuses[401] > found.statuses.total() / 2
