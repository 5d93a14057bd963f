"""What happens after the checkout: the order is charged, and then its buyer gets a mail."""

import logging
from datetime import timedelta

from examples.orders import tables
from examples.orders.database import Database, OrderTask
from mainspring import App

CATCH_UP = timedelta(minutes=1)

log = logging.getLogger("orders")


class Jobs:
    """The tasks of the service, on the store that belongs to its database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.app = App(database.url)
        self.charge: OrderTask = self.app.task("orders.charge", retries=10)(self._charge)
        self.mail: OrderTask = self.app.task("orders.mail", retries=10)(self._mail)
        if database.forgets_jobs:
            self.app.task("orders.catch-up", schedule=CATCH_UP)(self.catch_up)

    async def catch_up(self) -> int:
        """Add the job of every order that hasn't been charged: those that have theirs already don't get another."""
        async with self._database.transaction() as transaction:
            waiting = await tables.uncharged(transaction)
            for order_id in waiting:
                await transaction.add_job(self.charge, order_id)
        return len(waiting)

    async def _charge(self, order_id: str) -> None:
        # A shop would call its payment provider here, and hand it the order's id as the idempotency key.
        async with self._database.effect(self.app.context) as transaction:
            await tables.capture(transaction, order_id)
            await transaction.add_job(self.mail, order_id)

    async def _mail(self, order_id: str) -> str:
        async with self._database.transaction() as transaction:
            user_id = await tables.buyer(transaction, order_id)
        log.info("a mail to %s: order %s is paid", user_id, order_id)
        return f"{user_id}: order {order_id} is paid"
