"""The manifests: valid by Kubernetes's own schemas, and gentle with work that runs."""

from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]  # ships no types
import pytest

from mainspring.wiring.setting import settings_of
from mainspring.wiring.settings import Settings
from tests.deploy.files import DEPLOY, MANIFESTS, documents, image_environment

FOLDER = DEPLOY / "kubernetes"
OF_OTHERS = {"ScaledObject"}
"""Kinds that Kubernetes itself doesn't know."""
VARIABLES = {variable for setting in settings_of(Settings) for variable in setting.variables}


def resources(path: Path) -> list[dict[str, Any]]:
    return documents(path)


def found(kind: str) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for path in MANIFESTS for each in resources(path) if each["kind"] == kind}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_a_manifest_is_valid(path: Path) -> None:
    for resource in resources(path):
        if resource["kind"] not in OF_OTHERS:
            kubernetes_validate.validate(resource, "1.32", strict=True)


def test_one_command_applies_all_but_what_needs_a_decision() -> None:
    [kustomization] = documents(FOLDER / "kustomization.yaml")
    left = {path.name for path in MANIFESTS} - set(kustomization["resources"])
    assert left == {"autoscaling.yaml", "secret.example.yaml"}
    assert all((FOLDER / name).exists() for name in kustomization["resources"])


def test_variables_are_settings() -> None:
    assert found("ConfigMap")["mainspring"]["data"].keys() <= VARIABLES
    assert found("Secret")["mainspring"]["stringData"].keys() <= VARIABLES


def test_a_worker_is_given_more_time_than_its_drain_takes() -> None:
    drain = int(found("ConfigMap")["mainspring"]["data"]["MAINSPRING_DRAIN_SECONDS"])
    pod = found("Deployment")["mainspring-worker"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= drain + 30


@pytest.mark.parametrize("role", ["api", "scheduler", "worker"])
def test_each_role_listens_where_it_is_probed(role: str) -> None:
    [container] = found("Deployment")[f"mainspring-{role}"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [role]
    [port] = container["ports"]
    assert str(port["containerPort"]) == image_environment()["MAINSPRING_PORT"]
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": port["name"]}
    # While the store is away, or isn't there yet, pods must stay.
    for probe in ("startupProbe", "livenessProbe"):
        assert container[probe]["tcpSocket"] == {"port": port["name"]}


def test_no_pod_may_do_more_than_it_must() -> None:
    pods = [each["spec"]["template"]["spec"] for kind in ("Deployment", "Job") for each in found(kind).values()]
    assert len(pods) == 4
    for pod in pods:
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        # A service's address would come as variables like MAINSPRING_API_PORT.
        assert not pod["enableServiceLinks"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_workers_are_scaled_by_what_is_due_as_the_api_tells_it() -> None:
    scaled = found("ScaledObject")["mainspring-worker"]["spec"]
    assert scaled["scaleTargetRef"]["name"] in found("Deployment")
    # A number here would fight with the autoscaler's each time that the manifests are applied.
    assert "replicas" not in found("Deployment")["mainspring-worker"]["spec"]
    [trigger] = scaled["triggers"]
    service = found("Service")["mainspring-api"]
    [port] = service["spec"]["ports"]
    assert trigger["metadata"]["url"] == f"http://{service['metadata']['name']}.mainspring.svc:{port['port']}/metrics"
    # tests/api/test_metrics_for_alerts.py holds the API to this name.
    assert trigger["metadata"]["valueLocation"] == "mainspring_due_runs"
