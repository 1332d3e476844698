"""The client that blocks."""

import json
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Self

import httpx2

from ..errors import GatewayError
from .following import PATIENCE, Following
from .frames import Frame, read_frames
from .request_failures import RETRY_WAITS, is_passing, named_failures, refusal
from .verbs import Json, Verbs, connection, given

IMPORT_TIMEOUT = 600.0  # a large file is checked before the server answers


class GatewayClient(Verbs[Json]):
    """A gateway at `url`. With a delegate `key` it acts for `user`. To be closed, or used in a `with`.

    Raises:
        GatewayError: `url` is no address.
    """

    def __init__(self, url: str, key: str | None = None, *, user: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._http = httpx2.Client(**connection(self.url, key, user))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def ask(
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
                return self._ask(method, path, body, query)
            except GatewayError as error:
                if not is_passing(error):
                    raise
            time.sleep(wait)
        return self._ask(method, path, body, query)

    def follow_session(
        self,
        session_id: str,
        *,
        after: int = 0,
        turn_id: str | None = None,
        patience: float | None = PATIENCE,
    ) -> Generator[Frame]:
        """The session's events with seq > `after`, each once and in order; of a turn alone up to its `done`,
        else without an end. A lost connection is resumed; after `patience` seconds without anything new
        between connections the last error is raised (None: never).

        Raises:
            RequestRefused: the server said a final no.
            Unreachable: nothing answered for so long.
        """
        following = Following(self.url, session_id, after, turn_id, patience)
        while not following.is_over:
            failed: GatewayError | None = None
            try:
                with (
                    self.stream("GET", following.path, headers=following.headers) as response,
                    named_failures(self.url),
                ):
                    following.is_over = response.status_code == 204
                    for frame in read_frames(response.iter_bytes()):
                        if following.takes(frame):
                            yield frame
                        if following.is_over:
                            return
            except GatewayError as error:
                failed = error
            if not following.is_over:
                time.sleep(following.wait(failed))

    @contextmanager
    def stream(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: Any = None
    ) -> Generator[httpx2.Response]:
        """A response of which only the head has been read."""
        accept = {"accept": "text/event-stream", **(headers or {})}
        request = self._http.build_request(method, path, headers=accept, json=body)
        with named_failures(self.url):
            response = self._http.send(request, stream=True)
        try:
            if response.status_code >= 400:
                with named_failures(self.url):
                    response.read()
                raise refusal(response)
            yield response
        finally:
            response.close()

    def chunks(self, response: httpx2.Response) -> Generator[bytes]:
        """The body of a streamed response as it comes in."""
        with named_failures(self.url):
            yield from response.iter_bytes()

    def import_session(self, chunks: Iterable[bytes]) -> Json:
        """Sends an exported file, in pieces; returns the session that was made of it."""
        return self._import("/api/sessions/import", chunks)

    def import_sessions(self, chunks: Iterable[bytes]) -> Json:
        """The same of an export of all sessions; returns how many were imported, and why others were not."""
        return self._import("/api/import", chunks)

    def import_chats(
        self, chunks: Iterable[bytes], *, preview: bool = False, only: str | None = None
    ) -> Generator[Json]:
        """Sends an export of another product, in pieces; yields what becomes of each chat, and last how
        many. `only`: of these, by their numbers in the file."""
        headers = {"content-type": "application/octet-stream", "accept": "application/x-ndjson"}
        query = given({"preview": "true" if preview else None, "only": only})
        request = self._http.build_request(
            "POST", "/api/import/chats", content=chunks, params=query, headers=headers, timeout=IMPORT_TIMEOUT
        )
        with named_failures(self.url):
            response = self._http.send(request, stream=True)
        try:
            with named_failures(self.url):
                if response.status_code >= 400:
                    response.read()
                    raise refusal(response)
                for line in response.iter_lines():
                    said: Json = json.loads(line)
                    if said["kind"] == "error":
                        raise GatewayError(said["message"], code=said["code"])
                    yield said
        finally:
            response.close()

    def _import(self, path: str, chunks: Iterable[bytes]) -> Json:
        headers = {"content-type": "application/x-ndjson", "accept": "application/json"}
        with named_failures(self.url):
            response = self._http.post(path, content=chunks, headers=headers, timeout=IMPORT_TIMEOUT)
        return _said(response)

    def _ask(self, method: str, path: str, body: Any, query: Mapping[str, Any] | None) -> Json:
        headers = {"accept": "application/json"}
        with named_failures(self.url):
            response = self._http.request(method, path, json=body, params=given(query), headers=headers)
        return _said(response)


def _said(response: httpx2.Response) -> Json:
    if response.status_code >= 400:
        raise refusal(response)
    return response.json() if response.content else {}
