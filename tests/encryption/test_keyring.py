"""Short secrets, encrypted with keys of the operator's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.encryption.keyring import MARK, Keyring, key_id_of, new_key, read_keys
from gateway.errors import DecryptionFailed

FIRST, SECOND = bytes(range(32)), bytes(range(32, 64))
RING = Keyring([FIRST, SECOND])

words = st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=3)
texts = st.text(st.characters(codec="utf-8"), max_size=200)


@given(secret=texts, bound_to=words)
def test_what_is_encrypted_is_decrypted_with_the_same_words(secret: str, bound_to: list[str]) -> None:
    """And every time it is written another way."""
    written = RING.encrypt(secret, *bound_to)

    assert RING.decrypt(written, *bound_to) == secret
    assert RING.encrypt(secret, *bound_to) != written
    assert key_id_of(written) == RING.first


@given(secret=texts, bound_to=words, other=words)
def test_a_secret_does_not_open_in_another_row(secret: str, bound_to: list[str], other: list[str]) -> None:
    """Words are not just strung together: ("ab", "c") is another row than ("a", "bc")."""
    written = RING.encrypt(secret, *bound_to)

    if other == bound_to:
        return
    with pytest.raises(DecryptionFailed) as failed:
        RING.decrypt(written, *other)
    assert failed.value.code == "decryption_failed"


@given(secret=st.text(st.characters(codec="utf-8"), max_size=20), data=st.data())
def test_no_sign_can_be_changed(secret: str, data: st.DataObject) -> None:
    """Whatever is put in the place of one sign, or taken from the end, the error has its name."""
    written = RING.encrypt(secret, "row")
    place = data.draw(st.integers(0, len(written) - 1))
    sign = data.draw(st.characters(codec="ascii").filter(lambda sign: sign != written[place]))

    for changed in (written[:place] + sign + written[place + 1 :], written[:place]):
        with pytest.raises(DecryptionFailed):
            RING.decrypt(changed, "row")


def test_the_first_key_encrypts_and_all_decrypt() -> None:
    """What a former first one wrote is read for as long as that one is there."""
    former, both, later = Keyring([SECOND]), RING, Keyring([FIRST])
    written = former.encrypt("secret", "row")

    assert both.decrypt(written, "row") == "secret"
    assert later.decrypt(both.encrypt("secret", "row"), "row") == "secret"
    with pytest.raises(DecryptionFailed) as missing:
        later.decrypt(written, "row")
    assert former.first in missing.value.message  # the id of the key, which is no secret
    assert SECOND.hex() not in missing.value.message


def test_keys_are_read_as_people_write_them() -> None:
    """With commas or on lines, in either alphabet of base64."""
    one, two = new_key(), new_key()
    plain = two.replace("-", "+").replace("_", "/")

    assert [Keyring([key]).first for key in read_keys(f"{one}, {plain}\n")] == [
        Keyring(read_keys(each)).first for each in (one, two)
    ]
    assert read_keys(" \n") == []


@pytest.mark.parametrize("wrong", ["short", "ä" * 44, "A" * 41, "=" * 44])
def test_what_is_no_key_is_refused_without_being_told(wrong: str) -> None:
    with pytest.raises(ValueError, match="key 2 is not 32 bytes in base64") as refused:
        read_keys(f"{new_key()},{wrong}")
    assert wrong not in str(refused.value)


def test_a_key_is_not_there_twice() -> None:
    key = new_key()
    with pytest.raises(ValueError, match="key 2 is there twice"):
        read_keys(f"{key},{key}")


def test_a_keyring_shows_no_key() -> None:
    assert FIRST.hex() not in repr(RING)
    assert "\\x" not in repr(RING)
    assert MARK not in repr(vars(RING))
