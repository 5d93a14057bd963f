"""The `Work` port: adding, claiming, settling and steering runs."""

from mainspring.testing.contracts.adding import AddingContract
from mainspring.testing.contracts.claiming import ClaimingContract
from mainspring.testing.contracts.settling import SettlingContract
from mainspring.testing.contracts.steering import SteeringContract
from mainspring.testing.contracts.suspects import SuspectsContract


class WorkContract(AddingContract, ClaimingContract, SettlingContract, SteeringContract, SuspectsContract):
    """All that is asked of `Work`."""
