"""A request to one of our routes, read strictly: body, query, path, cursor, and who asks."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, nullcontext
from functools import cache
from time import monotonic
from typing import Literal, TypeVar, cast

from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.requests import Request

from gateway.auth import Principal
from gateway.auth.operations import check
from gateway.errors import BodyTooSlow, ClientLeft, InvalidRequest, TooLarge
from gateway.http.body_encodings import charset_named, in_utf_8, inflater, stepwise
from gateway.http.json_types import SessionName
from gateway.http.large_bodies import MAX_PARTS, large_bodies
from gateway.http.open_requests import RESTING
from gateway.http.validation import validated
from gateway.ids import is_id
from gateway.service.costly_places import Place
from gateway.service.gateway import Gateway
from gateway.settings import Settings
from gateway.telemetry.setup import Telemetry
from gateway.telemetry.spans.http_spans import RequestSpan

B = TypeVar("B", bound=BaseModel)

BodyLimit = Literal["max_body_size", "adapter_body_size"]
MAX_QUERY_NAMES = 100
"""Parameters of one query: no route knows twenty."""
MAX_NAME_LENGTH = 256
NDJSON = "application/x-ndjson"
UPLOADS = frozenset({NDJSON, "application/jsonl", "application/octet-stream", ""})
"""Content types of an import; "" is an absent one."""
UPLOAD_FIRST = (
    " Upload large files with POST /api/artifacts, then attach each by its reference: "
    '{"ref": "ART-…"} in attachments.'
)


MAX_CREDIT = 4
"""Times `body_timeout` that a body may pause for what came faster before."""


class ApiRequest(Request):
    """What every handler is given. What it reads raises errors.InvalidRequest when it is of another form."""

    place: Place | None = None
    """The place that it has, where it costs one."""

    @property
    def gateway(self) -> Gateway:
        """The operations of the service."""
        return self.app.state.gateway

    @property
    def settings(self) -> Settings:
        """The settings of the process."""
        return self.app.state.settings

    @property
    def telemetry(self) -> Telemetry:
        """The telemetry of the process."""
        return self.app.state.telemetry

    @property
    def span(self) -> RequestSpan:
        """The request's span; one that does nothing where no traces are kept."""
        return self.scope["request_span"]

    @property
    def principal(self) -> Principal:
        """Who asks, as the middleware found out."""
        return self.scope["principal"]

    @property
    def whose_place(self) -> str:
        """Whose places a costly request takes one of: its user's, or those of its address where nobody is
        asked who they are."""
        who: Principal | None = self.scope.get("principal")
        return who.user_id if who is not None else f"address {self.scope['came_from'].address}"

    def outlives_access(self) -> None:
        """Has the request answered to its end though it takes away the access that it came with."""
        if (resting := self.scope.get(RESTING)) is not None:
            resting.release()

    def allow(self, operation: str) -> None:
        """Asks whether the caller may do that too, beside what the route is for, which has to name it in
        `Endpoint.carries`; and notes it for the audit. Raises errors.Forbidden."""
        endpoint = self.scope["endpoint"]
        if operation not in (endpoint.operation, *endpoint.carries):
            raise RuntimeError(f"{endpoint.method} {endpoint.path} does not say that it does {operation}.")
        noted: list[str] = self.scope.setdefault("operations", [])
        if operation not in noted:
            noted.append(operation)
        check(self.principal, operation)

    def reads_of(self, owner: str, session_id: str) -> None:
        """The answer has a session of that owner: a guest gets it as long as it is shared with them."""
        resting = self.scope.get(RESTING)
        if resting is not None and owner != self.principal.user_id:
            resting.rests_on(session_id)

    @property
    def dialect(self) -> str | None:
        """The adapter of its path; None: it is of our own routes."""
        return self.scope["dialect"]

    @property
    def content_type(self) -> str:
        """Without its parameters; "" when there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def concerns(self, kind: str, id_: str) -> None:
        """Names for the audit what the request does something to, where its path does not."""
        self.scope["audit_subject"] = kind, id_

    def wants(self, media_type: str) -> bool:
        """Whether the client asks for `media_type` by name."""
        return media_type in self.headers.get("accept", "").lower()

    async def find_session(self) -> None:
        """Has the id in the path of the session that the caller calls what stands there. Raises
        errors.StorageError."""
        if "session_id" in self.path_params and is_id(name := self.path_params["session_id"]):
            self.path_params["session_id"] = await self.gateway.sessions.id_of(self.principal, name)

    def path_id(self, name: str) -> str:
        """An id of the path."""
        if not is_id(value := self.path_params[name]):
            raise InvalidRequest(f"{name} must be 1 to 64 letters, digits, '_' or '-'.")
        return value

    def path_text(self, name: str) -> str:
        """A name of the path that is not ours to choose."""
        value: str = self.path_params[name]
        if not (0 < len(value) <= MAX_NAME_LENGTH and value.isprintable()):
            raise InvalidRequest(f"{name} must be 1 to {MAX_NAME_LENGTH} printable characters.")
        return value

    def path_number(self, name: str, most: int) -> int:
        """A whole number of the path, 0 to `most`."""
        value = self.path_params[name]
        if not (value.isascii() and value.isdigit() and len(value) <= 12 and int(value) <= most):
            raise InvalidRequest(f"{name} must be a whole number from 0 to {most}.")
        return int(value)

    @property
    def query_params(self) -> QueryParams:
        """The parameters of the query. Raises errors.InvalidRequest for more than MAX_QUERY_NAMES."""
        if self.scope["query_string"].count(b"&") >= MAX_QUERY_NAMES:
            raise InvalidRequest(f"The query has more than {MAX_QUERY_NAMES} parameters.")
        return super().query_params

    async def read_query(self, model: type[B]) -> B:
        """The query parameters as `model`, with the ids of the sessions that they name; `traceparent`, which
        any request may carry, is not one of them."""
        pairs = [pair for pair in self.query_params.multi_items() if pair[0] != "traceparent"]
        if len({name for name, _ in pairs}) < len(pairs):
            raise InvalidRequest("A query parameter is given twice.")
        return await self._with_sessions(validated(dict(pairs), model))

    def read_cursor(self, after: int) -> int:
        """The cursor: the Last-Event-ID header wins over `after`, the query's."""
        if not (header := self.headers.get("last-event-id")):
            return after
        if not (header.isascii() and header.isdigit() and len(header) <= 12):
            raise InvalidRequest("Last-Event-ID must be the seq of an event: up to 12 digits.")
        return int(header)

    @property
    def if_match(self) -> int | None:
        """The version that a change expects (the header If-Match, with an ETag such as `"3"`); None: any."""
        given = self.headers.get("if-match", "*").strip()
        if given == "*":
            return None
        version = given.removeprefix("W/").strip('"')
        if not (version.isascii() and version.isdigit() and len(version) <= 12):
            raise InvalidRequest('If-Match must be the ETag of an answer, such as "3".')
        return int(version)

    async def read_body(
        self, model: type[B], limit: BodyLimit = "max_body_size", max_parts: int = MAX_PARTS
    ) -> B:
        """The JSON body as `model`, with the ids of the sessions that it names; an absent body counts as {}.
        `limit` is the setting of its greatest size, `max_parts` how many objects, lists, values it has.

        Raises:
            InvalidRequest: not JSON, or not of that shape; the message names the fields.
            TooLarge: it has more bytes, as it came or decompressed, or more than `max_parts`; the rest is
                not read.
            UnsupportedBody: its Content-Encoding or its charset is not read.
            QueueFull: too many large bodies are being read.
            BodyTooSlow, ClientLeft: see `_receive_body`.
        """
        kind = self.content_type if "content-type" in self.headers else "application/json"
        if kind != "application/json":
            raise InvalidRequest(f"The content type must be application/json, not {kind[:100]}.")
        most: int = getattr(self.settings, limit)
        hint = UPLOAD_FIRST if "attachments" in _fields_of(model) else ""
        too_large = TooLarge(f"The body is larger than {most} bytes.{hint}", details={limit: most})
        with large_bodies().receive(self.principal.user_id, max_parts) as buffer:
            async for chunk in in_utf_8(self._read_bounded(most, too_large), self._charset):
                buffer.add(chunk)
            return await self._with_sessions(await buffer.read(lambda value: validated(value, model)))

    async def _with_sessions(self, asked: B) -> B:
        """The same, with the id of each session in the place of its `SessionName`."""
        found: dict[str, object] = {}
        for name in _fields_of(type(asked)):
            value: object = getattr(asked, name)
            if isinstance(value, SessionName):
                found[name] = await self.gateway.sessions.id_of(self.principal, str(value))
            elif isinstance(value, BaseModel):
                found[name] = await self._with_sessions(value)
            elif isinstance(value, list):
                values = cast("list[object]", value)
                if any(isinstance(each, BaseModel) for each in values):
                    found[name] = [
                        await self._with_sessions(each) if isinstance(each, BaseModel) else each
                        for each in values
                    ]
        return asked.model_copy(update=found) if found else asked

    def read_import(self) -> AsyncGenerator[bytes]:
        """The body as it comes in, decompressed and in UTF-8, at most `max_import_size` bytes of it.

        Raises:
            InvalidRequest: it is of another content type, at once.
            TooLarge: at once if it says so itself, else when it has come to that.
            UnsupportedBody: its Content-Encoding or its charset is not read.
            BodyTooSlow, ClientLeft: see `_receive_body`.
        """
        if self.content_type not in UPLOADS:
            raise InvalidRequest(f"The content type must be {NDJSON}, not {self.content_type[:100]}.")
        return in_utf_8(self._read_file("max_import_size", self.settings.max_import_size), self._charset)

    def read_content(self) -> AsyncGenerator[bytes]:
        """The body as it comes in, decompressed, of any type: at most `artifact_max_size` bytes. Raises as
        above."""
        return self._read_file("artifact_max_size", self.settings.artifact_max_size)

    def _read_file(self, limit: str, most: int) -> AsyncGenerator[bytes]:
        error = TooLarge(
            f"The file is larger than {most} bytes: see GATEWAY_{limit.upper()}.", details={limit: most}
        )
        return self._read_bounded(most, error)

    def _read_bounded(self, most: int, error: TooLarge) -> AsyncGenerator[bytes]:
        """The body as it comes in, decompressed. Raises `error` where it has more than `most` bytes before or
        behind that: at once if it says so itself."""
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise error
        decompress = inflater(self.headers.getlist("content-encoding"))
        received = _bounded(self._receive_body(), most, error)
        return received if decompress is None else _bounded(stepwise(received, decompress), most, error)

    @property
    def _charset(self) -> str | None:
        return charset_named(self.headers.get("content-type", ""))

    async def _receive_body(self) -> AsyncGenerator[bytes]:
        """The body as it comes in. It may fall behind `body_min_rate` bytes a second by `body_timeout`
        seconds, and by MAX_CREDIT times as much where more came before: who sends a byte now and then, or
        much at first and then little, must not keep the place of others.

        Raises:
            BodyTooSlow: it falls behind further, or nothing comes for `send_timeout` seconds.
            ClientLeft: the connection was closed before the body was whole.
        """
        settings = self.settings
        left, silence = settings.body_timeout, settings.send_timeout
        goes_on = True
        while goes_on:
            asked = monotonic()
            async with self.place.aside() if self.place is not None else nullcontext():
                try:
                    async with asyncio.timeout(min(left, silence)):
                        message = await self.receive()
                except TimeoutError:
                    if left < silence:
                        raise BodyTooSlow("The body came too slowly: see GATEWAY_BODY_TIMEOUT.") from None
                    raise BodyTooSlow(f"Nothing of the body came for {silence:g} seconds.") from None
                if message["type"] == "http.disconnect":
                    raise ClientLeft("The connection was closed before the body was whole.")
                chunk, goes_on = message.get("body", b""), message.get("more_body", False)
                left += len(chunk) / settings.body_min_rate - (monotonic() - asked)
                left = min(left, MAX_CREDIT * settings.body_timeout)
            if chunk:
                yield chunk


@cache  # as many as there are kinds of bodies
def _fields_of(model: type[BaseModel]) -> tuple[str, ...]:
    """The names of a model's fields: pydantic makes their mapping anew each time it is asked."""
    return tuple(model.model_fields)


async def _bounded(chunks: AsyncGenerator[bytes], most: int, error: TooLarge) -> AsyncGenerator[bytes]:
    size = 0
    async with aclosing(chunks):
        async for chunk in chunks:
            if (size := size + len(chunk)) > most:
                raise error
            yield chunk
