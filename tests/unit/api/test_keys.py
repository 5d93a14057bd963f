import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.api.keys import PREFIX, SECRET_BITS, digest_of, is_ours, make_key

BITS = st.integers(min_value=0, max_value=(1 << SECRET_BITS) - 1)


@given(BITS)
def test_every_secret_makes_a_key_of_one_shape(bits: int) -> None:
    key = make_key(bits)
    assert key.startswith(PREFIX)
    assert len(key) == len(PREFIX) + 43 + 6
    assert key.removeprefix(PREFIX).isalnum()
    assert is_ours(key)


@given(BITS, BITS)
def test_different_secrets_make_different_keys(one: int, other: int) -> None:
    assert (make_key(one) == make_key(other)) is (one == other)
    assert (digest_of(make_key(one)) == digest_of(make_key(other))) is (one == other)


@given(BITS, st.data())
def test_a_key_with_one_wrong_character_is_known_without_asking_anybody(bits: int, data: st.DataObject) -> None:
    key = make_key(bits)
    place = data.draw(st.integers(min_value=0, max_value=len(key) - 1))
    wrong = data.draw(st.sampled_from([letter for letter in "0aZ_é" if letter != key[place]]))
    assert not is_ours(key[:place] + wrong + key[place + 1 :])


@pytest.mark.parametrize("text", ["", "ms_live_", "a password of somebody", make_key(5)[:-1], make_key(5) + "0"])
def test_what_we_did_not_make_is_not_ours(text: str) -> None:
    assert not is_ours(text)


@pytest.mark.parametrize("bits", [-1, 1 << SECRET_BITS])
def test_only_so_many_bits_fit(bits: int) -> None:
    with pytest.raises(ValueError, match="256 bits"):
        make_key(bits)
