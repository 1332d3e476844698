"""A database keeps which versions may work on it: see `migrations`."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

compatible_from = "0006"


def upgrade() -> None:
    for name in ("compatible_from", "written_by"):
        op.add_column(op.get_context().version_table, sa.Column(name, TEXT))
