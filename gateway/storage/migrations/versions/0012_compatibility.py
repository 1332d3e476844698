"""A database keeps which versions may work on it: see `migrations`."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

compatible_from = "0012"


def upgrade() -> None:
    for name in ("compatible_from", "written_by"):
        op.add_column(op.get_context().version_table, sa.Column(name, TEXT))
