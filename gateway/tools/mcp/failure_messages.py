"""Why a server cannot be reached, in words that neither name a secret nor a path of this machine."""

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from pydantic_core import from_json, to_json

from gateway.errors import ServerUnreachable
from gateway.messages import shortened
from gateway.settings.value_types import McpServer
from gateway.tools.mcp import bounds

_SHORTEST_SECRET = 6  # what is shorter would be found in innocent words
_MAX_TOKENS = 4
_SECRET_NAME = re.compile("auth|cookie|credential|key|pass|pwd|secret|token", re.IGNORECASE)
"""What names of headers and variables say that a value is a secret."""


@dataclass(slots=True)
class ConnectionEnding:
    """What is known of how a connection ended. `detail` is the server's own last word: for the log, not for
    the model. `status` is the last HTTP status of an error. `forgotten`: the server does not know the session
    any more. `needs_sign_in`: it asks for a token, and there is none, or none that it takes;
    `sign_in_trouble` is why none could be got. `tokens` are those that were sent last."""

    reason: str | None = None
    detail: str | None = None
    status: int | None = None
    forgotten: bool = False
    needs_sign_in: bool = False
    sign_in_trouble: str | None = None
    tokens: deque[str] = field(default_factory=lambda: deque(maxlen=_MAX_TOKENS), repr=False)

    def because(self, reason: str) -> None:
        """The first reason counts: what follows from it is none."""
        self.reason = self.reason or reason


class SessionForgotten(ServerUnreachable):
    """The server did not know the session of a call, and did nothing."""


class SignInNeeded(ServerUnreachable):
    """Nobody has signed in to the server, or the sign-in has ended."""


def scrubbed(text: str, server: McpServer, tokens: Iterable[str] = ()) -> str:
    """`text` on one line, cut, and without the values that the server was given as its environment or is sent
    as headers, and the `tokens`."""
    environment = (value.get_secret_value() for value in server.env.values())
    text = redacted(text, (*environment, *credentials_of(server, tokens)))
    return shortened(" ".join(text.split()), bounds.LINE)


def credentials_of(server: McpServer, tokens: Iterable[str]) -> Iterator[str]:
    """What is sent to the server that says who asks; it repeats a token without its "Bearer"."""
    for value in server.headers.values():
        secret = value.get_secret_value()
        yield from (secret, secret.rpartition(" ")[2])
    yield from tokens


def secrets_of(server: McpServer, tokens: Iterable[str]) -> set[str]:
    """What of the settings' headers and environment is a secret by its name, and the tokens; not what is a
    number, which may mean something else where it stands."""
    named = (*server.headers.items(), *server.env.items())
    values = [value.get_secret_value() for name, value in named if _SECRET_NAME.search(name)]
    found = {part for value in (*values, *tokens) for part in (value, value.rpartition(" ")[2])}
    return {each for each in found if len(each) >= _SHORTEST_SECRET and not each.isdecimal()}


def without_secrets(value: dict[str, Any], secrets: Collection[str]) -> dict[str, Any]:
    """What a server wrote, without these secrets wherever they are in it: a server may repeat what it was
    sent, and everybody reads what it says."""
    if not secrets:
        return value
    text = written = to_json(value, serialize_unknown=True)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(to_json(secret)[1:-1], b"[redacted]")
    return value if text == written else from_json(text)


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` without the secrets, as they are and as a form has them."""
    for secret in secrets:
        for part in (secret, quote_plus(secret)):
            if len(secret) >= _SHORTEST_SECRET:
                text = text.replace(part, "[redacted]")
    return text
