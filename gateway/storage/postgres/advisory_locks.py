"""What advisory locks are taken for. A lock is on a name within its class, so that the same name means
another thing in each."""

from enum import IntEnum, unique


@unique
class LockClass(IntEnum):
    """The seed of `hashtextextended(name, seed)`. They are any numbers, the same in all processes and
    versions: a change would let two versions do at once what one of them may do."""

    OWNER = 7
    """A user's memories, for a transaction (transactions.py)."""
    EXCLUSIVE = 11
    """What one task of all processes does at a time (exclusive.py)."""
    LIVENESS = 13
    """A replica's name, for as long as it lives (replicas.py)."""
    MIGRATION = 17
    """The tables, while they are changed (migrating.py)."""
    BACKUP = 19
    """The blobs, of which none is removed while a backup is made (dumps.py); shared by removals."""
