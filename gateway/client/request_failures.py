"""Requests that fail: a refusal of the server's, or nothing that answers."""

from collections.abc import Generator
from contextlib import contextmanager

import httpx2

from ..errors import GatewayError, NotAuthenticated, RequestRefused

RETRY_WAITS = (0.3, 0.6, 1.2, 2.4)
"""Seconds before a request that may be repeated is, so often."""
_PASSING = {"draining", "http_502", "http_503", "http_504"}


class Unreachable(GatewayError):
    """Nothing answers, or the connection broke."""

    code = "unreachable"
    retryable = True


@contextmanager
def named_failures(url: str) -> Generator[None]:
    """Raises Unreachable for what goes wrong on the way to `url`."""
    try:
        yield
    except httpx2.ConnectError:
        raise Unreachable(f"Nothing answers at {url}. Start `gateway dev`, or set GATEWAY_URL.") from None
    except httpx2.TransportError as error:
        raise Unreachable(f"The connection to {url} broke: {error or type(error).__name__}.") from None


def refusal(response: httpx2.Response) -> RequestRefused:
    """Returns what a response of 400 or more, whose body was read, says."""
    retryable = response.status_code in {408, 429, 502, 503, 504}
    try:
        problem = response.json()["error"]
        code, message = str(problem["code"]), str(problem["message"])
        retryable = bool(problem.get("retryable", retryable))
    except (ValueError, KeyError, TypeError):
        code, message = f"http_{response.status_code}", f"The server answered {response.status_code}."
    if response.status_code == 401:
        return NotAuthenticated(f"{message} Give a key with --key or GATEWAY_KEY.")
    return RequestRefused(message, code=code, retryable=retryable)


def is_passing(error: GatewayError) -> bool:
    """Whether nobody knows what became of the request, or a server starts or stops."""
    return isinstance(error, Unreachable) or error.code in _PASSING
