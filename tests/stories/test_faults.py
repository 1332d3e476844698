"""Every fault of the catalogue, in the first model call and in a later one: exactly one classified end, and
nothing leaked."""

import asyncio
from typing import Any

import httpx2
import pytest

from tests.demo.documented import CATALOGUE
from tests.harness import Client, running_gateway, the
from tests.loopback import TIMEOUT
from tests.product import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.long]

TOGETHER = 24


@pytest.mark.parametrize(
    "before", ["", '/call calculate {"expression": "1+1"}\n/then\n'], ids=["first", "later"]
)
async def test_every_fault_has_one_classified_end(settings: Settings, demo_url: str, before: str) -> None:
    """A fault the client can bear completes the turn; any other fails it with the fault's code, once."""
    quick = settings.model_copy(
        update={"model_attempts": 2, "first_byte_timeout": 2.5, "progress_timeout": 2.5, "max_iterations": 4}
    )
    places = asyncio.Semaphore(TOGETHER)

    async with running_gateway(quick) as client:

        async def meet(name: str) -> tuple[str, list[str]]:
            async with places:
                events = await client.chat(f"{before}/fault {name}")
            return name, _wrong(name, events)

        found = dict(await asyncio.gather(*(meet(name) for name in CATALOGUE)))
        # Faults share a pool of connections: one that breaks a connection may hit its neighbour's next call.
        # Whatever was met that way is met once more, alone.
        again = dict([await meet(name) for name, wrong in found.items() if wrong])
        assert {name: wrong for name, wrong in again.items() if wrong} == {}
        await _nothing_is_left(client, demo_url)


async def _nothing_is_left(client: Client, demo_url: str) -> None:
    """No turn, no task of one, and no upstream stream outlives the turns."""
    async with httpx2.AsyncClient(trust_env=False) as http, asyncio.timeout(TIMEOUT):
        while (await http.get(f"{demo_url}/demo/requests?limit=1")).json()["counters"]["streams"]:
            await asyncio.sleep(0.05)
    left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("turns of ")]
    assert left == []


def _wrong(name: str, events: list[dict[str, Any]]) -> list[str]:
    fault, done = CATALOGUE[name], the(events, "done")
    wrong: list[str] = []
    if events[-1]["type"] != "done":
        wrong.append("something follows done")
    limited = fault.expected == "max_tool_calls"
    kind, ending = ("warning", "limit_reached") if limited else ("error", "failed")
    errors = [event["data"]["code"] for event in events if event["type"] == kind]
    expected = [] if fault.expected == "ok" else [fault.expected]
    if name == "reset_mid_stream" and errors == ["upstream_error"]:
        expected = errors  # a reset may overtake what was sent before it: then the stream never began
    if errors != expected:
        wrong.append(f"errors {errors}, expected {expected}")
    if done["status"] != (ending if expected else "completed"):
        wrong.append(f"done {done['status']}")
    calls = [event["tool_call_id"] for event in events if event["type"] == "tool_call"]
    results = [event["tool_call_id"] for event in events if event["type"] == "tool_result"]
    if sorted(calls) != sorted(results):
        wrong.append(f"calls {calls}, results {results}")
    return wrong
