"""Approvals of tool calls, turns that are parked for them, grants, and switches of skills."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("parked_until", sa.BigInteger))
    parked = sa.text("parked_until IS NOT NULL")
    op.create_index("turns_parked", "turns", ["parked_until"], sqlite_where=parked, postgresql_where=parked)

    op.create_table(
        "approvals",
        _session(is_key=True),
        sa.Column("turn_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("tool_call_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("arguments", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("requested_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("decision", sa.Text),
        sa.Column("decided_by", sa.Text),
        sa.Column("decided_at", sa.BigInteger),
        sa.Column("scope", sa.Text),
        sa.Column("answer", sa.Text),
        sa.Column("edited", sa.Text),
    )
    op.create_index("approvals_by_turn", "approvals", ["turn_id", "requested_at", "number"])

    op.create_table(
        "tool_grants",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        _session(),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("tool_grants_by_tool", "tool_grants", ["owner", "tool"])

    op.create_table(
        "skill_switches",
        sa.Column("name", sa.Text, primary_key=True, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("switched_by", sa.Text, nullable=False),
        sa.Column("switched_at", sa.BigInteger, nullable=False),
    )


def _session(*, is_key: bool = False) -> sa.Column[str]:
    reference = sa.ForeignKey("sessions.id", ondelete="CASCADE")
    return sa.Column("session_id", sa.Text, reference, primary_key=is_key, nullable=not is_key)
