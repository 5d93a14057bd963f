import json
from datetime import timedelta

import pytest

from mainspring.domain.job import CatchUp, Misfire, Overlap, Terms
from mainspring.domain.schedule import DaylightSaving, Every, Fold, Gap, OnDemand
from tests.unit.domain.factories import MIDNIGHT, at, job, terms

EVERYTHING = Terms(
    description="täglich um sechs",
    schedule="0 6 * * *",
    timezone="Europe/Berlin",
    starts_at=at(0.000001),
    misfire=Misfire(grace=timedelta(milliseconds=1500), policy=CatchUp.ALL),
    overlap=Overlap.REPLACE,
    dst=DaylightSaving(gap=Gap.SKIP, fold=Fold.BOTH),
    allow_unknown_handler=True,
)


@pytest.mark.parametrize("the_terms", [Terms(), EVERYTHING, Terms(overlap=Overlap.WAIT), Terms(schedule="@every 5m")])
def test_terms_survive_being_stored(the_terms: Terms) -> None:
    assert Terms.from_json(the_terms.to_json()) == the_terms


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    assert Terms().to_json() == b"{}"
    assert json.loads(Terms(schedule="@every 5m").to_json()) == {"schedule": "@every 5m"}


def test_terms_know_their_schedule_as_a_value() -> None:
    assert Terms().parsed() == OnDemand()
    assert Terms(schedule="@every 5m").parsed() == Every(timedelta(minutes=5))


def test_an_interval_counts_from_the_start_or_else_from_the_creation() -> None:
    assert job().anchor == MIDNIGHT
    assert job(terms(starts_at=at(7))).anchor == at(7)
