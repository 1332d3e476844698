"""Reading a request strictly: body, query, cursor, principal."""

import asyncio
from collections.abc import AsyncGenerator
from time import monotonic
from typing import TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from gateway.auth import Principal
from gateway.errors import BodyTooSlow, ClientLeft, InvalidRequest, TooLarge, plain_words
from gateway.ids import is_id
from gateway.service.dependencies import Dependencies
from gateway.service.gateway import Gateway
from gateway.settings import Settings
from gateway.telemetry.setup import Telemetry
from gateway.telemetry.spans.http_spans import RequestSpan

B = TypeVar("B", bound=BaseModel)

MAX_NAME_LENGTH = 256
UPLOAD_FIRST = (
    " Upload large files with POST /api/artifacts, then attach each by its reference: "
    '{"ref": "ART-…"} in attachments.'
)


def gateway_of(request: Request) -> Gateway:
    return request.app.state.gateway


def settings_of(request: Request) -> Settings:
    return request.app.state.settings


def parts_of(request: Request) -> Dependencies:
    return request.app.state.deps


def telemetry_of(request: Request) -> Telemetry:
    return request.app.state.telemetry


def span_of(request: Request) -> RequestSpan:
    """The request's span; one that does nothing where no traces are kept."""
    return request.scope["request_span"]


def principal_of(request: Request) -> Principal:
    """Who asks, as the middleware found out."""
    return request.scope["principal"]


def path_id(request: Request, name: str) -> str:
    """An id of the path. Raises errors.InvalidRequest when it is none."""
    value = request.path_params[name]
    if not is_id(value):
        raise InvalidRequest(f"{name} must be 1 to 64 letters, digits, '_' or '-'.")
    return value


def path_text(request: Request, name: str) -> str:
    """A name of the path that is not ours to choose. Raises errors.InvalidRequest when it is no such text."""
    value: str = request.path_params[name]
    if not (0 < len(value) <= MAX_NAME_LENGTH and value.isprintable()):
        raise InvalidRequest(f"{name} must be 1 to {MAX_NAME_LENGTH} printable characters.")
    return value


def path_number(request: Request, name: str, most: int) -> int:
    """A whole number of the path, 0 to `most`. Raises errors.InvalidRequest when it is none."""
    value = request.path_params[name]
    if not (value.isascii() and value.isdigit() and len(value) <= 12 and int(value) <= most):
        raise InvalidRequest(f"{name} must be a whole number from 0 to {most}.")
    return int(value)


async def read_body(request: Request, model: type[B]) -> B:
    """The JSON body as `model`; an absent body counts as {}.

    Raises:
        InvalidRequest: not JSON, or not of that shape; the message names the fields.
        TooLarge: more than `max_body_size` bytes; the rest is not read.
        BodyTooSlow, ClientLeft: see `receive_body`.
    """
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise InvalidRequest(f"The content type must be application/json, not {kind[:100]}.")
    hint = UPLOAD_FIRST if "attachments" in model.model_fields else ""
    raw = await _read_bounded(request, settings_of(request).max_body_size, hint)
    try:
        value = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"The body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidRequest("The body must be a JSON object.")
    return _validate(value, model)


async def _read_bounded(request: Request, most: int, hint: str) -> bytes:
    declared = request.headers.get("content-length", "")
    raw = bytearray()
    if not (declared.isdigit() and int(declared) > most):
        async for chunk in receive_body(request):
            raw += chunk
            if len(raw) > most:
                break
        else:
            return bytes(raw)
    raise TooLarge(f"The body is larger than {most} bytes.{hint}", details={"max_body_size": most})


async def receive_body(request: Request) -> AsyncGenerator[bytes]:
    """The body as it comes in. All waits for it together last at most `body_timeout` seconds, and one more
    for each `body_min_rate` bytes that came: who sends a byte now and then must not keep the place of others.

    Raises:
        BodyTooSlow: they last longer, or nothing comes for `send_timeout` seconds.
        ClientLeft: the connection was closed before the body was whole.
    """
    settings = settings_of(request)
    left, silence = settings.body_timeout, settings.send_timeout
    goes_on = True
    while goes_on:
        asked = monotonic()
        try:
            async with asyncio.timeout(min(left, silence)):
                message = await request.receive()
        except TimeoutError:
            if left < silence:
                raise BodyTooSlow("The body came too slowly: see GATEWAY_BODY_TIMEOUT.") from None
            raise BodyTooSlow(f"Nothing of the body came for {silence:g} seconds.") from None
        if message["type"] == "http.disconnect":
            raise ClientLeft("The connection was closed before the body was whole.")
        chunk, goes_on = message.get("body", b""), message.get("more_body", False)
        left += len(chunk) / settings.body_min_rate - (monotonic() - asked)
        if chunk:
            yield chunk


def read_query(request: Request, model: type[B]) -> B:
    """The query parameters as `model`; `traceparent`, which any request may carry, is not one of them. Raises
    errors.InvalidRequest."""
    pairs = [pair for pair in request.query_params.multi_items() if pair[0] != "traceparent"]
    if len({name for name, _ in pairs}) < len(pairs):
        raise InvalidRequest("A query parameter is given twice.")
    return _validate(dict(pairs), model)


def read_cursor(request: Request, after: int) -> int:
    """The cursor: the Last-Event-ID header wins over the query. Raises errors.InvalidRequest."""
    header = request.headers.get("last-event-id")
    if header is None or header == "":
        return after
    if not (header.isascii() and header.isdigit() and len(header) <= 12):
        raise InvalidRequest("Last-Event-ID must be the seq of an event: up to 12 digits.")
    return int(header)


def if_match(request: Request) -> int | None:
    """The version that a change expects (the header If-Match, with an ETag such as `"3"`); None: any. Raises
    errors.InvalidRequest."""
    given = request.headers.get("if-match", "*").strip()
    if given == "*":
        return None
    version = given.removeprefix("W/").strip('"')
    if not (version.isascii() and version.isdigit() and len(version) <= 12):
        raise InvalidRequest('If-Match must be the ETag of an answer, such as "3".')
    return int(version)


def wants(request: Request, media_type: str) -> bool:
    """Whether the client asks for `media_type` by name."""
    return media_type in request.headers.get("accept", "").lower()


def _validate(value: dict[str, object], model: type[B]) -> B:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in problem['loc']) or 'body'}: "
            + plain_words(problem["type"], problem["msg"], unknown="unknown name")
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise InvalidRequest("; ".join(problems)[:2000]) from None
