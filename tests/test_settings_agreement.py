"""Which settings the replicas of one database compare, and what they tell each other of them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from gateway.settings import digests, environment_name
from gateway.settings.agreement import LENGTH, MAY_DIFFER
from gateway.settings.value_types import McpServer
from tests.product import Settings, load_settings

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
FIELDS = Settings.model_fields


def with_other(name: str, value: Any) -> Settings:
    """Settings in which that one has another value, whatever it may be."""
    return load_settings().model_copy(update={name: value})


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - MAY_DIFFER.keys()))
def test_every_setting_is_compared_that_is_not_excepted(name: str) -> None:
    """A new one too, before anybody has thought of it. What is as by default is not told."""
    variable = environment_name(name, FIELDS[name])
    assert variable not in digests(load_settings(), KEY)
    one, other = (digests(with_other(name, value), KEY) for value in ("one", "other"))
    assert one.keys() == other.keys() == {variable}
    assert one != other
    assert len(one[variable]) == LENGTH


def test_what_is_excepted_is_there_and_has_its_reason() -> None:
    assert FIELDS.keys() >= MAY_DIFFER.keys()
    assert all(MAY_DIFFER.values())
    for name in MAY_DIFFER:
        assert digests(with_other(name, "other"), KEY) == {}


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("api_keys", SecretStr("ada:one"), SecretStr("ada:two")),
        ("tool_policy", ("a=ask", "*=deny"), ("*=deny", "a=ask")),
        (
            "mcp_servers",
            {"files": McpServer.model_validate({"command": "run", "env": {"TOKEN": "one"}})},
            {"files": McpServer.model_validate({"command": "run", "env": {"TOKEN": "two"}})},
        ),
        ("anthropic_base_url", "http://me:one@host", "http://me:two@host"),
    ],
)
def test_a_part_of_a_value_counts_as_well(name: str, one: object, other: object) -> None:
    """The key of one user, the order of rules, the token in the environment of a program."""
    given = [digests(with_other(name, value), KEY) for value in (one, one, other)]
    assert given[0] == given[1] != given[2]
    assert digests(with_other(name, one), OTHER_KEY) != given[0]


def test_of_a_file_of_keys_what_is_in_it_counts(tmp_path: Path) -> None:
    """It may be elsewhere on each machine."""
    for folder, text in (("a", "1:key"), ("b", "1:key"), ("c", "2:key")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "keys").write_text(text)
    a, b, c = (digests(with_other("encryption_keys_file", tmp_path / each / "keys"), KEY) for each in "abc")
    assert a == b != c
