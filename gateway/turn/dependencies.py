"""The collaborators of a turn, behind their protocols."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.artifacts.attached_files import Attachments
from gateway.artifacts.tool_arguments import References
from gateway.history.compression.compressor import Compressor
from gateway.history.tokens import TokenMeter
from gateway.memory.services import MemoryServices
from gateway.model.base import Model
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.storage.archives.summaries import Summaries
from gateway.storage.decisions.approvals import Approvals
from gateway.storage.decisions.client_calls import ClientCalls
from gateway.storage.limits import TurnBudget
from gateway.storage.log.bus import Bus
from gateway.storage.log.event_log import EventLog
from gateway.storage.replica_signals import Signals
from gateway.storage.replicas import Replicas
from gateway.storage.sessions.store import Sessions
from gateway.storage.turns import TurnRow
from gateway.storage.turns.store import Turns
from gateway.tools.base import Tool
from gateway.turn.memory_write_queue import MemoryWriteQueue

WhyEnded = Callable[[TurnRow], Awaitable[str | None]]
"""A sentence; None: nothing was taken away, or nothing is known of it."""


async def nothing_known(_turn: TurnRow) -> None:
    """For commands, which take nothing away."""


@dataclass(frozen=True, slots=True)
class TurnDependencies:
    """Made once by wiring, shared by all turns. `read_archive` is the tool of a session that has been
    compressed: it looks up what was. `memory` is None where it is switched off. `references` put contents of
    artifacts into arguments, `attachments` into messages. `limits` is None where nothing that turns spend is
    limited. `why_ended` tells of a turn that was cancelled what was taken away of who asked
    for it. What the service needs besides is in
    service/dependencies.py."""

    settings: Settings
    log: EventLog
    sessions: Sessions
    turns: Turns
    replicas: Replicas
    bus: Bus
    signals: Signals
    summaries: Summaries
    model: Model
    meter: TokenMeter
    compressor: Compressor
    skills: SkillLibrary
    read_archive: Tool
    approvals: Approvals
    client_calls: ClientCalls
    memory_writes: MemoryWriteQueue
    memory: MemoryServices | None
    artifact_store: ArtifactStore
    references: References
    attachments: Attachments
    limits: TurnBudget | None
    prompts: PromptFolder
    why_ended: WhyEnded
