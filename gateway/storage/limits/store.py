"""Limits as a store."""

from gateway.storage.database import Store, reads, writes
from gateway.storage.limits import side_calls, statements


class SqlLimits(Store):
    """The `Limits` protocol."""

    raise_hold = writes(statements.raise_hold)
    take = writes(statements.take)
    standings = reads(statements.standings)
    settle = writes(statements.settle)
    forget = writes(statements.forget)
    take_for_call = writes(side_calls.take_for_call)
    settle_call = writes(side_calls.settle_call)
    side_usage = reads(side_calls.side_usage, snapshot=False)
    side_usage_of_days = reads(side_calls.side_usage_of_days, snapshot=False)
    side_usage_of_users = reads(side_calls.side_usage_of_users, snapshot=False)
    first_side_day = reads(side_calls.first_side_day, snapshot=False)
    forget_calls = writes(side_calls.forget_calls)
