"""Artifacts, which sessions refer to them, blobs to look after, and the attachments of messages."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turns", sa.Column("attachments", sa.Text))
    op.create_table(
        "artifacts",
        sa.Column("owner", sa.Text, primary_key=True, nullable=False),
        sa.Column("ref", sa.Text, primary_key=True, nullable=False),
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="SET NULL")),
        sa.Column("turn_id", sa.Text),
        sa.Column("tool_call_id", sa.Text),
        sa.Column("project_id", sa.Text),
        sa.Column("name", sa.Text),
        sa.Column("mime", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("lines", sa.BigInteger),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("chunks", sa.Text, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("compact", sa.Text, nullable=False),
        sa.Column("summary", sa.Text),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("artifacts_by_time", "artifacts", ["owner", "created_at", "ref"])
    op.create_index("artifacts_by_path", "artifacts", ["owner", "path", "size"])
    op.create_index("artifacts_by_blob", "artifacts", ["path"])
    op.create_index("artifacts_by_turn", "artifacts", ["turn_id"])
    op.create_index("artifacts_by_session", "artifacts", ["session_id"])
    op.create_index("artifacts_by_expiry", "artifacts", ["expires_at"])
    op.create_table(
        "artifact_uses",
        sa.Column(
            "session_id",
            sa.Text,
            sa.ForeignKey("sessions.id", ondelete="CASCADE"),
            primary_key=True,
            nullable=False,
        ),
        sa.Column("ref", sa.Text, primary_key=True, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
    )
    op.create_index("artifact_uses_by_ref", "artifact_uses", ["owner", "ref"])
    op.create_table(
        "doubtful_blobs",
        sa.Column("path", sa.Text, primary_key=True, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
    )
