"""Parameters of statements in PostgreSQL's binary form: the driver would take ten times as long for arrays.

An array is its dimensions, whether it has nulls, the type of its elements, its length and its lower bound,
then for each element its length, -1 for null, and its bytes (array_send in the server's arrayfuncs.c).
"""

from collections.abc import Sequence
from itertools import chain, repeat
from struct import Struct, pack

BOOL, BYTEA, INT8, INT4, TEXT, FLOAT8 = 16, 17, 20, 23, 25, 701
"""The numbers of types (pg_type.dat)."""
BOOLS, BYTEAS, INT4S, TEXTS, INT8S, FLOAT8S = 1000, 1001, 1007, 1009, 1016, 1022
"""Those of their arrays."""

_HEADER = Struct(">iiIii")
_EMPTY = Struct(">iiI")
_LENGTH = Struct(">i")
_NULL = _LENGTH.pack(-1)


def int8s(values: Sequence[int]) -> bytes:
    """Numbers of 64 bits."""
    return _fixed(values, INT8, 8, "q")


def int4s(values: Sequence[int]) -> bytes:
    """Numbers of 32 bits."""
    return _fixed(values, INT4, 4, "i")


def bools(values: Sequence[bool]) -> bytes:
    """Truth values."""
    return _fixed(values, BOOL, 1, "?")


def texts(values: Sequence[str | None]) -> bytes:
    """Texts, which may be null."""
    return _variable([None if value is None else value.encode() for value in values], TEXT)


def byteas(values: Sequence[bytes]) -> bytes:
    """Bytes."""
    return _variable(values, BYTEA)


def float8s(values: Sequence[float | None]) -> bytes:
    """Numbers with a fraction, which may be null."""
    return _variable([None if value is None else pack(">d", value) for value in values], FLOAT8)


def _fixed(values: Sequence[int], element: int, size: int, form: str) -> bytes:
    if not values:
        return _EMPTY.pack(0, 0, element)
    body = pack(f">{f'i{form}' * len(values)}", *chain.from_iterable(zip(repeat(size), values)))
    return _HEADER.pack(1, 0, element, len(values), 1) + body


def _variable(values: Sequence[bytes | None], element: int) -> bytes:
    if not values:
        return _EMPTY.pack(0, 0, element)
    parts = [_HEADER.pack(1, None in values, element, len(values), 1)]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(_LENGTH.pack(len(value)))
            parts.append(value)
    return b"".join(parts)
