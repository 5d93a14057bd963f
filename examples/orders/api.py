"""The HTTP side: POST /checkout, and what became of an order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse

from examples.orders import tables
from examples.orders.checkout import Refused, check_out
from examples.orders.database import Database
from examples.orders.jobs import Jobs
from examples.orders.messages import Checkout, Order, Refusal

PATIENCE = 5.0
"""Seconds after which a database that says nothing counts as one that can't be reached."""


def api(database: Database) -> FastAPI:
    """The service, with a worker for its jobs beside it."""
    jobs = Jobs(database)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with database.opened(), jobs.app.worker():
            if database.forgets_jobs:
                await jobs.catch_up()
            yield
        jobs.app.close()

    service = FastAPI(title="Orders", lifespan=lifespan)

    @service.post("/checkout", status_code=201, responses={200: {"model": Order}, 409: {"model": Refusal}})
    async def checkout(wanted: Checkout, response: Response) -> Order:
        order, is_new = await check_out(database, jobs.charge, wanted)
        response.status_code = 201 if is_new else 200
        return order

    @service.get("/orders/{order_id}")
    async def order(order_id: UUID) -> Order:
        async with database.transaction() as transaction:
            found = await tables.find(transaction, str(order_id))
        if found is None:
            raise HTTPException(404, "no such order")
        return found

    @service.get("/healthz", response_class=PlainTextResponse, responses={503: {"description": "It can't"}})
    async def health() -> Response:
        try:
            async with asyncio.timeout(PATIENCE), database.transaction() as transaction:
                await transaction.fetch("SELECT 1")
        except database.away as error:
            return PlainTextResponse(f"the database doesn't answer: {str(error) or type(error).__name__}", 503)
        return PlainTextResponse("OK")

    @service.exception_handler(Refused)
    async def refused(_: Request, refusal: Refused) -> JSONResponse:
        return JSONResponse({"error": refusal.error, "detail": refusal.detail}, status_code=409)

    @service.exception_handler(RequestValidationError)
    async def invalid(_: Request, invalid: RequestValidationError) -> JSONResponse:
        # Without the input: it may hold characters that no answer can.
        faults = [{"loc": list(each["loc"]), "msg": each["msg"]} for each in invalid.errors()]
        return JSONResponse({"error": "invalid", "detail": faults}, status_code=422)

    return service
