"""The collection: what endpoints answered, as data, and what the gateway must make of it.

A folder is an endpoint. `NAME.http` is a response as it was sent, with lines that end in LF and without the
frames of chunks; `endpoint.toml` says where the shapes are from (`#`), what kind of server it is, what it
answers to other requests (`says`), and what must come of each message.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Response:
    """A response as it goes over the wire, without frames of chunks."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def streams(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")


@dataclass(frozen=True)
class Case:
    """One response to POST /v1/messages. An answer has `text`, `thinking`, `calls` (name and arguments),
    `stop` and `usage` (input and output tokens); a failure has `code` and the `words` of the endpoint that
    must reach the person. What is None is not compared. `refuses`: a request with this pattern gets it."""

    endpoint: str
    name: str
    response: Response
    text: str | None = None
    text_begins: str = ""
    thinking: str = ""
    signature: str | None = None
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    bad_inputs: int = 0
    stop: str | None = None
    usage: tuple[int, int] | None = None
    code: str | None = None
    retryable: bool | None = None
    words: str | None = None
    refuses: re.Pattern[str] | None = None

    @property
    def fails(self) -> bool:
        return self.words is not None

    def __str__(self) -> str:
        return f"{self.endpoint}-{self.name}"


@dataclass(frozen=True)
class Endpoint:
    """`says` maps a method and a path to a response."""

    name: str
    kind: str
    cases: tuple[Case, ...]
    says: Mapping[str, Response] = field(default_factory=dict[str, Response])


@cache
def endpoints() -> tuple[Endpoint, ...]:
    """All of them."""
    return tuple(_endpoint(each.parent) for each in sorted(HERE.glob("*/endpoint.toml")))


def cases() -> list[Case]:
    return [case for endpoint in endpoints() for case in endpoint.cases]


def _endpoint(folder: Path) -> Endpoint:
    told = tomllib.loads((folder / "endpoint.toml").read_text())
    says = {where: _response(folder, name) for where, name in told.pop("says", {}).items()}
    kind = told.pop("kind")
    found = tuple(_case(folder, name, expected) for name, expected in told.items())
    return Endpoint(folder.name, kind, found, says)


def _case(folder: Path, name: str, expected: dict[str, Any]) -> Case:
    calls = tuple((called, arguments) for called, arguments in expected.pop("calls", ()))
    pattern, usage = expected.pop("refuses", None), expected.pop("usage", None)
    return Case(
        folder.name,
        name,
        _response(folder, name),
        calls=calls,
        usage=usage and tuple(usage),
        refuses=pattern and re.compile(pattern, re.DOTALL),
        **expected,
    )


def _response(folder: Path, name: str) -> Response:
    head, _, body = (folder / f"{name}.http").read_bytes().partition(b"\n\n")
    first, *lines = head.decode().split("\n")
    named = (line.partition(":") for line in lines)
    headers = {each.strip().lower(): value.strip() for each, _, value in named}
    return Response(int(first.split(" ")[1]), headers, body)
