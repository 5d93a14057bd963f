"""Previews of schedules."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.calling import Api

PREVIEW = "/api/v1/schedules/preview"


async def preview(api: Api, **fields: Any) -> list[datetime]:
    answer = await api.post(PREVIEW, 200, json=fields)
    return [datetime.fromisoformat(each) for each in answer["items"]]


async def test_a_cron_expression_fires_in_its_time_zone(api: Api) -> None:
    moments = await preview(api, schedule="0 6 * * *", timezone="Asia/Tokyo", count=3)
    assert [moment.hour for moment in moments] == [21, 21, 21]
    assert moments[1] - moments[0] == moments[2] - moments[1] == timedelta(days=1)
    assert moments[0] > datetime.now(UTC)


async def test_an_interval_begins_at_its_start(api: Api) -> None:
    start = datetime(2050, 1, 1, tzinfo=UTC)
    moments = await preview(api, schedule="@every 1h", starts_at="2050-01-01T00:00:00Z", count=2)
    assert moments == [start, start + timedelta(hours=1)]


async def test_what_fires_once_is_shown_once_and_on_demand_never(api: Api) -> None:
    assert await preview(api, schedule="2050-01-01T00:00:00Z") == [datetime(2050, 1, 1, tzinfo=UTC)]
    assert await preview(api, schedule="on-demand") == []
    [soon] = await preview(api, schedule="in 1h")
    assert timedelta(minutes=50) < soon - datetime.now(UTC) < timedelta(minutes=70)
    assert len(await preview(api, schedule="now")) == 1


async def test_daylight_saving_is_as_asked(api: Api) -> None:
    fields = {"schedule": "30 2 * * *", "timezone": "Europe/Berlin", "count": 100, "starts_at": "2050-03-01T00:00:00Z"}
    shifted = await preview(api, **fields)
    skipped = await preview(api, **fields, dst={"gap": "skip"})
    assert set(shifted) - set(skipped) == {datetime(2050, 3, 27, 1, 0, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "schedule"),
        ({"schedule": ""}, "schedule"),
        ({"schedule": "61 * * * *"}, "schedule"),
        ({"schedule": "0 6 31 2 *"}, "schedule"),
        ({"schedule": "@daily", "timezone": "Mars/Base"}, None),
        ({"schedule": "@daily", "count": 0}, "count"),
        ({"schedule": "@daily", "count": 101}, "count"),
        ({"schedule": "now", "starts_at": "2050-01-01T00:00:00Z"}, "starts_at"),
        ({"schedule": "@daily", "zone": "UTC"}, "zone"),
    ],
)
async def test_what_is_wrong_is_named(api: Api, body: dict[str, Any], field: str | None) -> None:
    problem = await api.post(PREVIEW, 422, json=body)
    fields = [problem.get("field"), *(fault["field"] for fault in problem.get("errors", []))]
    assert field is None or field in fields


async def test_a_schedule_says_where_it_is_wrong(api: Api) -> None:
    problem = await api.post(PREVIEW, 422, json={"schedule": "0 6 * * 8"})
    assert (problem["error"], problem["part"], problem["position"]) == ("invalid_schedule", "8", 8)
