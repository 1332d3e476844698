"""Keys of the operator's, and short secrets encrypted with them: AES-256-GCM (NIST SP 800-38D).

    enc1.<id of the key>.<base64url of nonce, ciphertext and tag>

What a secret is bound to, as its row, is authenticated along with it: a row that is copied to somebody else
does not open there. A nonce is 96 random bits, which serves 2^32 secrets with one key.
"""

import binascii
import hashlib
import os
import re
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.errors import DecryptionFailed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_SIZE, NONCE_SIZE, TAG_SIZE = 32, 12, 16
MARK = "enc1."
"""What every encrypted text begins with."""

_KEY_ID = b"gateway encryption key"
_SEPARATORS = re.compile(r"[,\s]+")


def new_key() -> str:
    """A key as the settings take it."""
    return urlsafe_b64encode(os.urandom(KEY_SIZE)).decode()


def read_keys(text: str) -> list[bytes]:
    """Keys in base64, with commas or white space between them. Raises ValueError, which says which one is
    none and nothing of it."""
    found: list[bytes] = []
    for number, part in enumerate((each for each in _SEPARATORS.split(text) if each), 1):
        try:
            key = b64decode(part.replace("-", "+").replace("_", "/"), validate=True)
        except (ValueError, binascii.Error):
            key = b""
        if len(key) != KEY_SIZE:
            raise ValueError(f"key {number} is not {KEY_SIZE} bytes in base64")
        if key in found:
            raise ValueError(f"key {number} is there twice")
        found.append(key)
    return found


def cipher_of(key: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - 50 ms, for who has keys

    return AESGCM(key)


class Keyring:
    """The first of `keys`, at least one, encrypts; all of them decrypt."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = {_id_of(key): cipher_of(key) for key in keys}
        self.first, *_ = self._ciphers
        """The id of the key that encrypts. Ids are no secrets."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self._ciphers)

    def seal(self, secret: bytes, bound_to: bytes) -> tuple[str, bytes]:
        """The id of the key, and nonce, ciphertext and tag."""
        nonce = os.urandom(NONCE_SIZE)
        return self.first, nonce + self._ciphers[self.first].encrypt(nonce, secret, bound_to)

    def open(self, key_id: str, sealed: bytes, bound_to: bytes) -> bytes:
        """What `seal` was given. Raises errors.DecryptionFailed."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

        cipher = self._ciphers.get(key_id)
        if cipher is None:
            raise key_missing(key_id)
        try:
            return cipher.decrypt(sealed[:NONCE_SIZE], sealed[NONCE_SIZE:], bound_to)
        except (InvalidTag, ValueError):
            raise changed() from None

    def encrypt(self, secret: str, *bound_to: str) -> str:
        """As text, bound to these words in their order."""
        key_id, sealed = self.seal(secret.encode(), bound(bound_to))
        return f"{MARK}{key_id}.{urlsafe_b64encode(sealed).decode()}"

    def decrypt(self, text: str, *bound_to: str) -> str:
        """What `encrypt` was given with the same words. Raises errors.DecryptionFailed."""
        key_id = key_id_of(text)
        if key_id is None:
            raise changed()
        written = text.removeprefix(f"{MARK}{key_id}.")
        try:
            sealed = urlsafe_b64decode(written)
        except (ValueError, binascii.Error):
            raise changed() from None
        if urlsafe_b64encode(sealed).decode() != written:  # of several ways to write the same
            raise changed()
        return self.open(key_id, sealed, bound(bound_to)).decode()


def key_id_of(text: str) -> str | None:
    """The id of the key that a text is encrypted with; None: it is not."""
    mark, _, rest = text.partition(".")
    key_id, dot, _ = rest.partition(".")
    return key_id if mark + "." == MARK and dot else None


def key_missing(key_id: str) -> DecryptionFailed:
    return DecryptionFailed(
        f"This is encrypted with the key {key_id}, which GATEWAY_ENCRYPTION_KEYS does not have: add it "
        "there, behind the first.",
        details={"key_id": key_id},
    )


def changed() -> DecryptionFailed:
    return DecryptionFailed(
        "What is stored here does not open: it was damaged, changed, or copied from elsewhere. Restore it "
        "from a backup, or remove it and set it again."
    )


def _id_of(key: bytes) -> str:
    return hashlib.sha256(_KEY_ID + key).hexdigest()[:16]


def bound(words: Sequence[str]) -> bytes:
    """The words as they are authenticated: no two lists of words are the same."""
    return b"".join(len(word.encode()).to_bytes(4, "big") + word.encode() for word in words)
