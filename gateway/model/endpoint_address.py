"""The address of the model's endpoint: what may be shown of it, whose it is, and how it is reached. Pure but
for the environment's proxies."""

import os
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from gateway.errors import SettingsError
from gateway.settings import Settings

ANTHROPIC_URL = "https://api.anthropic.com"
_PRIVATE = [
    ip_network(each)
    for each in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("::1/128", "fc00::/7", "fe80::/10"),
    )
]
_LOCAL_NAMES = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


def origin_of(address: str, setting: str, example: str) -> str:
    """The part of an address that may be shown: a user name or a path can be secret. Raises SettingsError: it
    is not the address of a web server, or paths cannot be put behind it."""
    try:
        found = urlsplit(address)
        if "?" in address or "#" in address:
            raise SettingsError(
                f"{setting} must have no query: paths are put behind it. Give an address like {example}."
            )
        if found.scheme in {"http", "https"} and found.hostname and found.port != 0:
            return f"{found.scheme}://{found.netloc.rpartition('@')[2]}"
    except ValueError:  # a port that is no number, half a bracket
        pass
    raise SettingsError(f"{setting} must be an address like {example}.")


def is_anthropics(address: str) -> bool:
    """Whether an address is Anthropic's own."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def is_local(address: str) -> bool:
    """Whether an address is on this machine or in a private network, by its looks: a loopback, private or
    link-local IP address, a name without a dot (a container's), or one that no public server has."""
    host = (urlsplit(address).hostname or "").rstrip(".").lower()
    try:
        found = ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_LOCAL_NAMES))
    mapped = getattr(found, "ipv4_mapped", None)
    return any((mapped or found) in network for network in _PRIVATE)


def model_is_open(settings: Settings) -> bool:
    """Whether the endpoint says which model is the default: the settings do not, and it is not Anthropic's,
    whose models are known by name."""
    address = settings.anthropic_base_url
    return not settings.names_model and address is not None and not is_anthropics(address)


def unused_proxy(address: str, proxy: str | None) -> str:
    """A sentence about a proxy of the environment that is not used, for somebody who cannot reach that
    address; "" where there is none."""
    if proxy is not None:
        return ""
    name = "HTTPS_PROXY" if address.startswith("https:") else "HTTP_PROXY"
    if not (os.environ.get(name) or os.environ.get(name.lower())):
        return ""
    return f" {name} is set and not used: set GATEWAY_MODEL_PROXY where the way leads through a proxy."
