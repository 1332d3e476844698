"""Requests to the Messages API as the Anthropic SDK builds them. The only file that imports it."""

import logging
from typing import Any

import anthropic
import httpx2

from gateway.model.http_client import PreparedRequest, prepared

# Below these levels they log whole requests, or a line for each.
logging.getLogger("anthropic").setLevel(logging.INFO)
logging.getLogger("httpx2").setLevel(logging.WARNING)


class SdkRequests:
    """Requests as the SDK builds them: address, authentication and headers, all but the body. Without
    `api_key` no credential is in them, also none of the environment. `timeout` is in seconds."""

    def __init__(self, api_key: str | None, base_url: str, timeout: float) -> None:
        self._has_key, self._key = bool(api_key), api_key or ""
        # An SSE stream that is compressed arrives in lumps.
        headers: dict[str, Any] = {"accept-encoding": "identity"}
        if not api_key:
            headers["authorization"] = anthropic.omit
        self._client = anthropic.AsyncAnthropic(
            api_key=self._key,
            base_url=base_url,
            max_retries=0,
            timeout=timeout,
            default_headers=headers,
            open_telemetry=False,
            http_client=httpx2.AsyncClient(transport=_Unsent(), trust_env=False),
        )

    async def request(self, path: str, version: str, key_header: str) -> PreparedRequest:
        """A POST to `path` in that version of the API, with the key in that header."""
        headers: dict[str, Any] = {"anthropic-version": version}
        if self._has_key and key_header == "x-api-key":
            headers |= {"x-api-key": self._key, "authorization": anthropic.omit}
        unsent = await self._client.post(
            path, cast_to=httpx2.Response, content=b"{}", options={"headers": headers}
        )
        return prepared(unsent.request)


class _Unsent(httpx2.AsyncBaseTransport):
    """Takes every request for answered: a client on it builds its requests whole, and sends nothing."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(204, request=request)
