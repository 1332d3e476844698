"""What is asked of an authorization server: to know us as a client, and for tokens (RFC 6749, 7591, 8707)."""

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from pydantic import ValidationError
from pydantic_core import to_json

from gateway.ids import now_ms
from gateway.tools.mcp.failure_messages import redacted
from gateway.tools.mcp.oauth_discovery import SignInPlace
from gateway.tools.mcp.oauth_requests import (
    GrantRefused,
    McpSignInFailed,
    NotAnswering,
    OAuthAnswer,
    OAuthRequests,
)

CLIENT_NAME = "Chat Gateway"
_DEFAULT_METHOD = "client_secret_basic"
_SECRET = frozenset({"code", "code_verifier", "refresh_token", "client_secret"})
"""Parameters of a request for tokens that nobody is shown."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """As which the gateway is known. `issuer` is to whom; `method` is how it shows that it is it."""

    issuer: str
    client_id: str
    secret: str | None = field(repr=False)
    method: str
    redirect_uri: str | None = None


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A sign-in, and all that it takes to keep it. `expires_at` is in Unix milliseconds; None: it is not
    known. Without an access token the client alone is known."""

    url: str
    client: OAuthClient
    token_endpoint: str
    resource: str
    scope: str | None
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: int | None = None

    def signed_out(self) -> "SignedIn":
        """The same without tokens."""
        return replace(self, access_token=None, refresh_token=None, expires_at=None)


def known_client(metadata: OAuthMetadata, client_id: str, secret: str | None) -> OAuthClient:
    """A client that the settings name."""
    return OAuthClient(str(metadata.issuer), client_id, secret, _method(metadata, secret))


async def register(place: SignInPlace, redirect_uri: str, requests: OAuthRequests) -> OAuthClient:
    """Makes the gateway known (RFC 7591). Raises McpSignInFailed."""
    endpoint = place.metadata.registration_endpoint
    if endpoint is None:
        raise McpSignInFailed(
            "The authorization server registers no clients by itself: register one there, with the address "
            f"{redirect_uri}, and set `oauth.client_id` of the server."
        )
    methods = place.metadata.token_endpoint_auth_methods_supported
    asked = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none"
        if methods is None or "none" in methods
        else _method(place.metadata, "a"),
        **({"scope": place.scope} if place.scope else {}),
    }
    answer = await requests.post_json(str(endpoint), to_json(asked))
    if answer.status not in (200, 201):
        raise McpSignInFailed(f"The authorization server did not register the gateway: {answer.words}.")
    try:
        found = OAuthClientInformationFull.model_validate(
            {key: value for key, value in answer.body.items() if key != "issuer"}
        )
    except ValidationError:
        raise McpSignInFailed(
            "The authorization server's answer to the registration cannot be read."
        ) from None
    method = found.token_endpoint_auth_method or ("none" if found.client_secret is None else _DEFAULT_METHOD)
    if method not in ("none", "client_secret_basic", "client_secret_post"):
        raise McpSignInFailed(
            f"The authorization server asks for {method[:50]}, which the gateway does not do."
        )
    if method != "none" and found.client_secret is None:
        raise McpSignInFailed("The authorization server registered the gateway for a secret, and gave none.")
    return OAuthClient(place.issuer, found.client_id, found.client_secret, method, redirect_uri)


async def exchange(
    known: SignedIn, code: str, verifier: str, redirect_uri: str, requests: OAuthRequests
) -> SignedIn:
    """The sign-in that a code stands for. Raises GrantRefused, NotAnswering."""
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    return await _tokens(known, form | {"code_verifier": verifier}, requests)


async def refresh(known: SignedIn, requests: OAuthRequests) -> SignedIn:
    """The sign-in with a new access token, and a new refresh token where the server gives one out. Raises
    GrantRefused, NotAnswering."""
    form = {"grant_type": "refresh_token", "refresh_token": known.refresh_token or ""}
    return await _tokens(known, form, requests)


async def ask_as_client(known: SignedIn, requests: OAuthRequests) -> SignedIn:
    """A token for the gateway itself, without a person. Raises as `refresh`."""
    form = {"grant_type": "client_credentials", **({"scope": known.scope} if known.scope else {})}
    return await _tokens(known, form, requests)


async def _tokens(known: SignedIn, form: Mapping[str, str], requests: OAuthRequests) -> SignedIn:
    client, headers = known.client, dict[str, str]()
    sent = {**form, "resource": known.resource}
    if client.method == "client_secret_basic" and client.secret is not None:
        pair = f"{quote(client.client_id, safe='')}:{quote(client.secret, safe='')}"  # RFC 6749, 2.3.1
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        sent["client_id"] = client.client_id
        if client.method == "client_secret_post" and client.secret is not None:
            sent["client_secret"] = client.secret
    answer = await requests.post_form(known.token_endpoint, sent, headers)
    if answer.status not in (200, 201) or answer.error:
        raise _refused(
            answer, [value for key, value in sent.items() if key in _SECRET] + [client.secret or ""]
        )
    try:
        token = OAuthToken.model_validate(_mended(answer.body))
    except ValidationError:
        raise NotAnswering("The authorization server's answer has no token that can be used.") from None
    lasts = token.expires_in
    return replace(
        known,
        access_token=token.access_token,
        refresh_token=token.refresh_token or known.refresh_token,
        scope=token.scope or known.scope,
        expires_at=now_ms() + max(0, min(lasts, 10**9)) * 1000 if lasts is not None else None,
    )


def _mended(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer with an expiry that is a number, as some servers write it as text or with a fraction."""
    lasts = body.get("expires_in")
    with_number = isinstance(lasts, int | float) and not isinstance(lasts, bool)
    if not with_number and not (isinstance(lasts, str) and lasts.isdecimal()):
        lasts = None
    return {
        **{key: body[key] for key in ("access_token", "refresh_token", "scope") if body.get(key)},
        "token_type": body.get("token_type") or "Bearer",
        "expires_in": int(lasts) if lasts is not None else None,
    }


def _refused(answer: OAuthAnswer, secrets: Collection[str]) -> McpSignInFailed:
    words = answer.words_without(secrets)
    if answer.status >= 500 or answer.status in (408, 429):
        return NotAnswering(f"The authorization server fails: {words}.")
    return GrantRefused(f"The authorization server refuses: {words}.", redacted(answer.error, secrets))


def _method(metadata: OAuthMetadata, secret: str | None) -> str:
    """How a client with this secret shows that it is it: as the server's metadata says, else as RFC 8414
    takes for granted."""
    if secret is None:
        return "none"
    offered = metadata.token_endpoint_auth_methods_supported or [_DEFAULT_METHOD]
    return (
        "client_secret_post"
        if _DEFAULT_METHOD not in offered and "client_secret_post" in offered
        else _DEFAULT_METHOD
    )
