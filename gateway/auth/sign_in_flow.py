"""Sign-in at an OpenID provider: authorization code with PKCE, state and nonce (OpenID Connect Core 1.0, 3.1;
RFC 7636; RFC 9207)."""

import base64
import hashlib
import hmac
import re
import secrets
from typing import NamedTuple
from urllib.parse import quote_plus, urlencode

from gateway.auth import Principal
from gateway.auth.access_tokens import MAX_TOKEN, TokenVerifier
from gateway.auth.claims import ClaimMapping
from gateway.auth.identity_provider import IdentityProvider, check_address
from gateway.errors import NotAuthenticated, ProviderUnavailable, SettingsError

MAX_CODE = 4096
_OWN_PATH = re.compile(r"/(?:[!-.0-\[\]-~][!-\[\]-~]{0,500})?")
"""A path of this very page: not //host, and no backslash, which browsers read as a slash."""


class Begun(NamedTuple):
    """The state that the browser keeps, in a cookie, while its user is at the provider."""

    state: str
    nonce: str
    verifier: str
    to: str

    @property
    def text(self) -> str:
        """As the cookie has it."""
        to = base64.urlsafe_b64encode(self.to.encode()).decode().rstrip("=")
        return ".".join((self.state, self.nonce, self.verifier, to))


class SignInFlow:
    """Sends people to the provider, and finds out who comes back. What is between lies in their browser, so
    that any replica can go on, and nobody comes back with what was begun in another one."""

    def __init__(
        self,
        provider: IdentityProvider,
        verify: TokenVerifier,
        claims: ClaimMapping,
        *,
        client_id: str,
        client_secret: str | None,
        scopes: tuple[str, ...],
    ) -> None:
        self._provider, self._verify, self._claims = provider, verify, claims
        self._client_id, self._secret, self._scopes = client_id, client_secret, scopes

    async def begin(self, to: str, redirect_url: str) -> tuple[str, Begun]:
        """The provider's address that the browser goes to, and what it keeps; it ends up at `to`, a path of
        the page, or at the page where it is anything else. Raises ProviderUnavailable."""
        begun = Begun(
            *(secrets.token_urlsafe(32) for _ in range(3)),
            to=own_path(to),
        )
        challenge = hashlib.sha256(begun.verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_url,
            "scope": " ".join(("openid", *self._scopes)),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": base64.urlsafe_b64encode(challenge).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        url = await self._address("authorization_endpoint")
        return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}", begun

    async def finish(
        self, code: str, state: str, issuer: str | None, kept: str, redirect_url: str
    ) -> tuple[Principal, str]:
        """The principal that came back with that code, and the path that they go to. `kept` is what the
        browser kept.

        Raises:
            NotAuthenticated (sign_in_failed): it was not begun in this browser, or the provider refuses the
                code; or a code of `AccessTokens` and `ClaimMapping`.
            ProviderUnavailable: it cannot be asked.
        """
        begun = _begun(kept)
        if begun is None or not hmac.compare_digest(begun.state.encode(), state.encode()):
            raise _failed("it was not begun in this browser, or too long ago")
        if issuer is not None and issuer != self._provider.issuer:
            raise _failed("another provider answers")
        if not code or len(code) > MAX_CODE:
            raise _failed("the identity provider gave no code")
        token = await self._id_token(code, begun.verifier, redirect_url)
        claims = await self._verify(token, [self._client_id])
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), begun.nonce.encode()):
            raise _failed("the token is of another sign-in")
        if claims.get("azp", self._client_id) != self._client_id:
            raise _failed("the token is of another client")
        return self._claims.principal(claims), own_path(begun.to)

    async def signed_out_url(self, page: str) -> str | None:
        """Where the browser goes so that its user is signed out there as well, and then comes back to `page`;
        None: the provider offers it not (RP-Initiated Logout 1.0), or cannot be asked now."""
        try:
            if "end_session_endpoint" not in await self._provider.metadata():
                return None
            url = await self._address("end_session_endpoint")
        except (NotAuthenticated, ProviderUnavailable):
            return None
        asked = {"client_id": self._client_id, "post_logout_redirect_uri": page}
        return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"

    async def _id_token(self, code: str, verifier: str, redirect_url: str) -> str:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_url,
            "client_id": self._client_id,
            "code_verifier": verifier,
        }
        auth = None
        if self._secret is not None:
            ways = (await self._provider.metadata()).get("token_endpoint_auth_methods_supported")
            if isinstance(ways, list) and "client_secret_basic" not in ways:
                form["client_secret"] = self._secret
            else:  # RFC 6749, 2.3.1
                auth = (quote_plus(self._client_id), quote_plus(self._secret))
        token = (await self._provider.post(await self._address("token_endpoint"), form, auth)).get("id_token")
        if not isinstance(token, str) or len(token) > MAX_TOKEN:
            raise _failed("the identity provider gave no token")
        return token

    async def _address(self, name: str) -> str:
        url = (await self._provider.metadata()).get(name)
        try:
            check_address(url if isinstance(url, str) else "", name)
        except SettingsError as error:
            raise _failed(str(error)) from None
        return str(url)


def own_path(to: str) -> str:
    """The path, or that of the page where it is none of this server."""
    return to if _OWN_PATH.fullmatch(to) else "/"


def _begun(kept: str) -> Begun | None:
    parts = kept.split(".")
    if len(parts) != 4 or not all(parts[:3]):
        return None
    try:
        to = base64.urlsafe_b64decode(parts[3] + "=" * (-len(parts[3]) % 4)).decode()
    except ValueError:
        return None
    return Begun(*parts[:3], to=to)


def _failed(why: str) -> NotAuthenticated:
    return NotAuthenticated(f"You are not signed in: {why}. Try again.", code="sign_in_failed")
