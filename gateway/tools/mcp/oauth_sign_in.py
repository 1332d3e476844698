"""A person's sign-in to an MCP server: authorization code with PKCE and state (RFC 6749, 7636, 9207)."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import asdict, dataclass, field
from urllib.parse import urlencode, urlsplit

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from gateway.errors import McpSignInFailed
from gateway.ids import now_ms
from gateway.settings.value_types import McpServer
from gateway.tools.mcp.oauth_discovery import SignInPlace, discover
from gateway.tools.mcp.oauth_grants import OAuthClient, SignedIn, exchange, known_client, register
from gateway.tools.mcp.oauth_tokens import ServerTokens, SignInStore

BEGUN_FOR = 600
"""Seconds that somebody may take at the authorization server."""
MAX_CODE = 4096


@dataclass(frozen=True, slots=True)
class Beginner:
    """Who begins a sign-in. `bound_to` is who may come back; `key_id`, `sign_in` (a digest) and `expires_at`
    (Unix milliseconds) are of the access by which they begin."""

    bound_to: str
    key_id: str | None = None
    sign_in: str | None = None
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class BegunSignIn:
    """What is kept while somebody is at the authorization server."""

    server: str
    by: Beginner
    verifier: str = field(repr=False)
    redirect_uri: str
    says_issuer: bool
    known: SignedIn


_BEGUN = TypeAdapter(BegunSignIn)


def begun_place(state: str) -> str:
    """Under which it is stored."""
    return f"begun:{hashlib.sha256(state.encode()).hexdigest()}"


async def begin(
    name: str,
    server: McpServer,
    tokens: ServerTokens,
    store: SignInStore,
    *,
    redirect_uri: str,
    by: Beginner,
) -> str:
    """The address at which a person signs in; they come back to `redirect_uri` within BEGUN_FOR seconds.

    Raises:
        McpSignInFailed: there is no such place, or it cannot be asked.
        EncryptionOff: nothing could be stored.
    """
    place = await discover(server, tokens.requests, tokens.challenge)
    client = await _client(server, tokens, place, redirect_uri)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    known = SignedIn(
        server.url or "", client, str(place.metadata.token_endpoint), place.resource, place.scope
    )
    says_issuer = place.metadata.authorization_response_iss_parameter_supported is True
    begun = BegunSignIn(name, by, verifier, redirect_uri, says_issuer, known)
    text = to_json(asdict(begun)).decode()
    await store.put(begun_place(state), text, now_ms() + BEGUN_FOR * 1000)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        "resource": place.resource,
        **({"scope": place.scope} if place.scope else {}),
        **({"prompt": "consent"} if "offline_access" in (place.scope or "").split() else {}),
    }
    url = str(place.metadata.authorization_endpoint)
    return f"{url}{'&' if urlsplit(url).query else '?'}{urlencode(asked)}"


async def taken_up(store: SignInStore, state: str, bound_to: str) -> BegunSignIn:
    """What was begun with that state, which serves once. Raises McpSignInFailed: nothing, too long ago, or by
    somebody else."""
    text = await store.take(begun_place(state), now_ms()) if state else None
    try:
        begun = _BEGUN.validate_json(text) if text is not None else None
    except ValidationError:  # of another version
        begun = None
    if begun is None or not hmac.compare_digest(begun.by.bound_to.encode(), bound_to.encode()):
        raise McpSignInFailed(
            "This sign-in was not begun here, was used already, or was begun too long ago. Begin again."
        )
    return begun


async def finish(
    begun: BegunSignIn, tokens: ServerTokens, code: str, issuer: str | None, error: str | None
) -> None:
    """Gets the tokens for the code and keeps them. Raises McpSignInFailed, errors.StorageError."""
    expected = begun.known.client.issuer
    if (issuer is not None and issuer != expected) or (issuer is None and begun.says_issuer):
        raise McpSignInFailed("Another authorization server answers than the one that was asked (RFC 9207).")
    if error:
        raise McpSignInFailed(f"The authorization server refused: {' '.join(error.split())[:200]}.")
    if not code or len(code) > MAX_CODE:
        raise McpSignInFailed("The authorization server gave no code.")
    await tokens.keep(await exchange(begun.known, code, begun.verifier, begun.redirect_uri, tokens.requests))


async def _client(
    server: McpServer, tokens: ServerTokens, place: SignInPlace, redirect_uri: str
) -> OAuthClient:
    """That of the settings; else the one that was registered for this very address; else a new one."""
    if server.oauth is not None and server.oauth.client_id:
        secret = server.oauth.client_secret
        return known_client(
            place.metadata, server.oauth.client_id, secret.get_secret_value() if secret else None
        )
    stored = await tokens.stored()
    if stored is not None:
        client = stored.client
        if client.issuer == place.issuer and client.redirect_uri == redirect_uri:
            return client
    return await register(place, redirect_uri, tokens.requests)
