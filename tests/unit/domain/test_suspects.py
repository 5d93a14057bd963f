import pytest

from mainspring.domain.ids import Lane
from mainspring.domain.suspects import home_lane, is_for_suspects, waiting_lane

MAIL = Lane("mail")


@pytest.mark.parametrize("lane", [MAIL, waiting_lane(MAIL, suspect=True)])
def test_a_run_waits_beside_its_lane_while_it_is_a_suspect_wherever_it_waited_before(lane: Lane) -> None:
    apart = waiting_lane(lane, suspect=True)
    assert is_for_suspects(apart)
    assert home_lane(apart) == MAIL
    assert waiting_lane(lane, suspect=False) == home_lane(MAIL) == MAIL
    assert not is_for_suspects(MAIL)
