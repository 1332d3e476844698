"""The client that is awaited."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2

from ..errors import GatewayError
from .following import PATIENCE, Following
from .frames import Frame, FrameReader
from .request_failures import RETRY_WAITS, is_passing, named_failures, refusal
from .verbs import Json, Verbs, connection, given


class AsyncGatewayClient(Verbs[Coroutine[Any, Any, Json]]):
    """As `GatewayClient`, for asyncio."""

    def __init__(self, url: str, key: str | None = None, *, user: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx2.AsyncClient(**connection(self.url, key, user))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        is_repeatable: bool = False,
    ) -> Json:
        for wait in RETRY_WAITS if is_repeatable else ():
            try:
                return await self._ask(method, path, body, query)
            except GatewayError as error:
                if not is_passing(error):
                    raise
            await asyncio.sleep(wait)
        return await self._ask(method, path, body, query)

    async def follow_session(
        self,
        session_id: str,
        *,
        after: int = 0,
        turn_id: str | None = None,
        patience: float | None = PATIENCE,
    ) -> AsyncGenerator[Frame]:
        """As `GatewayClient.follow_session`. Close it (`contextlib.aclosing`) where it is left before its
        end."""
        following = Following(self.url, session_id, after, turn_id, patience)
        while not following.is_over:
            failed: GatewayError | None = None
            try:
                async with self.stream("GET", following.path, headers=following.headers) as response:
                    following.is_over = response.status_code == 204
                    reader = FrameReader()
                    with named_failures(self.url):
                        async for chunk in response.aiter_bytes():
                            for frame in reader.take(chunk):
                                if following.takes(frame):
                                    yield frame
                                if following.is_over:
                                    return
            except GatewayError as error:
                failed = error
            if not following.is_over:
                await asyncio.sleep(following.wait(failed))

    async def upload_artifact(self, content: bytes, *, name: str, mime: str) -> Json:
        """Keeps a file; returns the artifact with its `ref`."""
        query = {"name": name, "raw": "1"}
        headers = {"content-type": mime or "application/octet-stream", "accept": "application/json"}
        with named_failures(self.url):
            response = await self._http.post("/api/artifacts", content=content, params=query, headers=headers)
        if response.status_code >= 400:
            raise refusal(response)
        return response.json()

    async def artifact_content(self, artifact: str) -> bytes:
        """All of a file."""
        async with self.stream("GET", f"/api/artifacts/{artifact}", headers={"accept": "*/*"}) as response:
            with named_failures(self.url):
                return await response.aread()

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> AsyncGenerator[httpx2.Response]:
        """A response of which only the head has been read."""
        accept = {"accept": "text/event-stream", **(headers or {})}
        request = self._http.build_request(method, path, headers=accept, json=body)
        with named_failures(self.url):
            response = await self._http.send(request, stream=True)
        try:
            if response.status_code >= 400:
                with named_failures(self.url):
                    await response.aread()
                raise refusal(response)
            yield response
        finally:
            await response.aclose()

    async def _ask(self, method: str, path: str, body: Any, query: Mapping[str, Any] | None) -> Json:
        headers = {"accept": "application/json"}
        with named_failures(self.url):
            response = await self._http.request(method, path, json=body, params=given(query), headers=headers)
        if response.status_code >= 400:
            raise refusal(response)
        return response.json() if response.content else {}
