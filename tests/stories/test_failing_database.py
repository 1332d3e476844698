"""A database that fails once, at any statement, while turns begin, run, wait, are decided about and stopped:
all of them end by themselves, no session is left with a turn that is nobody's, and the record is whole."""

import asyncio
import random

import pytest

from tests.faults import CODES, Fault, Faults
from tests.harness import TIMEOUT, Client, running_gateway
from tests.invariants import violations
from tests.ownership import stuck
from tests.product import Settings
from tests.record import read_records
from tests.stories.asking import Outbox

pytestmark = [pytest.mark.anyio, pytest.mark.long]

PLACES = 5
"""Statements that fail for each code, each while new sessions are busy."""
STATEMENTS = 120
"""About as many as such sessions need."""

SAY = "/pieces 12"
CALCULATE = '/call calculate {"expression": "6*7"}\n/then\n/say over'
SEND = '/call send {"to": "you"}\n/then\n/say over'
LONG = "/pieces 400 /pace 5"


@pytest.mark.parametrize("code", CODES)
async def test_every_turn_ends_whatever_fails(code: str, settings: Settings) -> None:
    """What cannot be recorded is tried again or refused; no cancel and no restart is needed for that."""
    chance = random.Random(code)
    faults, met = Faults(), list[Fault]()
    with faults.failing():
        async with running_gateway(settings, *Outbox().tools) as client:
            for number in range(PLACES):
                at, undoes = chance.randrange(STATEMENTS), chance.random() < 0.5
                met.append(faults.next(at=at, code=code, undoes=undoes))
                sessions = [f"{number}-{kind}" for kind in ("say", "calculate", "send", "stop", "queue")]
                await asyncio.gather(*(use(client, session) for session in sessions))
                faults.next()
                known = [each for each in sessions if (await client.get(f"/api/sessions/{each}")).is_success]
                assert await stuck(client, known) == []
    assert any(fault.struck for fault in met)
    records = read_records(settings.database_path)
    assert "\n".join(each for record in records for each in violations(record)) == ""


async def use(client: Client, session: str) -> None:
    """Does what the session's name says; what the server refuses is left at that."""
    kind = session.partition("-")[2]
    message = {"say": SAY, "calculate": CALCULATE, "send": SEND}.get(kind, LONG)
    if (turn := await begin(client, session, message)) is None:
        return
    if kind == "queue":
        queued = await begin(client, session, SAY, on_conflict="queue")
        if queued is not None:
            await cancel(client, session, queued)
    if kind in {"stop", "queue"}:
        await cancel(client, session, turn)
    async with asyncio.timeout(TIMEOUT):
        while (await client.get(f"/api/sessions/{session}/snapshot")).json().get("open_turn"):
            for asked in (await client.get("/api/approvals")).json().get("approvals", ()):
                if asked["session_id"] == session:
                    path = f"/api/sessions/{session}/turns/{turn}/approvals/{asked['tool_call_id']}"
                    await client.post(path, {"decision": "approve"})
            await asyncio.sleep(0.02)


async def begin(client: Client, session: str, message: str, **more: str) -> str | None:
    """The turn; None when it is refused, as to a client that is told to come again and does so."""
    body = {"message": message, "client_message_id": f"m{len(more)}", **more}
    for _ in range(3):
        await client.post("/api/sessions", {"id": session})
        answer = await client.post(f"/api/sessions/{session}/turns", body)
        if answer.is_success:
            return answer.json()["turn_id"]
    return None


async def cancel(client: Client, session: str, turn: str) -> None:
    """Until it is taken: the wish must be stored."""
    async with asyncio.timeout(TIMEOUT):
        while not (answer := await client.post(f"/api/sessions/{session}/turns/{turn}/cancel")).is_success:
            assert answer.status_code == 503, answer.text
