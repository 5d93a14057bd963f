from mainspring.domain.ids import Lane
from mainspring.services.ownership import firing, ticking


def test_each_lane_is_work_of_its_own() -> None:
    assert ticking(Lane("mail")) == "ticker/mail"


def test_each_shard_of_the_timetable_is_work_of_its_own() -> None:
    assert firing(3) == "timetable/3"
