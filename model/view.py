"""The read-only view of a state through which quiescent properties see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from roamcheck.spec.messages import BrokerId
from roamcheck.spec.state import Broker

from .overlay import Overlay


@dataclass(frozen=True, slots=True)
class OverlayView:
    """Implements `roamcheck.spec.properties.View`."""

    overlay: Overlay
    brokers: Mapping[BrokerId, Broker]

    def component(self, b: BrokerId) -> tuple[BrokerId, ...]:
        """The brokers that b can reach, itself among them, in order."""
        return self.overlay.component(b)

    def towards(self, b: BrokerId, home: BrokerId) -> BrokerId:
        """The overlay's next hop from b to home."""
        return self.overlay.towards(b, home)

    def distance(self, b: BrokerId, home: BrokerId) -> int:
        """Links between b and home."""
        return self.overlay.distance(b, home)
