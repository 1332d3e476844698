"""The environment that Alembic runs for every command: `migrations.run` hands over the connection."""

from typing import Any

from alembic import context
from sqlalchemy import text

from gateway import __version__

NOTE = """
    UPDATE {table} SET written_by = :version,
        compatible_from = CASE WHEN compatible_from > :since THEN compatible_from ELSE :since END
"""


def note_compatibility(ctx: Any, step: Any, heads: object, run_args: object) -> None:
    """Stores, in the transaction of a revision, which versions may work on what it leaves. Versions that a
    former revision has shut out stay so."""
    if (progress := context.config.attributes.get("progress")) is not None:
        progress(step.up_revision.revision)
    since: str | None = getattr(step.up_revision.module, "compatible_from", None)
    if since is not None:
        ctx.connection.execute(
            text(NOTE.format(table=ctx.version_table)),
            {"since": since, "version": __version__},
        )


context.configure(
    connection=context.config.attributes["connection"],
    version_table=context.config.attributes["version_table"],
    transactional_ddl=True,
    transaction_per_migration=True,
    on_version_apply=note_compatibility,
)
with context.begin_transaction():
    context.run_migrations()
