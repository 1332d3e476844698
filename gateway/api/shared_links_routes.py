"""Links by which a chat is read at this gateway, and the pages that they lead to."""

import asyncio
from dataclasses import asdict
from typing import Self

from pydantic import Field
from starlette.responses import RedirectResponse, Response

from gateway.api import shared_sessions
from gateway.auth import Principal
from gateway.auth.authentication import Authentication
from gateway.auth.signed_in import named_in
from gateway.errors import NotAuthenticated
from gateway.http.downloads import StreamedBody
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Reply, SessionId, json_reply
from gateway.http.requests import ApiRequest
from gateway.service.shared_links import PASS_FOR
from gateway.session_pages.reader_page import ReaderPage, load_reader
from gateway.storage.shared_links import Audience, SharedLink

HTML = "text/html"
PAGES = "/s/{token}"
COOKIE = "gateway_link"
"""The cookie that lets a browser open one link, once its reader has shown the page who they are."""
ALONE = "sandbox allow-scripts allow-popups allow-modals allow-downloads"
"""Of a page that others wrote: it has an origin of its own, and so neither keys nor cookies of this one."""


class LinkBody(Body):
    """A link to make."""

    session_id: SessionId
    audience: Audience = Field(
        "signed_in", description="anybody: whoever has it, where GATEWAY_PUBLIC_LINKS allows that."
    )
    live: bool = Field(False, description="It shows what comes after now too.")
    expires_at: int | None = Field(None, ge=1, le=2**53, description="Unix milliseconds; absent: never.")


class LinkReply(Reply):
    """A link to a chat. Times are Unix milliseconds."""

    id: str
    session_id: str
    title: str | None = None
    audience: Audience
    live: bool
    created_at: int
    expires_at: int | None = None
    opened_at: int | None = Field(None, description="The last time.")
    openings: int

    @classmethod
    def of(cls, link: SharedLink, title: str | None = None, **more: object) -> Self:
        return cls.from_row(link, session_id=link.session, title=title, live=link.until_seq is None, **more)


class NewLink(LinkReply):
    path: str = Field(description="Behind the address of the gateway. It is shown here alone.")


class LinkList(Reply):
    """The newest first, those that have expired too."""

    links: list[LinkReply]


class OpenLinkBody(Body):
    """The secret of a link: the last part of its path."""

    token: str = Field(min_length=1, max_length=200)


@endpoint("POST", "/api/links", "link.create", {201: (NewLink,)}, LinkBody, refusals=(403, 404, 409, 413))
async def create(request: ApiRequest) -> Response:
    """Makes a link by which your chat is read: as it is now, or with what comes, until you end it."""
    asked = await request.read_body(LinkBody)
    link, token = await request.gateway.links.create(
        request.principal,
        asked.session_id,
        audience=asked.audience,
        is_live=asked.live,
        expires_at=asked.expires_at,
    )
    request.concerns("link", link.id)
    return json_reply(NewLink.of(link, path=PAGES.format(token=token)), 201)


@endpoint("GET", "/api/links", "link.list", {200: (LinkList,)})
async def find(request: ApiRequest) -> Response:
    """Your links, each with when it was opened last."""
    found = await request.gateway.links.list(request.principal)
    return json_reply(LinkList(links=[LinkReply.of(link, title) for link, title in found]))


@endpoint("DELETE", "/api/links/{link_id}", "link.end", {204: (None,)}, refusals=(404,))
async def end(request: ApiRequest) -> Response:
    """Ends a link for everybody, at once."""
    await request.gateway.links.end(request.principal, request.path_id("link_id"))
    return Response(status_code=204)


@endpoint("POST", "/api/links/open", "link.open", {204: (None,)}, OpenLinkBody, refusals=(404, 413))
async def open_(request: ApiRequest) -> Response:
    """Lets this browser open a link within a minute: for the page, whose readers show who they are by a
    key."""
    asked = await request.read_body(OpenLinkBody)
    given = await request.gateway.links.pass_for(request.principal, asked.token)
    response = Response(status_code=204)
    is_secure = request.url.scheme == "https" or (request.settings.page_url or "").startswith("https:")
    response.set_cookie(
        COOKIE, given, max_age=PASS_FOR, path="/", secure=is_secure, httponly=True, samesite="strict"
    )
    return response


@endpoint("GET", PAGES, "link.read", {200: (HTML,), 303: (None,)}, refusals=(404,), cost=Cost("copy"))
async def read(request: ApiRequest) -> Response:
    """The chat that a link leads to, as a page to read. Who has to show who they are first comes to the page,
    which brings them back."""
    token, links = request.path_text("token"), request.gateway.links
    given = named_in(request.headers.get("cookie", ""), COOKIE) or ""
    link = await links.opened(token, await _known(request), given)
    if link is None:
        return RedirectResponse(f"../#l={token}", 303, {"cache-control": "no-store"})
    session, turns = await links.turns(link)
    page = ReaderPage(reader := await asyncio.to_thread(load_reader), asdict(session), is_linked=True)
    content = shared_sessions.web_page(page, turns, request.gateway.artifacts, Principal(link.owner))
    headers = {
        "content-security-policy": f"{reader.policy}; frame-ancestors 'none'; {ALONE}",
        "x-robots-tag": "noindex, nofollow",
    }
    return StreamedBody(
        content,
        media_type=f"{HTML}; charset=utf-8",
        send_timeout=request.settings.send_timeout,
        headers=headers,
    )


async def _known(request: ApiRequest) -> Principal | None:
    """Who asks, where the request says so by itself: nobody has to."""
    authentication: Authentication = request.app.state.authentication
    try:
        who = await authentication.identify(request.headers, request.scope["came_from"])
    except NotAuthenticated:
        return None
    request.app.state.being_erased.check(who, request.url.path)
    return who
