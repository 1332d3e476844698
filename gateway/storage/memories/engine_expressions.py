"""Expressions that each engine writes in its own words."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Select, Text, cast, literal, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement


class _JsonValues(FunctionElement[Any]):
    inherit_cache = True


class _Contains(FunctionElement[bool]):
    inherit_cache = True


def texts_in(json: ColumnElement[str]) -> Select[Any]:
    """The texts of a list in JSON, as rows."""
    return select(_JsonValues(json).table_valued("value", name="texts").c.value)


def numbers_in(json: ColumnElement[str]) -> Select[Any]:
    """The whole numbers of a list in JSON, as rows."""
    return select(cast(_JsonValues(json).table_valued("value", name="numbers").c.value, BigInteger))


def contains(column: ColumnElement[str], parts: Sequence[str]) -> ColumnElement[bool]:
    """Whether one of `parts`, of small Latin letters and digits, is in it, in capitals or not."""
    return _Contains(column, *(literal(f"%{part}%", Text) for part in parts))


@compiles(_JsonValues, "sqlite")
def _json_each(element: _JsonValues, compiler: SQLCompiler, **given: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **given)})"


@compiles(_JsonValues, "postgresql")
def _json_array_elements(element: _JsonValues, compiler: SQLCompiler, **given: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **given)} AS json))"


# In SQLite LIKE takes capitals for small letters, and a third of the time that lower() and instr() take.
@compiles(_Contains, "sqlite")
def _like(element: _Contains, compiler: SQLCompiler, **given: Any) -> str:
    column, *patterns = (compiler.process(each, **given) for each in element.clauses)
    return f"({' OR '.join(f'{column} LIKE {pattern}' for pattern in patterns)})"


# ILIKE would make small letters of the column for each pattern: that is most of the time.
@compiles(_Contains, "postgresql")
def _like_any(element: _Contains, compiler: SQLCompiler, **given: Any) -> str:
    column, *patterns = (compiler.process(each, **given) for each in element.clauses)
    return f"(lower({column}) LIKE ANY (ARRAY[{', '.join(patterns)}]))"
