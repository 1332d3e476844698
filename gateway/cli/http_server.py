"""Runs the application under uvicorn: takes the port, says where it is, and drains when asked to stop."""

import asyncio
import errno
import gc
import math
import os
import resource
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from contextvars import Context
from types import FrameType
from typing import Literal

import structlog
import uvicorn
import uvloop
from starlette.applications import Starlette

from gateway.app import build_app
from gateway.cli.banner import page_url, show_banner
from gateway.cli.http_connections import PROBE_PLACES, Connections
from gateway.cli.workers import Worker, become_worker
from gateway.errors import GatewayError, SettingsError
from gateway.pace import until_next
from gateway.settings import Settings
from gateway.settings.environment import without_effect
from gateway.telemetry.lines.logs import configure_logging

log = structlog.get_logger(__name__)

BACKLOG = 2048

COLLECT_AFTER = (10_000, 100, 50)
"""Thresholds of the garbage collection (`gc.set_threshold`). What a turn uses goes with its last reference;
only errors leave cycles, so that it may be rare. All streams wait for a collection, some 4 ms for 10,000 new
objects."""

MAX_OPEN_FILES = 10_240
"""What is asked for where the system refuses the hard limit (macOS: "unlimited", but OPEN_MAX counts)."""

OWN_FILES = 64
"""What the process has open without any client: databases, listeners, the event loop; some 35, and blobs."""

FEWEST_CONNECTIONS = 8
"""However few files there may be."""

Option = Literal["--port", "--worker-port", "--http"]
"""How a command names the port: alone, or behind its host."""


def run(
    settings: Settings,
    *,
    demo: bool,
    open_page: bool = False,
    picks_model: bool = False,
    workers: int = 1,
    worker_port: int | None = None,
) -> None:
    """Serves until SIGTERM or Ctrl-C, then lets running turns finish within `shutdown_grace`. With several
    `workers` each is a process that accepts from the same socket, and with a `worker_port` from one of its
    own, that port or one of the next: requests to that are its alone.

    Raises:
        SettingsError: others could reach the server and no key protects it.
        GatewayError: the port cannot be had, or the application cannot start.
    """
    refuse_open_address(settings, is_closed=settings.has_accounts)
    configure_logging(settings.log_level, settings.log_format)
    for says in without_effect():
        log.warning("setting_without_effect", says=says)
    with ExitStack() as stack:
        listeners = [stack.enter_context(bind(settings.host, settings.port))]
        settings = settings.model_copy(update={"port": listeners[0].getsockname()[1]})
        worker: Worker | None = None
        if workers > 1:
            own = [stack.enter_context(each) for each in _bind_each(settings.host, worker_port, workers)]
            ports = [each.getsockname()[1] for each in own]
            worker = become_worker(
                workers,
                lambda: show_banner(settings, demo=demo, worker_ports=ports),
                lambda: _close(listeners + own),
            )
            listeners += own[worker.number : worker.number + 1]
            for each in own:
                if each not in listeners:
                    each.close()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(
                _serve(settings, listeners, worker, demo=demo, open_page=open_page, picks_model=picks_model)
            )


def _close(listeners: Iterable[socket.socket]) -> None:
    for each in listeners:
        each.close()


def _bind_each(host: str, first: int | None, count: int) -> Iterator[socket.socket]:
    """Before the workers are there: one that is started again has the port of the former one."""
    for number in range(count if first is not None else 0):
        yield bind(host, first + number if first else 0, option="--worker-port")


def refuse_open_address(settings: Settings, *, is_closed: bool) -> None:
    """Raises SettingsError when others could reach a server that is not `is_closed` to whom it does not
    know."""
    if not settings.is_loopback and not is_closed:
        raise SettingsError(
            f"Listening on {settings.host} lets others in, and no API key is set. "
            "Set GATEWAY_API_KEYS=name:secret, or listen on 127.0.0.1."
        )


def bind(host: str, port: int, *, option: Option = "--port") -> socket.socket:
    """A listening socket; port 0 takes a free one. Connections wait in its queue until the server is ready.

    Raises:
        GatewayError: the address is in use, not allowed, or not of this machine; the message says what to do.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        raise GatewayError(_no_address(host, option)) from None
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise GatewayError(_why_not(error, host, port, option)) from None
    return listener


def _why_not(error: OSError, host: str, port: int, option: Option) -> str:
    other = port + 1 if port < 65535 else 8000
    match error.errno:
        case errno.EADDRINUSE:
            return (
                f"Port {port} is in use. Choose another with {_with(option, host, other)}, "
                "or stop what listens there."
            )
        case errno.EACCES:
            return (
                f"Port {port} needs more rights than this user has. "
                f"Choose one from 1024 up with {_with(option, host, 8000)}."
            )
        case errno.EADDRNOTAVAIL:
            return _no_address(host, option)
        case _:
            return f"Cannot listen on {host} port {port}: {error.strerror}."


def _with(option: Option, host: str, port: int) -> str:
    """The argument that names another port, as it is given to the command or to the Makefile."""
    if option == "--http":
        return f"--http [{host}]:{port}" if ":" in host else f"--http {host}:{port}"
    return f'ARGS="--port {port}"' if os.environ.get("MAKE_TARGET") == "run" else f"--port {port}"


def _no_address(host: str, option: Option) -> str:
    instead = "--host" if option == "--port" else "--http HOST:PORT"
    return f"{host} is not an address of this machine. Choose another with {instead}."


def connections_within(files: int) -> int:
    """How many connections so many open files are enough for, beside PROBE_PLACES: a turn that is streamed
    takes two, for its client and for the model's endpoint."""
    return max(FEWEST_CONNECTIONS, (files - OWN_FILES - PROBE_PLACES) // 2)


def raise_open_files() -> int:
    """Raises the process's limit of open files to the hard one and returns what it is then."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for limit in (hard, MAX_OPEN_FILES):
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            break
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit if limit != resource.RLIM_INFINITY else sys.maxsize


async def _serve(
    settings: Settings,
    listeners: list[socket.socket],
    worker: Worker | None,
    *,
    demo: bool,
    open_page: bool,
    picks_model: bool,
) -> None:
    most = min(settings.max_connections, connections_within(raise_open_files()))
    settings = settings.model_copy(update={"max_connections": most})
    app = build_app(settings, demo=demo, picks_model=picks_model)
    connections = Connections(settings)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=connections.protocol,
        ws="none",
        lifespan="off",  # entered here instead, so that a failure to start arrives as the error it is
        log_config=None,
        log_level="warning",  # the banner and the application's own log say the rest
        access_log=False,
        server_header=False,
        proxy_headers=False,  # neither the client's address nor the scheme is used
        backlog=BACKLOG,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_grace) + 5,
    )

    def started() -> None:
        # What start-up has loaded stays for good: full collections need not walk through it again and again.
        # Not collected before: that takes 0.2 s of CPU and finds one object in a hundred.
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        gc.enable()
        if worker is not None:
            worker.tell_ready()
            worker.when_orphaned(server.stop)
            return
        show_banner(settings, demo=demo, endpoint=app.state.endpoint)
        if open_page:
            webbrowser.open(page_url(settings))

    async with app.router.lifespan_context(app):
        server = DrainingServer(
            config, app, connections, started, takes_leave=listeners if settings.is_shared else ()
        )
        await server.serve(sockets=listeners)


class DrainingServer(uvicorn.Server):
    """Drains first and closes then. While running turns have their grace it still answers the connections
    that it has, each for the last time, and 503 (`draining`) to new turns: nothing has begun, so that a proxy
    may ask another replica. uvicorn alone would wait for streams that only we end.

    Where others share the database it stops listening at once, as they are there for who comes: a proxy is
    refused the connection, and goes to them. One process alone goes on listening for as long as it drains:
    who comes is told to try again in a moment, and can read meanwhile.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: Starlette,
        connections: Connections,
        started: Callable[[], None],
        *,
        takes_leave: Sequence[socket.socket] = (),
    ) -> None:
        """`takes_leave` are the listening sockets that are closed as soon as it drains."""
        super().__init__(config)
        self._app = app
        self._connections = connections
        self._when_started = started
        self._takes_leave = takes_leave
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked_to_stop = False
        self._ended = asyncio.Event()

    async def main_loop(self) -> None:
        """Waits to be told to exit. uvicorn's own looks ten times a second, half of what an idle gateway
        does; once is what the `date` of its answers needs."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), until_next(1.0))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._when_started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Not super(): it would raise the signal again after a clean end.
        if self._asked_to_stop and sig == signal.SIGINT:
            print("Stopped at once; turns that were running go on at the next start.", file=sys.stderr)
            sys.stderr.flush()
            os._exit(130)  # the log is durable at every moment, so there is nothing to wait for
        self._asked_to_stop = True
        if self._loop is None:
            self._exit()
        else:
            # The signal came while any request was worked on: what is logged from here is not of that one.
            self._loop.call_soon_threadsafe(self._drain, context=Context())

    def stop(self) -> None:
        """Drains and closes, on the event loop; once, however often it is asked."""
        if not self._asked_to_stop:
            self._asked_to_stop = True
            self._drain()

    def _drain(self) -> None:
        if self._takes_leave:
            for server in self.servers:
                server.close()
            _close(self._takes_leave)
        self._connections.drain(self.server_state.connections)
        drained: asyncio.Task[None] = self._app.state.begin_shutdown()
        drained.add_done_callback(lambda _: self._exit())

    def _exit(self) -> None:
        self.should_exit = True
        self._ended.set()
