"""An MCP server over standard streams, made with the official SDK: what is left of an article."""

from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

STOCK = {"KETTLE-1": 3, "LAMP-7": 0}

server: MCPServer[Any] = MCPServer("stock")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def check_stock(sku: str) -> dict[str, Any]:
    """Tells how many pieces of an article are in stock. 查询库存。"""
    if sku not in STOCK:
        raise ToolError(f"There is no article {sku}.")
    return {"sku": sku, "in_stock": STOCK[sku]}


if __name__ == "__main__":
    server.run("stdio")
