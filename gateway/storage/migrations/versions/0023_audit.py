"""Who did what: rows that are added only, which triggers hold to."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.migrations.columns import NUMBER, TEXT

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

compatible_from = "0022"

UNCHANGED = ("number", "at", "tenant", "action", "subject_kind", "result", "request_id", "times")
ALLOWED = """
    (NEW.actor {same} OLD.actor OR coalesce(NEW.actor, '') LIKE 'erased:%')
    AND (NEW.subject_id {same} OLD.subject_id OR coalesce(NEW.subject_id, '') LIKE 'erased:%')
    AND (NEW.address {same} OLD.address OR NEW.address IS NULL)
    AND (NEW.key_id {same} OLD.key_id OR NEW.key_id IS NULL)
"""
OLD_ENOUGH = "OLD.at < (SELECT coalesce(max(removed_before), 0) FROM audit_removals)"


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("tenant", TEXT, nullable=False),
        sa.Column("actor", TEXT),
        sa.Column("key_id", TEXT),
        sa.Column("address", TEXT),
        sa.Column("action", TEXT, nullable=False),
        sa.Column("subject_kind", TEXT),
        sa.Column("subject_id", TEXT),
        sa.Column("result", TEXT, nullable=False),
        sa.Column("request_id", TEXT),
        sa.Column("times", NUMBER, nullable=False, server_default="1"),
    )
    op.create_index("audit_by_tenant", "audit", ["tenant", "number"])
    op.create_index("audit_by_action", "audit", ["tenant", "action", "number"])
    op.create_index("audit_by_actor", "audit", ["actor", "number"])
    op.create_index("audit_by_subject", "audit", ["subject_id", "number"])
    op.create_index("audit_by_time", "audit", ["at"])
    op.create_table(
        "audit_removals",
        sa.Column("number", NUMBER, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("removed_before", sa.BigInteger, nullable=False),
    )
    for statement in _in_file() if op.get_bind().dialect.name == "sqlite" else _on_server():
        op.execute(statement)


def _in_file() -> list[str]:
    same = " AND ".join(f"NEW.{name} IS OLD.{name}" for name in UNCHANGED)
    refuse = "BEGIN SELECT RAISE(ABORT, 'rows of the audit are not changed'); END"
    return [
        f"CREATE TRIGGER audit_updates BEFORE UPDATE ON audit "
        f"WHEN NOT ({same} AND {ALLOWED.format(same='IS')}) {refuse}",
        f"CREATE TRIGGER audit_deletes BEFORE DELETE ON audit WHEN NOT ({OLD_ENOUGH}) {refuse}",
    ]


def _on_server() -> list[str]:
    equal = "IS NOT DISTINCT FROM"
    same = " AND ".join(f"NEW.{name} {equal} OLD.{name}" for name in UNCHANGED)
    return [
        f"""
        CREATE FUNCTION audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' THEN
                IF {OLD_ENOUGH} THEN RETURN OLD; END IF;
            ELSIF TG_OP = 'UPDATE' THEN
                IF {same} AND {ALLOWED.format(same=equal)} THEN RETURN NEW; END IF;
            END IF;
            RAISE EXCEPTION 'rows of the audit are not changed';
        END $$
        """,
        "CREATE TRIGGER audit_changes BEFORE UPDATE OR DELETE ON audit "
        "FOR EACH ROW EXECUTE FUNCTION audit_guard()",
        "CREATE TRIGGER audit_truncates BEFORE TRUNCATE ON audit EXECUTE FUNCTION audit_guard()",
    ]
