from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import UUID

import pytest

from mainspring.domain.ids import JobId, derived_run_id, fired_run_id, moment_of, new_job_id
from tests.unit.domain.factories import JOB, MIDNIGHT, RUN, at

ALL_BITS = (1 << 62) - 1


@pytest.mark.parametrize("bits", [0, ALL_BITS])
def test_every_id_is_a_uuid_of_version_7(bits: int) -> None:
    for identity in (
        new_job_id(MIDNIGHT, bits),
        fired_run_id(JOB, MIDNIGHT),
        derived_run_id(RUN, "key", MIDNIGHT),
    ):
        assert identity.version == 7
        assert identity.variant == "specified in RFC 4122"


def test_ids_sort_by_time_whatever_their_other_bits() -> None:
    assert new_job_id(at(0), ALL_BITS) < new_job_id(at(0.001), 0)


def test_jobs_of_one_millisecond_sort_by_their_microseconds() -> None:
    moments = [MIDNIGHT + timedelta(microseconds=count) for count in range(2001)]
    for earlier, later in pairwise(moments):
        assert new_job_id(earlier, ALL_BITS) < new_job_id(later, 0)


def test_an_id_carries_its_time_to_the_millisecond() -> None:
    assert moment_of(new_job_id(at(1.5), 7)) == at(1.5)
    assert moment_of(new_job_id(MIDNIGHT + timedelta(microseconds=1999), 7)) == at(0.001)


def test_times_outside_what_an_id_can_hold_are_held_at_its_ends() -> None:
    assert moment_of(new_job_id(datetime(1969, 1, 1, tzinfo=UTC), 0)) == datetime(1970, 1, 1, tzinfo=UTC)
    assert new_job_id(datetime.max.replace(tzinfo=UTC), 0).int >> 80 < 1 << 48


def test_all_random_bits_count() -> None:
    assert len({new_job_id(MIDNIGHT, 1 << bit) for bit in range(62)}) == 62


def test_one_moment_of_one_job_has_one_id() -> None:
    assert fired_run_id(JOB, at(1)) == fired_run_id(JOB, at(1))
    assert fired_run_id(JOB, at(1)) != fired_run_id(JOB, at(1) + timedelta(microseconds=1))
    assert fired_run_id(JOB, at(1)) != fired_run_id(JobId(UUID(int=9)), at(1))


def test_a_repeated_trigger_has_the_same_id_and_another_one_has_not() -> None:
    assert derived_run_id(JOB, "key", at(1)) == derived_run_id(JOB, "key", at(1))
    assert derived_run_id(JOB, "key", at(1)) != derived_run_id(JOB, "other", at(1))
    assert derived_run_id(JOB, "key", at(1)) != derived_run_id(RUN, "key", at(1))
    assert derived_run_id(JOB, at(1).isoformat(), at(1)) == fired_run_id(JOB, at(1))
