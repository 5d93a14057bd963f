import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.figures import Figure, Record, Surroundings, append, load, percentile, summarise
from benchmarks.goals import EMBEDDED, at_least, below
from benchmarks.hits import Hit
from benchmarks.measures import takeover
from benchmarks.measures.kill import Death, back, judge
from benchmarks.report import RAW, UNPUBLISHED, text, write
from benchmarks.runner import order, run
from benchmarks.stage import QUICK

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def hits(*numbers: int) -> list[Hit]:
    return [Hit(number, 0) for number in numbers]


def judged(numbers: list[int], deaths: list[Death], jobs: int, left: int = 0) -> dict[str, float]:
    return {figure.name: figure.value for figure in judge(hits(*numbers), deaths, jobs=jobs, left=left)}


def record(name: str, value: float, *, contender: str = "huey", number: int = 0, note: str = "") -> Record:
    quiet = Surroundings(busy_percent=1, sync_milliseconds=0.25)
    figure = Figure(name=name, value=value, unit="jobs/s", note=note)
    return Record(round=number, contender=contender, figure=figure, surroundings=quiet)


def test_jobs_without_a_hit_are_lost() -> None:
    figures = judged([0, 1, 3], [Death(hits=2, recorded=None)], jobs=5)

    assert figures["kill.lost"] == 2
    assert figures["kill.repeated"] == 0


def test_jobs_without_a_hit_that_are_still_stored_are_stranded_not_lost() -> None:
    figures = judged([0, 1, 3], [Death(hits=2, recorded=None)], jobs=5, left=1)

    assert figures["kill.stranded"] == 1
    assert figures["kill.lost"] == 1


def test_the_longest_way_back_to_work_counts() -> None:
    deaths = [Death(hits=1, recorded=None), Death(hits=2, recorded=None)]
    log = [Hit(0, 0), Hit(1, 4_000_000_000), Hit(2, 9_000_000_000)]

    (figure,) = back(log, deaths, starts=[3_000_000_000, 7_000_000_000])

    assert figure.value == 2


def test_a_takeover_lasts_until_the_first_hit_of_the_last_job() -> None:
    log = [Hit(0, 1_000_000_000), Hit(1, 5_000_000_000), Hit(1, 9_000_000_000)]

    figures = {figure.name: figure.value for figure in takeover.judge(log, killed_ns=2_000_000_000, jobs=2)}

    assert figures == {"takeover": 3, "takeover.missing": 0, "takeover.repeated": 1}


def test_a_takeover_that_misses_jobs_has_no_duration() -> None:
    figures = {figure.name: figure.value for figure in takeover.judge([Hit(0, 1)], killed_ns=0, jobs=2)}

    assert figures == {"takeover.missing": 1, "takeover.repeated": 0}


def test_repeats_are_charged_to_the_death_after_the_hit_that_they_repeat() -> None:
    deaths = [Death(hits=2, recorded=None), Death(hits=3, recorded=None), Death(hits=4, recorded=None)]

    figures = judged([0, 1, 2, 3, 1, 3, 2, 0], deaths, jobs=4)

    assert figures["kill.lost"] == 0
    assert figures["kill.repeated"] == 4
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
    rounds = summarise([record("timer_lag.early", value, number=number) for number, value in enumerate([0, 0, 1])])
    (goal,) = EMBEDDED["timer_lag.early"]

    assert goal.verdict("timer_lag.early", rounds["timer_lag.early", "huey"], rounds) is False


def test_a_rate_is_judged_by_its_median() -> None:
    rounds = [record("throughput", value, number=number) for number, value in enumerate([9_000, 10_000, 12_000])]
    summaries = summarise(rounds)
    (goal,) = EMBEDDED["throughput"]

    assert goal.verdict("throughput", summaries["throughput", "huey"], summaries) is True


def test_a_goal_about_a_peer_is_a_ratio_to_its_median_or_its_best_round() -> None:
    peer = [record("throughput", value, number=number) for number, value in enumerate([100, 110, 150])]
    summaries = summarise([*peer, record("throughput", 250, contender="mainspring")])
    own = summaries["throughput", "mainspring"]

    assert at_least(2, "huey").verdict("throughput", own, summaries) is True
    assert at_least(2, "huey", best_round=True).verdict("throughput", own, summaries) is False
    assert below(1, "huey").verdict("throughput", own, summaries) is False


def test_a_goal_about_an_absent_peer_is_neither_reached_nor_missed() -> None:
    summaries = summarise([record("throughput", 250, contender="mainspring")])

    assert at_least(2, "huey").verdict("throughput", summaries["throughput", "mainspring"], summaries) is None


def test_the_page_says_what_stands_behind_the_figures(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"machine": {"cores": "2"}}\n')
    append(path, record("throughput", 2_400))
    append(path, record("throughput", 12_000, contender="mainspring"))

    written = text(path)

    assert "- cores: 2" in written
    assert "1 % busy (at most 1 %)" in written
    assert "| throughput (jobs/s) | ≥ 10,000 reached | 12,000 | 2,400 · 5\N{MULTIPLICATION SIGN} |" in written
    assert "- `throughput`: No-op jobs per second" in written
    assert "- Loses: the job in hand" in written


def test_rates_of_additions_are_neither_on_the_page_nor_in_its_pictures_nor_in_its_raw_lines(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"machine": {}}\n')
    for name in ("throughput", "bulk_add", "bulk_add.stored", "single_add.concurrent", "backlog.load"):
        append(path, record(name, 1_234, contender="mainspring"))

    written = write(path, tmp_path / "page" / "benchmarks.md")

    assert "| throughput (jobs/s) |" in written[0].read_text()
    assert [line.figure.name for line in load(tmp_path / "page" / RAW)] == ["throughput"]
    for file in written:
        assert not [name for name in UNPUBLISHED if name in file.read_text()]
        assert "Jobs added per second" not in file.read_text()


@pytest.mark.parametrize("raw", sorted(REFERENCE.rglob("*.jsonl")), ids=lambda raw: raw.parent.name)
def test_a_published_page_follows_from_its_raw_lines(raw: Path, tmp_path: Path) -> None:
    for written in write(raw, tmp_path / "benchmarks.md"):
        assert written.read_text() == (raw.parent / written.name).read_text(), written.name


def test_a_figure_of_a_smaller_size_says_so_and_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"machine": {}}\n')
    append(path, record("backlog.throughput", 100, note="5,000 waiting"))
    append(path, record("backlog.throughput", 200, contender="mainspring"))

    assert "| 200 | 100 (5,000 waiting) |" in text(path)


def test_a_run_can_be_added_to_an_earlier_one(tmp_path: Path) -> None:
    def nothing(earlier: Path | None) -> Path:
        return run(
            contenders=(), measures=(), rounds=1, sizes=QUICK, output=tmp_path, say=lambda _: None, earlier=earlier
        )

    first = nothing(None)
    lines = first.read_text()
    assert "machine" in lines
    assert nothing(first) == first
    assert first.read_text() == lines
