"""JSON whose whole numbers stay as they are, however long."""

import json
import re
from typing import Any

import orjson

_LONG = re.compile(rb"[0-9]{19}")  # may be beyond 64 bits, which orjson gives as a float


def lossless_json(data: bytes) -> Any:
    """The value of a JSON. Raises orjson.JSONDecodeError: it is none, or too deep."""
    value = orjson.loads(data)
    if not _LONG.search(data):
        return value
    try:
        return json.loads(data)
    except RecursionError:  # a few levels less than orjson
        return value
