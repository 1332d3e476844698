"""The forms that the values of settings have."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_settings import NoDecode

from gateway.ids import is_id
from gateway.settings.limit_rules import check_rules

MAX_SERVER_NAME_LENGTH = 32
_SERVER_NAME = re.compile(r"[a-z0-9]+([_-][a-z0-9]+)*")
VERDICTS = ("allow", "ask", "deny")


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Several values; in the environment separated by commas."""


Seconds = Annotated[
    tuple[Annotated[float, Field(gt=0, le=604_800)], ...],
    Field(max_length=20),
    NoDecode,
    BeforeValidator(_split),
]
"""Several times; in the environment separated by commas."""

PAGE_LANGUAGES = ("en", "zh-Hans", "zh-Hant")
"""What the page speaks."""
MAX_SUGGESTIONS = 8
_Language = Literal["en", "zh-Hans", "zh-Hant"]
T = TypeVar("T")


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line without control characters")
    return text


PageText = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200), AfterValidator(_one_line)
]
"""A line that the page shows."""
PageName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60), AfterValidator(_one_line)
]
"""What the page is called, in a line that a tab and an icon have room for."""


def _form(value: object) -> str:
    return "languages" if isinstance(value, dict) else "all"


def _by_language(value: object) -> object:
    """An object of the environment; everything else is a text as it stands."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return orjson.loads(value)
        except ValueError:
            raise ValueError("begins with { and is not valid JSON") from None
    return value


def _check_languages(value: dict[str, T]) -> dict[str, T]:
    if not value:
        raise ValueError(f"must have at least one of {', '.join(PAGE_LANGUAGES)}")
    return value


_Messages = Annotated[tuple[PageText, ...], Field(max_length=MAX_SUGGESTIONS)]
Greeting = Annotated[
    Annotated[PageText | None, Tag("all")]
    | Annotated[dict[_Language, PageText], AfterValidator(_check_languages), Tag("languages")],
    Discriminator(_form),
    NoDecode,
    BeforeValidator(_by_language),
]
"""One text, or one for each language."""
Suggestions = Annotated[
    Annotated[_Messages | None, Tag("all")]
    | Annotated[dict[_Language, _Messages], AfterValidator(_check_languages), Tag("languages")],
    Discriminator(_form),
]
"""Messages, or those of each language."""

ADAPTERS = ("a2a", "ag-ui", "ai-sdk", "anthropic", "durable-streams", "mcp", "openai")
"""Dialects of other clients that this version speaks."""


def _check_adapters(names: tuple[str, ...]) -> tuple[str, ...]:
    if names == ("none",):
        return ()
    if unknown := set(names) - set(ADAPTERS):
        raise ValueError(f"{min(unknown)!r} must be one of {', '.join(ADAPTERS)}, or none alone")
    return tuple(name for name in ADAPTERS if name in names)


Adapters = Annotated[Names, AfterValidator(_check_adapters)]


def _check_policy(rules: tuple[str, ...]) -> tuple[str, ...]:
    for rule in rules:
        glob, equals, verdict = rule.partition("=")
        if not glob or not equals or verdict not in VERDICTS:
            raise ValueError(f"{rule!r} must be a glob of tool names, =, and one of {', '.join(VERDICTS)}")
    return rules


Policy = Annotated[Names, AfterValidator(_check_policy)]


def _check_globs(rules: tuple[str, ...]) -> tuple[str, ...]:
    for rule in rules:
        if not rule.removeprefix("!") or "=" in rule:
            raise ValueError(f"{rule!r} must be a glob of tool names, or ! and one")
    return rules


TrustRules = Annotated[Names, AfterValidator(_check_globs)]
LimitRules = Annotated[Names, AfterValidator(check_rules)]


class McpOAuth(BaseModel):
    """How the gateway signs in to an MCP server, where what the server says of itself does not do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    grant: Literal["authorization_code", "client_credentials"] = Field(
        "authorization_code", description="Whether a person signs in, or the gateway for itself."
    )
    client_id: str | None = Field(None, description="As which the gateway is registered.", max_length=2048)
    client_secret: SecretStr | None = Field(None, description="The secret of that client.")
    issuer: str | None = Field(
        None, description="The one authorization server that gets them, by its address."
    )
    scopes: tuple[str, ...] = Field((), description="What is asked for, in place of what the server names.")

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.client_secret is not None and (self.client_id is None or self.issuer is None):
            raise ValueError("`client_secret` needs `client_id`, and `issuer`: who may be given it")
        if self.grant == "client_credentials" and self.client_secret is None:
            raise ValueError("the grant client_credentials needs `client_id`, `client_secret` and `issuer`")
        if self.issuer is not None and not self.issuer.startswith(("http://", "https://")):
            raise ValueError("`issuer` must be an http(s) address")
        return self


class McpServer(BaseModel):
    """An MCP server: a program that is started and spoken to over its standard streams, or an address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    command: str | None = Field(None, description="The program of a stdio server.")
    args: tuple[str, ...] = Field((), description="Its arguments.")
    env: dict[str, SecretStr] = Field({}, description="Its environment, beside PATH, HOME and the like.")
    cwd: Path | None = Field(None, description="Its working directory.")
    url: str | None = Field(None, description="The address of a server over HTTP.")
    transport: Literal["auto", "http", "sse"] = Field(
        "auto", description="Streamable HTTP, or the older HTTP with SSE; auto finds out."
    )
    oauth: McpOAuth | None = Field(None, description="How the gateway signs in to `url`.")
    headers: dict[str, SecretStr] = Field({}, description="Sent with every request to `url`.")
    timeout: float = Field(60, gt=0, description="Longest wait for the answer to one call.")
    connect_timeout: float = Field(30, gt=0, description="Longest wait until it is ready.")
    reach: tuple[str, ...] | None = Field(
        None, description="It may be on the public web or at these hosts alone; absent: anywhere."
    )
    trust_hints: bool = Field(
        False, description="Whether its word counts that a tool only reads; otherwise every call asks."
    )

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("needs either `command` or `url`")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError("`url` must be an http(s) address")
        return self


def _check_trace_url(value: str | None) -> str | None:
    if value is not None and not (value.startswith(("http://", "https://")) and "{trace_id}" in value):
        raise ValueError("must be an http(s) address with {trace_id} in it")
    return value


_SCHEME = re.compile(r"postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
_ESCAPED = r"%(?!00)[0-9A-Fa-f]{2}"
_ACCOUNT = rf"(?:[^\s%@/?#\[\]]|{_ESCAPED})*"
_HOST = rf"(?:\[[0-9A-Za-z:.%]+\]|(?:[^\s%@/?:,\[\]]|{_ESCAPED})*)(?::\d*)?"
_DATABASE = rf"(?:[^\s%@/?]|{_ESCAPED})*"
_PARAMETER = rf"\w+=(?:[^\s%@=&]|{_ESCAPED})*"
_POSTGRES = re.compile(
    rf"postgresql://(?:{_ACCOUNT}@)?{_HOST}(?:,{_HOST})*(?:/{_DATABASE})?"
    rf"(?:\?(?:{_PARAMETER}(?:&{_PARAMETER})*)?)?"
)
"""What libpq reads as it was meant ("Connection URIs" of PostgreSQL's documentation): with one sign too many
in a password it takes a part of it for the host, and names that in its messages."""


def check_database_url(url: str | None) -> str | None:
    """The address of a database, one on a server as libpq has it: hosts of databases give `postgres://`, and
    programs that use SQLAlchemy or Django name a driver too, as in `postgresql+psycopg://`. Raises ValueError
    for one on a server that is not well formed; the message has nothing of it."""
    url = _SCHEME.sub("postgresql://", url, count=1) if url is not None else None
    if (url or "").startswith(("postgresql:", "postgres:")) and not _POSTGRES.fullmatch(url or ""):
        raise ValueError(
            "it is not of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE. In a name or a password "
            "write %20 for a blank, %23 for #, %25 for %, %2F for /, %3F for ?, %40 for @, %5B for [, "
            "%5D for ]"
        )
    return url


DatabaseUrl = Annotated[str | None, AfterValidator(check_database_url)]


def check_server_name(name: str) -> None:
    """Raises ValueError."""
    if len(name) > MAX_SERVER_NAME_LENGTH or not _SERVER_NAME.fullmatch(name):
        raise ValueError(
            f"the name {name[:64]!r} of a server must be up to {MAX_SERVER_NAME_LENGTH} small letters or "
            "digits, with single - or _ in between: its tools are called mcp__NAME__TOOL"
        )


def _check_servers(servers: dict[str, McpServer]) -> dict[str, McpServer]:
    for name in servers:
        check_server_name(name)
    return servers


def _check_households(households: dict[str, Names]) -> dict[str, Names]:
    for name in households:
        if not is_id(name):
            raise ValueError(f"the name {name[:64]!r} of a household must be an id: letters, digits, _ and -")
    return households


Households = Annotated[dict[str, Names], AfterValidator(_check_households)]
"""The user ids of each household's members."""

McpServers = Annotated[dict[str, McpServer], AfterValidator(_check_servers)]
TraceUrl = Annotated[str | None, AfterValidator(_check_trace_url)]
