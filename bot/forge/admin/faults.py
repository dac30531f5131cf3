"""Admin calls for faults, the delivery log, and a look at the whole state."""

from typing import Any

from litestar import delete, get, post

from bot.forge.admin.door import AdminInput
from bot.forge.delivery_faults import DeliveryFault
from bot.forge.errors import NotFound
from bot.forge.faults import Fault
from bot.forge.rest.call import Call
from bot.forge.shapes import Json
from bot.forge.shapes.hooks import delivery as delivery_shape


class ReleaseInput(AdminInput):
    """Which held deliveries to send, in order; all of them when not given."""

    ids: tuple[int, ...] | None = None


@post("/faults")
async def add_fault(admin: Call) -> Json:
    """Arm a fault for REST and git calls."""
    admin.forge.faults.add(await admin.body(Fault))
    return {}


@delete("/faults")
async def clear_faults(admin: Call) -> None:
    """Disarm them all."""
    admin.forge.faults.clear()


@post("/delivery-faults")
async def add_delivery_fault(admin: Call) -> Json:
    """Arm a fault for deliveries."""
    admin.forge.outbox.faults.add(await admin.body(DeliveryFault))
    return {}


@delete("/delivery-faults")
async def clear_delivery_faults(admin: Call) -> None:
    """Disarm them all."""
    admin.forge.outbox.faults.clear()


@get("/deliveries")
async def list_deliveries(admin: Call) -> list[Json]:
    """Every delivery in the log, oldest first, also those that are pending or held."""
    return [delivery_shape(row) for row in admin.forge.outbox.log.values()]


@post("/deliveries/release")
async def release_deliveries(admin: Call) -> Json:
    """Send held deliveries."""
    return {"released": admin.forge.outbox.release((await admin.body(ReleaseInput)).ids)}


@post("/deliveries/{delivery_id:int}/redeliver")
async def redeliver(admin: Call, delivery_id: int) -> Json:
    """Send any delivery again."""
    delivery = admin.forge.outbox.log.get(delivery_id)
    if delivery is None:
        raise NotFound
    admin.forge.redeliver(delivery)
    return {}


@get("/state")
async def dump_state(admin: Call) -> dict[str, Any]:
    """Every table; tokens are left out, and so are the Apps' keys."""
    keys = {"__all__": {"pem", "client_secret", "webhook_secret"}}
    return admin.state.model_dump(mode="json", exclude={"tokens": True, "apps": keys, "hooks": {"__all__": {"secret"}}})


ROUTES = [
    add_fault,
    clear_faults,
    add_delivery_fault,
    clear_delivery_faults,
    list_deliveries,
    release_deliveries,
    redeliver,
    dump_state,
]
