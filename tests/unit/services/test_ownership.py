from mainspring.domain.ids import Lane
from mainspring.services.ownership import ticking


def test_each_lane_is_work_of_its_own() -> None:
    assert ticking(Lane("mail")) == "ticker/mail"
