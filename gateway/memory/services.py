"""The memory services of one store, made once by wiring."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands that only read memories load none of it
    from gateway.memory.memories import Memories
    from gateway.memory.profiles import ScopedProfiles
    from gateway.memory.recall import Recall
    from gateway.memory.retrieval_gate.gate import RetrievalGate
    from gateway.memory.search.searcher import Searcher
    from gateway.storage.memories.store import MemoryStore
    from gateway.storage.sqlite_files.file_watch import FileWatch


@dataclass(frozen=True, slots=True)
class MemoryServices:
    """The same for the gateway, the MCP server and the command line."""

    store: "MemoryStore"
    memories: "Memories"
    searcher: "Searcher"
    profiles: "ScopedProfiles"
    retrieval_gate: "RetrievalGate"
    recall: "Recall"
    watch: "FileWatch | None" = None
    """Over the file of the memories, where it is one."""
