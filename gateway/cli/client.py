"""A client of a running gateway over HTTP: what the commands that talk to one share."""

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2

from gateway.cli.frames import Frame, read_frames
from gateway.errors import GatewayError, NotAuthenticated, RequestRefused
from gateway.settings import LOOPBACK_HOSTS

CONNECT_TIMEOUT = 10.0
SILENCE_TIMEOUT = 60.0  # a stream carries a heartbeat every 15 s
IMPORT_TIMEOUT = 600.0  # a large file is checked before the server answers
RECONNECT_TIMEOUT = 60.0  # how long a server may be away before a turn is given up


class SubmittedTurn(NamedTuple):
    """A turn that was accepted after the session's event `seq`."""

    session_id: str
    turn_id: str
    seq: int


class Unreachable(GatewayError):
    """Nothing answers, or the connection broke."""

    code = "unreachable"
    retryable = True


class Client:
    """Every method raises `RequestRefused` with the server's own code and message, or `Unreachable`."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url.rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise GatewayError(f"{url} is not an address such as http://127.0.0.1:8000.")
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=httpx2.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT),
            trust_env=parts.hostname not in LOOPBACK_HOSTS,  # no proxy stands between this machine and itself
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def health(self) -> dict[str, Any]:
        return self._ask("GET", "/healthz")

    def create_session(self) -> str:
        return str(self._ask("POST", "/api/sessions", {})["id"])

    def delete_session(self, session_id: str) -> None:
        self._ask("DELETE", f"/api/sessions/{session_id}")

    def session(self, session_id: str) -> dict[str, Any]:
        return self._ask("GET", f"/api/sessions/{session_id}")

    def turn(self, session_id: str, turn_id: str) -> dict[str, Any]:
        return self._ask("GET", f"/api/sessions/{session_id}/turns/{turn_id}")

    def import_session(self, chunks: Iterable[bytes]) -> dict[str, Any]:
        """Sends an exported file, in pieces; returns the session that was made of it."""
        headers = {"content-type": "application/x-ndjson", "accept": "application/json"}
        with _named_failures(self.url):
            response = self._http.post(
                "/api/sessions/import", content=chunks, headers=headers, timeout=IMPORT_TIMEOUT
            )
        if response.status_code >= 400:
            raise _refusal(response)
        return response.json()

    def chunks(self, response: httpx2.Response) -> Generator[bytes]:
        """The body of a response as it comes in."""
        with _named_failures(self.url):
            yield from response.iter_bytes()

    def start_turn(self, session_id: str, message: str) -> SubmittedTurn:
        """Starts a turn; an answer that got lost is asked for again under the same client_message_id."""
        body = {"message": message, "client_message_id": uuid4().hex}
        path = f"/api/sessions/{session_id}/turns"
        try:
            turn = self._ask("POST", path, body)
        except Unreachable:
            turn = self._ask("POST", path, body)
        return SubmittedTurn(session_id, str(turn["turn_id"]), int(turn["seq"]))

    def cancel(self, turn: SubmittedTurn) -> None:
        self._ask("POST", f"/api/sessions/{turn.session_id}/turns/{turn.turn_id}/cancel")

    def follow(self, turn: SubmittedTurn, *, after: int) -> Generator[Frame]:
        """The turn's events with seq > `after` up to its `done`, over as many connections as it takes."""
        given_up_at = time.monotonic() + RECONNECT_TIMEOUT
        wait = 0.2
        while True:
            try:
                for frame in self._connect(turn, after):
                    if frame.seq is None:
                        continue
                    after, wait, given_up_at = frame.seq, 0.2, time.monotonic() + RECONNECT_TIMEOUT
                    yield frame
                    if frame.event == "done":
                        return
            except (Unreachable, RequestRefused) as error:
                if not error.retryable or time.monotonic() > given_up_at:
                    raise
            if time.monotonic() > given_up_at:
                raise Unreachable(f"{self.url} ends every stream before the turn is done.")
            time.sleep(wait)
            wait = min(wait * 2, 5)

    def _connect(self, turn: SubmittedTurn, after: int) -> Generator[Frame]:
        path = f"/api/sessions/{turn.session_id}/events?turn_id={turn.turn_id}"
        with (
            self.stream("GET", path, headers={"last-event-id": str(after)}) as response,
            _named_failures(self.url),
        ):
            yield from read_frames(response.iter_bytes())

    @contextmanager
    def stream(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, body: Any = None
    ) -> Generator[httpx2.Response]:
        """A response of which only the head has been read."""
        request = self._http.build_request(
            method, path, headers={"accept": "text/event-stream", **(headers or {})}, json=body
        )
        with _named_failures(self.url):
            response = self._http.send(request, stream=True)
        try:
            if response.status_code >= 400:
                with _named_failures(self.url):
                    response.read()
                raise _refusal(response)
            yield response
        finally:
            response.close()

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        with _named_failures(self.url):
            response = self._http.request(method, path, json=body, headers={"accept": "application/json"})
        if response.status_code >= 400:
            raise _refusal(response)
        return response.json() if response.content else {}


@contextmanager
def _named_failures(url: str) -> Generator[None]:
    try:
        yield
    except httpx2.ConnectError:
        raise Unreachable(f"Nothing answers at {url}. Start `gateway dev`, or set GATEWAY_URL.") from None
    except httpx2.TransportError as error:
        raise Unreachable(f"The connection to {url} broke: {error or type(error).__name__}.") from None


def _refusal(response: httpx2.Response) -> RequestRefused:
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
