"""The wish that a turn is stopped, noted in its row and told to the process that has it."""

from sqlalchemy import Connection, true, update

from gateway.storage.database import Prepared, send
from gateway.storage.replica_signals import Signal
from gateway.storage.schema import turns
from gateway.storage.turns.rows import OF_ID

CANCEL = Prepared(update(turns).where(OF_ID, turns.c.status != "done").values(cancel_requested=true()))


def request_cancel(connection: Connection, turn_id: str) -> None:
    """Records that the turn shall stop. One that waits is handed out by claim_next all the same, so that
    it gets its end: `EventLog.close_waiting` ends it at once."""
    if CANCEL.run(connection, turn_id=turn_id).rowcount:
        send(connection, Signal("cancel", turn_id))
