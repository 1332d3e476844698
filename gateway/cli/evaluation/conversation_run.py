"""Holds conversations with a model, through a gateway of its own: the routes that every client uses, a user
for each conversation, and data that are gone afterwards.
"""

import asyncio
import secrets
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import httpx2
from pydantic import SecretStr

from gateway.app import build_app
from gateway.cli.evaluation.answer_checks import check, missed
from gateway.cli.evaluation.conversations import ScriptedConversation, ScriptedMessage
from gateway.cli.evaluation.endpoints import DEMO, ModelEndpoint, settings_for
from gateway.cli.evaluation.results import ModelResult, TurnFailure, TurnResult
from gateway.client.frames import read_frames
from gateway.demo.server import serve_demo
from gateway.errors import GatewayError
from gateway.session_pages.replayed_turn import ReplayedTurn, read_turn
from gateway.settings import Settings

GRACE = 30.0
"""Seconds that a turn gets beyond its own timeout to end."""
MAX_FAILURES = 2
"""Turns in a row that fail before a model is given up: each has been attempted several times."""

OnTurn = Callable[[], None]
"""Is called after each turn, whose result is the newest."""


class EvaluationTimeouts(NamedTuple):
    """Seconds of one turn, and of all that one model is asked."""

    turn: float
    model: float


async def converse(
    conversations: Sequence[ScriptedConversation],
    endpoint: ModelEndpoint,
    settings: Settings,
    *,
    timeouts: EvaluationTimeouts,
    result: ModelResult,
    on_turn: OnTurn,
) -> None:
    """Holds the conversations one after the other. Each turn is in `result` as soon as it is over, and at the
    end why there are no more of them, if something failed."""
    secret = secrets.token_hex(16)
    users = ",".join(f"user-{number}:{secret}{number}" for number in range(len(conversations)))
    with tempfile.TemporaryDirectory(prefix="gateway-eval-") as folder:
        given = settings_for(endpoint, settings, Path(folder), users, timeouts.turn)
        try:
            async with _gateway(given, demo=endpoint.is_demo) as http:
                driver = _Driver(http, result, on_turn, timeouts)
                for number, conversation in enumerate(conversations):
                    http.headers["authorization"] = f"Bearer {secret}{number}"
                    await driver.hold(conversation)
        except GatewayError as error:
            result.given_up = TurnFailure(error.code, error.message)


@asynccontextmanager
async def _gateway(settings: Settings, *, demo: bool) -> AsyncGenerator[httpx2.AsyncClient]:
    async with AsyncExitStack() as stack:
        if demo:
            url = await stack.enter_async_context(serve_demo(pace=0))
            served = {"anthropic_base_url": url, "anthropic_api_key": SecretStr(DEMO), "model_proxy": None}
            settings = settings.model_copy(update=served)
        app = build_app(settings)
        await stack.enter_async_context(app.router.lifespan_context(app))
        await app.state.deps.model.prepare()  # what is loaded first is not the model's time
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        client = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=None)
        yield await stack.enter_async_context(client)


class _Driver:
    """With one model. Raises GatewayError when it is given up."""

    def __init__(
        self, http: httpx2.AsyncClient, result: ModelResult, on_turn: OnTurn, timeouts: EvaluationTimeouts
    ) -> None:
        self._http, self._result, self._on_turn = http, result, on_turn
        self._turn_limit, self._ends_at = timeouts.turn + GRACE, monotonic() + timeouts.model
        self._failures = 0

    async def hold(self, conversation: ScriptedConversation) -> None:
        for memory in conversation.memories:
            await self._post("/api/memory", memory.model_dump())
        for number, session in enumerate(conversation.sessions, 1):
            place = {"role_id": session.role, "project_id": session.project}
            made = await self._post("/api/sessions", {name: each for name, each in place.items() if each})
            given: list[str] = []
            for message in session.messages:
                if monotonic() > self._ends_at:
                    raise GatewayError("The time for this model is over.", code="out_of_time")
                turn = await self._turn(made["id"], message, given)
                self._add(turn._replace(conversation=conversation.name, session=number))

    def _add(self, turn: TurnResult) -> None:
        self._result.turns.append(turn)
        self._on_turn()
        self._failures = self._failures + 1 if turn.failure else 0
        if turn.failure is not None and self._failures == MAX_FAILURES:
            raise GatewayError(turn.failure.message, code=turn.failure.code)

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Raises GatewayError: the gateway refused."""
        return _accepted(await self._http.post(path, json=body)).json()

    async def _turn(self, session_id: str, message: ScriptedMessage, given: list[str]) -> TurnResult:
        """A turn; the memories that its model was given are added to those `given` in its session before."""
        path, headers = f"/api/sessions/{session_id}/turns", {"accept": "text/event-stream"}
        try:
            async with asyncio.timeout(self._turn_limit):
                response = await self._http.post(path, json={"message": message.message}, headers=headers)
        except TimeoutError:
            raise GatewayError("A turn did not end.", code="turn_timeout") from None
        frames = read_frames([_accepted(response).content])
        turn = read_turn("", (frame.load() for frame in frames if frame.seq is not None))
        if turn.done is None:
            raise GatewayError("The events of a turn ended before it did.", code="stream_cut")
        given += [each for each in _memories_of(turn) if each not in given]
        return _result_of(message, given, turn, turn.done)


def _accepted(response: httpx2.Response) -> httpx2.Response:
    """Raises GatewayError: the gateway refused."""
    if response.status_code >= 400:
        problem = response.json()["error"]
        raise GatewayError(problem["message"], code=problem["code"])
    return response


def _memories_of(turn: ReplayedTurn) -> list[str]:
    looked_up = [
        step.data for step in turn.steps if step.kind == "retrieval" and step.data["source"] == "memory"
    ]
    return [each["snippet"] for data in looked_up for each in data["results"]]


def _result_of(
    message: ScriptedMessage, given: Sequence[str], turn: ReplayedTurn, done: dict[str, Any]
) -> TurnResult:
    error = next((step.data for step in turn.steps if step.kind == "error"), None)
    failure: TurnFailure | None = None
    if done["status"] != "completed":
        why = done.get("stop_reason", done["status"])
        problem = error or {"code": why, "message": f"The turn ended as {done['status']}."}
        failure = TurnFailure(problem["code"], problem["message"])
    answer = "".join(step.data["text"] for step in turn.steps if step.kind == "text" and not step.dropped)
    return TurnResult(
        message.message,
        answer=answer,
        given=tuple(given),
        checks=missed(message) if failure else check(message, given, answer),
        failure=failure,
        usage=done.get("usage"),
        cost=done.get("cost"),
        first_text_ms=done.get("ttft_ms"),
        duration_ms=done["duration_ms"],
    )
