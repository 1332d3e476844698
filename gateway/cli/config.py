"""`gateway config`: every setting, its value, and where the value came from."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from gateway.settings.value_types import McpServer

MASK = "********"
_USERINFO = re.compile(r"(?<=://).+(?=@)", re.DOTALL)
_QUERY = re.compile(r"(://[^?]*\?).+", re.DOTALL)
_ADDRESS = re.compile(
    r"(?P<scheme>\w[\w+.-]*://)(?P<user>.*@)?(?P<host>[^/?#@]*)(?P<rest>[/?#].+)?", re.DOTALL
)
_FLAG = re.compile(r"(?P<flag>--[\w.-]*|-\w|-)(?P<value>.*)", re.DOTALL)


class EffectiveSetting(NamedTuple):
    """One setting as it is in force. `origin` is `environment`, `file` or `default`, `source` the variable or
    the file it was read from, `value` a JSON value with secrets masked."""

    name: str
    variable: str
    value: Any
    origin: str
    source: str | None
    description: str | None


def config(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array instead of a table.")] = False,
) -> None:
    """Show each setting with its value and where it came from. Secrets are masked."""
    from gateway.auth.static_keys import StaticKeys
    from gateway.settings import load_settings

    origins = list_origins()
    _show(origins, as_json)
    StaticKeys.of(load_settings())  # raises SettingsError as the server would


def _show(origins: "list[EffectiveSetting]", as_json: bool) -> None:
    import json

    from rich.table import Table
    from rich.text import Text

    from gateway.cli.terminal import console
    from gateway.settings.environment import unknown_variables, without_effect

    if as_json:
        print(json.dumps([origin._asdict() for origin in origins], ensure_ascii=False, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("Setting", no_wrap=True)
    table.add_column("Value", overflow="fold")
    table.add_column("From", overflow="fold")
    for each in origins:
        style = "dim" if each.origin == "default" else "bold"
        value = "" if each.value in (None, [], {}) else each.value
        if isinstance(value, dict):
            value = json.dumps(value, ensure_ascii=False)
        source = each.source or each.origin
        table.add_row(each.variable, Text(str(value), style=style), Text(source, style=style))
    console().print(table)
    for name in unknown_variables():
        print(f"{name} is set in the environment, but is not a setting.")
    for says in without_effect():
        print(says)


def list_origins() -> list[EffectiveSetting]:
    """Every setting, in the order of the class.

    Raises:
        SettingsError: a setting is wrong.
    """
    import os
    import tomllib

    from gateway.settings import Settings, config_file, environment_name, load_settings
    from gateway.settings.environment import sets
    from gateway.settings.loader import variables_of

    settings = load_settings()
    file = config_file()
    in_file = set(tomllib.loads(file.read_text())) if file.is_file() else set[str]()
    variables = {name.upper(): name for name in os.environ}
    origins: list[EffectiveSetting] = []
    for name, field in Settings.model_fields.items():
        whole = [each for each in variables_of(name, field) if each in variables][:1]
        if found := whole or sorted(each for each in variables if sets(each, name, field)):
            origin, source = "environment", ", ".join(variables[each] for each in found)
        elif {name, *variables_of(name, field)} & in_file:
            origin, source = "file", str(file)
        else:
            origin, source = "default", None
        value = _masked(getattr(settings, name))
        origins.append(
            EffectiveSetting(name, environment_name(name, field), value, origin, source, field.description)
        )
    return origins


def without_secrets(address: str) -> str:
    """The address with a mask for the name and password in it, up to the last @, and for its query."""
    return _QUERY.sub(rf"\1{MASK}", _USERINFO.sub(MASK, address))


def _masked(value: object) -> Any:
    from pathlib import Path

    from pydantic import SecretStr

    from gateway.settings.value_types import McpServer

    match value:
        case SecretStr():
            return MASK if value.get_secret_value() else None
        case McpServer():
            return _masked_server(value)
        case str() | Path():
            return without_secrets(str(value))
        case tuple():
            return list(value)
        case dict():
            return {name: _masked(each) for name, each in value.items()}
        case _:
            return value


def _masked_server(server: "McpServer") -> dict[str, Any]:
    """The fields of a server that are set. Arguments and addresses carry secrets too, which nobody can tell
    by their looks: what a flag is given is masked, and of an address all but where it is."""
    shown = {name: _masked(getattr(server, name)) for name in sorted(server.model_fields_set)}
    if server.args:
        shown["args"] = [_masked_argument(*pair) for pair in pairwise(("", *server.args))]
    if server.url is not None:
        shown["url"] = _masked_address(server.url)
    if server.oauth is not None:
        shown["oauth"] = {
            name: _masked(getattr(server.oauth, name)) for name in sorted(server.oauth.model_fields_set)
        }
    return shown


def _masked_argument(before: str, argument: str) -> str:
    from gateway.telemetry.redaction import REDACTED, redact_text

    if flag := _FLAG.fullmatch(argument):
        sign = "=" if flag["value"].startswith("=") else ""
        return f"{flag['flag']}{sign}{MASK}" if flag["value"].removeprefix("=") else argument
    if before.startswith("-") and "=" not in before:
        return MASK
    return _masked_address(redact_text(argument).replace(REDACTED, MASK))


def _masked_address(text: str) -> str:
    def masked(found: re.Match[str]) -> str:
        user = f"{MASK}@" if found["user"] else ""
        return f"{found['scheme']}{user}{found['host']}{f'/{MASK}' if found['rest'] else ''}"

    return _ADDRESS.sub(masked, text)
