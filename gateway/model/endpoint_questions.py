"""Small questions to the model's endpoint beside its calls: bounded in time and size, and whatever goes wrong
with one is no answer."""

import asyncio
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import orjson

from gateway.model.endpoint_address import is_anthropics, is_local

if TYPE_CHECKING:
    from gateway.model.http_client import PreparedRequest, Wire
    from gateway.model.http_response import HttpResponse

ANSWER_TIMEOUT = 5.0
"""Seconds that one question may take, with its answer."""
MAX_ANSWER = 2 * 1024 * 1024
"""Bytes of one answer: a list of some hundred models with all that is known of each has less than one."""
_THREAD_FROM = 50_000  # bytes of JSON that are parsed beside the event loop


class EndpointQuestions:
    """Asks the address that calls go to, with the same key, proxy and certificates; redirects are not
    followed. `version` and `key_headers` are as the calls have them: of several headers for the key the
    next one is tried where the endpoint refuses the key. `reached`: it has answered something, be it a
    refusal, and not that it is not ready; `server` is what it calls itself in the header of that name."""

    def __init__(
        self,
        wire: "Wire",
        base_url: str,
        key: str | None,
        *,
        version: Callable[[], str],
        key_headers: Callable[[], tuple[str, ...]],
    ) -> None:
        self._wire, self._key = wire, key
        self._version, self._key_headers = version, key_headers
        self._url = urlsplit(base_url.rstrip("/"))
        self.is_anthropics, self.is_local = is_anthropics(base_url), is_local(base_url)
        self.reached = False
        self.server = ""

    async def get(self, path: str) -> Any:
        """The JSON that is found there; None: nothing of use is."""
        return await self._ask("GET", path, b"")

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON that it answers; None: nothing of use."""
        return await self._ask("POST", path, orjson.dumps(body))

    async def _ask(self, method: str, path: str, content: bytes) -> Any:
        for key_header in self._key_headers() if self._key else ("",):
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT):
                    status, body = await self._answer(self._request(method, path, key_header), content)
            except Exception:  # noqa: BLE001 - the boundary: whatever the wire raises is no answer
                return None
            if status not in {401, 403}:
                return await _parsed(body) if status == 200 else None
        return None

    async def _answer(self, request: "PreparedRequest", content: bytes) -> tuple[int, bytes]:
        response = await self._wire.send(request, content)
        try:
            self.reached = self.reached or response.status < 500
            self.server = response.headers.get("server", "")[:100]
            return response.status, await _bounded(response)
        finally:
            response.close()

    def _request(self, method: str, path: str, key_header: str) -> "PreparedRequest":
        """As the SDK would write it, which is slow to load and has no such questions. Raises ValueError: the
        key cannot stand in a header."""
        from gateway.model.http_client import PreparedRequest  # noqa: PLC0415 - loaded with the wire

        user, _, host = self._url.netloc.rpartition("@")
        fields = {
            "host": host,
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "chat-gateway",
            "anthropic-version": self._version(),
        }
        if self._key and key_header:
            name = "x-api-key" if key_header == "x-api-key" else "authorization"
            fields[name] = self._key if name == "x-api-key" else f"Bearer {self._key}"
        if user:  # before the key, as in the calls
            fields["authorization"] = f"Basic {b64encode(unquote(user).encode()).decode()}"
        if any("\n" in value or "\r" in value for value in fields.values()):
            raise ValueError("A header has a line break.")
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        address = f"{self._url.scheme}://{host}{self._url.path}{path}"
        return PreparedRequest(method, address, lines.encode("latin-1"))


async def _bounded(response: "HttpResponse") -> bytes:
    """The body; b"" where it has more than MAX_ANSWER bytes."""
    found, size = list[bytes](), 0
    while data := await response.read():
        size += len(data)
        if size > MAX_ANSWER:
            return b""
        found.append(data)
    return b"".join(found)


async def _parsed(body: bytes) -> Any:
    try:
        return await asyncio.to_thread(orjson.loads, body) if len(body) > _THREAD_FROM else orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
