"""Schedules in words, where a wrong word would be worse than none."""

from playwright.async_api import expect

from tests.browser.window import Dashboard

WORDS = {
    "": "once, at once",
    "now": "once, at once",
    "on-demand": "only when it is triggered",
    "in 1h30m": "once, after 1 hour and 30 minutes",
    "in 1.5s": "once, after 1.5 seconds",
    "in 1s500ms": "once, after 1 second and 500 milliseconds",
    "@every 1.5s": None,
    "@every 500ms": None,
    "2030-01-31T09:00:00Z": "once, at that instant",
    "@every 90s": "again and again, every 90 seconds",
    "@weekly": "every Sunday at midnight",
    "30 9 * * MON-FRI": "at 09:30, Monday to Friday",
    "*/10 * * * * *": "every 10 seconds",
    "* * * * *": "every minute",
    "15 * * * *": "at minute 15 of every hour",
    "0 * * * *": "at the start of every hour",
    "0 */2 * * *": "on the hour, every 2 hours",
    "*/15 9-17 * * MON": "every 15 minutes, from 09:00 to 17:59, on Monday",
    "0 0 1,15 6 *": "at 00:00, on day 1 and 15 of the month in June",
    "0 0 L * *": "at 00:00, on the last day of the month",
    "0 6 13 * FRI": "at 06:00, on day 13 of the month or on Friday",
    "0 9 * * MON#1": "at 09:00, on the first Monday of the month",
    "30 0 6 * * *": "at 06:00:30, every day",
    "0 12 * * 0,6": "at 12:00, at weekends",
    "0 12 * * 7": "at 12:00, on Sunday",
    "0 0 * * */2": None,
    "0 0 1W * *": None,
    "in ages": None,
    "nonsense": None,
}


async def test_schedules_are_put_into_words_or_left_alone(dashboard: Dashboard) -> None:
    page = await dashboard.open("/settings")
    await expect(page.get_by_role("heading", name="Settings")).to_be_visible()
    said = await page.evaluate(
        """async (schedules) => {
            const { inWords } = await import(new URL("schedule-words.js", document.baseURI));
            return Object.fromEntries(schedules.map((each) => [each, inWords(each)]));
        }""",
        list(WORDS),
    )
    assert said == WORDS
