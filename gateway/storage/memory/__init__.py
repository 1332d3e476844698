"""The memories, in SQL."""

from gateway.storage.memory.store import SqlMemories

__all__ = ["SqlMemories"]
