"""The replicas that share a PostgreSQL database. A SQLite file has one."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Each touches its row once a second: room in its page keeps that to the page.
REPLICAS = """
    CREATE TABLE replicas (
        id TEXT COLLATE "C" PRIMARY KEY,
        started_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
        seen_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
        draining BOOLEAN NOT NULL,
        about TEXT COLLATE "C" NOT NULL,
        timeline BIGINT
    ) WITH (fillfactor = 50)
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(REPLICAS)
