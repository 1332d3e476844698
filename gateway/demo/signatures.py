"""Signed thinking: a constant key, so that the demo recognises what it has signed after a restart, too."""

import hmac
from base64 import b64encode
from typing import Any

_KEY = b"the demo signs its own thoughts"


def signature(thinking: str, model: str) -> str:
    """What a thinking block of that model is signed with."""
    return b64encode(hmac.digest(_KEY, f"{model}\0{thinking}".encode(), "sha256")).decode()


def thinking_block(text: str, model: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature(text, model)}


def redacted_block(text: str, model: str) -> dict[str, Any]:
    return {"type": "redacted_thinking", "data": f"{text}.{signature(text, model)}"}


def is_genuine(block: dict[str, Any], model: str) -> bool:
    """Whether a thinking or redacted_thinking block is unchanged since the demo wrote it as that model."""
    if block["type"] == "thinking":
        text, signed = block["thinking"], block["signature"]
    else:
        text, _, signed = block["data"].rpartition(".")
    return hmac.compare_digest(signature(text, model).encode(), signed.encode())
