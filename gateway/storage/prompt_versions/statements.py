"""Versions of the prompt's components, in SQL."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, func, insert, select

from gateway.errors import Conflict
from gateway.storage.database import OwnerLock, Prepared, Store, reads, send, writes
from gateway.storage.prompt_versions import PromptVersion
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import Rows
from gateway.storage.schema import prompt_versions

_p = prompt_versions.c
VERSIONS = Rows(PromptVersion, prompt_versions)
_newest = select(func.max(_p.number)).group_by(_p.component)
NEWEST = Prepared(select(*VERSIONS.columns).where(_p.number.in_(_newest)).order_by(_p.component))
LAST = Prepared(select(func.max(_p.number)).where(_p.component == bindparam("of")))
OF_COMPONENT = Prepared(
    select(*VERSIONS.columns)
    .where(_p.component == bindparam("of"), _p.number < bindparam("before"))
    .order_by(_p.number.desc())
    .limit(bindparam("most"))
)
MAX_NUMBER = 2**53


def add(connection: Connection, version: PromptVersion, *, after: int) -> PromptVersion:
    if (LAST.value(connection, of=version.component) or 0) != after:
        raise Conflict(
            "The component was changed meanwhile: have a look at its versions.", code="component_changed"
        )
    values = VERSIONS.values(version)
    del values["number"]
    connection.execute(insert(prompt_versions).values(values))
    send(connection, Signal("configured", "prompt_versions"))
    return replace(version, number=LAST.value(connection, of=version.component))


def newest(connection: Connection) -> Sequence[PromptVersion]:
    return [VERSIONS.read(row) for row in NEWEST.all(connection)]


def of(connection: Connection, component: str, *, before: int | None, limit: int) -> Sequence[PromptVersion]:
    found = OF_COMPONENT.all(connection, of=component, before=before or MAX_NUMBER, most=limit)
    return [VERSIONS.read(row) for row in found]


class SqlPromptVersions(Store):
    """The `PromptVersions` protocol."""

    newest = reads(newest, snapshot=False)
    of = reads(of, snapshot=False)
    add = writes(add, over=lambda version, after: OwnerLock(f"prompt {version.component}"))
