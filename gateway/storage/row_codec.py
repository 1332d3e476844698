"""Dataclasses as rows of tables: which columns they have, how they are read and written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, asdict
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import orjson
from sqlalchemy import ColumnElement, Connection, Table, bindparam, insert

from gateway.messages import UNCHANGED, Sampling, Usage
from gateway.storage.database import Prepared


class Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Row = TypeVar("Row", bound=Dataclass)


class Codec(NamedTuple):
    """How the value of a field becomes that of its column, and back."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def as_json(value: object) -> str:
    """What a column of JSON holds."""
    return orjson.dumps(value).decode()


def _flag(value: object) -> bool:
    return bool(value)


def _texts(text: str) -> tuple[str, ...]:
    return tuple(orjson.loads(text))


def pairs_of(text: str) -> list[tuple[int, int]]:
    return [(first, second) for first, second in orjson.loads(text)]


def usage_text(usage: Usage | None) -> str | None:
    return usage.model_dump_json() if usage else None


def usage_of(text: str | None) -> Usage | None:
    """What `usage_text` wrote."""
    return Usage.model_validate_json(text) if text else None


def sampling_text(sampling: Sampling) -> str | None:
    """What a client wants, without what it leaves to the gateway; None where that is all."""
    wanted = {name: value for name, value in asdict(sampling).items() if value not in (None, ())}
    return as_json(wanted) if wanted else None


def sampling_of(text: str | None) -> Sampling:
    """What `sampling_text` wrote; wishes that this version does not know are left out."""
    if text is None:
        return UNCHANGED
    wanted: dict[str, Any] = orjson.loads(text)
    stops = tuple(wanted.pop("stop_sequences", ()))
    known = {name: wanted[name] for name in Sampling.__dataclass_fields__ if name in wanted}
    return Sampling(stop_sequences=stops, **known)


JSON = Codec(as_json, orjson.loads)
FLAG = Codec(_flag, _flag)
TEXTS = Codec(as_json, _texts)
PAIRS = Codec(as_json, pairs_of)
USAGE = Codec(usage_text, usage_of)


class Rows(Generic[Row]):
    """The fields of `kind` are columns of `table` with the same names, or what is `joined` under their names
    and written elsewhere; those with a codec are encoded."""

    def __init__(
        self,
        kind: type[Row],
        table: Table,
        joined: Mapping[str, ColumnElement[Any]] | None = None,
        /,
        **codecs: Codec,
    ) -> None:
        joined = joined or {}
        names = tuple(kind.__dataclass_fields__)
        self.columns = tuple(joined[name] if name in joined else table.c[name] for name in names)
        """What `read` takes, in this order."""
        self._kind = kind
        self._written = tuple(name for name in names if name not in joined)
        self._codecs = codecs
        self._decoded = [(names.index(name), codec.decode) for name, codec in codecs.items()]
        self._insert = Prepared(insert(table).values({name: bindparam(name) for name in self._written}))

    def read(self, columns: Sequence[Any]) -> Row:
        values = list(columns)
        for place, decode in self._decoded:
            values[place] = decode(values[place])
        return self._kind(*values)

    def add(self, connection: Connection, row: Row) -> None:
        self._insert.run(connection, **self.values(row))

    def values(self, row: Row) -> dict[str, Any]:
        """What is written, by the names of the columns."""
        values = {name: getattr(row, name) for name in self._written}
        return values | {name: codec.encode(values[name]) for name, codec in self._codecs.items()}
