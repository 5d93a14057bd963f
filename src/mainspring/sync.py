"""The client for programs without coroutines: `mainspring.sync.Client` has the calls of `mainspring.Client`."""

from mainspring.client.blocking.client import Client
from mainspring.client.blocking.leases import Lease

__all__ = ["Client", "Lease"]
