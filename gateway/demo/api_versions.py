"""What the API asks of a request's headers, and what its versions refuse.

Rules: platform.claude.com, "API versions", "Migrating to API version 2026-10-21" and "Thinking".
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

from gateway.demo.strictness import RejectedRequest, all_blocks

NEWEST = "2026-10-21"
VERSIONS = ("2023-06-01", NEWEST)
SAMPLING = ("temperature", "top_p", "top_k")
BAD_KEY = "bad-key"
NO_BUDGET = re.compile(r"claude-(opus-4-[7-9]|[a-z]+-[5-9])\b")
"""Models that decide themselves how much they think."""

KeyHeader = Literal["bearer", "x-api-key"]


def check_key(headers: Mapping[str, str], wanted: KeyHeader | None = None) -> None:
    """A key in either header, or in the one that is wanted; the other is then as if it were not there.

    Raises:
        Refused: there is none, or it is `bad-key`.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = {"x-api-key": headers.get("x-api-key", ""), "bearer": token if scheme == "Bearer" else ""}
    keys = [key for name, key in given.items() if key and wanted in (None, name)]
    if not keys:
        missing = "Authorization" if wanted == "bearer" else "x-api-key"
        raise RejectedRequest(f"{missing} header is required", status=401)
    if BAD_KEY in keys:
        raise RejectedRequest(
            "invalid x-api-key" if given["x-api-key"] else "Invalid bearer token", status=401
        )


def check_version(headers: Mapping[str, str], accepted: tuple[str, ...] = VERSIONS) -> str:
    """The version of the API that a request asks for.

    Raises:
        Refused: it asks for none, or for one that is not accepted.
    """
    version = headers.get("anthropic-version")
    if not version:
        raise RejectedRequest("anthropic-version: header is required")
    if version not in accepted:
        raise RejectedRequest(f'anthropic-version: "{version}" is not a valid version')
    return version


def check_content(body: Mapping[str, Any], version: str) -> None:
    """What the newest version refuses and the one before it takes, in a body that is right otherwise.

    Raises:
        Refused: sampling parameters, also at their defaults, or citations in a user's text.
    """
    if version != NEWEST:
        return
    for name in SAMPLING:
        if name in body:
            raise RejectedRequest(f"{name}: Extra inputs are not permitted")
    for index, message in enumerate(body["messages"]):
        texts = [block for block in all_blocks([message]) if block["type"] == "text"]
        if message["role"] == "user" and any(text.get("citations") for text in texts):
            raise RejectedRequest(f"messages.{index}: `citations` are not permitted in `user` messages")


def check_thinking(body: Mapping[str, Any]) -> None:
    """What newer models refuse, in every version.

    Raises:
        Refused: thinking with a budget.
    """
    if body.get("thinking", {}).get("type") == "enabled" and NO_BUDGET.match(body["model"]):
        raise RejectedRequest(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
