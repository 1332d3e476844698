"""Posts to the webhooks of users: guarded like every fetch, bounded in time, without a look at the answer."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import httpx2

from gateway.errors import InvalidRequest, ToolError, ToolTimedOut
from gateway.tools.fetch.addresses import ListedHosts, checked, host_of
from gateway.tools.fetch.guarded_requests import GuardedRequests, Resolve, way_out

MAX_CONNECTIONS = 128
_CONNECTIONS = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0)
MAX_RETRY_AFTER = 3600.0
"""Seconds for which an address may ask to be left alone (Retry-After)."""


class Answered(NamedTuple):
    """The status of an answer, and the seconds for which it asks to be left alone."""

    status: int
    retry_after: float | None = None

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def reason(self) -> str:
        """Why it was none."""
        moved = ", a redirect, which is not followed" if 300 <= self.status < 400 else ""
        return f"It answered {self.status}{moved}."


class WebhookPosts:
    """`listed` are hosts that webhooks may be at though they are not on the public web: names, addresses and
    ranges of addresses. `resolve` and `transport` as for `GuardedRequests`."""

    def __init__(
        self,
        listed: Iterable[str],
        timeout: float,
        resolve: Resolve | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """`timeout`: seconds for all of a post. Raises ValueError: that is no host."""
        self._listed = ListedHosts.of(listed)
        self._timeout = timeout
        self._resolve, self._transport = resolve, transport
        self._requests: GuardedRequests | None = None

    def check(self, url: str) -> str:
        """`url` in its one canonical form. Raises errors.InvalidRequest (webhook_url_refused): no webhook may
        be there. What its name leads to is checked at each post."""
        with suppress(ToolError):
            found = checked(url, self._listed)
            # 443 is left out of the canonical form.
            if (found.scheme, found.port) == ("https", None) or self._listed.has(host_of(found)):
                return str(found)
        raise InvalidRequest(
            "A webhook must be at https:// and a public host, on port 443, without user name or "
            "password; or at one of the hosts in GATEWAY_WEBHOOK_HOSTS.",
            code="webhook_url_refused",
        )

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answered:
        """Posts it. A redirect is an answer like others: nobody follows it.

        Raises:
            errors.ToolError: nobody answered in time, or in proper HTTP; or the address is not allowed, any
                more. The message says so, and nothing about what is inside the network.
        """
        # Not before there is something to post: reading the certificates of the machine takes a while.
        self._requests = self._requests or GuardedRequests(
            self._resolve,
            self._transport or await asyncio.to_thread(way_out, True, _CONNECTIONS),
            self._listed,
        )
        silence = httpx2.Timeout(self._timeout)
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._requests.send(
                    checked(self.check(url), self._listed), "POST", headers, body, silence
                )
                await response.aclose()
        except (TimeoutError, httpx2.TimeoutException):
            raise ToolError(f"No answer within {self._timeout:g} seconds.") from None
        except httpx2.ConnectError:
            raise ToolError("It cannot be reached, or its certificate is not valid for its name.") from None
        except httpx2.HTTPError:
            raise ToolError("It broke off or did not answer in proper HTTP.") from None
        except InvalidRequest as refused:
            raise ToolError(str(refused)) from None
        except ToolTimedOut:
            raise ToolError("Its name was not found in time.") from None
        except ToolError:
            raise ToolError("Its name leads nowhere, or not to a public address.") from None
        return Answered(response.status_code, _seconds(response.headers.get("retry-after", "")))


def _seconds(retry_after: str) -> float | None:
    """A number of seconds (RFC 9110, 10.2.3); a date, which hardly anybody sends, is not looked at."""
    if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 9:
        return min(float(retry_after), MAX_RETRY_AFTER)
    return None
