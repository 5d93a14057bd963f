"""The `Work` port: adding, claiming, settling and steering runs."""

from mainspring.testing.contracts.adding import AddingContract
from mainspring.testing.contracts.claiming import ClaimingContract
from mainspring.testing.contracts.settling import SettlingContract
from mainspring.testing.contracts.steering import SteeringContract


class WorkContract(AddingContract, ClaimingContract, SettlingContract, SteeringContract):
    """All that is asked of `Work`."""
