"""A key that encrypts many rows, and is itself stored encrypted with one of the operator's.

    contents    AES-256-GCM, a nonce of 96 random bits: 2^32 texts with one key (NIST SP 800-38D)
    fixed       AES-256-SIV (RFC 5297): equal texts become equal ones, where a database compares them
    terms       HMAC-SHA256, cut to 64 bits: a word of an index that can be looked for and not read

Each has a key of its own, derived with HKDF (RFC 5869). Rotation stores this key anew and leaves the rows.
"""

import binascii
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode

from gateway.encryption.keyring import KEY_SIZE, NONCE_SIZE, bound, changed, cipher_of

FIXED = "siv1."
"""What every text of `seal_fixed` begins with."""
TERM_BYTES = 8
"""Of a term: two of a million words share one with a probability of 3 in 10^8."""


class DataKey:
    """Made of KEY_SIZE random bytes. What opens raises errors.DecryptionFailed."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 - 50 ms, for who has keys

        self._contents = cipher_of(_derived(key, b"contents", KEY_SIZE))
        self._fixed = AESSIV(_derived(key, b"fixed", 2 * KEY_SIZE))
        self._terms = _derived(key, b"terms", KEY_SIZE)

    def seal(self, text: str, *bound_to: str) -> str:
        """Bound to these words in their order."""
        nonce = os.urandom(NONCE_SIZE)
        return _written(nonce + self._contents.encrypt(nonce, text.encode(), bound(bound_to)))

    def open(self, sealed: str, *bound_to: str) -> str:
        """What `seal` was given with the same words."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - there is a cipher: it is imported

        stored = _read(sealed)
        try:
            return self._contents.decrypt(stored[:NONCE_SIZE], stored[NONCE_SIZE:], bound(bound_to)).decode()
        except (InvalidTag, ValueError):
            raise changed() from None

    def seal_fixed(self, text: str, kind: str) -> str:
        """The same for the same text of that kind."""
        if not text:  # AESSIV takes none
            return FIXED
        return FIXED + _written(self._fixed.encrypt(text.encode(), [kind.encode()]))

    def open_fixed(self, sealed: str, kind: str) -> str:
        """What `seal_fixed` was given."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

        if sealed == FIXED:
            return ""
        if not sealed.startswith(FIXED):
            raise changed()
        try:
            return self._fixed.decrypt(_read(sealed.removeprefix(FIXED)), [kind.encode()]).decode()
        except (InvalidTag, ValueError):
            raise changed() from None

    def term(self, word: str) -> str:
        """In hex, the same for the same word."""
        return hmac.digest(self._terms, word.encode(), "sha256")[:TERM_BYTES].hex()


def _derived(key: bytes, purpose: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    return HKDF(SHA256(), length, salt=None, info=b"gateway data key " + purpose).derive(key)


def _written(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).decode()


def _read(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text)
    except (ValueError, binascii.Error):
        raise changed() from None
