"""With which keys turns were asked for and schedules were made.

Versions before count the turns of schedules for no key.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

compatible_from = "0030"


def upgrade() -> None:
    op.add_column("turns", sa.Column("key_id", TEXT))
    op.add_column("schedules", sa.Column("key_id", TEXT))
