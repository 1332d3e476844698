"""Decisions by people and results of clients: approvals of tool calls, calls that a client runs, grants, and
switches of skills."""

from typing import Protocol


class SkillSwitches(Protocol):
    """Which skills are switched off. What is not stored is on."""

    async def disabled(self) -> frozenset[str]:
        """The names of those that are off."""
        ...

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        """Stores it, whether there is such a skill or not."""
        ...
