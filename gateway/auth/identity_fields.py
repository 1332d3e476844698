"""The header fields by which it is decided who asks, and from where."""

from collections.abc import Collection, Mapping

from gateway.errors import InvalidRequest
from gateway.settings import Settings

KEY_FIELDS = ("authorization", "x-api-key")
USER_FIELDS = ("x-user-id", "x-openwebui-user-id")
"""By which a service names the user that it acts for; the second is Open WebUI's own (its setting
ENABLE_FORWARD_USER_INFO_HEADERS)."""
CALLER_FIELDS = (*KEY_FIELDS, "cookie", *USER_FIELDS)
"""What says who asks, but for what a proxy says."""
PAGE_FIELDS = ("host", "origin", "sec-fetch-site", "sec-fetch-mode")
"""What says which page asks, and where."""
_ALIKE = bytes(sign if chr(sign).isalnum() else ord("-") for sign in range(256))
PROXY_USER = "x-forwarded-user"
"""In which a proxy names the user, where the settings name no other one."""
FORWARDED_FOR = "x-forwarded-for"
"""The addresses that proxies have seen. It may be there several times: a proxy adds one of its own."""


def proxy_fields(settings: Settings) -> Collection[str]:
    """The names of the fields that listed proxies are believed, the user's first; none where they name no
    users."""
    if not settings.proxies_name_users:
        return ()
    user = settings.proxy_user_header or PROXY_USER
    names = (user, settings.proxy_tenant_header, settings.proxy_roles_header)
    return tuple(name.lower() for name in names if name)


def caller_fields(settings: Settings) -> tuple[str, ...]:
    """The fields that say who asks: an answer that depends on the caller varies by these."""
    return (*CALLER_FIELDS, *proxy_fields(settings))


class IdentityFields:
    """The fields that a request must have once at most, and in their own spelling. A proxy before the gateway
    could read another value of two than it does, or hand on `x_user_id` as `x-user-id`, after it has removed
    that."""

    def __init__(self, settings: Settings | None = None) -> None:
        """The fields of all ways to ask; without `settings` there is no proxy."""
        callers = caller_fields(settings) if settings is not None else CALLER_FIELDS
        self._single = frozenset(name.encode() for name in (*callers, *PAGE_FIELDS))
        self._known = self._single | {FORWARDED_FOR.encode()}
        self._alike = {name.translate(_ALIKE) for name in self._known}

    def check(self, scope: Mapping[str, object]) -> None:
        """Raises errors.InvalidRequest: one of the fields is there twice or with another sign for its `-`; or
        an HTTP/1.1 request names no host (RFC 9112, 3.2)."""
        seen = set[bytes]()
        fields: list[tuple[bytes, bytes]] = scope["headers"]  # pyright: ignore[reportAssignmentType] - ASGI's
        for name, _ in fields:
            if name in self._single:
                if name in seen:
                    raise InvalidRequest(f"The header {name.decode()} is given twice.")
                seen.add(name)
            elif name.translate(_ALIKE) in self._alike and name not in self._known:
                given = name.decode("latin-1")[:64]
                raise InvalidRequest(
                    f"The header {given} is spelled as nobody reads it: only - divides words."
                )
        if scope["http_version"] == "1.1" and b"host" not in seen:
            raise InvalidRequest("The request names no host (RFC 9112, section 3.2).")
