"""Sign-in on the page: to the identity provider, back, and out."""

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gateway.auth.signed_in import COOKIE, SIGN_IN, PageSignIn, cookie_in, digest_of, named_in
from gateway.errors import Forbidden, GatewayError, NotFound
from gateway.http.endpoint import endpoint
from gateway.http.error_status_codes import status_of
from gateway.http.json_types import Query, Reply, json_reply
from gateway.http.public_address import name_in
from gateway.http.requests import ApiRequest
from gateway.settings import LOOPBACK_HOSTS

if TYPE_CHECKING:
    from gateway.auth.sign_in_flow import SignInFlow

BEGUN = "gateway_signing_in"
BEGUN_FOR = 600
"""Seconds that somebody may take at the provider."""
CALLBACK = "/auth/callback"


class SignInQuery(Query):
    """Where to go then."""

    to: str = Field("/", max_length=512, description="A path of the page.")


class CallbackQuery(Query):
    """What an identity provider or authorization server sends the browser back with."""

    model_config = ConfigDict(extra="ignore")  # providers add their own

    code: str = Field("", max_length=4096)
    state: str = Field("", max_length=512)
    iss: str | None = Field(None, max_length=2048)
    error: str | None = Field(None, max_length=200)


class SignedOut(Reply):
    """Where the browser goes now."""

    url: str = Field(description="The identity provider's page to sign out there too, or our own.")


@endpoint("GET", SIGN_IN, "sign_in.begin", {303: (None,)}, query=SignInQuery, refusals=(401, 403, 404, 503))
async def begin(request: ApiRequest) -> Response:
    """Sends the browser to the identity provider."""
    asked = await request.read_query(SignInQuery)
    page = page_of(request)
    url, begun = await _flow(_ways(request)).begin(asked.to, page + CALLBACK)
    response = _leaving(RedirectResponse(url, 303))
    set_browser_value(response, page, BEGUN, begun.text, BEGUN_FOR)
    return response


@endpoint(
    "GET", CALLBACK, "sign_in.create", {303: (None,)}, query=CallbackQuery, refusals=(401, 403, 404, 503)
)
async def finish(request: ApiRequest) -> Response:
    """Signs the browser in that comes back, and sends it to the page."""
    asked, ways, page = await request.read_query(CallbackQuery), _ways(request), page_of(request)
    flow = _flow(ways)
    kept = named_in(request.headers.get("cookie", ""), _named(page, BEGUN)) or ""
    try:
        who, to = await flow.finish(
            "" if asked.error else asked.code, asked.state, asked.iss, kept, page + CALLBACK
        )
        value = await ways.signed_in.begin(who)
        if (former := cookie_in(request.headers, request.settings)) is not None:
            await _end(request, ways, former, heir=digest_of(value))
    except GatewayError as error:
        request.scope["refused"] = error.code
        response = failure_page(error)
    else:
        request.scope["principal"] = who
        response = RedirectResponse(urlsplit(page).path + to, 303)
        set_browser_value(response, page, COOKIE, value, int(request.settings.sign_in_lifetime))
    set_browser_value(response, page, BEGUN, "", 0)
    return _leaving(response)


@endpoint("POST", "/auth/keep-key", "sign_in.keep", {204: (None,)}, refusals=(403,))
async def keep(request: ApiRequest) -> Response:
    """Has this browser keep the API key that the request came with, out of reach of scripts, until the key or
    GATEWAY_KEEP_KEYS_FOR ends, or its user signs out."""
    page, ways = page_of(request), _ways(request)
    value, seconds = await ways.keeper.keep(request.principal, request.headers)
    if (former := cookie_in(request.headers, request.settings)) is not None:
        await _end(request, ways, former, heir=digest_of(value))
    response = Response(status_code=204)
    set_browser_value(response, page, COOKIE, value, seconds)
    return _leaving(response)


@endpoint("POST", "/auth/sign-out", "sign_in.end", {200: (SignedOut,)}, refusals=(403, 404))
async def end(request: ApiRequest) -> Response:
    """Signs this browser out, and says where it can sign out at the identity provider."""
    ways, page = _ways(request), page_of(request)
    if (value := cookie_in(request.headers, request.settings)) is not None:
        await _end(request, ways, value)
    at_provider = value is not None and "." not in value  # else it was a key that signed them in
    url = await ways.flow.signed_out_url(page + "/") if ways.flow is not None and at_provider else None
    response = json_reply(SignedOut(url=url or "/"))
    set_browser_value(response, page, COOKIE, "", 0)
    return response


async def _end(request: ApiRequest, ways: PageSignIn, value: str, *, heir: str | None = None) -> None:
    request.outlives_access()
    if (user_id := await ways.signed_in.user_of(value)) is not None:
        await request.gateway.access_ending.end_sign_in(digest_of(value), user_id, heir=heir)


def _ways(request: ApiRequest) -> PageSignIn:
    ways: PageSignIn = request.app.state.page_sign_in
    return ways


def _flow(ways: PageSignIn) -> "SignInFlow":
    if ways.flow is None:
        raise NotFound("No sign-in is configured: GATEWAY_OIDC_CLIENT_ID.")
    return ways.flow


def failure_page(error: GatewayError) -> Response:
    """What a person reads whose browser came back to a sign-in that failed."""
    text = f"<title>Chat Gateway</title><p>{escape(error.message)}<p><a href=/>Chat Gateway</a>"
    return HTMLResponse(f"<!doctype html>{text}", status_of(error))


def page_of(request: ApiRequest) -> str:
    """The page's address as browsers see it: the setting's, else that on loopback. What a request says of
    another host is not believed: the provider would send the code there."""
    if request.settings.page_url:
        return request.settings.page_url.rstrip("/")
    host = request.headers.get("host", "").lower()
    if name_in(host) not in LOOPBACK_HOSTS:
        raise Forbidden("Set GATEWAY_PAGE_URL to the address of the page.")
    return f"{request.url.scheme}://{host}"


def _named(page: str, name: str) -> str:
    return f"__Host-{name}" if page.startswith("https:") else name


def browser_value(request: ApiRequest, page: str, name: str) -> str | None:
    """What `set_browser_value` has this browser keep."""
    return named_in(request.headers.get("cookie", ""), _named(page, name))


def set_browser_value(response: Response, page: str, name: str, value: str, seconds: int) -> None:
    """Has the browser keep a value, out of reach of scripts; for no seconds: forget it."""
    is_secure = page.startswith("https:")
    response.set_cookie(
        _named(page, name), value, max_age=seconds, path="/", secure=is_secure, httponly=True, samesite="lax"
    )


def _leaving(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    return response
