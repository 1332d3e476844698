"""Every setting with its value and where it came from."""

import json
from pathlib import Path

import pytest

from gateway.cli.config import Origin, list_origins, unknown_variables
from tests.running import run


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def _origin(name: str) -> Origin:
    return next(each for each in list_origins() if each.name == name)


def test_each_setting_names_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment wins over the file, the file over the default, and each is named."""
    (tmp_path / "gateway.toml").write_text('port = 9001\nmodel = "from-file"\n')
    monkeypatch.setenv("GATEWAY_MODEL", "from-environment")

    assert _origin("port")[2:5] == (9001, "file", "gateway.toml")
    assert _origin("model")[2:5] == ("from-environment", "environment", "GATEWAY_MODEL")
    assert _origin("host")[2:5] == ("127.0.0.1", "default", None)


def test_the_second_name_of_a_setting_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that two variables can hold names the one that did."""
    monkeypatch.setenv("GATEWAY_ANTHROPIC_BASE_URL", "http://127.0.0.1:1")

    assert _origin("anthropic_base_url")[2:5] == (
        "http://127.0.0.1:1",
        "environment",
        "GATEWAY_ANTHROPIC_BASE_URL",
    )


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """Neither keys nor a password inside an address appear, as a table or as JSON."""
    secrets = {
        "ANTHROPIC_API_KEY": "sk-very-secret",
        "ANTHROPIC_BASE_URL": "http://me:hidden-word@127.0.0.1:9",
        "GATEWAY_API_KEYS": "ada:hidden-hidden-hidden",
    }
    table, as_json = run(tmp_path, "config", **secrets), run(tmp_path, "config", "--json", **secrets)

    assert (table.returncode, as_json.returncode) == (0, 0)
    for shown in (table.stdout, as_json.stdout):
        assert "secret" not in shown.replace("name:secret", "")
        assert "hidden" not in shown
        assert "********" in shown


def test_no_secret_of_an_mcp_server_is_shown(tmp_path: Path) -> None:
    """Neither its environment and headers, nor what its arguments and its address carry; the rest is shown
    as it was set, and as JSON also in the table."""
    servers = {
        "weather": {
            "command": "npx",
            "args": ["-y", "weather", "--api-key", "hidden-1", "--token=hidden-2", "pg://me:hidden-3@db/x"],
            "env": {"MODE": "hidden-4"},
            "cwd": "/srv/天气",
        },
        "docs": {
            "url": "https://hidden-5@docs.example/mcp?user=hidden-6&k=hidden-7#top",
            "headers": {"X-Team": "hidden-8"},
        },
    }
    given = {"GATEWAY_MCP_SERVERS": json.dumps(servers)}
    table, as_json = run(tmp_path, "config", **given), run(tmp_path, "config", "--json", **given)

    assert (table.returncode, as_json.returncode) == (0, 0)
    assert "hidden" not in table.stdout + as_json.stdout
    shown = next(each for each in json.loads(as_json.stdout) if each["name"] == "mcp_servers")
    assert shown["value"] == {
        "weather": {
            "args": ["-y", "weather", "--api-key", "********", "--token=********", "pg://********@db/x"],
            "command": "npx",
            "cwd": "/srv/天气",
            "env": {"MODE": "********"},
        },
        "docs": {
            "headers": {"X-Team": "********"},
            "url": "https://********@docs.example/mcp?user=********&k=********#top",
        },
    }
    assert '{"weather": ' in table.stdout


def test_a_part_of_a_setting_names_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may be set part by part; no part is taken for a slip of the pen."""
    monkeypatch.setenv("GATEWAY_MCP_SERVERS__DOCS__URL", "http://127.0.0.1:1/mcp")
    monkeypatch.setenv("GATEWAY_MCP_SERVERS__DOCS__TIMEOUT", "5")
    monkeypatch.setenv("GATEWAY_PORT__DOCS", "1")

    assert _origin("mcp_servers")[2:5] == (
        {"docs": {"timeout": 5.0, "url": "http://127.0.0.1:1/mcp"}},
        "environment",
        "GATEWAY_MCP_SERVERS__DOCS__TIMEOUT, GATEWAY_MCP_SERVERS__DOCS__URL",
    )
    assert "GATEWAY_PORT__DOCS" in unknown_variables()
    assert not [name for name in unknown_variables() if "MCP" in name]


def test_json_has_every_setting(tmp_path: Path) -> None:
    """`--json` is one array with name, variable, value, origin, source and description of each setting."""
    listed = json.loads(run(tmp_path, "config", "--json", GATEWAY_PORT="8123").stdout)

    port = next(each for each in listed if each["name"] == "port")
    assert (port["value"], port["origin"], port["source"]) == (8123, "environment", "GATEWAY_PORT")
    assert [each["name"] for each in listed] == [each.name for each in list_origins()]


def test_keys_that_the_server_would_refuse_are_told(tmp_path: Path) -> None:
    """The table is shown all the same, and what is wrong with the keys is said in one line."""
    shown = run(tmp_path, "config", GATEWAY_API_KEYS="ada:short")

    assert shown.returncode == 2
    assert "GATEWAY_PORT" in shown.stdout
    assert shown.stderr.startswith("gateway: GATEWAY_API_KEYS: the secret of ada is shorter than")
    assert shown.stderr.count("\n") == 1


def test_a_settings_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    """GATEWAY_CONFIG with a path at which there is no file is one clear line; empty counts as not set."""
    (tmp_path / "folder").mkdir()
    for name in ("nowhere.toml", "folder"):
        shown = run(tmp_path, "config", GATEWAY_CONFIG=name)
        assert shown.returncode == 2
        assert shown.stderr == f"gateway: GATEWAY_CONFIG is {name}, and there is no such file.\n"
    assert run(tmp_path, "config", GATEWAY_CONFIG="").returncode == 0


def test_a_wrong_settings_file_is_told_in_plain_words(tmp_path: Path) -> None:
    """An unknown name in the file is called that."""
    (tmp_path / "gateway.toml").write_text("prot = 9001\n")

    assert run(tmp_path, "config").stderr == "gateway: These settings are wrong:\n  prot: unknown setting\n"


def test_a_misspelt_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that looks like a setting and is none is listed; those of the command itself are not."""
    monkeypatch.setenv("GATEWAY_PROT", "9000")
    monkeypatch.setenv("GATEWAY_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("GATEWAY_PORT", "9000")

    assert "GATEWAY_PROT" in unknown_variables()
    assert {"GATEWAY_URL", "GATEWAY_PORT"} & set(unknown_variables()) == set()
