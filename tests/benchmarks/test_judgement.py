import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.figures import Figure, Record, Surroundings, append, load, percentile, summarise
from benchmarks.goals import GOALS
from benchmarks.hits import Hit
from benchmarks.measures.kill import Death, judge
from benchmarks.report import page
from benchmarks.runner import order


def hits(*numbers: int) -> list[Hit]:
    return [Hit(number, 0) for number in numbers]


def judged(numbers: list[int], deaths: list[Death], jobs: int) -> dict[str, float]:
    return {figure.name: figure.value for figure in judge(hits(*numbers), deaths, jobs=jobs)}


def record(name: str, value: float, *, contender: str = "huey", number: int = 0) -> Record:
    quiet = Surroundings(busy_percent=1, sync_milliseconds=0.25)
    figure = Figure(name=name, value=value, unit="jobs")
    return Record(round=number, contender=contender, figure=figure, surroundings=quiet)


def test_jobs_without_a_hit_are_lost() -> None:
    figures = judged([0, 1, 3], [Death(hits=2, recorded=None)], jobs=5)

    assert figures["kill.lost"] == 2
    assert figures["kill.repeated"] == 0


def test_repeats_are_charged_to_the_death_before_them() -> None:
    deaths = [Death(hits=2, recorded=None), Death(hits=5, recorded=None)]

    figures = judged([0, 1, 0, 1, 2, 2, 3], deaths, jobs=4)

    assert figures["kill.lost"] == 0
    assert figures["kill.repeated"] == 3
    assert figures["kill.repeated_most"] == 2


def test_only_repeats_after_the_journal_was_read_count_against_it() -> None:
    deaths = [Death(hits=3, recorded=frozenset({0, 1}))]

    figures = judged([0, 1, 2, 1, 2], deaths, jobs=3)

    assert figures["kill.repeated"] == 2
    assert figures["kill.journalled_repeated"] == 1


def test_a_run_without_deaths_is_judged_too() -> None:
    assert judged([0, 1], [], jobs=2)["kill.lost"] == 0


@pytest.mark.parametrize(("percent", "expected"), [(50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(percent: float, expected: float) -> None:
    assert percentile([float(value) for value in range(100, 0, -1)], percent) == expected


def test_every_second_round_reverses_the_order_of_the_one_before() -> None:
    contenders = ["a", "b", "c", "d"]

    assert order(contenders, 1) == order(contenders, 0)[::-1]
    assert order(contenders, 3) == order(contenders, 2)[::-1]


def test_records_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"machine": {}}\n')
    written = [record("throughput", 1.5), record("throughput", 2.5, number=1)]
    for one in written:
        append(path, one)

    assert load(path) == written
    assert asdict(written[0]) == json.loads(path.read_text().splitlines()[1])


def test_one_early_timer_in_any_round_misses_the_goal() -> None:
    rounds = [record("timer_lag.early", value, number=number) for number, value in enumerate([0, 0, 1])]

    assert not GOALS["timer_lag.early"].reached_by(summarise(rounds)["timer_lag.early", "huey"])


def test_a_rate_is_judged_by_its_median() -> None:
    rounds = [record("throughput", value, number=number) for number, value in enumerate([9_000, 10_000, 12_000])]

    assert GOALS["throughput"].reached_by(summarise(rounds)["throughput", "huey"])


def test_the_page_says_what_stands_behind_the_figures(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"machine": {"cores": "2"}}\n')
    append(path, record("throughput", 2_400))

    text = page(path)

    assert "- cores: 2" in text
    assert "1 % busy (at most 1 %)" in text
    assert "| throughput | ≥ 10,000 | 2,400 jobs |" in text
    assert "- Loses: the job in hand" in text
