"""Why a server cannot be reached, in words that neither name a secret nor a path of this machine."""

from dataclasses import dataclass

from gateway.errors import ServerUnreachable
from gateway.messages import shortened
from gateway.settings.value_types import McpServer
from gateway.tools.mcp import bounds

_SHORTEST_SECRET = 6  # what is shorter would be found in innocent words


@dataclass(slots=True)
class ConnectionEnding:
    """What is known of how a connection ended. `detail` is the server's own last word: for the log, not for
    the model. `status` is the last HTTP status of an error. `forgotten`: the server does not know the session
    any more. `needs_sign_in`: it asks for a token, and there is none, or none that it takes;
    `sign_in_trouble` is why none could be got."""

    reason: str | None = None
    detail: str | None = None
    status: int | None = None
    forgotten: bool = False
    needs_sign_in: bool = False
    sign_in_trouble: str | None = None

    def because(self, reason: str) -> None:
        """The first reason counts: what follows from it is none."""
        self.reason = self.reason or reason


class SessionForgotten(ServerUnreachable):
    """The server did not know the session of a call, and did nothing."""


class SignInNeeded(ServerUnreachable):
    """Nobody has signed in to the server, or the sign-in has ended."""


def scrubbed(text: str, server: McpServer) -> str:
    """`text` on one line, cut, and without the values that the server was given as its environment or is sent
    as headers."""
    for value in (*server.env.values(), *server.headers.values()):
        secret = value.get_secret_value()
        for part in (secret, secret.rpartition(" ")[2]):  # a server repeats the token without its "Bearer"
            if len(part) >= _SHORTEST_SECRET:
                text = text.replace(part, "[redacted]")
    return shortened(" ".join(text.split()), bounds.LINE)
