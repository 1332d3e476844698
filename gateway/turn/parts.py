"""What a turn works with: the concrete parts, behind their protocols."""

from dataclasses import dataclass

from gateway.model.base import Model
from gateway.prompt.components import PromptFolder
from gateway.settings import Settings
from gateway.storage.base import Bus, EventLog, Sessions, Turns
from gateway.tools.registry import Tools


@dataclass(frozen=True, slots=True)
class Parts:
    """Made once by wiring, shared by all turns."""

    settings: Settings
    log: EventLog
    sessions: Sessions
    turns: Turns
    bus: Bus
    model: Model
    tools: Tools
    prompts: PromptFolder
