"""Added limits, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from gateway.storage.database import OwnerLock, Prepared, Store, reads, send, writes
from gateway.storage.limit_rules import AddedRule
from gateway.storage.replica_signals import Signal
from gateway.storage.row_codec import Rows
from gateway.storage.schema import limit_rules

RULES = Rows(AddedRule, limit_rules)
ALL = Prepared(select(*RULES.columns).order_by(limit_rules.c.number))
CLEAR = Prepared(delete(limit_rules))


def list_(connection: Connection) -> Sequence[AddedRule]:
    return [RULES.read(row) for row in ALL.all(connection)]


def replace(connection: Connection, rules: Sequence[str], by: str, at: int) -> None:
    former = {each.rule: (each.changed_by, each.changed_at) for each in list_(connection)}
    CLEAR.run(connection)
    for number, rule in enumerate(rules):
        RULES.add(connection, AddedRule(number, rule, *former.get(rule, (by, at))))
    send(connection, Signal("configured", "limit_rules"))


class SqlAddedRules(Store):
    """The `AddedRules` protocol."""

    list = reads(list_, snapshot=False)
    replace = writes(replace, over=lambda rules, by, at: OwnerLock("limit rules"))
