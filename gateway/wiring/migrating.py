"""The databases of a configuration, brought to the newest schema."""

from collections.abc import Sequence
from typing import NamedTuple

from gateway.settings import Settings
from gateway.storage import migrations


class MigratedDatabase(NamedTuple):
    """`what` is the file, or the tables of a server; `before` the revision it had (None: it was new)."""

    what: str
    before: str | None
    after: str


def migrate_databases(settings: Settings) -> Sequence[MigratedDatabase]:
    """Sessions and memories. On PostgreSQL one process at a time does it, and gateways may run.

    Raises:
        StorageError: see `migrations.migrate`, and `migrate` of postgres/migrating.py.
    """
    if settings.is_shared:
        from gateway.storage.postgres.connections import ServerAddress  # noqa: PLC0415 - psycopg is an extra
        from gateway.storage.postgres.migrating import migrate  # noqa: PLC0415
        from gateway.storage.postgres.pooler_check import refuse_pooler  # noqa: PLC0415

        server = ServerAddress(settings.database_direct_url or settings.database_url or "")
        refuse_pooler(server)
        found = migrate(server)
        return [
            MigratedDatabase(f"The schema of {chain.holds}", before, after) for chain, before, after in found
        ]
    return [
        MigratedDatabase(str(path), *bring(path, copy=settings.copy_before_migration))
        for path, bring in (
            (settings.database_path, migrations.migrate),
            (settings.memory_path, migrations.migrate_memories),
        )
    ]
