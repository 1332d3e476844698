"""Events leave their table of a row each: the newest ones lie in the order in which they came, all others
many in a row. What is there is packed."""

from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from alembic import op

from gateway.storage.log.packs import ADD_PACK, packs_of, rows_of

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

EVENTS = "SELECT session_id, seq, turn_id, type, body FROM events ORDER BY session_id, seq"


def upgrade() -> None:
    op.create_table(
        "loose_events",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("session_id", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "event_packs",
        sa.Column("session_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("last_seq", sa.BigInteger, primary_key=True, nullable=False, autoincrement=False),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("turn_id", sa.Text, nullable=False),
        sa.Column("types", sa.Text, nullable=False),
        sa.Column("lines", sa.LargeBinary, nullable=False),
    )
    connection = op.get_bind()
    # On the driver's cursor, which reads the rows one by one, and session by session: there may be millions.
    rows: Any = connection.connection.cursor().execute(EVENTS)
    packs = (pack for _, of_session in groupby(rows, itemgetter(0)) for pack in packs_of(of_session))
    ADD_PACK.many(connection, rows_of(packs))
    op.drop_table("events")
