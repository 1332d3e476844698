"""Limits that the operator sets while the gateway runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select

from gateway.storage.database import OwnerLock, Prepared, Store, query, send
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import Rows
from gateway.storage.schema import limit_rules


@dataclass(frozen=True, slots=True)
class AddedRule:
    """A limit as `settings.limit_rules` has it; `number` is its place among the others. `changed_at` in Unix
    milliseconds."""

    number: int
    rule: str
    changed_by: str
    changed_at: int


RULES = Rows(AddedRule, limit_rules)
ALL = Prepared(select(*RULES.columns).order_by(limit_rules.c.number))
CLEAR = Prepared(delete(limit_rules))


class AddedRules(Store):
    """The limits beside those of `settings.limit_rules`."""

    @query
    def list(self, connection: Connection) -> Sequence[AddedRule]:
        """In their order."""
        return _all(connection)

    async def replace(self, rules: Sequence[str], by: str, at: int) -> None:
        """Puts these in the place of all that there are, and tells all replicas. A rule that was there stays
        as it was changed last."""

        def work(connection: Connection) -> None:
            former = {each.rule: (each.changed_by, each.changed_at) for each in _all(connection)}
            CLEAR.run(connection)
            for number, rule in enumerate(rules):
                RULES.add(connection, AddedRule(number, rule, *former.get(rule, (by, at))))
            send(connection, Signal("configured", "limit_rules"))

        await self.database.write(work, over=OwnerLock("limit rules"))


def _all(connection: Connection) -> Sequence[AddedRule]:
    return [RULES.read(row) for row in ALL.all(connection)]
