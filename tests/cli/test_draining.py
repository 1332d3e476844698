"""The server as a process that is asked to stop: what those who are connected get, and those who come."""

import re
import signal
import socket
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from tests.postgres import new_database, on_postgres
from tests.running import TIMEOUT, Running, gateway_process

SLOW = "/pieces 20 /pace 100"
JSON = {"content-type": "application/json"}


@dataclass(frozen=True)
class Drained:
    """What there is while it drains: a connection that has asked for nothing yet, the stream of an answer,
    and what a connection got that waited for another request."""

    running: Running
    fresh: HTTPConnection
    stream: HTTPResponse
    closed: bytes


@contextmanager
def draining(folder: Path, *arguments: str, **environment: str) -> Generator[Drained]:
    """A gateway that drains while it streams an answer."""
    environment |= {"GATEWAY_SHUTDOWN_GRACE": "60"}
    with ExitStack() as stack:
        running = stack.enter_context(gateway_process(folder, *arguments, **environment))
        kept, fresh, streaming = (stack.enter_context(connected(running)) for _ in range(3))
        assert ask(kept, "GET", "/healthz").status == 200
        fresh.connect()
        streaming.request("POST", "/api/chat", orjson.dumps({"message": SLOW}), JSON)
        stream = stack.enter_context(streaming.getresponse())
        while b"event: text" not in stream.readline():
            pass
        running.send(signal.SIGTERM)
        assert kept.sock is not None
        yield Drained(running, fresh, stream, kept.sock.recv(1))
        assert b"event: done" in stream.read()
        assert running.ended() == 0


@contextmanager
def connected(running: Running) -> Generator[HTTPConnection]:
    """A connection that is made with its first request."""
    with closing(HTTPConnection(urlsplit(running.url).netloc, timeout=TIMEOUT)) as connection:
        yield connection


@dataclass(frozen=True)
class Answer:
    """One that was read whole."""

    status: int
    headers: Message
    content: bytes


def ask(over: HTTPConnection, method: str, path: str, body: object = None) -> Answer:
    """Asks over that connection."""
    over.request(method, path, None if body is None else orjson.dumps(body), JSON)
    with over.getresponse() as answer:
        return Answer(answer.status, answer.headers, answer.read())


def refuses(running: Running) -> bool:
    """Whether it takes no connection."""
    address = urlsplit(running.url)
    try:
        with socket.create_connection((address.hostname, address.port), TIMEOUT):
            return False
    except ConnectionRefusedError:
        return True


def test_one_process_goes_on_answering_and_says_when_to_come_again(tmp_path: Path) -> None:
    """On SQLite nobody else is there: a new turn is refused with 503, `draining`, the time to wait and the
    end of the connection; what is there can be read, and the answer that runs comes to its end. A connection
    that waited for another request is closed at once."""
    with draining(tmp_path) as drained:
        assert drained.closed == b""
        refused = ask(drained.fresh, "POST", "/api/chat", {"message": "/say hello"})
        with connected(drained.running) as come:
            again = ask(come, "POST", "/api/chat", {"message": "/say hello"})
        with connected(drained.running) as look:
            read = ask(look, "GET", "/api/sessions")
    for answer in (refused, again):
        assert answer.status == 503
        assert orjson.loads(answer.content)["error"]["code"] == "draining"
        assert int(answer.headers["retry-after"]) > 0
    assert read.status == 200
    assert {each.headers["connection"] for each in (refused, again, read)} == {"close"}


@on_postgres
@pytest.mark.long
def test_one_of_several_stops_listening_and_ends_its_connections(tmp_path: Path, demo_url: str) -> None:
    """With others on its database it takes no connection any more, so that a proxy goes to them; a connection
    that it has gets one more answer, which says that it is the last."""
    with draining(tmp_path, "serve", **shared(tmp_path, demo_url)) as drained:
        assert drained.closed == b""
        assert refuses(drained.running)
        refused = ask(drained.fresh, "POST", "/api/chat", {"message": "/say hello"})
        assert refused.status == 503
        assert refused.headers["connection"] == "close"
        assert refuses(drained.running)


@on_postgres
@pytest.mark.long
def test_workers_give_up_their_port_together(tmp_path: Path, demo_url: str) -> None:
    """The parent, which has the port for those that it may have to start again, lets go of it too: nobody
    waits in the queue of a socket that no process accepts from."""
    with draining(tmp_path, "serve", "--workers", "2", **shared(tmp_path, demo_url)) as drained:
        assert drained.closed == b""
        while not refuses(drained.running):
            assert drained.stream.readline()  # the answer is not over


def test_what_is_logged_of_a_shutdown_is_of_no_request(tmp_path: Path) -> None:
    """The signal comes while some request is worked on; the line `draining` does not name it."""
    with draining(tmp_path, GATEWAY_LOG_FORMAT="json") as drained:
        said = drained.running.output.read_text()
    (line,) = re.findall(r"^\{.*\"draining\".*\}$", said, re.MULTILINE)
    assert "request_id" not in line
    assert "turn_id" not in line


def shared(folder: Path, demo_url: str) -> dict[str, str]:
    """The settings of a replica."""
    return {
        "ANTHROPIC_BASE_URL": demo_url,
        "GATEWAY_DATABASE_URL": new_database(),
        "GATEWAY_BLOB_URL": f"file://{folder}/blobs",
        "GATEWAY_BLOBS_SHARED": "true",
    }
