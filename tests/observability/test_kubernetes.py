"""The manifest of examples/kubernetes, beside the image and the settings that it is for."""

import re
from typing import Any, cast

import yaml

from gateway import __version__
from gateway.app import ENDPOINTS
from gateway.cli.migrate import migrate
from gateway.settings import environment_name
from tests.observability.boards import ROOT
from tests.product import Settings

FILE = ROOT / "examples" / "kubernetes" / "gateway.yaml"
OBJECTS = {
    each["kind"]: each for each in cast("list[dict[str, Any]]", list(yaml.safe_load_all(FILE.read_text())))
}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
POD: dict[str, Any] = OBJECTS["Deployment"]["spec"]["template"]["spec"]
MIGRATES, SERVES = POD["initContainers"][0], POD["containers"][0]


def test_each_object_is_of_its_kind_and_finds_the_gateways() -> None:
    """The service and the disruption budget select what the deployment labels; nobody else's do."""
    versions = {kind: each["apiVersion"] for kind, each in OBJECTS.items()}
    assert versions == {
        "ConfigMap": "v1",
        "Deployment": "apps/v1",
        "Service": "v1",
        "PodDisruptionBudget": "policy/v1",
    }
    labels = OBJECTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert OBJECTS["Deployment"]["spec"]["selector"] == {"matchLabels": labels}
    assert OBJECTS["Service"]["spec"]["selector"] == labels
    assert OBJECTS["PodDisruptionBudget"]["spec"]["selector"] == {"matchLabels": labels}


def test_the_pod_runs_what_is_in_the_image() -> None:
    """As the image's user, on its port, in its folder, of this version, after it has migrated."""
    assert 'ENTRYPOINT ["gateway"]' in DOCKERFILE
    assert MIGRATES["args"] == [migrate.__name__]
    assert SERVES.keys().isdisjoint({"args", "command"})  # the image's: serve
    assert f"useradd --uid {POD['securityContext']['runAsUser']}" in DOCKERFILE
    assert f"EXPOSE {SERVES['ports'][0]['containerPort']}" in DOCKERFILE
    assert MIGRATES["image"] == SERVES["image"] == f"REGISTRY/chat-gateway:{__version__}"
    mounted = {each["mountPath"] for each in SERVES["volumeMounts"]}
    assert mounted == {"/data", "/tmp"}
    assert "GATEWAY_DATA_DIR=/data" in DOCKERFILE
    assert {each["name"] for each in SERVES["volumeMounts"]} == {each["name"] for each in POD["volumes"]}
    for container in (MIGRATES, SERVES):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_what_it_is_told_is_a_setting() -> None:
    """Those of the file, and those that the secret is to have."""
    known = {environment_name(name, field) for name, field in Settings.model_fields.items()}
    known |= {"ANTHROPIC_API_KEY", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}
    secret = set(re.findall(r"--from-literal=(\w+)=", FILE.read_text()))

    assert OBJECTS["ConfigMap"]["data"].keys() | secret <= known
    assert secret >= {"GATEWAY_API_KEYS", "GATEWAY_DATABASE_URL"}
    names = {next(iter(each.values()))["name"] for each in SERVES["envFrom"]}
    assert names == {OBJECTS["ConfigMap"]["metadata"]["name"]}
    assert "kubectl create secret generic chat-gateway " in FILE.read_text()


def test_its_probes_need_no_key_and_a_turn_has_time_to_be_handed_over() -> None:
    """The paths are open, and the pod is killed only after the time that running turns get."""
    open_paths = {each.path for each in ENDPOINTS if each.does.is_open}
    asked = {SERVES[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")}

    assert asked == {"/readyz", "/healthz"} <= open_paths
    assert {SERVES[probe]["httpGet"]["port"] for probe in ("readinessProbe", "livenessProbe")} == {"http"}
    assert OBJECTS["Service"]["spec"]["ports"][0]["targetPort"] == SERVES["ports"][0]["name"]
    assert POD["terminationGracePeriodSeconds"] > Settings.model_fields["shutdown_grace"].default
