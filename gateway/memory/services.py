"""The memory services of one store, made once by wiring."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.settings import Settings

if TYPE_CHECKING:  # commands that only read memories load none of it
    from gateway.memory.control.controller import Controller
    from gateway.memory.memories import Memories
    from gateway.memory.profiles import ScopedProfiles
    from gateway.memory.recall import Recall
    from gateway.memory.search.searcher import Searcher
    from gateway.storage.memories.contract import MemoryStore


@dataclass(frozen=True, slots=True)
class MemoryServices:
    """The same for the gateway, the MCP server and the command line."""

    store: "MemoryStore"
    memories: "Memories"
    searcher: "Searcher"
    profiles: "ScopedProfiles"
    controller: "Controller"
    recall: "Recall"


def housemates_of(settings: Settings, user_id: str) -> frozenset[str]:
    """The user, and the members of their households."""
    shared = {each for name in households_of(settings, user_id) for each in settings.households[name]}
    return frozenset({user_id, *shared})


def households_of(settings: Settings, user_id: str) -> tuple[str, ...]:
    """The households of which the user is a member."""
    return tuple(sorted(name for name, members in settings.households.items() if user_id in members))
