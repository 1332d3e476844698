"""What is to be known of a PostgreSQL server and the replicas on it, without being one of them."""

import time

import orjson
import psycopg

from gateway.storage.postgres.connections import ServerAddress
from gateway.storage.postgres.failures import storage_error
from gateway.storage.postgres.migrating import check_revisions
from gateway.storage.postgres.pooler_check import refuse_pooler
from gateway.storage.replicas import Peer, SharedServer

STATE = """
    SELECT current_setting('server_version'), current_setting('transaction_read_only') = 'on',
        current_setting('synchronous_standby_names') <> '', current_setting('fsync') = 'on'
            AND current_setting('synchronous_commit') <> 'off',
        extract(epoch FROM clock_timestamp())::float8
"""
PEERS = """
    SELECT id, about, timeline, draining, extract(epoch FROM clock_timestamp() - seen_at)::float8
    FROM replicas WHERE seen_at >= clock_timestamp() - make_interval(secs => %s) ORDER BY started_at, id
"""


def inspect(server: ServerAddress, lease: float, pooler: ServerAddress | None = None) -> SharedServer:
    """Raises StorageError: it, or the pooler before it, cannot be reached, a pooler answers in its place, or
    its schema is another version's."""
    refuse_pooler(server)
    newer = check_revisions(server)
    try:
        with (pooler or server).connect() as raw:
            gives_up = raw.execute("SHOW lock_timeout").fetchone() != ("0",)
        with server.connect() as raw:
            asked = time.time()
            state = raw.execute(STATE).fetchone()
            took = time.time() - asked
            assert state is not None
            version, read_only, has_standby, is_durable, clock = state
            rows = raw.execute(PEERS, (lease,)).fetchall()
    except psycopg.Error as error:
        raise storage_error(error) from error
    peers = [Peer(row[0], orjson.loads(row[1]), *row[2:]) for row in rows]
    ahead = clock - asked - took / 2
    return SharedServer(version, newer, read_only, has_standby, is_durable, gives_up, ahead, peers)
