"""Columns for the tables of revisions."""

from typing import Any

import sqlalchemy as sa
from alembic import op

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""As in the definitions (`storage.schema`)."""


def table_of_sessions(name: str, *columns: "sa.Column[Any]") -> None:
    """A table of what belongs to sessions; its key begins with the session's id. A server has no foreign
    keys: a session's rows are removed in slices there."""
    key = sa.Column("session_id", TEXT, primary_key=True, nullable=False)
    belongs = sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], ondelete="CASCADE")
    in_file = op.get_bind().dialect.name == "sqlite"
    op.create_table(name, key, *columns, *((belongs,) if in_file else ()))
