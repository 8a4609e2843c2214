"""Acknowledged links, a layer below mft-pubsub-r for a radio that loses messages unseen (reading acknowledged-links).

On every link, to clients too, frames are numbered, acknowledged and sent again when the timer runs out: go-back-n, from 1 whenever the link
comes up.  What was sent and not acknowledged when the link falls comes back, though it may have arrived; so a subscriber throws away what it has.
The timer runs out only when nothing of its link is under way, which is so only after a loss: `due` says that there was one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from .messages import Ack, EventId, Frame, Message
from .state import Publisher, Subscriber


@dataclass(frozen=True, slots=True)
class Line:
    """One end of a link."""

    first: int = 1  # the number of the oldest message that is not acknowledged
    unacknowledged: tuple[Message, ...] = ()  # oldest first
    expected: int = 1  # the number of the next frame to be taken
    due: bool = False  # something was lost: the timer will run out

    def frames(self) -> tuple[Frame, ...]:
        """All that is not acknowledged."""
        return tuple(Frame(n, m) for n, m in enumerate(self.unacknowledged, self.first))


FRESH = Line()


class Taken(NamedTuple):
    """What comes of a frame: the acknowledgement, and the message unless the frame is thrown away."""

    line: Line
    ack: Ack
    message: Message | None


def send(line: Line, m: Message) -> tuple[Line, Frame]:
    """m is sent, and kept until it is acknowledged."""
    line = replace(line, unacknowledged=(*line.unacknowledged, m))
    return line, line.frames()[-1]


def take(line: Line, frame: Frame) -> Taken:
    """A frame arrives: out of turn it is thrown away, and what has been taken is acknowledged in any case."""
    if frame.number != line.expected:
        return Taken(line, Ack(line.expected), None)
    line = replace(line, expected=line.expected + 1)
    return Taken(line, Ack(line.expected), frame.message)


def acknowledged(line: Line, ack: Ack) -> Line:
    """All before the number of the acknowledgement has arrived."""
    done = max(0, ack.number - line.first)
    rest = line.unacknowledged[done:]
    return replace(line, first=line.first + done, unacknowledged=rest, due=line.due and bool(rest))


@dataclass(frozen=True, slots=True)
class LayeredSubscriber(Subscriber):
    """A subscriber over a layer: its end of the link to its broker, and what it has, which it does not take twice."""

    line: Line = FRESH
    has: tuple[EventId, ...] = ()  # in order of arrival


@dataclass(frozen=True, slots=True)
class LayeredPublisher(Publisher):
    """A publisher over a layer: its end of the link to its broker."""

    line: Line = FRESH
