"""One row of the URL table."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from pydantic import BaseModel
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from gateway.auth.operations import OPERATIONS, Operation, check
from gateway.http.error_responses import ProblemReply
from gateway.http.requests import ApiRequest

STREAM = "text/event-stream"
Answer = type[BaseModel] | str | None
"""A model is JSON, a string is another media type, None has no body."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path. `operation` is the name of what it does, by which it is decided who may
    (`auth.operations`) and under which it is audited; `carries` are others that a request of it may do, each
    of which its handler asks for (`ApiRequest.allow`). `answers` are its successes, `refusals` the failures
    worth events apart, `upload` is the media type of a body that is no JSON, `problem` what a refusal looks
    like."""

    method: str
    path: str
    operation: str
    handler: Callable[[ApiRequest], Awaitable[Response]]
    answers: Mapping[int, tuple[Answer, ...]]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    upload: str | None = None
    refusals: tuple[int, ...] = ()
    problem: Answer = ProblemReply
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    carries: tuple[str, ...] = ()

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
        response = await self.handler(request)
        await response(scope, receive, send)

    def route(self) -> Route:
        return Route(self.path, self, methods=[self.method])

    @property
    def template(self) -> str:
        """The path without what only the router has to know."""
        return self.path.replace(":path}", "}")

    @property
    def summary(self) -> str:
        return (self.handler.__doc__ or "").strip().partition("\n\n")[0].replace("\n    ", " ")
