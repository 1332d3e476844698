"""The settings that replicas of one database must have in common, and how they are compared.

All must, unless they are listed here: a setting that is forgotten is compared. What each replica tells the
others of a setting is a digest, under a key that only those have who can read the database.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import orjson
from pydantic import BaseModel, SecretStr

from gateway.settings.loader import environment_name
from gateway.settings.settings_table import Settings

MAY_DIFFER: Mapping[str, str] = {
    "host": "where each listens",
    "port": "where each listens",
    "data_dir": "scratch of each",
    "replica": "the name of each",
    "database_url": "each knows the others from the database: all have the same one",
    "database_direct_url": "the way of each to the same database",
    "database_connections": "as large as its machine",
    "max_connections": "as large as its machine",
    "max_turns_in_flight": "as large as its machine",
    "model_proxy": "the way of each to the endpoint",
    "prompts_dir": "what is read there is compared: `prompts`",
    "skills_dir": "what is read there is compared: `skills`",
    "user_skills_dir": "what is read there is compared: `skills`",
    "lease": "compared in plain: `lease`",
    "log_level": "who looks into something needs more of one",
    "log_format": "who looks into something reads one",
}
"""Settings that are not compared, each with the reason."""

LENGTH = 8
"""Hexadecimal digits of a digest. One change in four thousand millions is not seen; of a value that is
guessed nobody knows for sure that it is the one."""
COST, BLOCK = 2**14, 8
"""Of scrypt (RFC 7914, N and r): a guess of a secret takes 16 MB and some 50 ms, as OWASP has them at least
for r = 8 and few processes."""


def digests(settings: Settings, key: bytes) -> dict[str, str]:
    """The digest of each setting that is not as by default, and that others must have too, by the name of
    its environment variable. `key` is a secret that all of them have. Takes some 50 ms of CPU for each secret
    among them."""
    found: dict[str, str] = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        if name == "model" and not settings.names_model:
            continue  # as the endpoint says, to each of them
        if name in MAY_DIFFER or value == field.get_default(call_default_factory=True):
            continue
        found[environment_name(name, field)] = _digest(name, _content(name, value), key)
    return found


def _content(name: str, value: object) -> object:
    """The part of a value that counts: of the file of keys what is in it, if it can be read."""
    if name == "encryption_keys_file" and isinstance(value, Path):
        try:
            return SecretStr(value.read_text())
        except (OSError, UnicodeDecodeError):
            return "unreadable"
    return value


def _digest(name: str, value: object, key: bytes) -> str:
    secrets: list[str] = []
    text = orjson.dumps([name, _plain(value, secrets)], option=orjson.OPT_SORT_KEYS)
    if secrets:
        text = hashlib.scrypt(text, salt=key, n=COST, r=BLOCK, p=1)
    return hmac.digest(key, text, hashlib.sha256).hex()[:LENGTH]


def _plain(value: object, secrets: list[str]) -> object:
    """As JSON has it; what is secret in it, addresses with a password included, is added to `secrets`."""
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
        secrets.append(value)
    elif isinstance(value, BaseModel):
        return {name: _plain(each, secrets) for name, each in value}
    elif isinstance(value, dict):
        return {str(name): _plain(each, secrets) for name, each in cast("dict[str, object]", value).items()}
    elif isinstance(value, list | tuple):
        return [_plain(each, secrets) for each in cast("Sequence[object]", value)]
    elif isinstance(value, str) and "://" in value and "@" in value:
        secrets.append(value)
    return value if isinstance(value, str | int | float | None) else str(value)
