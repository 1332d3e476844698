"""How many model calls of a turn began to answer and never said what they used, and what such a
call counts as.

Versions before settle such turns by what is known.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

compatible_from = "0030"


def upgrade() -> None:
    op.add_column("turns", sa.Column("unreported", NUMBER))
    op.add_column("limit_holds", sa.Column("answer", sa.BigInteger, nullable=False, server_default="0"))
