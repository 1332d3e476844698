"""The ways to sign in that the settings name."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.auth.authentication import Authentication, Authenticator
from gateway.auth.kept_keys import KeptKeys, KeyKeeper
from gateway.auth.signed_in import SIGN_IN, PageSignIn, SignedIn
from gateway.auth.static_keys import StaticKeys
from gateway.auth.stored_keys import StoredKeys
from gateway.auth.trusted_proxies import TrustedProxies
from gateway.errors import SettingsError
from gateway.settings import Settings
from gateway.storage.sign_ins import SignIns

if TYPE_CHECKING:
    from gateway.auth.identity_provider import IdentityProvider
    from gateway.auth.sign_in_flow import SignInFlow


def open_authentication(settings: Settings) -> "tuple[Authentication, IdentityProvider | None]":
    """Those that need no storage, and the identity provider, which its user closes.

    Raises:
        SettingsError: a setting is wrong, or one goes without another.
    """
    if settings.may_mean_addresses_alone:
        raise SettingsError(
            "GATEWAY_TRUSTED_PROXIES goes with GATEWAY_PROXY_USER_HEADER here: `none` where these proxies "
            "tell of addresses alone, or the header in which they name users that they have signed in, such "
            "as X-Forwarded-User, which they then must remove from what comes in."
        )
    keys = StaticKeys.of(settings)
    others = settings.oidc_issuer or settings.proxies_name_users
    admins = settings.admins or ((keys.sole_user,) if keys.sole_user and not others else ())
    ways: list[Authenticator] = []
    provider = _provider(settings)
    if provider is not None and settings.oidc_audience:
        from gateway.auth.access_tokens import AccessTokens  # noqa: PLC0415 - as in _provider
        from gateway.auth.claims import ClaimMapping  # noqa: PLC0415

        mapping = ClaimMapping.of(settings)
        ways.append(AccessTokens(provider, mapping, settings.oidc_audience, settings.oidc_algorithms))
    if keys:
        ways.append(keys)
    if settings.proxies_name_users:
        ways.append(TrustedProxies(settings))
    sign_in = SIGN_IN if settings.oidc_client_id else None
    keeps = bool(settings.keep_keys_for) and (settings.page_url is not None or settings.is_loopback)
    return Authentication(ways, admins, sign_in=sign_in, keeps_keys=keeps), provider


def open_page_sign_in(
    settings: Settings, provider: "IdentityProvider | None", sign_ins: SignIns
) -> PageSignIn:
    """Sign-in on the page: at the provider, if one is configured, or with a key that the browser keeps.
    Raises SettingsError: a setting is wrong."""
    return PageSignIn(_flow(settings, provider), SignedIn(sign_ins, settings), KeyKeeper(sign_ins, settings))


def kept_keys(page: PageSignIn, stored: StoredKeys, settings: Settings) -> Sequence[Authenticator]:
    """The ways of those whose browser keeps a key."""
    if not settings.keep_keys_for:
        return ()
    return [KeptKeys(keys, page.signed_in, settings) for keys in (StaticKeys.of(settings), stored)]


def _flow(settings: Settings, provider: "IdentityProvider | None") -> "SignInFlow | None":
    if provider is None or settings.oidc_client_id is None:
        return None
    from gateway.auth.access_tokens import TokenVerifier  # noqa: PLC0415 - as in _provider
    from gateway.auth.claims import ClaimMapping  # noqa: PLC0415
    from gateway.auth.sign_in_flow import SignInFlow  # noqa: PLC0415

    secret = settings.oidc_client_secret
    return SignInFlow(
        provider,
        TokenVerifier(provider, settings.oidc_algorithms),
        ClaimMapping.of(settings),
        client_id=settings.oidc_client_id,
        client_secret=secret.get_secret_value() if secret else None,
        scopes=settings.oidc_scopes,
    )


def _provider(settings: Settings) -> "IdentityProvider | None":
    if settings.oidc_issuer is None:
        if settings.oidc_audience or settings.oidc_client_id:
            raise SettingsError("GATEWAY_OIDC_AUDIENCE and GATEWAY_OIDC_CLIENT_ID need GATEWAY_OIDC_ISSUER.")
        return None
    if not settings.oidc_audience and not settings.oidc_client_id:
        raise SettingsError(
            "GATEWAY_OIDC_ISSUER does nothing without GATEWAY_OIDC_AUDIENCE or GATEWAY_OIDC_CLIENT_ID."
        )
    if settings.oidc_client_id and not settings.page_url and not settings.is_loopback:
        raise SettingsError("GATEWAY_OIDC_CLIENT_ID needs GATEWAY_PAGE_URL, the address of the page.")
    from gateway.auth.identity_provider import IdentityProvider  # noqa: PLC0415 - its libraries take 0.1 s

    return IdentityProvider(settings.oidc_issuer, settings.oidc_jwks_url)
