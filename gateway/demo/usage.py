"""Input tokens by estimate, and a prompt cache that remembers prefixes as the API's does.

A prefix is tools, then system, then messages, up to the end of a block. A block with `cache_control` writes
every prefix up to it; a later request reads the longest it has in common ("Prompt caching", docs.claude.com;
neither the minimum length nor the lifetime is imitated).
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any

import orjson

from gateway.bounded_dict import BoundedDict
from gateway.demo.question import blocks
from gateway.demo.wire import InputUsage

MAX_PREFIXES = 8192
FILE_TOKENS = {"image": 1600, "document": 2000}
"""What an image has at most, and what a page of a document has about."""


def estimate(text: str) -> int:
    """Tokens of a text: four ASCII characters make one, any other character is one."""
    other = 0 if text.isascii() else sum(character > "\x7f" for character in text)
    return (len(text) - other + 3) // 4 + other


class PromptCache:
    """A bounded set of prefix hashes; the longest unused goes first."""

    def __init__(self) -> None:
        self._known = BoundedDict[bytes, None](MAX_PREFIXES)

    def clear(self) -> None:
        self._known.clear()

    def usage(self, body: Mapping[str, Any]) -> InputUsage:
        """What the request costs; remembers what it asks to be remembered."""
        if b'"cache_control"' not in orjson.dumps(body):
            return InputUsage(input_tokens=count(body))
        running = blake2b(digest_size=16)
        total = marked = read = 0
        prefixes: list[bytes] = []
        to_write: list[bytes] = []
        for block, size, is_point in _blocks(body):
            running.update(block)
            total += size
            prefix = running.digest()
            prefixes.append(prefix)
            if prefix in self._known:
                read = total
            if is_point:
                marked, to_write = total, prefixes.copy()
        for prefix in to_write:
            self._known[prefix] = None
        read = min(read, marked)
        return InputUsage(total - marked, marked - read, read)


def count(body: Mapping[str, Any]) -> int:
    """Input tokens of a request, cached or not."""
    return sum(size for _, size, _ in _blocks(body))


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[bytes, int, bool]]:
    """Every block as JSON without its cache point, how many tokens it is, and whether it had one."""
    yield from map(_plain, body.get("tools") or ())
    yield from map(_plain, blocks({"content": body.get("system") or ()}))
    for message in body["messages"]:
        yield from (_plain({"role": message["role"], **block}) for block in blocks(message))


def _plain(block: Mapping[str, Any]) -> tuple[bytes, int, bool]:
    plain = orjson.dumps({name: value for name, value in block.items() if name != "cache_control"})
    size = FILE_TOKENS.get(str(block.get("type"))) or estimate(plain.decode())
    return plain, size, bool(block.get("cache_control"))
