"""An MCP server over standard streams, made with the official SDK: a home with lights, heating and a door.

The home is made up, and its state a file beside this one. Put your Home Assistant in the place of `_home` and
`_change`.
"""

import json
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

STATE = Path("data/home.json")
"""In the folder that the gateway was started in."""
BEGINNING: dict[str, dict[str, Any]] = {
    "living room": {"light": "bright", "degrees": 21.0},
    "bedroom": {"light": "off", "degrees": 19.0},
    "kitchen": {"light": "warm", "degrees": 20.0},
    "front door": {"locked": True},
}
LOOK = ToolAnnotations(read_only_hint=True)
SET = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
OPEN = ToolAnnotations(read_only_hint=False, destructive_hint=True)

server: MCPServer[Any] = MCPServer("home")


@server.tool(annotations=LOOK)
def look_around() -> str:
    """Tells each room's light and heating, and whether the front door is locked. 查看家里的情况。"""
    return _told(_home())


@server.tool(annotations=SET)
def set_light(room: str, light: str) -> str:
    """Sets the light of a room, or of all of them ("all"): off, warm or bright. 开灯、关灯。"""
    if light not in {"off", "warm", "bright"}:
        raise ToolError(f"{light} is no light: it can be off, warm or bright.")
    return _change(room, light=light)


@server.tool(annotations=SET)
def set_heating(room: str, degrees: float) -> str:
    """Sets how warm a room shall be, from 5 to 25 degrees Celsius. 调节暖气。"""
    if not 5 <= degrees <= 25:
        raise ToolError(f"{degrees} is not possible: 5 to 25.")
    return _change(room, degrees=degrees)


@server.tool(annotations=SET)
def lock_door() -> str:
    """Locks the front door. 锁门。"""
    return _change("front door", locked=True)


@server.tool(annotations=OPEN)
def unlock_door(reason: str) -> str:
    """Unlocks the front door. 开门。

    Args:
        reason: Who comes in, for the person who is asked.
    """
    return f"{_change('front door', locked=False)} ({reason})"


def _home() -> dict[str, dict[str, Any]]:
    return json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else BEGINNING


def _change(place: str, **to: Any) -> str:
    home = _home()
    places = [name for name, has in home.items() if place in {name, "all"} and to.keys() <= has.keys()]
    if not places:
        raise ToolError(f"There is no {place} with that: {', '.join(home)}.")
    for name in places:
        home[name].update(to)
    STATE.parent.mkdir(exist_ok=True)
    STATE.write_text(json.dumps(home, ensure_ascii=False, indent=1), encoding="utf-8")
    return _told({name: home[name] for name in places})


def _told(home: dict[str, dict[str, Any]]) -> str:
    lines = [
        f"{place}: {'locked' if has['locked'] else 'open'}"
        if "locked" in has
        else f"{place}: light {has['light']}, {has['degrees']:g} °C"
        for place, has in home.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    server.run("stdio")
