"""The cookie of a sign-in, which says who is signed in on the page."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlsplit

import structlog

from gateway.auth import Principal, Role, scopes_of
from gateway.auth.static_keys import given_keys
from gateway.bounded_dict import BoundedDict
from gateway.errors import Forbidden, NotAuthenticated, StorageError
from gateway.ids import now_ms
from gateway.settings import Settings
from gateway.storage.sign_ins import USED_EVERY, SignIn, SignIns

SIGN_IN = "/auth/sign-in"
COOKIE = "gateway_sign_in"
HOST_COOKIE = f"__Host-{COOKIE}"
"""Over TLS: browsers take it from this very host alone (RFC 6265bis, 4.1.3.2)."""
FRESH = 5.0
"""Seconds for which a sign-in that held is not looked up again."""
MAX_KNOWN = 10_000
MAX_BROWSERS = 20
"""Browsers of one user that are signed in."""
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")

if TYPE_CHECKING:
    from gateway.auth.kept_keys import KeyKeeper
    from gateway.auth.sign_in_flow import SignInFlow

log = structlog.get_logger(__name__)


class PageSignIn(NamedTuple):
    """How people sign in on the page, and stay so."""

    flow: "SignInFlow | None"
    """None: no identity provider is configured, and browsers keep keys alone."""
    signed_in: "SignedIn"
    keeper: "KeyKeeper"


class _Known(NamedTuple):
    sign_in: SignIn
    principal: Principal
    looked_at: float


class SignedIn:
    """Users by the cookie of their browser, which holds 256 random bits and is stored by its SHA-256."""

    gives_roles = False

    def __init__(self, sign_ins: SignIns, settings: Settings) -> None:
        self._sign_ins, self._settings = sign_ins, settings
        self._lifetime = int(settings.sign_in_lifetime * 1000)
        self._idle = int(settings.sign_in_idle * 1000)
        self._known = BoundedDict[str, _Known](MAX_KNOWN)
        self._used_at = BoundedDict[str, int](MAX_KNOWN)

    async def knows(self, user_id: str) -> bool:
        """Always: only the identity provider has a list of its users."""
        return True

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The user of the cookie; nobody where a key is given, which then decides.

        Raises:
            errors.NotAuthenticated: the sign-in is unknown, was ended, is too old or was idle for too long.
            errors.StorageError: it could not be looked up.
        """
        value = cookie_in(headers, self._settings)
        if value is None or given_keys(headers):
            return None
        digest, now = digest_of(value), now_ms()
        known = await self._look_up(digest) if _VALUE.fullmatch(value) else None
        used_at = max(known.sign_in.used_at, self._used_at.get(digest, 0)) if known else 0
        if known is None or now >= known.sign_in.expires_at or now - used_at >= self._idle:
            raise NotAuthenticated(
                "You are not signed in any more: sign in again.",
                code="signed_out",
                details={"sign_in": SIGN_IN},
            )
        if now - used_at >= min(USED_EVERY, self._idle // 2):
            self._used_at[digest] = now
            try:
                await self._sign_ins.used(digest, now)
            except StorageError as error:  # whoever may ask is not refused for a note
                log.warning("sign_in_use_not_noted", code=error.code)
        return known.principal

    async def begin(self, who: Principal) -> str:
        """Signs somebody in; the value of their cookie. Raises errors.StorageError."""
        value, now = secrets.token_urlsafe(32), now_ms()
        roles = tuple(sorted(who.roles))
        made = SignIn(digest_of(value), who.tenant, who.user_id, roles, now, now + self._lifetime, now)
        await self._sign_ins.add(made, most=MAX_BROWSERS)
        return value

    async def user_of(self, value: str) -> str | None:
        """The user of the sign-in of that cookie; None: there is none. Raises errors.StorageError."""
        found = await self._sign_ins.find(digest_of(value))
        return found.user_id if found is not None else None

    async def find(self, digest: str) -> SignIn | None:
        """The sign-in of that digest, expired or not, as of a few seconds ago. Raises errors.StorageError."""
        known = await self._look_up(digest)
        return known.sign_in if known is not None else None

    def forget(self, revoked: str) -> None:
        """Looks a sign-in up again at its next use, by its digest, or all of a user, by their id."""
        self._known.pop(revoked, None)
        for digest in [digest for digest, known in self._known.items() if known.sign_in.user_id == revoked]:
            del self._known[digest]

    async def _look_up(self, digest: str) -> _Known | None:
        known = self._known.get(digest)
        if known is not None and monotonic() - known.looked_at < FRESH:
            return known
        looked_at = monotonic()
        found = await self._sign_ins.find(digest)
        if found is None:
            self._known.pop(digest, None)
            return None
        roles = frozenset(cast("tuple[Role, ...]", found.roles))
        who = Principal(
            found.user_id,
            roles=roles,
            scopes=scopes_of(roles),
            sign_in=digest,
            expires_at=found.expires_at,
        )
        known = self._known[digest] = _Known(found, who, looked_at)
        return known


def check_same_origin(method: str, headers: Mapping[str, str], settings: Settings) -> None:
    """Raises errors.Forbidden (cross_site): a change by cookie that a page of this very origin did not ask
    for. SameSite alone lets pages of sibling hosts through. Browsers that send no Sec-Fetch-Site, before
    2023, send Origin."""
    if method in {"GET", "HEAD", "OPTIONS"} or not is_signed_in(headers, settings):
        return
    site, origin = headers.get("sec-fetch-site"), headers.get("origin", "")
    # Without an address of the page people sign in on loopback, where no TLS is.
    own = page_origin(settings) or f"http://{headers.get('host', '').lower()}"
    if not (site == "same-origin" if site is not None else origin.lower() == own):
        raise Forbidden(
            "With a cookie, only the gateway's own page may change something: programs send a key.",
            code="cross_site",
        )


def page_origin(settings: Settings) -> str | None:
    """The origin of the page as browsers name it, without the port that follows from its scheme (RFC 6454,
    6.2); None: its address is not set."""
    if settings.page_url is None:
        return None
    page = urlsplit(settings.page_url.lower())
    return f"{page.scheme}://{page.netloc.removesuffix(':443' if page.scheme == 'https' else ':80')}"


def is_signed_in(headers: Mapping[str, str], settings: Settings) -> bool:
    """Whether a request that was let in came by a cookie."""
    return cookie_in(headers, settings) is not None and not given_keys(headers)


def cookie_in(headers: Mapping[str, str], settings: Settings) -> str | None:
    """The value of the cookie of a sign-in. Where the page has an https address, that is HOST_COOKIE alone:
    any other one a sibling host may have put there, or whoever is on the way of a request without TLS."""
    cookies = headers.get("cookie")
    is_https = (settings.page_url or "").startswith("https:")
    return None if cookies is None else named_in(cookies, HOST_COOKIE if is_https else COOKIE)


def named_in(cookies: str, name: str) -> str | None:
    """The value of the cookie of that name in the header; "" where it has two, as a sibling host may have put
    one beside ours."""
    parts = (part.strip().partition("=") for part in cookies.split(";"))
    values = {value for key, _, value in parts if key == name}
    if len(values) > 1:
        return ""
    return next(iter(values), None)


def digest_of(value: str) -> str:
    """By which a sign-in is stored. Behind the random bits, a cookie may say which key it was made with."""
    return hashlib.sha256(value.partition(".")[0].encode()).hexdigest()
