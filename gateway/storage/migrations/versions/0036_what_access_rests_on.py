"""By which sign-in turns were asked for, with which keys webhooks were made, and why one is off.

Versions before leave them empty: what they begin does not end with a sign-in, or with the key of a webhook.
"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import TEXT

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

compatible_from = "0034"


def upgrade() -> None:
    op.add_column("turns", sa.Column("sign_in", TEXT))
    op.add_column("webhooks", sa.Column("key_id", TEXT))
    op.add_column("webhooks", sa.Column("reason", TEXT))
