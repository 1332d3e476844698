"""What the operator writes in place of files of the prompt."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, bindparam, func, insert, select

from gateway.errors import Conflict
from gateway.storage.database import OwnerLock, Prepared, Store, query, send
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import Rows
from gateway.storage.schema import prompt_versions


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """What a component says from then on: `text`, or None: its file again. `digest` is the SHA-256 of the
    text in hex, `number` grows with each version of any component, `changed_at` is in Unix milliseconds."""

    number: int
    component: str
    text: str | None
    digest: str | None
    note: str
    changed_by: str
    changed_at: int


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


class PromptVersions(Store):
    """Versions of the prompt's components are added, and never changed."""

    async def add(self, version: PromptVersion, *, after: int) -> PromptVersion:
        """The version with the number that it gets, in the place of its own; all replicas are told. Raises
        errors.Conflict (component_changed): the component's newest version is not number `after`, 0 where
        there is none."""

        def work(connection: Connection) -> PromptVersion:
            if (LAST.value(connection, of=version.component) or 0) != after:
                raise Conflict(
                    "The component was changed meanwhile: have a look at its versions.",
                    code="component_changed",
                )
            values = VERSIONS.values(version)
            del values["number"]
            connection.execute(insert(prompt_versions).values(values))
            send(connection, Signal("configured", "prompt_versions"))
            return replace(version, number=LAST.value(connection, of=version.component))

        return await self.database.write(work, over=OwnerLock(f"prompt {version.component}"))

    @query
    def newest(self, connection: Connection) -> Sequence[PromptVersion]:
        """The newest version of each component, by its name."""
        return [VERSIONS.read(row) for row in NEWEST.all(connection)]

    @query
    def of(
        self, connection: Connection, component: str, *, before: int | None, limit: int
    ) -> Sequence[PromptVersion]:
        """A component's, the newest first: at most `limit` with a number below `before`."""
        found = OF_COMPONENT.all(connection, of=component, before=before or MAX_NUMBER, most=limit)
        return [VERSIONS.read(row) for row in found]
