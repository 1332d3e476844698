"""No turn is nobody's: asked of a server that runs, as its clients see it, after whatever happened to it.

A turn that no task has and that is not parked stays open: a cancel does nothing, and its session answers 409
until a restart.
"""

import asyncio
from collections.abc import Collection

from tests.harness import TIMEOUT, Client


async def stuck(client: Client, session_ids: Collection[str]) -> list[str]:
    """What does not move, each as a sentence; none is what is wanted. Sessions in which somebody waits for an
    answer lose it: their turns are cancelled."""
    found = await asyncio.gather(*(_stuck(client, session_id) for session_id in session_ids))
    return [
        f"session {session_id}: {what}" for session_id, what in zip(session_ids, found, strict=True) if what
    ]


async def _stuck(client: Client, session_id: str) -> str | None:
    path = f"/api/sessions/{session_id}"
    open_turn = "?"
    try:
        async with asyncio.timeout(TIMEOUT):
            while (turn := (await client.get(f"{path}/snapshot")).json().get("open_turn")) is not None:
                open_turn = turn["turn_id"]
                # Asked again and again: what is queued behind it is the next to be open.
                await client.post(f"{path}/turns/{open_turn}/cancel")
                await asyncio.sleep(0.02)
    except TimeoutError:
        return f"turn {open_turn} is open {TIMEOUT:g} seconds after its cancel"
    try:
        events = await client.chat("/say It goes on.", session_id=session_id)
    except (AssertionError, TimeoutError) as error:
        return f"it takes no other turn: {error}"
    return None if events[-1]["data"]["status"] == "completed" else f"the next turn ended so: {events[-1]}"
