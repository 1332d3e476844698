"""The required fields of a stream's events, read or refused."""

from typing import Any

from gateway.messages import clean_text
from gateway.model.strict_json import clean_json
from gateway.model.upstream_failures import protocol_failure


def object_in(event: dict[str, Any], name: str) -> dict[str, Any]:
    value = event.get(name)
    if not isinstance(value, dict):
        raise protocol_failure(f"{event['type']} without {name}")
    return value


def string_in(delta: dict[str, Any], name: str) -> str:
    value = delta.get(name)
    if not isinstance(value, str):
        raise protocol_failure(f"{delta['type']} without {name}")
    return value


def cleaned(value: Any) -> Any:
    """Any JSON with every string fit to be stored and sent."""
    try:
        return clean_json(value)
    except ValueError as why:
        raise protocol_failure(str(why)) from None


def text_or_none(value: object) -> str | None:
    return clean_text(value) if isinstance(value, str) and value else None
