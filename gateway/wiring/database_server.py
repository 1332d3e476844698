"""A look at a PostgreSQL server without being one of its replicas."""

from collections.abc import Generator
from contextlib import contextmanager

from gateway.errors import SettingsError
from gateway.settings import Settings
from gateway.storage.replicas import SharedServer


@contextmanager
def driver_needed() -> Generator[None]:
    """Imports within need psycopg, which is an extra. Raises SettingsError where it is not installed."""
    try:
        yield
    except ImportError as error:
        raise SettingsError(
            "GATEWAY_DATABASE_URL names a PostgreSQL database, and its driver is not installed: "
            "pip install 'psycopg[binary]>=3.2,<4'."
        ) from error


def inspect_server(settings: Settings) -> SharedServer:
    """What there is at `database_url`.

    Raises:
        SettingsError: the driver is not installed.
        StorageError: the server cannot be reached, or its schema is another version's.
    """
    with driver_needed():
        from gateway.storage.postgres.connections import ServerAddress  # noqa: PLC0415 - an extra
        from gateway.storage.postgres.inspection import inspect  # noqa: PLC0415
    assert settings.database_url is not None  # it is shared
    if (direct := settings.database_direct_url) is None:
        return inspect(ServerAddress(settings.database_url), settings.lease)
    pooler = ServerAddress(settings.database_url, pooled=True)
    return inspect(ServerAddress(direct), settings.lease, pooler)
