"""The engine for more than one machine: a PostgreSQL server that several processes share."""

from gateway.storage.postgres.postgres_database import PostgresDatabase

__all__ = ["PostgresDatabase"]
