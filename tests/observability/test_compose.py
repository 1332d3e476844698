"""The compose files and the configuration of what they start."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from gateway.cli.migrate import migrate
from gateway.settings import environment_name
from tests.observability.boards import BOARDS, GRAFANA, ROOT
from tests.postgres import on_postgres, program, server
from tests.product import Settings
from tests.telemetry.prometheus import needs_prometheus, promtool

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SCALED: dict[str, Any] = yaml.safe_load((ROOT / "compose.scaled.yaml").read_text())
GATEWAYS = {name: service for name, service in SCALED["services"].items() if name.startswith("gateway")}
OBSERVERS = {name: service for name, service in COMPOSE["services"].items() if name != "gateway"}


def read(path: str) -> dict[str, Any]:
    return yaml.safe_load((GRAFANA / path).read_text())


def test_without_the_profile_only_the_gateway_starts() -> None:
    """The others wait for `--profile observability`, and nothing of the gateway depends on them."""
    assert set(OBSERVERS) == {"collector", "prometheus", "tempo", "loki", "grafana"}
    assert all(service["profiles"] == ["observability"] for service in OBSERVERS.values())
    assert "depends_on" not in COMPOSE["services"]["gateway"]


def test_every_image_is_pinned_and_only_loopback_is_published() -> None:
    """A tag with a version each, and nothing that others in the network can reach."""
    for service in (*OBSERVERS.values(), *SCALED["services"].values()):
        version = r"[\w./-]+:(v?\d+\.\d+(\.\d+)?|RELEASE\.\d{4}-\d\d-\d\dT[\d-]+Z)"
        assert "build" in service or re.fullmatch(version, service["image"]), service
    for service in (*COMPOSE["services"].values(), *SCALED["services"].values()):
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_a_gateway_in_a_container_is_bounded_and_its_image_is_named_by_digest() -> None:
    """What a turn makes it take is taken from nobody beside it, and a tag cannot bring in another image."""
    for service in (COMPOSE["services"]["gateway"], *GATEWAYS.values()):
        assert service["mem_limit"]
        assert service["pids_limit"] == 512
        assert all("size=" in place for place in service["tmpfs"])
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    begins = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert set(begins) == {"${PYTHON}"}
    named = [line for line in lines if line.startswith("ARG PYTHON=")]
    assert len(named) == 1
    assert re.fullmatch(r"ARG PYTHON=python:3\.\d+-slim@sha256:[0-9a-f]{64}", named[0])


def test_every_file_that_is_mounted_is_there_and_every_volume_is_declared() -> None:
    """A missing file would become an empty folder in the container."""
    for compose in (COMPOSE, SCALED):
        for service in compose["services"].values():
            for mount in service.get("volumes", ()):
                source = mount.partition(":")[0]
                if source.startswith("./"):
                    assert (ROOT / source).exists(), source
                elif not source.startswith("/"):
                    assert source in compose["volumes"], source
            assert set(service.get("secrets", ())) <= compose.get("secrets", {}).keys()
            assert {each["source"] for each in service.get("configs", ())} <= compose.get(
                "configs", {}
            ).keys()
            assert set(service.get("depends_on", ())) <= compose["services"].keys()


def test_what_scaled_gateways_are_told_is_a_setting_and_leads_to_a_service() -> None:
    """Each of three is told the same: where the database and the S3 store are that the file starts, and to
    wait until the one has its tables and the other its bucket."""
    known = {environment_name(name, field) for name, field in Settings.model_fields.items()}
    known |= {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"}

    assert len(GATEWAYS) == 3
    for service in (*GATEWAYS.values(), SCALED["services"]["migrate"]):
        told = service["environment"]
        assert told.keys() <= known
        database = "postgresql://gateway:${POSTGRES_PASSWORD:?}@postgres:5432/gateway"
        assert (told["GATEWAY_DATABASE_URL"], told["AWS_ENDPOINT_URL"]) == (database, "http://s3:9000")
    for service in GATEWAYS.values():
        awaited = {name: each["condition"] for name, each in service["depends_on"].items()}
        assert awaited == dict.fromkeys(("migrate", "bucket"), "service_completed_successfully")
        assert int(service["stop_grace_period"][:-1]) > Settings.model_fields["shutdown_grace"].default
    assert {"/data:uid=10001,mode=0700,size=1g", "/tmp:size=256m"} == set(GATEWAYS["gateway-1"]["tmpfs"])
    assert "useradd --uid 10001" in (ROOT / "Dockerfile").read_text()


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_takes_the_configuration_of_the_proxy(tmp_path: Path) -> None:
    """It names every gateway, does not buffer, and waits longer than a stream is silent."""
    content = SCALED["configs"]["nginx"]["content"].replace("$$", "$")
    assert set(re.findall(r"server (gateway-\d):8000", content)) == GATEWAYS.keys()
    assert "proxy_buffering off;" in content

    for name in GATEWAYS:
        content = content.replace(f"{name}:8000", "127.0.0.1:8000")
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid;\nerror_log {tmp_path}/log;\n{content}")
    command = ["nginx", "-t", "-q", "-p", tmp_path, "-c", tmp_path / "nginx.conf"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (found.returncode, found.stderr) == (0, "")


def test_the_proxy_passes_on_as_the_one_without_docker() -> None:
    """That one runs in a test: the same directives for each request, and for each gateway."""
    content = SCALED["configs"]["nginx"]["content"].replace("$$", "$")
    page = (ROOT / "docs" / "scaling.md").read_text()
    for block in (r"location / \{.*?\}", r"least_conn;.*?\}"):
        (ours,), (told,) = (re.findall(block, text, re.DOTALL) for text in (content, page))
        assert re.sub(r"gateway-\d:8000", "GATEWAY", ours).split() == [
            re.sub(r"127.0.0.1:800\d", "GATEWAY", word) for word in told.split()
        ]


@on_postgres
def test_what_is_run_in_the_containers_is_there() -> None:
    """The health check of the database answers yes for one that serves; `migrate` is a command."""
    called = SCALED["services"]["postgres"]["healthcheck"]["test"]
    address = urlsplit(server())
    where = [f"--host={address.hostname}", f"--port={address.port}"]
    checked = subprocess.run([program(called[1]), *called[2:], *where], check=False, capture_output=True)
    assert (called[0], checked.returncode) == ("CMD", 0)
    assert SCALED["services"]["migrate"]["command"] == [migrate.__name__]
    assert 'ENTRYPOINT ["gateway"]' in (ROOT / "Dockerfile").read_text()


def test_who_is_asked_is_who_listens() -> None:
    """Every address in the configurations names a service of the file and the port that it listens on."""
    listening = {
        ("gateway", "8000"),
        (
            "collector",
            read("collector/collector.yaml")["receivers"]["otlp"]["protocols"]["http"]["endpoint"][-4:],
        ),
        ("collector", str(_own_metrics()["port"])),
        ("tempo", str(read("tempo/tempo.yaml")["server"]["http_listen_port"])),
        (
            "tempo",
            read("tempo/tempo.yaml")["distributor"]["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"][
                -4:
            ],
        ),
        ("loki", str(read("loki/loki.yaml")["server"]["http_listen_port"])),
        ("prometheus", "9090"),
    }
    texts = [path.read_text() for path in GRAFANA.rglob("*.yaml")]
    texts += [(GRAFANA / "prometheus" / "prometheus.yml").read_text()]
    names = "|".join(COMPOSE["services"])
    asked = {pair for text in texts for pair in re.findall(rf"\b({names}):(\d{{4,5}})\b", text)}

    assert asked <= listening
    assert {name for name, _ in asked} == {"gateway", "collector", "tempo", "loki", "prometheus"}


def test_one_can_go_from_a_number_to_its_trace_to_its_lines_and_back() -> None:
    """Exemplar -> trace -> log lines and metrics; log line -> trace: all by data sources that are there."""
    found = {
        source["uid"]: source for source in read("provisioning/datasources/datasources.yaml")["datasources"]
    }

    assert set(found) == {"prometheus", "tempo", "loki"}
    exemplars = found["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert [(each["name"], each["datasourceUid"]) for each in exemplars] == [("trace_id", "tempo")]
    assert found["tempo"]["jsonData"]["tracesToLogsV2"]["datasourceUid"] == "loki"
    assert found["tempo"]["jsonData"]["tracesToMetrics"]["datasourceUid"] == "prometheus"
    assert found["loki"]["jsonData"]["derivedFields"][0]["datasourceUid"] == "tempo"


def test_the_home_page_of_grafana_is_one_of_the_dashboards() -> None:
    """Where the provider reads them, and where the home page is looked for, is where they are mounted."""
    grafana = OBSERVERS["grafana"]
    place = read("provisioning/dashboards/dashboards.yaml")["providers"][0]["options"]["path"]
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])

    assert f"./grafana/dashboards:{place}:ro" in grafana["volumes"]
    assert str(home.parent) == place
    assert home.name in BOARDS


@needs_prometheus
def test_promtool_takes_the_configuration(tmp_path: Path) -> None:
    """With the rules and the secret where the container has them."""
    shutil.copytree(GRAFANA / "rules", tmp_path / "rules")
    (tmp_path / "gateway_key").write_text("a-key")
    config = (GRAFANA / "prometheus" / "prometheus.yml").read_text()
    config = config.replace("/etc/prometheus/rules", str(tmp_path / "rules"))
    config = config.replace("/run/secrets", str(tmp_path))
    (tmp_path / "prometheus.yml").write_text(config)

    code, said = promtool("check", "config", tmp_path / "prometheus.yml")

    assert code == 0, said
    assert "50 rules found" in re.sub(
        r"(\d+) rules found[^$]*?(\d+) rules found", _sum, said, flags=re.DOTALL
    )


def _sum(found: re.Match[str]) -> str:
    return f"{int(found[1]) + int(found[2])} rules found"


def _own_metrics() -> dict[str, Any]:
    readers = read("collector/collector.yaml")["service"]["telemetry"]["metrics"]["readers"]
    return readers[0]["pull"]["exporter"]["prometheus"]
