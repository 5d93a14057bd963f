"""What `doctor` can see of the servers beside the store, where the settings name any."""

from collections.abc import Sequence

from mainspring.cli.findings import Finding, fail, remarked
from mainspring.errors import ConfigurationError
from mainspring.wiring.brokers import examine_broker
from mainspring.wiring.coordination import examine_all
from mainspring.wiring.settings import Settings


async def checked(settings: Settings) -> Sequence[Finding]:
    """All of them."""
    try:
        return [remarked(remark) for remark in (*await examine_all(settings), *await examine_broker(settings))]
    except ConfigurationError as error:
        return [fail("coordination", str(error), "until then no process with these settings will start")]
