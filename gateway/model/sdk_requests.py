"""Requests to the Messages API as the Anthropic SDK builds them. The only file that imports it."""

import logging
from typing import Any

import anthropic
import httpx2

from gateway.model.http_client import KEY_PLACE, PreparedRequest, prepared

# Below these levels they log whole requests, or a line for each.
logging.getLogger("anthropic").setLevel(logging.INFO)
logging.getLogger("httpx2").setLevel(logging.WARNING)


class SdkRequests:
    """Requests as the SDK builds them: address, authentication and headers, all but the body, and with a
    place for the key, which is another one for each user that has their own. Nothing of the environment is
    in them. `timeout` is in seconds."""

    def __init__(self, base_url: str, timeout: float) -> None:
        self._client = anthropic.AsyncAnthropic(
            api_key=KEY_PLACE,
            base_url=base_url,
            max_retries=0,
            timeout=timeout,
            # An SSE stream that is compressed arrives in lumps.
            default_headers={"accept-encoding": "identity"},
            open_telemetry=False,
            http_client=httpx2.AsyncClient(transport=_Unsent(), trust_env=False),
        )

    async def request(self, path: str, version: str, key_header: str | None) -> PreparedRequest:
        """A POST to `path` in that version of the API, with the key in that header (None: without one)."""
        headers: dict[str, Any] = {"anthropic-version": version}
        if key_header != "bearer":
            headers["authorization"] = anthropic.omit
        if key_header == "x-api-key":
            headers["x-api-key"] = KEY_PLACE
        unsent = await self._client.post(
            path, cast_to=httpx2.Response, content=b"{}", options={"headers": headers}
        )
        return prepared(unsent.request)


class _Unsent(httpx2.AsyncBaseTransport):
    """Takes every request for answered: a client on it builds its requests whole, and sends nothing."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(204, request=request)
