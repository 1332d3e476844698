"""How the client of a turn wants the model to write.

Versions before leave it empty, and ask the model as the gateway is set up.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    op.add_column("turns", sa.Column("sampling", TEXT))
