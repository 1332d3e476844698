"""Skills that are switched off, in SQL."""

from sqlalchemy import Connection, bindparam, false, select

from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.schema import skill_switches

DISABLED = Prepared(select(skill_switches.c.name).where(skill_switches.c.enabled == false()))
FORGET = Prepared(skill_switches.delete().where(skill_switches.c.name == bindparam("name")))
STORE = Prepared(
    skill_switches.insert().values(
        name=bindparam("name"),
        enabled=bindparam("enabled"),
        switched_by=bindparam("by"),
        switched_at=bindparam("at"),
    )
)


def disabled(connection: Connection) -> frozenset[str]:
    return frozenset(name for (name,) in DISABLED.all(connection))


def switch(connection: Connection, name: str, *, enabled: bool, by: str, at: int) -> None:
    FORGET.run(connection, name=name)
    STORE.run(connection, name=name, enabled=enabled, by=by, at=at)


class SqlSkillSwitches(Store):
    """The `SkillSwitches` protocol."""

    disabled = reads(disabled, snapshot=False)
    switch = writes(switch)
