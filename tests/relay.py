"""A relay between a client and a gateway that behaves as badly as the networks people have."""

import socket
import socketserver
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Relay(socketserver.ThreadingTCPServer):
    """One request per connection, of paths below `prefix`, which ends here. With `holds` a response is passed
    on when it is complete; `cuts` says after how many bytes the next event streams are cut off, one number
    for each."""

    daemon_threads = False  # closing the relay waits for what it is relaying
    allow_reuse_address = True
    request_queue_size = 64  # a browser asks for all parts of a page at once

    def __init__(
        self, upstream: str, *, holds: bool = False, cuts: tuple[int, ...] = (), prefix: str = ""
    ) -> None:
        parts = urlsplit(upstream)
        self.upstream = (str(parts.hostname), int(parts.port or 80))
        self.holds = holds
        self.cuts = list(cuts)
        self.prefix = prefix
        self.open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Connection)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}{self.prefix}"


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        relay = self.server
        assert isinstance(relay, Relay)
        request = _read_request(self.request)
        method, _, rest = request.partition(b" ")
        if not rest.startswith(relay.prefix.encode() + b"/"):
            return
        request = method + b" " + rest[len(relay.prefix) :]
        with suppress(ConnectionError), socket.create_connection(relay.upstream) as upstream:
            relay.open.add(upstream)
            upstream.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            response = upstream.recv(65536)
            head = response.partition(b"\r\n\r\n")[0]  # the page's scripts name the type as well
            left = relay.cuts.pop(0) if relay.cuts and b"text/event-stream" in head else None
            held = b""
            while response:
                if left is not None:
                    response = response[:left]
                    left -= len(response)
                if relay.holds:
                    held += response
                else:
                    self.request.sendall(response)
                if left == 0:
                    return
                response = upstream.recv(65536)
            if held:
                self.request.sendall(held)


def _read_request(client: socket.socket) -> bytes:
    """Nothing when the client leaves without one: browsers open connections in advance."""
    request = b""
    while b"\r\n\r\n" not in request:
        if not (more := client.recv(65536)):
            return b""
        request += more
    head, _, body = request.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        if not (more := client.recv(65536)):
            return b""
        request, body = request + more, body + more
    return request


@contextmanager
def relaying(
    upstream: str, *, holds: bool = False, cuts: tuple[int, ...] = (), prefix: str = ""
) -> Generator[Relay]:
    """A relay in front of the gateway at `upstream`."""
    with Relay(upstream, holds=holds, cuts=cuts, prefix=prefix) as relay:
        thread = threading.Thread(target=relay.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield relay
        finally:
            relay.shutdown()
            for followed in relay.open:
                with suppress(OSError):
                    followed.shutdown(socket.SHUT_RDWR)  # a stream that is followed would not end by itself
            thread.join()
