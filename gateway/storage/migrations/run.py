"""The part of a migration that needs Alembic."""

import logging
import sqlite3
from pathlib import Path
from time import monotonic

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, NullPool, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from gateway.errors import StorageError
from gateway.storage.migrations import Chain, schema_of
from gateway.storage.sqlite_files.failures import storage_error

TOLD_EVERY = 5.0
"""Seconds between two lines about a migration that takes long."""

log = logging.getLogger(__name__)


def run(path: Path, chain: Chain) -> None:
    """Brings the file to the revision that heads `chain`, in one transaction per step. Raises StorageError:
    the database refused, as on a full disk (code storage_full); the file is as it was after the last complete
    step."""
    config = config_of(chain)
    config.attributes["progress"] = MigrationProgress(path.name)
    engine = create_engine("sqlite://", creator=lambda: connect(path), poolclass=NullPool)
    event.listen(engine, "begin", begin)
    try:
        with engine.connect() as connection:
            upgrade_on(connection, config, chain.head)
    except (sqlite3.Error, SQLAlchemyError) as error:
        # A failed statement may be followed by a rollback that fails because SQLite has done it already.
        failure = storage_error(_first(error))
        raise StorageError(
            f"The database {path} could not be migrated, and stays as it is at {_revision(path)}: "
            f"{failure.message}",
            code=failure.code,
            retryable=False,
        ) from error
    finally:
        engine.dispose()


class MigrationProgress:
    """Tells in the log how far a migration is, where it takes long."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._told_at = monotonic()

    def __call__(self, revision: str) -> None:
        """The file is at that revision."""
        if monotonic() >= self._told_at + TOLD_EVERY:
            self._told_at = monotonic()
            log.warning("migrating %s: it is at %s", self._name, revision)


def _first(error: BaseException) -> BaseException:
    """What failed first and led to this."""
    while isinstance(error.__context__, sqlite3.Error | SQLAlchemyError):
        error = error.__context__
    return error


def _revision(path: Path) -> str:
    try:
        return schema_of(path).revision or "none"
    except StorageError:  # the reason stands beside it
        return "an unknown revision"


def config_of(chain: Chain, version_table: str = "alembic_version") -> Config:
    """Alembic's configuration for a chain."""
    config = Config()
    folder = Path(__file__).parent
    # A percent sign in the path would be an interpolation to the config parser.
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("version_locations", str(folder / chain.folder).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["version_table"] = version_table
    return config


def upgrade_on(connection: Connection, config: Config, head: str) -> None:
    """Runs the revisions up to `head`, one transaction each."""
    config.attributes["connection"] = connection
    command.upgrade(config, head)


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def begin(connection: Connection) -> None:
    # By hand: the driver of its own accord opens no transaction before a statement that changes the schema.
    connection.exec_driver_sql("BEGIN IMMEDIATE")
