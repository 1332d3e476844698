"""The collaborators of the service: those of its turns, and what only its own operations use."""

from dataclasses import dataclass

from gateway.history.summaries.session_summaries import SessionSummariser
from gateway.service.session_ids import SessionIds
from gateway.storage.archives.compressions import Compressions
from gateway.storage.archives.store import Archives
from gateway.storage.artifacts.store import Artifacts
from gateway.storage.blobs import Blobs
from gateway.storage.branches.store import Branches
from gateway.storage.exclusive import Exclusive
from gateway.storage.holds import Holds
from gateway.storage.orphans import Orphans
from gateway.storage.projects import Projects
from gateway.storage.retention import Retention
from gateway.storage.sessions.copying import Copies
from gateway.storage.sessions.search import Search
from gateway.turn.dependencies import TurnDependencies


@dataclass(frozen=True, slots=True)
class Dependencies(TurnDependencies):
    """Made once by wiring."""

    blobs: Blobs
    branches: Branches
    compressions: Compressions
    archives: Archives
    copies: Copies
    search: Search
    summariser: SessionSummariser
    artifacts: Artifacts
    orphans: Orphans
    exclusive: Exclusive
    session_ids: SessionIds
    projects: Projects
    holds: Holds
    retention: Retention
