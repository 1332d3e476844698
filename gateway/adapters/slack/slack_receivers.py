"""How events come from Slack: over a websocket that the program opens (Socket Mode), or to a route of its own
(Events API). Both go through slack-bolt; what came is kept before Slack is told so."""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import time
from typing import Any

import structlog
import uvicorn
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gateway.adapters.messengers.base import Keep
from gateway.adapters.slack.slack_events import Bot, IsOurs, received
from gateway.errors import GatewayError
from gateway.request_heads import RequestHeads

PATH = "/slack/events"
MAX_BODY = 1_048_576
"""Bytes of a request of Slack's."""
BODY_TIMEOUT = 10.0
"""Seconds in which it comes; Slack itself waits three for the answer."""
MAX_AGE = 300
"""Seconds between its signature and its coming."""
Answer = Callable[[Mapping[str, Any]], Awaitable[BoltResponse | None]]
"""What else answers a request, such as a command; None: nothing does."""

log = structlog.get_logger(__name__)


def bolt_app(
    client: AsyncWebClient,
    bot: Bot,
    keep: Keep,
    *,
    is_ours: IsOurs,
    answer: Answer,
    signing_secret: str | None,
) -> AsyncApp:
    """What takes requests of Slack's whose signature is right and not old. They are kept in the middleware:
    a listener would run after the acknowledgement."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None, team_id=bot.team, bot_user_id=bot.user, bot_token=client.token
        )

    app = AsyncApp(
        client=client,
        signing_secret=signing_secret or "",
        authorize=authorize,
        logger=logging.getLogger("slack_bolt"),
    )

    async def take(body: Mapping[str, Any]) -> BoltResponse:
        if (answered := await answer(body)) is not None:
            return answered
        for each in received(body, bot, is_ours):
            keep(each)
        return BoltResponse(status=200)

    app.use(take)
    return app


async def over_socket(app: AsyncApp, app_token: str) -> None:
    """Receives until it is cancelled; connections that break are opened again."""
    handler = AsyncSocketModeHandler(app, app_token)
    try:
        await handler.connect_async()
        await asyncio.Event().wait()
    finally:
        await handler.close_async()


def http_app(app: AsyncApp, signing_secret: str) -> Starlette:
    """The route of the Events API, which also takes what people press, and commands. What Slack has not
    signed goes no further: slack-bolt would write the body of each such request into the log."""
    handler = AsyncSlackRequestHandler(app)

    async def events(request: Request) -> Response:
        size = request.headers.get("content-length", "")
        if not size.isdigit() or int(size) > MAX_BODY:
            return PlainTextResponse("Too large.", 413)
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                body = await request.body()
        except TimeoutError:
            return PlainTextResponse("Too slow.", 408)
        if not is_signed(body, request.headers, signing_secret):
            is_check = b"ssl_check=1" in body.split(b"&")  # of the certificate alone: Slack looks for a 200
            return PlainTextResponse("", 200) if is_check else JSONResponse({"error": "invalid request"}, 401)
        return await handler.handle(request)

    return Starlette(routes=[Route(PATH, events, methods=["POST"])])


def is_signed(body: bytes, headers: Mapping[str, str], signing_secret: str) -> bool:
    """Whether Slack sent that in the last minutes (docs.slack.dev, "Verifying requests from Slack")."""
    stamp, given = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12 and abs(time() - int(stamp)) <= MAX_AGE):
        return False
    signed = hmac.new(signing_secret.encode(), b"v0:%b:%b" % (stamp.encode(), body), hashlib.sha256)
    return hmac.compare_digest(f"v0={signed.hexdigest()}".encode(), given.encode())


async def serve(app: AsyncApp, address: str, signing_secret: str) -> None:
    """Serves `http_app` at HOST:PORT until it is cancelled. Raises GatewayError: the port cannot be had."""
    host, _, port = address.rpartition(":")
    config = uvicorn.Config(
        http_app(app, signing_secret),
        host=host.strip("[]") or "127.0.0.1",
        port=int(port) if port.isdigit() else 0,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        http=RequestHeads,
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(_serve(server))
    try:
        await serving
    finally:
        server.should_exit = True
        await asyncio.wait((serving,))


async def _serve(server: uvicorn.Server) -> None:
    config = server.config
    config.load()
    server.lifespan = config.lifespan_class(config)
    try:
        await server.startup()
    except SystemExit:
        raise GatewayError(f"{config.host}:{config.port} cannot be had.") from None
    port = server.servers[0].sockets[0].getsockname()[1]
    log.info("slack_events_at", address=f"http://{config.host}:{port}{PATH}")
    try:
        await server.main_loop()
    finally:
        await server.shutdown()
