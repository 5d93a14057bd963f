"""The simulation can see: every safeguard that is taken away is missed within a bounded number of schedules."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from mainspring.adapters.cassandra import firing
from mainspring.adapters.sqlite.statements import load
from mainspring.testing.simulation.ablation import Ablation, statement
from mainspring.testing.simulation.ablations import BY_NAME, EVERY
from mainspring.testing.simulation.finding import MOST_SEEDS, Found, find
from mainspring.testing.simulation.judging.properties import PROPERTIES
from mainspring.testing.simulation.judging.verdict import Violation
from mainspring.testing.simulation.schedule import run
from mainspring.testing.simulation.table import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "ablations.md"
ROW = re.compile(r"^\| `(?P<name>[a-z-]+)` \| .* \| (?P<noticed>\w+) \| (?P<seeds>\d+) \|$", re.MULTILINE)
OFTEN = 3
"""How many schedules a defect may take to be seen, for the suite to look for it each time."""


def _seeds_on_the_page() -> dict[str, int]:
    return {row["name"]: int(row["seeds"]) for row in ROW.finditer(PAGE.read_text("utf-8"))}


def _searches() -> Iterator[ParameterSet]:
    """Defects that few schedules see are searched for at leisure: any change moves the schedule that sees them."""
    seeds = _seeds_on_the_page()
    for ablation in EVERY:
        rare = seeds.get(ablation.name, MOST_SEEDS) > OFTEN
        yield pytest.param(ablation, id=ablation.name, marks=[pytest.mark.chaos] if rare else [])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ablation", [*_searches()])
def test_an_ablation_is_found(ablation: Ablation) -> None:
    # The schedule that saw it when the page was written mostly sees it still.
    found = find(ablation, first=min(_seeds_on_the_page().get(ablation.name, 1), MOST_SEEDS))
    assert found.violation is not None, f"{MOST_SEEDS} schedules saw nothing wrong when {ablation.sentence}"


def test_an_ablation_leaves_no_trace() -> None:
    before, healthy = dict(load("work")), run(1).digest
    with BY_NAME["settle-without-fence"].patch():
        assert load("work") != before
    assert load("work") == before
    assert run(1).digest == healthy


def test_an_ablation_leaves_no_trace_although_processes_die_in_it() -> None:
    before = vars(firing)["enlist"]
    find(BY_NAME["list-after-deciding"], most=20)
    assert vars(firing)["enlist"] is before


def test_an_ablation_whose_statement_has_changed_says_so() -> None:
    with pytest.raises(ValueError, match="mend its ablation"), statement("work", ("leave", "no such words", ""))():
        pass


def test_the_page_of_ablations_is_the_table_that_the_search_makes() -> None:
    # The counts change with every change to the worker and the services; all other words are compared.
    text = PAGE.read_text("utf-8")
    rows = {row["name"]: row for row in ROW.finditer(text)}
    assert list(rows) == [ablation.name for ablation in EVERY], (
        "run `mainspring simulate --ablations --write docs/reference/ablations.md`"
    )
    found = [Found(each, int(rows[each.name]["seeds"]), _violation(rows[each.name]["noticed"])) for each in EVERY]
    assert page(found) == text
    assert all(each.seeds <= MOST_SEEDS for each in found)


def _violation(prop: str) -> Violation:
    assert prop in PROPERTIES
    return Violation(prop, "as the page says")
