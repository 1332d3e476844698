"""Packs of events are condensed from here on, which versions of before cannot read. Those that are there stay
as they are."""

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
