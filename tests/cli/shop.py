"""Tools of a shop, as somebody writes them who tries them alone."""

import asyncio

from gateway.tools.function import File, Progress, ToolContext, ToolError, ToolResult, tool

refunded: list[str] = []


@tool(effect="read_only", category="shop")
def order_status(order_id: str, context: ToolContext, progress: Progress) -> ToolResult:
    """Tells where an order is. 查询订单。

    Args:
        order_id: The number on the invoice.
    """
    with context.step("查找订单", {"order": order_id}) as step:
        progress("看了一半", 0.5)
        step.output = ["在路上"]
    suggestion = {"owner_type": "user", "owner_id": context.owner, "type": "fact", "importance": 2}
    return ToolResult(
        result=f"订单 {order_id}：在路上",
        memory_writes=[{**suggestion, "content": "买过书"}, {**suggestion, "content": ""}],
    )


@tool(effect="effectful")
def refund(order_id: str, reason: str = "") -> str:
    """Gives the money back.

    Args:
        order_id: The number on the invoice.
        reason: Why.
    """
    refunded.append(order_id)
    return f"退款 {order_id}"


@tool(effect="read_only")
def refuse() -> str:
    """Refuses."""
    raise ToolError("没有这个订单。")


@tool(effect="read_only")
def stumble(context: ToolContext) -> str:
    """Fails in a way that nobody has thought of."""
    with context.step("stumble"):
        return {}["钥匙\x1b[2J"]


@tool(effect="read_only", timeout=0.05)
async def dawdle() -> str:
    """Takes too long."""
    return await asyncio.Future()


@tool(effect="read_only")
async def wait(progress: Progress) -> str:
    """Takes as long as one lets it."""
    progress("it waits")
    return await asyncio.Future()


@tool(effect="read_only")
def talk() -> str:
    """Says more than a model may read, and more than a terminal should."""
    return "\x1b[31m" + "长" * 2000


@tool(effect="read_only")
def draw() -> File:
    """Draws."""
    return File(b"\x89PNG\r\n\x1a\n\xff", name="../画/图.png")
