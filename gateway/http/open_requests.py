"""A request is answered as long as the access holds that it came with."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.auth import Principal
from gateway.errors import AccessEnded
from gateway.http.error_responses import refusal
from gateway.service.open_access import OpenAccess

RESTING = "resting"
"""In the scope of a request that rests on access: what that is (`open_access.Resting`)."""


async def answered(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Has `app` answer. When the access of who asks ends meanwhile, an answer that has not begun is a refusal
    (access_ended), and one that has begun is broken off, unless it ends itself, as streams do."""
    who: Principal | None = scope.get("principal")
    if who is None:
        await app(scope, receive, send)
        return
    access: OpenAccess = scope["app"].state.open_access
    is_begun = False

    async def noting(message: Message) -> None:
        nonlocal is_begun
        is_begun = True
        await send(message)

    try:
        with access.resting(who) as scope[RESTING]:
            await app(scope, receive, noting)
    except AccessEnded as ended:
        if not is_begun:
            response = refusal(scope, ended)
            response.headers["connection"] = "close"  # the rest of its body is not waited for
            await response(scope, receive, send)
