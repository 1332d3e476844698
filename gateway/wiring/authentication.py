"""The ways to sign in that the settings name."""

from typing import TYPE_CHECKING

from gateway.auth.authentication import Authentication, Authenticator
from gateway.auth.static_keys import StaticKeys
from gateway.errors import SettingsError
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.auth.identity_provider import IdentityProvider


def open_authentication(settings: Settings) -> "tuple[Authentication, IdentityProvider | None]":
    """Those that need no storage, and the identity provider, which its user closes.

    Raises:
        SettingsError: a setting is wrong, or one goes without another.
    """
    keys = StaticKeys.of(settings)
    admins = settings.admins or ((keys.sole_user,) if keys.sole_user and not settings.oidc_issuer else ())
    ways: list[Authenticator] = []
    provider = _provider(settings)
    if provider is not None and settings.oidc_audience:
        from gateway.auth.access_tokens import AccessTokens  # noqa: PLC0415 - as in _provider
        from gateway.auth.claims import ClaimMapping  # noqa: PLC0415

        mapping = ClaimMapping.of(settings)
        ways.append(AccessTokens(provider, mapping, settings.oidc_audience, settings.oidc_algorithms))
    if keys:
        ways.append(keys)
    return Authentication(ways, admins), provider


def _provider(settings: Settings) -> "IdentityProvider | None":
    if settings.oidc_issuer is None:
        if settings.oidc_audience:
            raise SettingsError("GATEWAY_OIDC_AUDIENCE needs GATEWAY_OIDC_ISSUER.")
        return None
    if not settings.oidc_audience:
        raise SettingsError("GATEWAY_OIDC_ISSUER does nothing without GATEWAY_OIDC_AUDIENCE.")
    from gateway.auth.identity_provider import IdentityProvider  # noqa: PLC0415 - its libraries take 0.1 s

    return IdentityProvider(settings.oidc_issuer, settings.oidc_jwks_url)
