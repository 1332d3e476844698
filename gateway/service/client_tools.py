"""Tools of clients: which may come along with a message, and the results of their calls."""

import asyncio
import hashlib
from collections.abc import Sequence

from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import InvalidRequest, QueueFull, TooLarge
from gateway.ids import now_ms
from gateway.messages import ToolSpec, clean_text
from gateway.places import Places, PlaceTimeout
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.skills.catalog import Catalog
from gateway.skills.skill import READ_SKILL
from gateway.storage.decisions.client_calls import ClientCall, ClientResult
from gateway.tools.base import File
from gateway.tools.client_tools import usable_tools
from gateway.turn.client_calls import content_of
from gateway.turn.in_flight import InFlight

MAX_RESULT = 8_388_608
"""Bytes of one result, with its files in base64."""
MAX_CONCURRENT = 2
"""Turns whose tools are looked at at the same time; others wait."""
TIMEOUT = 10.0
"""Seconds that one waits for its place."""
FOREIGN = "mcp__"
"""How the names of tools of MCP servers begin: one may be back at any time."""

_places = Places(MAX_CONCURRENT)


async def client_tools(deps: Dependencies, given: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    """The tools of a turn's client, as the model is shown them. Raises errors.InvalidRequest,
    errors.QueueFull."""
    if not given:
        return ()
    own = {READ_SKILL, deps.read_archive.spec.name}
    for tool in given:
        if tool.name in own or tool.name.startswith(FOREIGN) or _is_taken(deps.skills.catalog, tool.name):
            raise InvalidRequest(f"tools: the gateway has the name {tool.name!r} itself: choose another.")
    try:
        # The first look at a schema takes a millisecond, and jsonschema is loaded for the very first.
        async with _places.one(TIMEOUT):
            return await asyncio.to_thread(usable_tools, given)
    except PlaceTimeout:
        raise QueueFull("Tools of others are being looked at: try again.", code="server_busy") from None
    except ValueError as error:
        raise InvalidRequest(f"tools: {error}") from None


class ClientResults:
    """Results of the calls that clients ran."""

    def __init__(self, deps: Dependencies, in_flight: InFlight) -> None:
        self._deps = deps
        self._in_flight = in_flight

    async def give(
        self,
        who: Principal,
        session_id: str | None,
        turn_id: str,
        tool_call_id: str,
        text: str,
        *,
        is_error: bool = False,
        files: Sequence[File] = (),
    ) -> ClientCall:
        """The result of a call that runs on the client; its turn goes on when no other is waited for. The
        same result again changes nothing. `session_id` None: that of the turn.

        Raises:
            errors.NotFound: no such call, or another ran it.
            errors.Conflict: it has another result, came too late, or the turn is over.
            errors.TooLarge, errors.QueueFull: as many turns run as may.
        """
        if session_id is None:
            session_id = (await self._deps.turns.get(None, turn_id, who.user_id)).session_id
        owner = await owner_of(self._deps.projects, who, session_id, "write")
        call = await self._deps.client_calls.get(session_id, turn_id, tool_call_id, owner)
        content = content_of(clean_text(text), files)
        if len(content) > MAX_RESULT:
            raise TooLarge(f"The result has more than {MAX_RESULT} bytes.")
        digest = hashlib.sha256(content.encode()).hexdigest()
        result = ClientResult("error" if is_error else "ok", now_ms(), digest, content)
        with self._in_flight.admission(who.user_id, session_id):
            # A client that leaves now must not leave a turn without a task.
            return await finish(self._give(call, result))

    async def _give(self, call: ClientCall, result: ClientResult) -> ClientCall:
        call, accepted = await self._deps.client_calls.answer(call, result)
        self._in_flight.resume(accepted)
        return call


def _is_taken(catalog: Catalog, name: str) -> bool:
    return name in catalog.tools or catalog.find(name) is not None
