"""JWT access tokens of an identity provider (RFC 7519, RFC 9068)."""

import hashlib
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import orjson
from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

from gateway.auth import Principal
from gateway.auth.claims import ClaimMapping
from gateway.auth.identity_provider import IdentityProvider
from gateway.auth.static_keys import given_keys
from gateway.bounded_dict import BoundedDict
from gateway.errors import NotAuthenticated, SettingsError

ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}
)
"""Signatures by a key pair alone: neither none, nor HS256, for which a public key would be the secret."""
MAX_TOKEN = 8192
"""Characters."""
CLOCK_SKEW = 60
"""Seconds by which the provider's clock may differ."""
VERIFIED_FOR = 60.0
"""Seconds for which a token that held is not verified again, at most until it expires."""
MAX_VERIFIED = 10_000
_TOKEN = re.compile(r"ey[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*")


class _Verified(NamedTuple):
    principal: Principal
    until: float


class AccessTokens:
    """Tokens that the provider issued for this gateway."""

    gives_roles = False

    def __init__(
        self,
        provider: IdentityProvider,
        claims: ClaimMapping,
        audiences: Collection[str],
        algorithms: Collection[str],
    ) -> None:
        """Raises SettingsError: an algorithm that is not in ALGORITHMS."""
        self._verify = TokenVerifier(provider, algorithms)
        self._claims, self._audiences = claims, list(audiences)
        self._verified = BoundedDict[bytes, _Verified](MAX_VERIFIED)

    async def knows(self, user_id: str) -> bool:
        """Always: only the provider has a list of its users, and a token is there when it is needed."""
        return True

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The user of a token in `Authorization: Bearer …`.

        Raises:
            NotAuthenticated (token_invalid, token_expired, token_without_user, no_role): it does not hold.
            ProviderUnavailable: the key of its signature is not known, and the provider cannot be asked.
        """
        given = given_keys(headers)
        if not any(_TOKEN.fullmatch(each) for each in given):
            return None
        token = given[0]
        if len(set(given)) > 1 or len(token) > MAX_TOKEN:
            raise NotAuthenticated(
                f"Send one token, of at most {MAX_TOKEN} characters.", code="token_invalid"
            )
        digest, now = hashlib.sha256(token.encode()).digest(), time.time()
        known = self._verified.get(digest)
        if known is not None and now < known.until:
            return known.principal
        claims = await self._verify(token, self._audiences)
        expires = claims["exp"] + (CLOCK_SKEW if now >= claims["exp"] else 0)
        principal = replace(self._claims.principal(claims), expires_at=int(expires * 1000))
        until = min(now + VERIFIED_FOR, claims["exp"])
        self._verified[digest] = _Verified(principal, until)
        return principal


class TokenVerifier:
    """Signature, issuer, audience and times of a provider's tokens."""

    def __init__(
        self,
        provider: IdentityProvider,
        algorithms: Collection[str],
    ) -> None:
        """Raises SettingsError: an algorithm that is not in ALGORITHMS."""
        if not algorithms or set(algorithms) - ALGORITHMS:
            raise SettingsError(f"GATEWAY_OIDC_ALGORITHMS must be some of {', '.join(sorted(ALGORITHMS))}.")
        self._provider = provider
        self._registry = JWSRegistry(algorithms=list(algorithms))
        self._algorithms = list(algorithms)

    async def __call__(self, token: str, audiences: Collection[str]) -> dict[str, Any]:
        """The token's claims, with `exp` as a number.

        Raises:
            NotAuthenticated (token_invalid): signed by nobody or somebody else, for another gateway, not yet
                valid; (token_expired): it was valid.
            ProviderUnavailable: the key of its signature is not known, and the provider cannot be asked.
        """
        kid, algorithm = _header_of(token)
        if algorithm not in self._algorithms:
            raise _invalid("its algorithm is not one of GATEWAY_OIDC_ALGORITHMS")
        for key in await self._provider.keys(kid):
            if (claims := self._claims_by(key, token)) is not None:
                return self._checked(claims, audiences)
        raise _invalid("its signature is by no key of the identity provider")

    def _claims_by(self, key: Key, token: str) -> dict[str, Any] | None:
        try:
            return jwt.decode(token, key, algorithms=self._algorithms, registry=self._registry).claims
        except (JoseError, ValueError, TypeError):  # the last two: a key of another kind than the algorithm
            return None

    def _checked(self, claims: dict[str, Any], audiences: Collection[str]) -> dict[str, Any]:
        required = jwt.JWTClaimsRegistry(
            now=lambda: int(time.time()),
            leeway=CLOCK_SKEW,
            iss={"essential": True, "value": self._provider.issuer},
            aud={"essential": True, "values": list(audiences)},
            exp={"essential": True},
        )
        try:
            required.validate(claims)
        except ExpiredTokenError:
            raise NotAuthenticated("This token has expired: get a new one.", code="token_expired") from None
        except (JoseError, ValueError, TypeError) as error:
            claim = str(getattr(error, "claim", "claims"))[:20]
            raise _invalid(f"its {claim} is missing or does not fit") from None
        return claims


def _header_of(token: str) -> tuple[str | None, str]:
    try:
        header = orjson.loads(urlsafe_b64decode(token.partition(".")[0].encode()))
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise _invalid("it has no header")
    kid = header.get("kid")
    return kid if isinstance(kid, str) else None, str(header.get("alg", ""))


def _invalid(why: str) -> NotAuthenticated:
    return NotAuthenticated(f"This token does not hold: {why}.", code="token_invalid")
