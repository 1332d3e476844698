"""Several processes of the server behind one port: each is a replica, and one that dies is started again.

parent    takes the port ──fork──▶ worker 1, until it serves ──fork──▶ the others
          SIGTERM, Ctrl-C ──SIGTERM──▶ all drain; it gives up the port, and ends after the last
worker    accepts from the parent's socket; drains when its parent is gone
"""

import asyncio
import gc
import os
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from types import FrameType

import structlog

from gateway.backlog import doubled

FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0
"""Seconds before a worker is started again whose former one did not serve for STEADY seconds: doubled each
time in a row, up to the last."""
STEADY = 10.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker, by what it has of its parent: its `number` from 0 on, which one that takes its place has
    again. It writes to `ready` once it serves, and reads the end of `lifeline` when the parent is gone."""

    number: int
    ready: int
    lifeline: int

    def tell_ready(self) -> None:
        """Tells the parent."""
        os.write(self.ready, b"1")

    def when_orphaned(self, callback: Callable[[], None]) -> None:
        """Calls back on the event loop when the parent is gone."""
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(self.lifeline)
            callback()

        loop.add_reader(self.lifeline, gone)


def become_worker(
    count: int, when_ready: Callable[[], None], when_asked_to_stop: Callable[[], None] = lambda: None
) -> Worker:
    """Returns in each of `count` processes, and in those that come after one that died. The process that
    calls it never returns: it looks after them, and exits when they have ended; with the first one's exit
    code when that could not start. It calls `when_ready` when all of them serve, and `when_asked_to_stop`
    as soon as it is: a socket that it kept open would still take connections that nobody accepts."""
    gc.freeze()  # what is loaded is shared with them until a process writes to it
    return _Parent(count, when_ready, when_asked_to_stop).look_after()


@dataclass(slots=True)
class _Child:
    number: int
    ready: int
    since: float
    serves: bool = False


class _Parent:
    def __init__(
        self, count: int, when_ready: Callable[[], None], when_asked_to_stop: Callable[[], None]
    ) -> None:
        self._count = count
        self._when_asked_to_stop = when_asked_to_stop
        self._when_ready: Callable[[], None] | None = when_ready
        self._children: dict[int, _Child] = {}
        self._due = [(0.0, number) for number in range(count)]
        """When a worker is to be started, and its number."""
        self._served = False
        self._asked_to_stop = False
        self._failures = 0
        self._code = 0
        self._lifeline = os.pipe()
        self._signalled, write = os.pipe()
        os.set_blocking(self._signalled, False)
        os.set_blocking(write, False)
        self._former = {
            each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
        }
        for each in self._former:
            signal.signal(each, _ignore)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._written = write

    def look_after(self) -> Worker:
        while self._children or (self._due and not self._asked_to_stop):
            if self._may_start() and (worker := self._start()) is not None:
                return worker
            self._wait()
        sys.exit(self._code)

    def _may_start(self) -> bool:
        """The first has to serve before there are others: what keeps it from starting keeps all."""
        is_due = bool(self._due) and self._due[0][0] <= monotonic()
        return is_due and not self._asked_to_stop and (self._served or not self._children)

    def _start(self) -> Worker | None:
        """None in the parent."""
        _, number = self._due.pop(0)
        ready, report = os.pipe()
        if pid := os.fork():
            os.close(report)
            self._children[pid] = _Child(number, ready, monotonic())
            return None
        os.setpgid(0, 0)  # Ctrl-C is for the parent, which asks all to stop
        signal.set_wakeup_fd(-1)
        for each, handler in self._former.items():
            signal.signal(each, handler)
        others = [child.ready for child in self._children.values()]
        for descriptor in (ready, self._lifeline[1], self._signalled, self._written, *others):
            os.close(descriptor)
        return Worker(number, report, self._lifeline[0])

    def _wait(self) -> None:
        """For a signal, a worker that serves, or the time to start one."""
        starting = {child.ready: child for child in self._children.values() if not child.serves}
        pause = max(0, self._due[0][0] - monotonic()) if self._due and self._served else None
        found, _, _ = select.select([self._signalled, *starting], [], [], pause)
        for descriptor in found:
            if descriptor in starting and os.read(descriptor, 1):
                starting[descriptor].serves = self._served = True
        if self._when_ready and sum(child.serves for child in self._children.values()) == self._count:
            self._when_ready()
            self._when_ready = None
        if self._signalled in found:
            for number in os.read(self._signalled, 512):
                if number != signal.SIGCHLD:
                    self._stop(signal.Signals(number))
        self._reap()

    def _stop(self, asked: signal.Signals) -> None:
        how = signal.SIGTERM if not self._asked_to_stop else asked
        self._asked_to_stop = True
        self._when_asked_to_stop()
        for pid in self._children:
            os.kill(pid, how)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            child = self._children.pop(pid)
            os.close(child.ready)
            code = os.waitstatus_to_exitcode(status)
            if self._asked_to_stop or not self._served:
                self._asked_to_stop = True
                # One that is asked while it starts knows no other end yet: that is no failure.
                self._code = max(self._code, abs(code) if child.serves or code != -signal.SIGTERM else 0)
                continue
            self._failures = 1 if child.serves and monotonic() - child.since > STEADY else self._failures + 1
            pause = doubled(FIRST_PAUSE, self._failures, LAST_PAUSE) if self._failures > 1 else 0
            log.error("worker_died", pid=pid, code=code, again_in=pause)
            self._due = sorted([*self._due, (monotonic() + pause, child.number)])


def _ignore(number: int, frame: FrameType | None) -> None:
    """A signal that is ignored altogether would wake nobody up."""
