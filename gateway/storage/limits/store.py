"""Limits in the database: `counters` and `side_calls` as transactions of their own."""

from gateway.storage.database import Store, reads, writes
from gateway.storage.limits import counters, side_calls


class Limits(Store):
    """Turns are charged where they are accepted (`NewTurn.charges`)."""

    raise_hold = writes(counters.raise_hold)
    take = writes(counters.take)
    standings = reads(counters.standings)
    settle = writes(counters.settle)
    forget = writes(counters.forget)
    take_for_call = writes(side_calls.take_for_call)
    settle_call = writes(side_calls.settle_call)
    side_usage = reads(side_calls.side_usage, snapshot=False)
    side_usage_of_days = reads(side_calls.side_usage_of_days, snapshot=False)
    side_usage_of_users = reads(side_calls.side_usage_of_users, snapshot=False)
    first_side_day = reads(side_calls.first_side_day, snapshot=False)
    forget_calls = writes(side_calls.forget_calls)
