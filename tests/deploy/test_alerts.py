"""Alerts, judged by Prometheus's own tool."""

import subprocess
from pathlib import Path

from tests.deploy.files import DEPLOY, documents

FOLDER = DEPLOY / "prometheus"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_configuration_is_valid(promtool: Path) -> None:
    run(promtool, "check", "config", "prometheus.yml")


def test_alerts_fire_when_they_should_and_only_then(promtool: Path) -> None:
    assert "SUCCESS" in run(promtool, "test", "rules", "alerts_test.yml")


def test_every_alert_is_tried_both_ways() -> None:
    [rules] = documents(FOLDER / "alerts.yml")
    [tests] = documents(FOLDER / "alerts_test.yml")
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    tried = [each for test in tests["tests"] for each in test["alert_rule_test"]]
    assert {each["alertname"] for each in tried if each["exp_alerts"]} == alerts
    assert {each["alertname"] for each in tried if not each["exp_alerts"]} == alerts


def test_the_documents_alerts_stand_as_they_are_written() -> None:
    [rules] = documents(FOLDER / "alerts.yml")
    found = {rule["alert"]: (rule["expr"], rule.get("for")) for group in rules["groups"] for rule in group["rules"]}
    latency = "histogram_quantile(0.99, sum(rate(lock_lwt_latency_seconds_bucket[5m])) by (le)) > 0.5"
    assert found["DeadLetterSpike"] == ("sum(rate(jobs_dlq_total[5m])) > 0.5", "10m")
    assert found["LockLatency"] == (latency, "10m")
    assert found["WorkersSaturated"][1] == "10m"
