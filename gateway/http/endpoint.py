"""Endpoints of the HTTP API, each declared on the function that answers it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Concatenate, ParamSpec, TypeVar, cast

from pydantic import BaseModel
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gateway.auth.operations import OPERATIONS, Operation, check
from gateway.http.error_responses import ProblemReply
from gateway.http.requests import ApiRequest
from gateway.http.stream_places import InPlace
from gateway.service.costly_places import Costly

STREAM = "text/event-stream"
Answer = type[BaseModel] | str | None
"""A model is JSON, a string is another media type, None has no body."""
Handler = Callable[[ApiRequest], Awaitable[Response]]
H = TypeVar("H", bound=Handler)
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Cost:
    """The kind of places that a request takes one of; `only_with` any of these query parameters."""

    kind: Costly
    only_with: tuple[str, ...] = ()

    def of(self, request: ApiRequest) -> Costly | None:
        """The kind; None: this one costs nothing worth a place."""
        given = {name.lower().replace("_", "") for name in request.query_params} if self.only_with else ()
        asked = any(name.replace("_", "") in given for name in self.only_with)
        return self.kind if asked or not self.only_with else None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path, and its `handler`. `operation` is the name of what it does, by which it is
    decided who may (`auth.operations`) and under which it is audited; `carries` are others that a request of
    it may do, each of which its handler asks for (`ApiRequest.allow`). `answers` are its successes,
    `refusals` the failures worth events apart, `upload` is the media type of a body that is no JSON,
    `problem` what a refusal looks like. `cost` is what bounds requests that cost much, for all and for each
    user; a file keeps its user's place until it is sent."""

    handler: Handler
    method: str
    path: str
    operation: str
    answers: Mapping[int, tuple[Answer, ...]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    upload: str | None = None
    refusals: tuple[int, ...] = ()
    problem: Answer = ProblemReply
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    carries: tuple[str, ...] = ()
    cost: Cost | None = None

    def __post_init__(self) -> None:
        if unknown := {self.operation, *self.carries} - OPERATIONS.keys():
            raise ValueError(
                f"{self.method} {self.path} does {min(unknown)!r}, which auth.operations has not."
            )

    @property
    def does(self) -> Operation:
        return OPERATIONS[self.operation]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The route as an ASGI application. What Starlette makes of a function would hold four frames and
        closures more for as long as a stream is open."""
        if not self.does.is_open:
            check(scope["principal"], self.operation)
        request = ApiRequest(scope, receive, send)
        await request.find_session()
        if self.cost is None or (kind := self.cost.of(request)) is None:
            response = await self.handler(request)
        else:
            async with request.gateway.places.taken(kind, request.whose_place) as request.place:
                response = await self.handler(request)
                if isinstance(response, StreamingResponse):
                    content = cast("AsyncGenerator[bytes]", response.body_iterator)
                    async with aclosing(request.place.made(content)) as response.body_iterator:
                        await response(scope, receive, send)
                    return
        await response(scope, receive, send)

    def route(self) -> Route:
        route = Route(self.path, self, methods=[self.method])
        if not self.does.is_open and any(STREAM in each for each in self.answers.values()):
            route.app = InPlace(self)
        return route

    @property
    def all_refusals(self) -> tuple[int, ...]:
        """The refusals, and the one for want of a place."""
        return self.refusals if self.cost is None else tuple(sorted({*self.refusals, 429}))

    @property
    def template(self) -> str:
        """The path without what only the router has to know."""
        return self.path.replace(":path}", "}")

    @property
    def summary(self) -> str:
        return (self.handler.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")


_OF_MODULE: dict[str, list[Endpoint]] = {}


def _decorator(make: Callable[Concatenate[Handler, P], Endpoint]) -> Callable[P, Callable[[H], H]]:
    def endpoint(*given: P.args, **named: P.kwargs) -> Callable[[H], H]:
        def declare(handler: H) -> H:
            _OF_MODULE.setdefault(handler.__module__, []).append(make(handler, *given, **named))
            return handler

        return declare

    return endpoint


endpoint = _decorator(Endpoint)
"""Declares an endpoint on its handler, with the fields of `Endpoint`. A handler may have several. Raises
ValueError as `Endpoint` does."""


def endpoints_of(*modules: str) -> tuple[Endpoint, ...]:
    """The endpoints that these modules declare, by the names of the modules, in the order in which they stand
    there. Raises KeyError for a module that declares none, or is not imported."""
    return tuple(each for name in modules for each in _OF_MODULE[name])
