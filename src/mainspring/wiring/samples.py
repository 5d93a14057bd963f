"""A handful of jobs to look at, one of each kind. Their keys make adding them again harmless."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mainspring.api.caller import labelled
from mainspring.api.lanes import Lanes
from mainspring.api.quota import Quota
from mainspring.api.submission import Submission, Submissions, Submitted
from mainspring.wiring.builtin import builtin_handlers
from mainspring.wiring.resources import Resources

SAMPLES: Sequence[Mapping[str, Any]] = (
    {"name": "hello", "handler": "test.echo", "payload": {"message": "Hello from Mainspring"}},
    {"name": "urgent", "handler": "test.log", "payload": {"message": "First in the queue"}, "priority": 100},
    {"name": "two seconds of work", "handler": "test.delay", "payload": {"durationMs": 2000}},
    {"name": "in half a minute", "handler": "test.echo", "payload": {"message": "Later"}, "schedule": "in 30s"},
    {
        "name": "fails and is retried",
        "handler": "test.delay",
        "payload": {"durationMs": 200, "shouldFail": True, "failMessage": "This one always fails"},
        "max_retries": 2,
    },
    {"name": "heartbeat", "handler": "test.log", "payload": {"message": "Still here"}, "schedule": "@every 10s"},
    {
        "name": "weekday mornings",
        "handler": "test.echo",
        "payload": {"message": "Good morning"},
        "schedule": "0 6 * * 1-5",
        "timezone": "Europe/Berlin",
    },
)


async def add_samples(resources: Resources) -> Mapping[str, Submitted]:
    """Submit the samples as anybody would, and return what became of each by its name."""
    submissions = Submissions(
        work=resources.work,
        views=resources.store.views,
        blobs=resources.store.blobs,
        clock=resources.clock,
        random=resources.random,
        quota=Quota(0, resources.store.views, resources.clock),
        lanes=Lanes(resources.store.views, resources.clock, builtin=await builtin_handlers(resources)),
    )
    answers = {}
    for sample in SAMPLES:
        body = json.dumps({**sample, "key": f"sample: {sample['name']}"})
        answers[str(sample["name"])] = await submissions.submit(
            Submission.read(body.encode()), labelled(None).check_handler
        )
    return answers
