"""A session whose recorded events are there one after the other, as a test releases them, and the page that
reads it: the routes that a conversation is drawn from, in the gateway's own words."""

import email.utils
import functools
import json
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel

from gateway.api.session_bodies import EventPage, Session
from gateway.http.json_types import json_body
from gateway.page import BUILT
from gateway.sse_frames import encode_frames, encode_open
from tests.product import StoredEvent
from tests.recorded import lines


class Released(ThreadingHTTPServer):
    """The gateway of the recorded session; as many of its `events` as `count` says have happened. A page of
    the log has at most `page` of them."""

    daemon_threads = True  # streams end with the test

    def __init__(self, name: str, page: int) -> None:
        recorded = [json.loads(line) for line in lines(name)]
        self.events = [
            StoredEvent(said["seq"], said["type"], said["turn_id"], line)
            for said, line in zip(recorded, lines(name), strict=True)
        ]
        self.session: str = recorded[0]["session_id"]
        self.page = page
        self.count = 0
        self.moved = threading.Condition()
        super().__init__(("127.0.0.1", 0), functools.partial(_Answer, directory=str(BUILT)))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that left in the midst of an answer is none."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/#s={self.session}"

    def about(self) -> Session:
        """As far as it has happened."""
        began = self.events[0].ts
        return Session(
            id=self.session,
            created_at=began,
            updated_at=began,
            head=self.count,
            active_branch=0,
            pinned=False,
            archived=False,
            title=None,
            title_by=None,
            status=None,
            shared=None,
            shared_by=None,
            shared_in=None,
            may=None,
            temporary=None,
            retention=None,
        )

    def release(self, count: int) -> None:
        """So many have happened now."""
        with self.moved:
            self.count = count
            self.moved.notify_all()


class _Answer(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def end_headers(self) -> None:
        kept = "immutable" if self.path.startswith("/assets/") else "no-store"
        self.send_header("Cache-Control", f"max-age=3600, {kept}" if kept == "immutable" else kept)
        super().end_headers()

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The newest event has just happened."""
        if timestamp is not None:
            return super().date_time_string(timestamp)
        newest = self.log.events[max(0, self.log.count - 1)]
        return email.utils.formatdate(newest.ts / 1000, usegmt=True)

    @property
    def log(self) -> Released:
        assert isinstance(self.server, Released)
        return self.server

    def do_GET(self) -> None:
        place, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        session = f"/api/sessions/{self.log.session}"
        if place == session:
            self.reply(self.log.about())
        elif place == f"{session}/events" and "before" in query:
            self.page_before(int(query["before"][0]))
        elif place == f"{session}/events":
            self.follow(int(self.headers["Last-Event-ID"]))
        elif place == "/" or place.startswith("/assets/"):
            super().do_GET()
        else:
            self.send_error(404)

    def page_before(self, before: int) -> None:
        events = self.log.events[max(0, before - 1 - self.log.page) : before - 1]
        older = events[0].seq if events and events[0].seq > 1 else None
        found = [event.load() for event in events]
        self.reply(EventPage(events=found, head=self.log.count, next=None, previous=older))

    def follow(self, cursor: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        log = self.log
        try:
            self.wfile.write(encode_open(log.session, cursor, log.count, None, None))
            while True:
                with log.moved:
                    log.moved.wait_for(lambda: log.count > cursor)  # noqa: B023 - it is called here
                    new = log.events[cursor : log.count]
                self.wfile.write(encode_frames(new))
                cursor = new[-1].seq
        except ConnectionError:
            pass  # the reader left

    def reply(self, body: BaseModel) -> None:
        encoded = json_body(body)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)


@contextmanager
def released(name: str, *, page: int) -> Generator[Released]:
    """The recorded session of that name, of which nothing has happened yet."""
    with Released(name, page) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
