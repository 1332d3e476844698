"""A reader that takes nothing: it is dropped, the turn does not notice, and a resume gets the rest."""

import asyncio

import pytest

from gateway.settings import Settings
from tests.harness import Client, events, running_gateway, stalled_reader, the
from tests.loopback import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_stalled_reader_is_dropped_and_the_turn_goes_on(settings: Settings) -> None:
    """The connection of a reader that stops reading is closed after the send timeout; meanwhile the turn
    completes, and what the reader missed is there for it."""
    large = {"max_answer_size": 16_000_000}
    hasty = settings.model_copy(update={"send_timeout": 1.0, **large})
    async with running_gateway(hasty) as client, asyncio.timeout(PATIENCE):
        session = await client.session()
        turn = (await client.begin(session, "/fault huge_delta 8"))["turn_id"]
        path = f"/api/sessions/{session}/events?turn_id={turn}"
        with stalled_reader(client.url, path):
            told = events(await client.all_frames(path))
            while not (dropped := await _dropped(client)):
                await asyncio.sleep(0.1)

    assert the(told, "done")["status"] == "completed"
    assert dropped[0].endswith(" 1.0")


async def _dropped(client: Client) -> list[str]:
    metrics = (await client.get("/metrics")).text
    return [line for line in metrics.splitlines() if "disconnects_total" in line and 'reason="slow"' in line]
