"""What each gateway finds out anew when it starts, always the same: known since the first of a process."""

import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import EntryPoints, entry_points
from typing import Any

import httpcore2
import typer.main
from opentelemetry.sdk import resources
from pydantic import BaseModel, create_model
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource
from pydantic_settings.sources import base
from starlette import routing

from gateway.cli import command_tree
from gateway.http import openapi
from gateway.http.endpoint import Endpoint
from gateway.skills import functions
from gateway.tools import function

_models: dict[str, type[BaseModel]] = {}
_judged: dict[int, tuple[dict[str, Any], bool]] = {}
_described: dict[tuple[int, ...], tuple[Sequence[Endpoint], dict[str, Any]]] = {}
_named: dict[tuple[type[BaseModel], str], list[tuple[str, str, bool]]] = {}
_complex: dict[int, tuple[FieldInfo, tuple[bool, bool]]] = {}
_aliases: dict[tuple[Any, ...], tuple[FieldInfo, Any]] = {}
_explodes = function.explodes
_get_alias_names = vars(base)["_get_alias_names"]
_names_of = EnvSettingsSource._extract_field_info  # pyright: ignore[reportPrivateUsage]
_is_complex = EnvSettingsSource._field_is_complex  # pyright: ignore[reportPrivateUsage]
_openapi = openapi.openapi
_read_certificates = httpcore2.default_ssl_context
_aggregated = resources.get_aggregated_resources


def remember() -> None:
    """From now on, in this process."""
    # The metadata of all installed packages are read for the tools in them.
    functions.entry_points = lambda *, group: _installed(group, tuple(sys.path))  # type: ignore[assignment]
    resources.get_aggregated_resources = _resource  # type: ignore[assignment]
    # Each client of httpx2 reads the 140 certificates of the machine, to an address of http too.
    httpcore2.default_ssl_context = _certificates
    # All commands with all their options are made of signatures before one of them runs.
    command_tree.command_tree = cache(command_tree.command_tree)
    typer.main.get_command = cache(typer.main.get_command)
    # Each of the 160 settings is asked several times what it may be called, and what its type is.
    EnvSettingsSource._extract_field_info = _names  # type: ignore[method-assign]
    EnvSettingsSource._field_is_complex = _complexity  # type: ignore[method-assign]
    base.__dict__["_get_alias_names"] = _alias_names
    openapi.openapi = _description
    routing.compile_path = cache(routing.compile_path)
    function.create_model = _model  # type: ignore[assignment]
    function.explodes = _judgement


@lru_cache(maxsize=2)
def _installed(group: str, path: tuple[str, ...]) -> EntryPoints:
    return entry_points(group=group)


def _certificates(*, _trust_env: bool = True) -> ssl.SSLContext:
    named = map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return _certificates_of(*named) if _trust_env else _certificates_of(None, None)


@cache
def _certificates_of(*named: str | None) -> ssl.SSLContext:
    return _read_certificates(_trust_env=any(named))


def _resource(detectors: Sequence[Any], initial: Any) -> resources.Resource:
    return _detected(tuple(sorted(item for item in os.environ.items() if item[0].startswith("OTEL_"))))


@cache
def _detected(_environment: tuple[tuple[str, str], ...]) -> resources.Resource:
    return _aggregated(resources._build_resource_detectors(), resources._DEFAULT_RESOURCE)  # pyright: ignore[reportPrivateUsage]


def _names(
    source: EnvSettingsSource, field: FieldInfo, name: str, nested: Mapping[str, Any] | None = None
) -> list[tuple[str, str, bool]]:
    if nested is not None:
        return _names_of(source, field, name, nested)
    key = (source.settings_cls, name)
    if key not in _named:
        _named[key] = _names_of(source, field, name)
    return _named[key]


def _complexity(source: EnvSettingsSource, field: FieldInfo) -> tuple[bool, bool]:
    if id(field) not in _complex:
        _complex[id(field)] = (field, _is_complex(source, field))
    return _complex[id(field)][1]


def _description(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The API's, of the same rows: half a second of work."""
    rows = tuple(map(id, endpoints))
    if rows not in _described:
        _described[rows] = (endpoints, _openapi(endpoints))
    return _described[rows][1]


def _model(name: str, **fields: Any) -> type[BaseModel]:
    """The arguments of a tool. Functions in functions may have parameters that only look alike."""
    told = repr((name, fields))
    if "<locals>" in told or " at 0x" in told:
        return create_model(name, **fields)
    if told not in _models:
        made = _models[told] = create_model(name, **fields)
        made.model_json_schema = cache(made.model_json_schema)  # type: ignore[method-assign]
    return _models[told]


def _alias_names(name: str, field: FieldInfo, *given: Any, **more: Any) -> tuple[tuple[str, ...], bool]:
    if given:  # a place for what is found
        return _get_alias_names(name, field, *given, **more)
    key = (name, id(field), *more.items())
    if key not in _aliases:
        _aliases[key] = (field, _get_alias_names(name, field, **more))
    return _aliases[key][1]


def _judgement(schema: dict[str, Any]) -> bool:
    if id(schema) not in _judged:
        _judged[id(schema)] = (schema, _explodes(schema))
    return _judged[id(schema)][1]
