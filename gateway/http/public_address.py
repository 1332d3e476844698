"""The address of the page as others see it: a host that a request names is repeated only where it is ours."""

import re

from gateway.http.requests import ApiRequest
from gateway.settings import LOOPBACK_HOSTS, Settings

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{0,5})?")


def own_hosts(settings: Settings) -> frozenset[str]:
    """The host names by which the gateway is asked for, in small letters."""
    return LOOPBACK_HOSTS | {name.lower() for name in settings.allowed_hosts}


def name_in(host: str) -> str | None:
    """The name in a `Host`, in small letters, without port and brackets; None when it is no host at all."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else None


def page_address(request: ApiRequest) -> str:
    """The address of the page, with a slash at its end: `page_url`; else the `Host` of the request, if it is
    one of ours; else the address of this machine to which the client has connected."""
    settings = request.settings
    if settings.page_url:
        return settings.page_url.rstrip("/") + "/"
    given = request.headers.get("host", "")
    if name_in(given) in own_hosts(settings):
        return f"{request.url.scheme}://{given.lower()}/"
    host, port = request.scope.get("server") or (settings.host, settings.port)
    return f"{request.url.scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
