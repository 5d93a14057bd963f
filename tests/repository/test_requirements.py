from scripts.documents import DOCUMENTS
from scripts.requirements import counts, faults, left, numbers_in, rows, shown_in


def test_every_number_has_one_place_and_something_that_shows_it() -> None:
    assert list(faults()) == []


def test_numbers_are_read_in_ranges() -> None:
    assert numbers_in("01, 04 to 06, 10") == [1, 4, 5, 6, 10]


def test_tests_are_found_by_the_numbers_in_their_first_sentence() -> None:
    by_name = {test.name: test.numbers for document in DOCUMENTS for test in shown_in(document)}
    assert by_name["test_a_long_payload_comes_back_whole_and_runs"] == {94}


def test_a_test_elsewhere_is_found_and_linked() -> None:
    evidence = {numbers: shown for numbers, _, shown in rows(DOCUMENTS[0])}
    assert "[`test_an_order_is_made_once_and_then_charged`](../../tests/orders/test_checkout.py)" in next(
        shown for numbers, shown in evidence.items() if numbers.startswith("25")
    )


def test_a_row_names_its_tests_its_files_or_what_it_waits_for() -> None:
    evidence = {numbers: shown for numbers, _, shown in rows(DOCUMENTS[0])}
    assert evidence["50"] == "`test_a_process_that_is_asked_to_stop_ends_its_work_first`"
    assert evidence["87"] == "[LICENSE](../../LICENSE)"
    assert evidence["24"] == "[tests/scenarios/serve/test_awaiting.py](../../tests/scenarios/serve/test_awaiting.py)"
    assert "later: the Kafka adapter" in {shown for document in DOCUMENTS for _, _, shown in rows(document)}


def test_every_number_is_shown_or_waits_or_has_nothing_to_show() -> None:
    for document in DOCUMENTS:
        count = counts()[document.name]
        assert count.shown + count.later + count.moot == document.last


def test_what_is_left_is_listed_by_what_it_waits_for() -> None:
    assert left()["the Kafka adapter"][0].startswith("S1-07")
