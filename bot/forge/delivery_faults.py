"""What can happen to a delivery on its way, when a test asks for it: lost, vanished, repeated, delayed, held."""

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class DeliveryFate(StrEnum):
    """What becomes of a delivery."""

    SEND = "send"
    LOSE = "lose"
    """The receiver is never reached; GitHub's log shows a failed delivery that can be sent again."""
    VANISH = "vanish"
    """GitHub never even tried, and its log shows nothing."""
    REPEAT = "repeat"
    """It arrives twice."""
    DELAY = "delay"
    HOLD = "hold"
    """It waits until it is released, in whatever order the test chooses."""


class DeliveryFault(BaseModel):
    """The fate of the next `times` deliveries whose `event.action` matches; `seconds` is for `delay`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fate: DeliveryFate
    match: str = ""
    """A regular expression searched in `event` or `event.action`; empty matches all."""
    times: int = Field(default=1, ge=1)
    seconds: float = Field(default=0.0, ge=0, le=60)


class DeliveryFaults:
    """The faults that wait for a delivery to match, first come first served."""

    def __init__(self) -> None:
        self._waiting: list[DeliveryFault] = []

    def add(self, fault: DeliveryFault) -> None:
        """Arm a fault."""
        self._waiting.append(fault)

    def clear(self) -> None:
        """Disarm all."""
        self._waiting.clear()

    def fate(self, event: str, action: str | None) -> tuple[DeliveryFate, float]:
        """What becomes of this delivery, and the seconds of a delay. Uses up one of the fault's `times`."""
        name = f"{event}.{action}" if action else event
        for index, fault in enumerate(self._waiting):
            if re.search(fault.match, name):
                left = fault.times - 1
                self._waiting[index : index + 1] = [fault.model_copy(update={"times": left})] if left else []
                return fault.fate, fault.seconds
        return DeliveryFate.SEND, 0.0
