"""`mainspring simulate`, as a person sees it."""

import pytest
from typer.testing import CliRunner

from mainspring.cli.main import app
from mainspring.errors import ConfigurationError
from mainspring.testing.simulation.command import parse_seeds


def test_seeds_are_a_number_or_a_range_with_both_ends() -> None:
    assert list(parse_seeds("7")) == [7]
    assert list(parse_seeds("3-5")) == [3, 4, 5]


@pytest.mark.parametrize("text", ["", "x", "5-3", "-4", "1-", "1-2-3"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigurationError, match="1-500"):
        parse_seeds(text)


def test_schedules_that_hold_end_well() -> None:
    result = CliRunner().invoke(app, ["simulate", "--seeds", "1-2", "--jobs", "1"])
    assert result.exit_code == 0
    assert "2 schedules" in result.stdout
    assert "0 failed" in result.stdout


def test_schedules_on_cassandra_are_others() -> None:
    result = CliRunner().invoke(app, ["simulate", "--store", "cassandra", "--seeds", "1", "--jobs", "1"])
    assert result.exit_code == 0
    assert "1 schedules" in result.stdout


def test_an_ablation_brings_its_store() -> None:
    arguments = ["simulate", "--seeds", "1", "--jobs", "1", "--ablation", "insert-at-current-time"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "mainspring simulate --trace 1 --ablation insert-at-current-time" in result.stdout


def test_a_failure_shows_the_property_the_events_before_it_and_how_to_repeat_it() -> None:
    result = CliRunner().invoke(app, ["simulate", "--seeds", "1", "--jobs", "1", "--ablation", "claim-without-fence"])
    assert result.exit_code == 1
    assert "P5, fences of runs and locks grow" in result.stdout
    assert "work.claim" in result.stdout
    assert "mainspring simulate --trace 1 --ablation claim-without-fence" in result.stdout


def test_a_trace_is_whole_and_ends_with_its_digest() -> None:
    result = CliRunner().invoke(app, ["simulate", "--trace", "1"])
    assert result.exit_code == 0
    assert "*** healed" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("trace ")


def test_an_unknown_ablation_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(app, ["simulate", "--ablation", "no-such"])
    assert isinstance(result.exception, ConfigurationError)
    assert "claim-early" in str(result.exception)
