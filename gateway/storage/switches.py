"""Which skills are switched off, in SQL."""

from sqlalchemy import Connection, bindparam, false, select

from gateway.storage.database import Database, Prepared
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


class SqlSkillSwitches:
    """The `SkillSwitches` protocol."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def disabled(self) -> frozenset[str]:
        """See `SkillSwitches.disabled`."""
        rows = await self._database.read(
            lambda connection: DISABLED.run(connection).fetchall(), snapshot=False
        )
        return frozenset(name for (name,) in rows)

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        """See `SkillSwitches.switch`."""

        def work(connection: Connection) -> None:
            FORGET.run(connection, name=name)
            STORE.run(connection, name=name, enabled=enabled, by=by, at=at)

        await self._database.write(work)
