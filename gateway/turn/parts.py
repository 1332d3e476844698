"""What a turn works with: the concrete parts, behind their protocols."""

from dataclasses import dataclass

from gateway.artifacts.attachments import Attachments
from gateway.artifacts.references import References
from gateway.artifacts.shelf import Shelf
from gateway.history.compression.compressor import Compressor
from gateway.history.summaries.session_summaries import SessionSummariser
from gateway.history.tokens import TokenMeter
from gateway.memory.room import MemoryRoom
from gateway.model.base import Model
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.storage.artifacts import Artifacts
from gateway.storage.base import Bus, EventLog, Sessions, Turns
from gateway.storage.blobs import Blobs
from gateway.storage.copies import Copies
from gateway.storage.decisions import Approvals
from gateway.storage.records import Archives, Compressions, Summaries
from gateway.tools.base import Tool
from gateway.turn.suggestions import Suggestions


@dataclass(frozen=True, slots=True)
class Parts:
    """Made once by wiring, shared by all turns. `read_archive` is the tool of a session that has been
    compressed: it looks up what was. `memory` is None where it is switched off. `references` put contents of
    artifacts into arguments, `attachments` into messages."""

    settings: Settings
    log: EventLog
    sessions: Sessions
    turns: Turns
    bus: Bus
    blobs: Blobs
    compressions: Compressions
    summaries: Summaries
    archives: Archives
    copies: Copies
    model: Model
    meter: TokenMeter
    summariser: SessionSummariser
    compressor: Compressor
    skills: SkillLibrary
    read_archive: Tool
    approvals: Approvals
    suggestions: Suggestions
    memory: MemoryRoom | None
    artifacts: Artifacts
    shelf: Shelf
    references: References
    attachments: Attachments
    prompts: PromptFolder
