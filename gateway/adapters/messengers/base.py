"""The contract of a messenger: receive, render, deliver, resume by seq.

    receive   what people write or press is kept in the journal before the messenger gets its acknowledgement
    render    a turn is drawn as messages (`Drawn`) of Markdown, notes and questions; how these look is the
              messenger's to know
    deliver   a message is posted once under a key and then edited until it says what the turn says
    resume    the cursor of a thread is the last event whose turn was delivered whole; behind it all is drawn
              anew from the log, and what was posted is edited, never posted again

One thread is one session. Who implements `Messenger` writes no more than how its interface says these things;
`bridge.Bridge` does the rest. `examples/telegram_like` is a whole one.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal, NamedTuple, Protocol

import orjson

from gateway.errors import GatewayError

Act = Literal["say", "approve", "deny", "stop", "up", "down", "unrate"]


class MessengerBusy(GatewayError):
    """It takes nothing more now, or cannot be reached; nobody knows whether the last call had an effect."""

    code = "messenger_busy"
    retryable = True


class MessageGone(GatewayError):
    """Somebody deleted the message, or the place where it would be."""

    code = "message_gone"


class MessageRejected(GatewayError):
    """It does not take this message: what it says, or that an old one is edited. Another one may be taken."""

    code = "message_rejected"


class MessengerRefused(GatewayError):
    """It refuses the program as a whole: a token was revoked, a permission is missing."""

    code = "messenger_refused"


class Place(NamedTuple):
    """A thread: the channel, and in it the thread; "" is the channel itself."""

    channel: str
    thread: str = ""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that a person sent; `source` is how the messenger finds its content."""

    source: str
    name: str
    mime: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """What a person wrote, or did with a message. The same `id` comes once, however often it is received;
    of what is said it is the `client_message_id`, so that no turn begins twice.

    `about` is the message that is rated or stopped, of a decision the call (`turn:call`).
    """

    id: str
    channel: str
    thread: str
    person: str
    act: Act = "say"
    text: str = ""
    about: str = ""
    files: Sequence[RemoteFile] = ()

    @property
    def place(self) -> Place:
        return Place(self.channel, self.thread)


@dataclass(frozen=True, slots=True)
class AnswerText:
    """Text of the answer, as Markdown."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Note:
    """A quiet line beside the answer. With an `id` it is about one thing that goes on, as a call does."""

    text: str
    id: str = ""
    status: Literal["running", "ok", "failed"] = "ok"


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits for a person. `name` is what the decision is about (`Received.about`)."""

    name: str
    tool: str
    arguments: str
    reason: str = ""


Item = AnswerText | Note | Question


@dataclass(frozen=True, slots=True)
class Drawn:
    """A message. `seq` is the last event that it shows; `is_final`: nothing will be added to it, and with
    `is_last` its turn is over."""

    items: tuple[Item, ...]
    seq: int = field(compare=False, default=0)
    is_final: bool = False
    is_last: bool = False

    @property
    def digest(self) -> str:
        """The same for messages that look the same."""
        shown = [[type(each).__name__, each] for each in self.items]
        return sha256(orjson.dumps([shown, self.is_final])).hexdigest()[:32]


class Draw(Protocol):
    """What a message shall say: asked for when it is sent, as a messenger may have to wait before."""

    @property
    def is_over(self) -> bool:
        """Whether its turn is over: who waits for that sees it soon where others have to wait."""
        ...

    def __call__(self) -> Drawn: ...


Keep = Callable[[Received], bool]
"""Keeps what came, durably; whether it is new. Once it returns the messenger may have its
acknowledgement."""


class Thread(NamedTuple):
    """A place with the person whose session it is, and the messenger's id of the message that is answered."""

    place: Place
    person: str
    session_id: str


class Account(NamedTuple):
    """Who a person is for the gateway: the owner of a key, or the user that a delegate key names."""

    key: str | None = None
    user: str | None = None


Identify = Callable[[str], Awaitable[Account]]
"""Raises errors.RequestRefused where the person is nobody there."""


class FormerMessages(Protocol):
    """What is in a thread already. Each method has a default: nothing can be known of it."""

    async def find(self, thread: Thread, key: str) -> str | None:
        """The message that was posted under that key: asked when a post broke off. Where nothing can be
        looked for it is posted once more."""
        return None

    async def last_seq(self, thread: Thread) -> int | None:
        """The newest event of a turn that was delivered whole, as messages in the thread tell; None: nothing
        can be known. Asked when the journal was lost."""
        return None

    async def before(self, received: Received) -> str:
        """What was said in the thread before that message, as Markdown: asked when the interface is called
        into a thread. It is data for the model, not instructions."""
        return ""


class MessengerFiles(Protocol):
    """Files, both ways. Each method has a default: the messenger has none."""

    async def fetch(self, file: RemoteFile) -> bytes:
        """The content of a file that a person sent."""
        raise MessageGone(f"{file.name}: files are not taken here.")

    async def upload(self, thread: Thread, key: str, name: str, mime: str, content: bytes) -> str:
        """Posts a file that a turn made, and returns an id."""
        raise MessageGone(f"{name}: files are not shown here.")


class Messenger(FormerMessages, MessengerFiles, Protocol):
    """One interface. All methods may raise MessengerBusy, MessageGone, MessageRejected and MessengerRefused;
    the bridge asks for one message of a thread at a time, in order, and for several threads at once. Who
    inherits from it writes the methods here, and of those above what its interface can do."""

    name: str
    """Begins the ids of its sessions and of what is received, and is the role of its sessions."""
    message_size: int
    """Most characters of Markdown in one message."""

    async def receive(self, keep: Keep) -> None:
        """Hands on what comes until it is cancelled."""
        ...

    async def post(self, thread: Thread, key: str, draw: Draw) -> str:
        """Posts a message and returns its id. `key` can be found again (`find`)."""
        ...

    async def edit(self, thread: Thread, message: str, key: str, draw: Draw) -> None:
        """Has it say something else."""
        ...

    async def delete(self, thread: Thread, message: str) -> None: ...

    async def notify(self, place: Place, person: str, text: str) -> None:
        """Says something to one person alone, as far as that is possible."""
        ...
