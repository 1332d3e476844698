"""The part of a migration that needs Alembic."""

import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, NullPool, create_engine, event

from gateway.errors import StorageError
from gateway.storage.migrations import Chain


def run(path: Path, chain: Chain) -> None:
    """Brings the file to the revision that heads `chain`, in one transaction per step. Raises StorageError:
    the database refused; the file is as it was after the last complete step."""
    config = config_of(chain)
    engine = create_engine("sqlite://", creator=lambda: connect(path), poolclass=NullPool)
    event.listen(engine, "begin", begin)
    try:
        with engine.connect() as connection:
            upgrade_on(connection, config, chain.head)
    except sqlite3.Error as error:
        raise StorageError(f"The database {path} could not be migrated: {error}.") from error
    finally:
        engine.dispose()


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
