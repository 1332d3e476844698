"""What a server says of itself when a session begins, as the SDK takes it. Used of it are the version of the
protocol, and whether there are tools and prompts."""

from typing import Any, Final

from mcp_types.version import OLDEST_SUPPORTED_VERSION

from gateway.tools.mcp import bounds

_DISCOVERED: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}  # must be there
_DRAFT: Final = "2024-10-07"
"""What became the first version; the SDK for TypeScript speaks it too."""


def is_handshake(result: dict[str, Any]) -> bool:
    """Whether it is the result of `initialize` or `server/discover`."""
    return "protocolVersion" in result or "supportedVersions" in result or "serverInfo" in result


def mended_handshake(result: dict[str, Any]) -> dict[str, Any]:
    """The result with all that the SDK asks for, and nothing that it would refuse. A server that names no
    version speaks the first one. One whose capabilities cannot be read is asked for tools; an empty list
    is an empty object, as PHP writes it."""
    version = result.get("protocolVersion")
    is_first = version == _DRAFT or not isinstance(version, str)
    mended: dict[str, Any] = {"protocolVersion": OLDEST_SUPPORTED_VERSION if is_first else version}
    if "supportedVersions" in result:
        mended = {**_DISCOVERED, "supportedVersions": result["supportedVersions"]}
    given = result.get("capabilities")
    tools = given.get("tools") if isinstance(given, dict) else {}
    has_tools = tools is not None and tools is not False
    prompts = given.get("prompts") if isinstance(given, dict) else None
    has_prompts = prompts is not None and prompts is not False
    changes = isinstance(tools, dict) and tools.get("listChanged") is True
    server = result.get("serverInfo")
    named = server if isinstance(server, dict) else {}
    return mended | {
        "capabilities": {
            **({"tools": {"listChanged": changes}} if has_tools else {}),
            **({"prompts": {}} if has_prompts else {}),
        },
        "serverInfo": {key: str(named.get(key) or "unknown")[: bounds.LINE] for key in ("name", "version")},
    }
