"""A look at a PostgreSQL server without being one of its replicas."""

from gateway.errors import SettingsError
from gateway.settings import Settings
from gateway.storage.replicas import SharedServer


def inspect_server(settings: Settings) -> SharedServer:
    """What there is at `database_url`.

    Raises:
        SettingsError: the driver is not installed.
        StorageError: the server cannot be reached, or its schema is another version's.
    """
    try:
        from gateway.storage.postgres.connections import Server  # noqa: PLC0415 - an extra
        from gateway.storage.postgres.inspection import inspect  # noqa: PLC0415
    except ImportError as error:
        raise SettingsError("pip install 'chat-gateway[postgres]' for GATEWAY_DATABASE_URL.") from error
    address = settings.database_direct_url or settings.database_url
    assert address is not None  # it is shared
    return inspect(Server(address), settings.lease)
