"""Whatever turns do, and in whatever order: a limit is kept."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, create_engine, insert, update

from gateway.storage.limits import Charge, LimitCounter, Spent
from gateway.storage.limits.counters import charge, forget, raise_hold, settle, standings
from gateway.storage.schema import limit_counters, limit_holds, messages, turns
from tests.product import LimitReached, Usage

MOST = 100
COUNTER = LimitCounter("user:tokens/day ann", "user:tokens/day", MOST, 0, 1000)
SIZES = st.integers(0, 60)


@dataclass
class Open:
    turn_id: str
    held: int
    spent: int = 0


Step = tuple[str, int, int]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("begin", "call", "complete", "cancel", "fail", "settle", "forget")),
        SIZES,
        st.integers(0, 5),
    ),
    max_size=40,
)


@given(STEPS)
def test_what_is_settled_and_held_never_exceeds_the_limit(steps: list[Step]) -> None:
    """As long as calls take no more than is held for them; and all that was spent is counted once."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        for table in (limit_counters, limit_holds, turns, messages):
            table.create(connection)
        running: list[Open] = []
        spent = unknown = 0
        for number, (what, size, chosen) in enumerate(steps):
            turn = running[chosen % len(running)] if running else None
            match what:
                case "begin":
                    _begin(connection, running, f"t{number}", size)
                case "call" if turn is not None:
                    following = Spent(size, 0)
                    if raise_hold(connection, turn.turn_id, Spent(turn.spent, 0), following) is None:
                        turn.held = max(turn.held, turn.spent + size)
                        turn.spent += size
                    else:
                        turn.held = turn.spent
                case "complete" | "cancel" | "fail" if turn is not None:
                    running.remove(turn)
                    outcome = {"complete": "completed", "cancel": "cancelled", "fail": "failed"}[what]
                    _end(connection, turn, outcome)
                    spent += turn.spent
                    unknown += turn.held - turn.spent if what != "complete" and turn.spent else 0
                case "settle":
                    settle(connection, 9)
                case "forget":
                    forget(connection, 500)  # before it ends: nothing of it may be lost
                case _:
                    pass
            (standing,) = standings(connection, [COUNTER])
            assert standing.used + standing.held <= MOST
            assert spent <= standing.used <= spent + unknown
            assert standing.held == sum(each.held for each in running)
    engine.dispose()


def _begin(connection: Connection, running: list[Open], turn_id: str, size: int) -> None:
    try:
        charge(connection, "s", turn_id, [Charge(COUNTER, "tokens", size)], 5)
    except LimitReached:
        return
    connection.execute(
        insert(turns).values(
            id=turn_id,
            session_id=turn_id,
            owner="ann",
            status="running",
            input="",
            model="m",
            created_at=5,
            on_conflict="reject",
            first_seq=0,
            last_seq=0,
            cancel_requested=False,
            iterations=0,
            recoveries=0,
            branch=0,
        )
    )
    running.append(Open(turn_id, size))


def _end(connection: Connection, turn: Open, outcome: str) -> None:
    used = Usage(input_tokens=turn.spent, output_tokens=0) if turn.spent else None
    connection.execute(
        update(turns)
        .where(turns.c.id == turn.turn_id)
        .values(
            status="done",
            outcome=outcome,
            iterations=1 if turn.spent else 0,
            usage=used.model_dump_json() if used else None,
        )
    )
