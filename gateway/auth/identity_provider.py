"""An OpenID provider: its addresses, and the keys by which it signs."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context
from ipaddress import ip_address
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import orjson
import structlog
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey, import_key

from gateway.certificates import certificates_named
from gateway.errors import NotAuthenticated, ProviderUnavailable, SettingsError

TIMEOUT = 5.0
"""Seconds for an answer of the provider."""
MAX_ANSWER = 262_144
"""Bytes of one."""
LIFETIME = 600.0
"""Seconds after which keys and addresses are asked for again, while the ones that are known serve on."""
KEPT_FOR = 86_400.0
"""Seconds for which they serve when the provider cannot be asked: no longer, as a key that it has taken back
would hold for good."""
ASKED_EVERY = 30.0
"""Seconds between two questions, whatever key ids tokens name: anybody can make up one."""
MAX_KEYS = 100

log = structlog.get_logger(__name__)


class IdentityProvider:
    """The endpoints and the keys of a provider, as far as they are known. Whoever needs a key that is known
    does not wait for the provider."""

    def __init__(
        self, issuer: str, jwks_url: str | None = None, *, clock: Callable[[], float] = monotonic
    ) -> None:
        """Raises SettingsError: an address that is neither https nor on loopback. What signs sign-ins must
        not be replaced on the way."""
        self.issuer = issuer
        self._issuer_path = issuer.rstrip("/")
        check_address(issuer, "GATEWAY_OIDC_ISSUER")
        if jwks_url is not None:
            check_address(jwks_url, "GATEWAY_OIDC_JWKS_URL")
        self._jwks_url, self._clock = jwks_url, clock
        self._keys: list[Key] = []
        self._metadata: Mapping[str, Any] = {}
        self._known_at = self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._http: httpx2.AsyncClient | None = None

    async def keys(self, kid: str | None) -> list[Key]:
        """The public keys of that id; without one, all of them. Empty: the provider has none such.

        Raises:
            ProviderUnavailable: none are known, or what is known is too old, and it cannot be asked.
        """
        age = self._clock() - self._known_at
        if age < KEPT_FOR and (found := self._known(kid)):
            if age >= LIFETIME:
                self._begin()
            return found
        await self._asked()
        if self._clock() - self._known_at >= KEPT_FOR:
            raise ProviderUnavailable("The identity provider cannot be asked for its keys.")
        return self._known(kid)

    async def metadata(self) -> Mapping[str, Any]:
        """The provider's discovery document (OpenID Connect Discovery 1.0, 4.2). Raises
        ProviderUnavailable."""
        if not self._metadata or self._clock() - self._known_at >= LIFETIME:
            await self._asked()
        if not self._metadata:
            raise ProviderUnavailable("The identity provider cannot be asked for its addresses.")
        return self._metadata

    async def post(self, url: str, form: Mapping[str, str], auth: tuple[str, str] | None) -> dict[str, Any]:
        """The JSON object that answers a form.

        Raises:
            NotAuthenticated (sign_in_failed): the provider refuses it.
            ProviderUnavailable: no answer, or none that says anything.
        """
        status, body = await self._answer("POST", url, form, auth)
        if 400 <= status < 500:
            raise NotAuthenticated("The identity provider refused this sign-in.", code="sign_in_failed")
        if status != 200:
            raise ProviderUnavailable("The identity provider failed.", cause=str(status))
        return _object(body)

    async def close(self) -> None:
        """Ends its connections."""
        if self._asking is not None:
            self._asking.cancel()
        if self._http is not None:
            await self._http.aclose()

    def _known(self, kid: str | None) -> list[Key]:
        return [key for key in self._keys if kid is None or key.kid == kid]

    def _begin(self) -> None:
        now = self._clock()
        if (self._asking is None or self._asking.done()) and now - self._asked_at >= ASKED_EVERY:
            self._asked_at = now
            self._asking = asyncio.create_task(self._ask(), context=Context())

    async def _asked(self) -> None:
        """Asks, unless that was lately; waits for an answer that is on its way, with others."""
        self._begin()
        if self._asking is not None and not self._asking.done():
            await asyncio.wait({self._asking})

    async def _ask(self) -> None:
        try:
            metadata = self._metadata
            if self._jwks_url is None or not metadata:
                metadata = await self._discover()
            url = self._jwks_url or str(metadata.get("jwks_uri", ""))
            check_address(url, "jwks_uri")
            keys = _keys_in(_object((await self._answer("GET", url))[1]))
        except (ProviderUnavailable, SettingsError) as error:
            log.warning("identity_provider_unavailable", issuer=self.issuer, why=str(error))
            return
        self._metadata, self._keys, self._known_at = metadata, keys, self._clock()

    async def _discover(self) -> Mapping[str, Any]:
        """Nothing, where only keys are needed and their address is set."""
        try:
            url = self._issuer_path + "/.well-known/openid-configuration"
            status, body = await self._answer("GET", url)
            found = _object(body) if status == 200 else {}
            if found.get("issuer") != self.issuer:  # OpenID Connect Discovery 1.0, 4.3
                raise ProviderUnavailable("The issuer in the discovery document is not GATEWAY_OIDC_ISSUER.")
        except ProviderUnavailable:
            if self._jwks_url is None:
                raise
            return {}
        return found

    async def _answer(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
    ) -> tuple[int, bytes]:
        if self._http is None:
            try:
                verify = certificates_named() or True
            except SettingsError as error:
                raise ProviderUnavailable(error.message) from None
            self._http = httpx2.AsyncClient(
                verify=verify,
                timeout=httpx2.Timeout(None),  # asyncio.timeout also ends a slow trickle
                limits=httpx2.Limits(max_connections=16),
                follow_redirects=False,  # secrets are for this address
                trust_env=False,
            )
        body = bytearray()
        asked = self._http.stream(method, url, data=dict(form or {}) or None, auth=auth)
        try:
            async with asyncio.timeout(TIMEOUT), asked as response:
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > MAX_ANSWER:
                        raise ProviderUnavailable("The identity provider's answer is too large.")
                return response.status_code, bytes(body)
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ProviderUnavailable(
                "The identity provider does not answer.", cause=type(error).__name__
            ) from None


def check_address(url: str, name: str) -> None:
    """Raises SettingsError: the address is neither https nor http on loopback."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host, parts = "", urlsplit("")
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))):
        raise SettingsError(f"{name} must be an https address, or http on loopback.")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ProviderUnavailable("The identity provider's answer is no JSON object.")
    return found


def _keys_in(document: Mapping[str, Any]) -> list[Key]:
    """The public keys for signatures; others, and such as cannot be read, are left out."""
    listed = document.get("keys")
    found = cast("Sequence[object]", listed if isinstance(listed, list) else [])
    keys: list[Key] = []
    for each in found[:MAX_KEYS]:
        if not isinstance(each, dict) or each.get("use", "sig") != "sig":
            continue
        try:
            key = import_key(each)
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        if isinstance(key, RSAKey | ECKey | OKPKey):  # never a secret that both would know
            keys.append(key)
    if not keys:
        raise ProviderUnavailable("The identity provider has no keys that can be used.")
    return keys
