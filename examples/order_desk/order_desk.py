"""The tools of an order desk: `gateway.toml` names this module, and its `@tool` functions are offered.

The orders are made up. Put your own system in the place of ORDERS and REFUNDS.
"""

import json
from pathlib import Path
from typing import Any

from gateway.tools.function import ToolContext, ToolError, ToolResult, tool

ORDERS: dict[str, dict[str, Any]] = {
    "A-1001": {"sku": "KETTLE-1", "item": "Kettle 电水壶", "total": 49.9, "delivered": True},
    "A-1002": {"sku": "LAMP-7", "item": "Desk lamp 台灯", "total": 120.0, "delivered": True},
    "A-1003": {"sku": "KETTLE-1", "item": "Kettle 电水壶", "total": 49.9, "delivered": False},
}
REFUNDS = Path("refunds.jsonl")
"""One line for each refund that was prepared, in the folder the gateway was started in."""


@tool(effect="read_only", timeout=10, category="orders", examples=["Where is my order A-1001?"])
async def look_up_order(order_id: str, context: ToolContext) -> dict[str, Any]:
    """Looks an order up: what was bought, what it cost, whether it was delivered and can be refunded.

    Args:
        order_id: The number on the invoice, such as A-1001.
    """
    with context.step("find the order", {"order_id": order_id}) as step:
        order = _order(order_id)
        step.output = order
    with context.step("apply the refund rules", order) as step:
        refundable = bool(order["delivered"])
        step.output = {"refundable": refundable}
    return {**order, "refundable": refundable}


@tool(effect="effectful", timeout=10, category="orders")
def prepare_refund(order_id: str, amount: float, reason: str, context: ToolContext) -> ToolResult:
    """Prepares a refund, which is paid out the next night. It cannot be taken back here.

    Args:
        order_id: The number on the invoice, such as A-1001.
        amount: In euros, at most what the order cost.
        reason: What is wrong, in the customer's words.
    """
    order = _order(order_id)
    if not order["delivered"]:
        raise ToolError(f"{order_id} was not delivered yet: it can be cancelled, not refunded.")
    if not 0 < amount <= order["total"]:
        raise ToolError(f"{amount} is not possible: {order_id} cost {order['total']}.")
    refund = {"key": context.idempotency_key, "order_id": order_id, "amount": amount, "reason": reason}
    with context.step("write it down", refund), REFUNDS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(refund, ensure_ascii=False) + "\n")
    return ToolResult(
        result={"order_id": order_id, "amount": amount, "paid": "next night"},
        memory_writes=[
            {
                "owner_type": "user",
                "owner_id": context.owner,
                "type": "event",
                "importance": 3,
                "content": f"Refund of {amount} prepared for order {order_id}: {reason}"[:4000],
            }
        ],
    )


def _order(order_id: str) -> dict[str, Any]:
    order = ORDERS.get(order_id)
    if order is None:
        raise ToolError(f"There is no order {order_id}. Ask for the number on the invoice.")
    return {"order_id": order_id, **order}
