"""Places in lists that are read page by page, the last changed first."""

import base64
import binascii

from gateway.errors import InvalidRequest
from gateway.ids import is_id

LATEST = 2**53
"""Unix milliseconds: beyond every clock, and a whole number in JSON and SQLite."""


def encode_cursor(at: int, name: str) -> str:
    """The `next` of a page that ends with what was changed `at` and has the id `name`."""
    return base64.urlsafe_b64encode(f"{at}.{name}".encode()).decode().rstrip("=")


def decode_cursor(text: str) -> tuple[int, str]:
    """What `encode_cursor` was given. Raises errors.InvalidRequest for any other text."""
    try:
        at, _, name = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(".")
        if 0 <= int(at) <= LATEST and is_id(name):
            return int(at), name
    except (ValueError, binascii.Error):
        pass
    raise InvalidRequest("before must be the `next` of a former page.")
