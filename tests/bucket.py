"""An S3 server on loopback that behaves as the object stores people have: slow, overloaded, cut off, away."""

import http.client
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_hex
from typing import Literal

import httpx2
import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

from gateway.storage.blobs import addresses

Fault = Literal["slow", "overloaded", "cut", "silent", "away"]
"""Of each answer: it comes late, it is a 503, half of it comes, it never comes, the connection is closed."""


@dataclass
class Bucket:
    """The bucket at `address`, with the `fault` of its next answers: of so many (`times`), or of all."""

    address: str
    upstream: tuple[str, int]
    fault: Fault | None = None
    times: int | None = None
    asked: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def fail(self, fault: Fault | None, times: int | None = None) -> None:
        self.fault, self.times = fault, times

    def objects(self) -> list[str]:
        """What lies in the bucket."""
        return sorted(each["path"] for page in obstore.list(self._store) for each in page)

    def change(self, request: Callable[..., httpx2.Response], name: str) -> None:
        """Makes (`httpx2.put`) or removes (`httpx2.delete`) a bucket behind the gateway's back."""
        request(f"http://{self.upstream[0]}:{self.upstream[1]}/{name}", trust_env=False).raise_for_status()

    def lose(self, key: str) -> None:
        """Removes an object behind the gateway's back."""
        obstore.delete(self._store, key)

    @cached_property
    def _store(self) -> S3Store:
        endpoint = f"http://{self.upstream[0]}:{self.upstream[1]}"
        return S3Store(
            self.address.removeprefix("s3://"), endpoint=endpoint, client_options={"allow_http": True}
        )

    def next_fault(self) -> Fault | None:
        with self._lock:
            self.asked += 1
            if self.times is not None:
                if not self.times:
                    return None
                self.times -= 1
            return self.fault


@contextmanager
def bucket(monkeypatch: pytest.MonkeyPatch) -> Generator[Bucket]:
    """The server, to which the environment leads; requests are given up soon."""
    moto = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    name = f"bucket-{token_hex(8)}"  # all servers of a process have the same buckets
    httpx2.put(f"http://{host}:{port}/{name}", trust_env=False).raise_for_status()
    front = ThreadingHTTPServer(("127.0.0.1", 0), _Front)
    found = Bucket(f"s3://{name}", (host, port))
    front.__dict__["bucket"] = found
    serving = threading.Thread(target=front.serve_forever, args=(0.02,))
    serving.start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{front.server_port}",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(addresses, "REQUEST_TIMEOUT", "700ms")
    monkeypatch.setattr(addresses, "RETRIES", 2)
    try:
        yield found
    finally:
        found.over.set()
        front.shutdown()
        serving.join()
        front.server_close()
        moto.stop()


class _Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _relay(self) -> None:
        bucket: Bucket = self.server.__dict__["bucket"]
        fault = bucket.next_fault()
        if fault == "away":
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if fault == "silent":
            bucket.over.wait(20)
            self.close_connection = True
            return
        if fault == "overloaded":
            self._answer(503, [], b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault == "slow":
            bucket.over.wait(0.2)
        upstream = http.client.HTTPConnection(*bucket.upstream, timeout=20)
        upstream.request(self.command, self.path, body, dict(self.headers.items()))
        answer = upstream.getresponse()
        content = answer.read()
        headers = [each for each in answer.getheaders() if each[0].lower() not in _OWN]
        self._answer(answer.status, headers, content, cut=fault == "cut", told=answer.length)
        upstream.close()

    def _answer(
        self,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        *,
        cut: bool = False,
        told: int | None = None,
    ) -> None:
        with suppress(ConnectionError):
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            if self.command == "HEAD":
                self.send_header("content-length", str(told or 0))
            elif status != http.client.NO_CONTENT:
                self.send_header("content-length", str(len(content) + (cut and not content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection |= cut

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _relay  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


_OWN = {"content-length", "connection", "transfer-encoding", "keep-alive"}
