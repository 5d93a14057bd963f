"""Talking to a Mainspring server from Python: `mainspring.Client` for coroutines, `mainspring.sync.Client` without.

Both are one source: `asynchronous/` is written by hand, `blocking/` is made from it by scripts/write_blocking.py.
"""

from mainspring.client.asynchronous.client import Client as Client
from mainspring.client.asynchronous.leases import Lease as Lease
from mainspring.client.errors import ApiError as ApiError
from mainspring.client.errors import ClientError as ClientError
from mainspring.client.errors import JobCancelled as JobCancelled
from mainspring.client.errors import JobFailed as JobFailed
from mainspring.client.models import Event as Event
from mainspring.client.models import Execution as Execution
from mainspring.client.models import Job as Job
from mainspring.client.models import Retry as Retry
from mainspring.client.requests import NewJob as NewJob
from mainspring.client.requests import new_job as new_job
