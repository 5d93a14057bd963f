from xml.etree import ElementTree as ET

from benchmarks.figures import Results, Summary
from benchmarks.groups import GROUPS
from benchmarks.picture import draw

SVG = "{http://www.w3.org/2000/svg}"


def summary(value: float, note: str = "") -> Summary:
    return Summary(unit="jobs/s", median=value, lowest=value, highest=value, note=note)


def drawn(results: Results) -> ET.Element:
    return ET.fromstring(draw(GROUPS["embedded"], results))  # noqa: S314 - our own


def test_bars_are_as_long_as_their_medians_compare() -> None:
    picture = drawn({("throughput", "mainspring"): summary(300), ("throughput", "huey"): summary(100)})

    own, peer = picture.iter(f"{SVG}rect")
    assert (own.get("class"), peer.get("class")) == ("own", "peer")
    assert float(own.get("width", "")) == 3 * float(peer.get("width", ""))


def test_only_what_was_measured_is_drawn() -> None:
    picture = drawn({("bulk_add", "huey"): summary(100, note="5,000 waiting")})

    texts = [text.text for text in picture.iter(f"{SVG}text")]
    assert texts == ["Jobs added per second, in bulk", "Huey (SqliteHuey)", "100 (5,000 waiting)"]


def test_no_panel_is_without_the_one_that_it_is_about() -> None:
    picture = drawn({("throughput", "mainspring"): summary(3), ("bulk_add", "huey"): summary(1)})

    assert [text.text for text in picture.iter(f"{SVG}text")][1:] == ["Mainspring (SQLite)", "3"]


def test_a_picture_suits_dark_pages_and_has_a_title() -> None:
    picture = drawn({("throughput", "huey"): summary(1)})

    style, title = picture.find(f"{SVG}style"), picture.find(f"{SVG}title")
    assert style is not None
    assert "prefers-color-scheme: dark" in (style.text or "")
    assert title is not None
    assert picture.get("aria-labelledby") == title.get("id")
