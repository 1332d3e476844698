"""A long content in pieces that open each by itself: AES-256-GCM with a key of its own.

A piece is authenticated with its number and whether it is the last one, as in STREAM (Hoang et al. 2015):
what was cut off, changed or put in another place does not open. The key serves one content alone, so that
the number can be the nonce.
"""

import os
from collections.abc import Iterator

from gateway.encryption.keyring import KEY_SIZE, NONCE_SIZE, TAG_SIZE, changed, cipher_of

PIECE = 65_536
"""Bytes of content in a piece."""
STORED_PIECE = PIECE + TAG_SIZE


class Pieces:
    """The cipher of one content; without `key` of a new one."""

    def __init__(self, key: bytes | None = None) -> None:
        self.key = os.urandom(KEY_SIZE) if key is None else key
        self._cipher = cipher_of(self.key)

    def close(self, number: int, content: bytes, *, is_last: bool) -> bytes:
        """Piece `number`, as it is stored."""
        return self._cipher.encrypt(_nonce(number), content, _flag(is_last))

    def open(self, first: int, stored: bytes, *, more: bool) -> Iterator[bytes]:
        """The contents of pieces from number `first` on; `more` is whether others follow. Raises
        errors.DecryptionFailed."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - there is a cipher: it is imported

        view = memoryview(stored)
        for start in range(0, len(stored), STORED_PIECE):
            end, number = start + STORED_PIECE, first + start // STORED_PIECE
            is_last = end >= len(stored) and not more
            try:
                yield self._cipher.decrypt(_nonce(number), view[start:end], _flag(is_last))
            except (InvalidTag, ValueError):
                raise changed() from None


def _nonce(number: int) -> bytes:
    return number.to_bytes(NONCE_SIZE, "big")


def _flag(is_last: bool) -> bytes:
    return b"\1" if is_last else b"\0"
