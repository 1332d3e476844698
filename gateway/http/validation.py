"""Values that a client sent, as models of ours: checked with an effort that does not grow with what is
wrong."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import core_schema

from gateway.errors import InvalidRequest, plain_words, problems_of

B = TypeVar("B", bound=BaseModel)

MAX_PROBLEMS = 20
"""Problems that a refusal names."""
MAX_PLACE = 200
"""Characters of the name of a place."""
_NAME = re.compile(r"[a-z_][A-Za-z0-9_]*")


def validated(value: Mapping[str, object], model: type[B], within: str = "") -> B:
    """`value` as `model`. `within` is where it stands in the request, such as "params.".

    Raises:
        InvalidRequest: it is of another form; the message names the first problems and their places.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidRequest(_words(error, value, within)[:2000]) from None


def _words(error: ValidationError, value: object, within: str) -> str:
    problems: dict[str, dict[str, None]] = {}
    found = problems_of(error)
    for problem in found[:MAX_PROBLEMS]:
        where = ".".join(_short(part) for part in _place(problem["loc"], value)) or "body"
        words = plain_words(problem["type"], problem["msg"], unknown="unknown name")
        problems.setdefault(within + where, {})[words] = None
    told = [f"{where}: {', or '.join(words)}" for where, words in problems.items()]
    if len(found) > MAX_PROBLEMS:
        told.append(f"and {len(found) - MAX_PROBLEMS} more")
    return "; ".join(told)


def _place(loc: Sequence[int | str], value: object) -> Iterator[int | str]:
    """The names and numbers that lead to a value, without those that pydantic has for the choices of a
    union."""
    for part in loc:
        if isinstance(value, dict):
            names: dict[str, object] = value
            if part in names or _NAME.fullmatch(str(part)):
                value = names.get(str(part), names.get(to_camel(str(part)[:MAX_PLACE]), {}))
                yield part
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
            yield part


def _short(part: int | str) -> str:
    text = str(part)
    return text if len(text) <= MAX_PLACE else f"{text[:MAX_PLACE]}…"


class Bounded(BaseModel):
    """A model of what a client sends. The check of a list ends at the first item that is wrong, and that of
    an object without unknown names where there are MAX_PROBLEMS of them."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        schema = handler(source)
        _stop_at_first(schema)
        return schema

    @model_validator(mode="before")
    @classmethod
    def _few_names(cls, given: Any) -> Any:
        fields = cls.model_fields
        if (
            isinstance(given, dict)
            and len(given) > len(fields) + MAX_PROBLEMS
            and cls.model_config.get("extra") == "forbid"
        ):
            known = {*fields, *(field.alias for field in fields.values())}
            first = ", ".join(_short(name) for name in islice(_others(given, known), MAX_PROBLEMS))
            raise ValueError(f"{len(given):,} names, more than there may be; unknown are {first} and others")
        return given


def _others(given: Iterable[str], known: Container[str]) -> Iterator[str]:
    return (name for name in given if name not in known)


def _stop_at_first(schema: object) -> None:
    """Marks all lists in a schema of pydantic's core. (pydantic_core.core_schema.list_schema, fail_fast)"""
    if isinstance(schema, dict):
        part: dict[str, object] = schema
        if part.get("type") == "list" and "items_schema" in part:
            part["fail_fast"] = True
        for inner in part.values():
            _stop_at_first(inner)
    elif isinstance(schema, list | tuple):
        each: object
        for each in schema:
            _stop_at_first(each)
