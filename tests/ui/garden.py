"""What a gateway with tools and skills of its own is made of."""

from pathlib import Path

GARDEN = '''
from gateway.tools.base import ToolContext
from gateway.tools.function import tool
from gateway.tools.result import ToolResult


@tool(effect="effectful")
async def water(plant: str, litres: int, context: ToolContext) -> str:
    """Waters a plant."""
    with context.step("open the valve", {"litres": litres}):
        pass
    try:
        with context.step("look for snails"):
            raise LookupError
    except LookupError:
        pass
    return f"{plant} got {litres} l"


@tool(effect="effectful")
async def transfer(cents: int) -> str:
    """Moves money."""
    return f"moved {cents}"


@tool(effect="read_only")
async def forbidden() -> str:
    """Is never allowed."""
    return "ran"


@tool(effect="read_only")
async def gossip() -> ToolResult:
    """Tells what is said in the garden."""
    heard = {"owner_type": "user", "owner_id": "local", "type": "fact", "importance": 3}
    return ToolResult(result="ok", memory_writes=[{**heard, "content": "Owns a red bicycle."}])
'''

SKILL = """---
name: {name}
description: {description}
---
# Steps
1. {body}
"""


def write_skill(folder: Path, name: str, description: str, body: str) -> None:
    """A written skill in the skills of `folder`."""
    place = folder / "skills" / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(SKILL.format(name=name, description=description, body=body))
