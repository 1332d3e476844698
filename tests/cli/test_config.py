"""Every setting with its value and where it came from."""

import json
import re
from pathlib import Path

import pytest

from gateway.cli.config import EffectiveSetting, list_origins, without_secrets
from gateway.settings.environment import unknown_variables, without_effect
from gateway.settings.former_settings import WITHOUT_EFFECT
from gateway.settings.value_types import check_database_url
from tests.cli.calling import Command
from tests.product import Settings, load_settings
from tests.running import ROOT


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def _origin(name: str) -> EffectiveSetting:
    return next(each for each in list_origins() if each.name == name)


def test_each_setting_names_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment wins over the file, the file over the default, and each is named."""
    (tmp_path / "gateway.toml").write_text('port = 9001\nmodel = "from-file"\n')
    monkeypatch.setenv("GATEWAY_MODEL", "from-environment")

    assert _origin("port")[2:5] == (9001, "file", "gateway.toml")
    assert _origin("model")[2:5] == ("from-environment", "environment", "GATEWAY_MODEL")
    assert _origin("host")[2:5] == ("127.0.0.1", "default", None)


EXAMPLE = re.findall(r"^#(\w+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)


@pytest.mark.parametrize(("name", "value"), EXAMPLE)
def test_a_line_of_the_example_is_the_default(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Uncommented as it stands it is accepted, and changes nothing."""
    default = load_settings()
    monkeypatch.setenv(name, value)

    assert load_settings() == default


def test_the_second_name_of_a_setting_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that two variables can hold names the one that did."""
    monkeypatch.setenv("GATEWAY_ANTHROPIC_BASE_URL", "http://127.0.0.1:1")

    assert _origin("anthropic_base_url")[2:5] == (
        "http://127.0.0.1:1",
        "environment",
        "GATEWAY_ANTHROPIC_BASE_URL",
    )


def test_no_secret_is_shown(command: Command) -> None:
    """Neither keys nor what an address carries, a password or a query, appear, as a table or as JSON."""
    table, as_json = (
        command(
            *arguments,
            ANTHROPIC_API_KEY="sk-hidden-0",
            ANTHROPIC_BASE_URL="http://me:hidden-word@127.0.0.1:9",
            GATEWAY_API_KEYS="ada:hidden-hidden-hidden",
            GATEWAY_EMBEDDINGS_URL="https://vectors.example/v1?key=hidden-1",
            GATEWAY_EMBEDDINGS_MODEL="small",
            GATEWAY_TRACE_URL="https://traces.example/#/t?id={trace_id}&key=hidden-2",
        )
        for arguments in (["config"], ["config", "--json"])
    )

    assert (table.code, as_json.code) == (0, 0)
    for shown in (table.out, as_json.out):
        assert "hidden" not in shown
        assert "********" in shown
    values = {each["name"]: each["value"] for each in json.loads(as_json.out)}
    assert values["embeddings_url"] == "https://vectors.example/v1?********"
    assert values["trace_url"] == "https://traces.example/#/t?********"


@pytest.mark.parametrize(
    "password", ["hidden hidden", "hidden#hidden", "hid/hidden", "hid@hidden", "a?hidden"]
)
def test_a_password_is_masked_whatever_is_in_it(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the last @, in an address of its own as in an argument of an MCP server."""
    address = f"postgresql://ann:{password}@db.example/shop"
    assert without_secrets(address) == "postgresql://********@db.example/shop"
    monkeypatch.setenv(
        "GATEWAY_MCP_SERVERS", json.dumps({"a": {"command": "npx", "args": ["shop", address]}})
    )
    shown = _origin("mcp_servers").value["a"]["args"]
    assert shown == ["shop", "postgresql://********@db.example/********"]


@pytest.mark.parametrize(
    "rest",
    [
        *("ann:geh%zzeim@db/x", "ann:geh eim@db/x", "ann:geh@eim@db/x", "ann:geh/eim@db/x", "[geh:eim@db/x"),
        *("ann:geheim@[::1/x", "db/x?password=ge=geheim", "db:geheim/x", "db/geh eim"),
        *("ann:geh?eim@db/x", "ann:geh#eim@db/x", "db?password=geh@eim", "db/x?password=geh&eim"),
    ],
)
def test_an_address_libpq_would_misread_is_refused(command: Command, rest: str) -> None:
    """With the setting and what to write, and nothing of the address."""
    for name in ("GATEWAY_DATABASE_URL", "GATEWAY_DATABASE_DIRECT_URL"):
        shown = command("config", given=None, **{name: f"postgresql://{rest}"})
        assert (shown.code, "geh" in shown.out + shown.err, "eim" in shown.out + shown.err) == (
            2,
            False,
            False,
        )
        assert f"{name}: it is not of the form postgresql://" in shown.err
        assert "%40 for @" in shown.err


@pytest.mark.parametrize(
    "rest",
    [
        *("/x", "db", "ann@db:5433/x?sslmode=verify-full&connect_timeout=3", "a,b:5433,[::1]:5434/x"),
        *(
            "/x?host=/tmp",
            "ann:a%40b%2Fc:!$&'()*+,;=~^@%2Ftmp/x",
            "127.0.0.1:5432/x?options=-c%20lock_timeout%3D1s",
        ),
    ],
)
def test_an_address_of_a_server_is_taken(rest: str) -> None:
    assert check_database_url(f"postgresql://{rest}") == f"postgresql://{rest}"


def test_a_move_tells_nothing_of_its_addresses(command: Command) -> None:
    for wrong in ("mysql://ann:geheim@db/x", "postgresql://ann:ge@heim@db/x"):
        shown = command("move", wrong, "sqlite:///there.db")
        assert (shown.code, "heim" in shown.out + shown.err) == (2, False)
        assert "The address of the source" in shown.err


def test_no_secret_of_an_mcp_server_is_shown(command: Command) -> None:
    """Neither its environment and headers, nor what its arguments and its address carry; the rest is shown
    as it was set, and as JSON also in the table."""
    servers = {
        "weather": {
            "command": "npx",
            "args": [
                *(
                    "weather",
                    "-y",
                    "-p",
                    "hidden-1",
                    "--token=hidden-2",
                    "-khidden-9",
                    "--",
                    "--tag",
                    "hidden-10",
                ),
                *("--to", "pg://me:hidden-3@db/x", "https://db.example:99/hidden-11?k=hidden-12"),
            ],
            "env": {"MODE": "hidden-4"},
            "cwd": "/srv/天气",
        },
        "docs": {
            "url": "https://hidden-5@docs.example/hidden-13/mcp?user=hidden-6&k=hidden-7#top",
            "headers": {"X-Team": "hidden-8"},
        },
    }
    table, as_json = (
        command(*arguments, GATEWAY_MCP_SERVERS=json.dumps(servers))
        for arguments in (["config"], ["config", "--json"])
    )

    assert (table.code, as_json.code) == (0, 0)
    assert "hidden" not in table.out + as_json.out
    shown = next(each for each in json.loads(as_json.out) if each["name"] == "mcp_servers")
    assert shown["value"] == {
        "weather": {
            "args": [
                *(
                    "weather",
                    "-y",
                    "-p",
                    "********",
                    "--token=********",
                    "-k********",
                    "--",
                    "--tag",
                    "********",
                ),
                *("--to", "********", "https://db.example:99/********"),
            ],
            "command": "npx",
            "cwd": "/srv/天气",
            "env": {"MODE": "********"},
        },
        "docs": {
            "headers": {"X-Team": "********"},
            "url": "https://********@docs.example/********",
        },
    }
    assert '{"weather": ' in table.out


def test_a_part_of_a_setting_names_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may be set part by part; no part is taken for a slip of the pen."""
    monkeypatch.setenv("GATEWAY_MCP_SERVERS__DOCS__URL", "http://127.0.0.1:1/mcp")
    monkeypatch.setenv("GATEWAY_MCP_SERVERS__DOCS__TIMEOUT", "5")
    monkeypatch.setenv("GATEWAY_PORT__DOCS", "1")

    assert _origin("mcp_servers")[2:5] == (
        {"docs": {"timeout": 5.0, "url": "http://127.0.0.1:1/********"}},
        "environment",
        "GATEWAY_MCP_SERVERS__DOCS__TIMEOUT, GATEWAY_MCP_SERVERS__DOCS__URL",
    )
    assert "GATEWAY_PORT__DOCS" in unknown_variables()
    assert not [name for name in unknown_variables() if "MCP" in name]


def test_json_has_every_setting(command: Command) -> None:
    """`--json` is one array with name, variable, value, origin, source and description of each setting."""
    listed = json.loads(command("config", "--json", GATEWAY_PORT="8123").out)

    port = next(each for each in listed if each["name"] == "port")
    assert (port["value"], port["origin"], port["source"]) == (8123, "environment", "GATEWAY_PORT")
    assert [each["name"] for each in listed] == [each.name for each in list_origins()]


def test_keys_that_the_server_would_refuse_are_told(command: Command) -> None:
    """The table is shown all the same, and what is wrong with the keys is said in one line."""
    shown = command("config", GATEWAY_API_KEYS="ada:short")

    assert shown.code == 2
    assert "GATEWAY_PORT" in shown.out
    assert shown.err.startswith("gateway: GATEWAY_API_KEYS: the secret of ada is shorter than")
    assert shown.err.count("\n") == 1


def test_a_settings_file_that_is_named_must_be_there(command: Command, tmp_path: Path) -> None:
    """GATEWAY_CONFIG with a path at which there is no file is one clear line; empty counts as not set."""
    (tmp_path / "folder").mkdir()
    for name in ("nowhere.toml", "folder"):
        shown = command("config", GATEWAY_CONFIG=name)
        assert shown.code == 2
        assert shown.err == f"gateway: GATEWAY_CONFIG is {name}, and there is no such file.\n"
    assert command("config", GATEWAY_CONFIG="").code == 0


def test_a_wrong_settings_file_is_told_in_plain_words(command: Command, tmp_path: Path) -> None:
    """An unknown name in the file is called that."""
    (tmp_path / "gateway.toml").write_text("prot = 9001\n")

    assert command("config").err == "gateway: These settings are wrong:\n  prot: unknown setting\n"


def test_a_variable_that_is_no_json_is_named(command: Command) -> None:
    """The variable and the place, and not its value, which may be a secret."""
    shown = command("config", GATEWAY_MCP_SERVERS='{"天气": hidden}')

    assert shown.code == 2
    assert shown.err.startswith("gateway: The environment's GATEWAY_MCP_SERVERS is not valid JSON: ")
    assert "at character 8." in shown.err
    assert "hidden" not in shown.err


def test_a_wrong_part_of_a_server_is_told_with_its_place(command: Command) -> None:
    """Which server, and which of its keys."""
    shown = command("config", GATEWAY_MCP_SERVERS='{"docs": {"comand": "x", "url": "http://docs.example"}}')

    assert (
        shown.err
        == "gateway: These settings are wrong:\n  GATEWAY_MCP_SERVERS.docs.comand: unknown setting\n"
    )


def test_a_misspelt_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that looks like a setting and is none is listed; those of the command itself are not."""
    monkeypatch.setenv("GATEWAY_PROT", "9000")
    monkeypatch.setenv("GATEWAY_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("GATEWAY_PORT", "9000")

    assert "GATEWAY_PROT" in unknown_variables()
    assert {"GATEWAY_URL", "GATEWAY_PORT"} & set(unknown_variables()) == set()


@pytest.mark.parametrize("variable", WITHOUT_EFFECT)
def test_a_setting_of_an_earlier_version_is_taken_and_has_no_effect(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the environment and in the file, whatever its value; one sentence says what holds now."""
    name, before = variable.removeprefix("GATEWAY_").lower(), load_settings()
    assert name not in Settings.model_fields
    assert without_effect() == []
    said = [f"{variable} has no effect any more: {WITHOUT_EFFECT[variable]}."]

    monkeypatch.setenv(variable, "any")
    assert load_settings() == before
    assert (without_effect(), unknown_variables()) == (said, [])

    monkeypatch.delenv(variable)
    (tmp_path / "gateway.toml").write_text(f'{name} = "any"\nport = 9001\n')
    assert load_settings().port == 9001
    assert without_effect() == said


def test_config_tells_of_a_setting_without_effect(command: Command) -> None:
    """Below the table, as of variables that no setting has."""
    shown = command("config", GATEWAY_CARRIED_SUMMARIES="5")

    assert (shown.code, shown.err) == (0, "")
    assert (
        "GATEWAY_CARRIED_SUMMARIES has no effect any more: a new session is shown at most 3 summaries"
        in shown.out
    )
