"""A proxy between a program and a server that cuts connections where it is told."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


class Cutting:
    """Forwards bytes to `target` in threads."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.cuts = 0
        """How many times it has cut a connection by `cut_after`."""
        self._target = target
        self._left: int | None = None
        self._answers = False
        self._away = False
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def cut_after(self, count: int, *, answers: bool = False) -> None:
        """When so many bytes have been forwarded from now on, in either direction or of `answers` alone, the
        connection that has more is cut."""
        with self._lock:
            self._left, self._answers = count, answers

    def cut(self) -> None:
        """Cuts all connections."""
        with self._lock:
            for each in self._open:
                _end(each)

    def go_away(self) -> None:
        """Cuts all connections, and each new one at once."""
        self._away = True
        self.cut()

    def lead_to(self, port: int) -> None:
        """Forwards to that port of this machine from now on; what is open is cut."""
        self._target = ("127.0.0.1", port)
        self.cut()

    def come_back(self) -> None:
        """Forwards again."""
        self._away = False

    def close(self) -> None:
        _end(self._listening)
        self._listening.close()
        self._thread.join()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self._away:
                return
            with socket.create_connection(self._target) as server:
                with self._lock:
                    self._open += [client, server]
                there = threading.Thread(target=self._forward, args=(client, server), daemon=True)
                there.start()
                self._forward(server, client, is_answer=True)
                there.join()
                with self._lock:
                    self._open = [each for each in self._open if each not in (client, server)]

    def _forward(self, source: socket.socket, sink: socket.socket, *, is_answer: bool = False) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                with self._lock:
                    allowed, is_cut = len(data), False
                    if self._left is not None and (is_answer or not self._answers):
                        allowed = min(len(data), self._left)
                        self._left -= allowed
                        is_cut = allowed < len(data)
                        if is_cut:
                            self._left = None
                            self.cuts += 1
                if allowed:
                    sink.sendall(data[:allowed])
                if is_cut:
                    break
        _end(source)
        _end(sink)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


@contextmanager
def cutting(host: str, port: int) -> Generator[Cutting]:
    """A proxy in front of what listens there."""
    proxy = Cutting((host, port))
    try:
        yield proxy
    finally:
        proxy.close()
