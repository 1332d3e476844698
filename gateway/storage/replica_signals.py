"""Signals between the processes of one store: rare, small, and sent only for what has become true.

    work(connection) -- send --> sent to the other processes by the same transaction
                              `-> delivered in this one as soon as that is committed, before `write` returns

So an operation does the same to a turn, whichever process runs it. A signal may be lost, with the
connection that carries it: its content is also in the tables, where its receiver looks now and then.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

log = logging.getLogger(__name__)

Kind = Literal[
    "cancel",
    "waiting",
    "outbox",
    "gone",
    "released",
    "unread",
    "read",
    "access",
    "revoked",
    "configured",
]
"""`cancel`: a turn is to stop. `waiting`: one waits in a session. `outbox`: events do. `gone`: a session is
no more. `released`: a replica has given up its turns. `unread`: has a turn no reader anywhere? `read`: it
has. `access`: a project or a session has members who may do less than before. `revoked`: a key, a sign-in or
all of a user hold no longer, by id, digest or user id. `configured`: the operator has changed what the
gateway works with, by the name of the table."""


class Signal(NamedTuple):
    """`subject` is the id of what it is about. Only the replica `to` receives it; None: all do."""

    kind: Kind
    subject: str = ""
    to: str | None = None


class Signals:
    """The handlers of this process. Its methods belong to the event loop."""

    def __init__(self) -> None:
        self._handlers: dict[Kind, list[Callable[[str], None]]] = defaultdict(list)
        self.has_received_since: Callable[[float], bool] = lambda since: True
        """Whether all signals that other processes sent since a time of the event loop's clock arrived here.
        For engines to set, where signals may be lost."""

    def on(self, kind: Kind, handler: Callable[[str], None]) -> None:
        """Calls `handler(subject)` on the event loop for each signal of the kind, also for those of this
        process. It must be quick; its exceptions are logged only."""
        self._handlers[kind].append(handler)

    def hear(self, signals: Iterable[Signal]) -> None:
        """For engines: hands on what is committed and meant for this process."""
        for kind, subject, _ in signals:
            for handler in self._handlers[kind]:
                try:
                    handler(subject)
                except Exception:
                    # Neither the sender nor the other handlers are concerned by that.
                    log.exception("a signal was not taken: %s %s", kind, subject)
