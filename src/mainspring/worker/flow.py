"""What a handler raises to say something else than "it worked" or "it failed, try again by the policy"."""

from datetime import timedelta


class Flow(Exception):
    """The root of what handlers raise on purpose; anything else that they raise is an ordinary failure."""


class Snooze(Flow):
    """Call me again after *delay*; nothing is charged, neither an attempt nor a failure."""

    def __init__(self, delay: timedelta) -> None:
        super().__init__(f"again in {delay.total_seconds():g} s")
        self.delay = delay


class Fail(Flow):
    """An ordinary failure in one's own words: the text is the run's error, without a type and a trace around it."""


class Abandon(Flow):
    """A failure that will stay one: the run goes straight to the dead letters."""


class RetryAfter(Flow):
    """A failure that may pass: try again after *delay* instead of after the policy's wait; the budget is charged."""

    def __init__(self, delay: timedelta, message: str = "") -> None:
        super().__init__(message or f"try again in {delay.total_seconds():g} s")
        self.delay = delay
