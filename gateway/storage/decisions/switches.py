"""Skills that are switched off, in SQL."""

from sqlalchemy import Connection, bindparam, false, select

from gateway.storage.database import Prepared, Store, query, transaction
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


class SqlSkillSwitches(Store):
    """The `SkillSwitches` protocol."""

    @query
    def disabled(self, connection: Connection) -> frozenset[str]:
        """Names of the skills that are switched off."""
        return frozenset(name for (name,) in DISABLED.all(connection))

    @transaction
    def switch(self, connection: Connection, name: str, *, enabled: bool, by: str, at: int) -> None:
        """Stores it, whether there is such a skill or not."""
        FORGET.run(connection, name=name)
        STORE.run(connection, name=name, enabled=enabled, by=by, at=at)
