"""A protocol of one's own: words go over a channel that loses some, each marked with a bit that alternates, until they are acknowledged."""

from roamcheck.model.interface import Disabled, Effect, Footprint, Kind, Layout, Model, Predicate, Property, Scope, SlotSpec, Step
from roamcheck.spec.breach import Breach

SENDER, DATA, RECEIVED, ACKS, LOSSES = range(5)  # the slots of a state


def alternating_bit(words=3, losses=2, bit=True):
    """SENDER counts the words that were acknowledged, RECEIVED holds those that arrived.  Without the bit a word sent again looks new."""

    def send(_, values):
        done, data, acks = values
        if done == words or data or acks:
            return Disabled("a word is left, and nothing is on its way")
        return Effect(values, ((DATA, ((done % 2, done),)),))

    def receive(head, values):
        (received,) = values
        new = head[0] == len(received) % 2 or not bit
        return Effect(((*received, head[1]) if new else received,), ((ACKS, (head[0],)),))

    def hear(head, values):
        return Effect((values[0] + 1,)) if head == values[0] % 2 else Effect(values)

    def lose(head, values):
        return Effect((values[0] - 1,)) if values[0] else Disabled("losses are left")

    def in_order(values):
        right = values[0] == tuple(range(len(values[0])))
        return None if right else Breach("words arrive once and in order", (("received", str(values[0])),))

    def all_arrive(values):
        return None if len(values[0]) == words else Breach("every word arrives", (("received", str(values[0])),))

    steps = (
        Step("send", (), Kind.PROTOCOL, send, Footprint(reads=(SENDER, DATA, ACKS), appends=(DATA,)), serves=SENDER),
        Step("receive", (), Kind.PROTOCOL, receive, Footprint(DATA, (RECEIVED,), (ACKS,)), serves=DATA),
        Step("hear", (), Kind.PROTOCOL, hear, Footprint(ACKS, (SENDER,)), serves=ACKS),
        Step("lose", (("from", "data"),), Kind.LOSS, lose, Footprint(DATA, (LOSSES,))),
        Step("lose", (("from", "acks"),), Kind.LOSS, lose, Footprint(ACKS, (LOSSES,))),
    )
    properties = (
        Property("in-order", Scope.EVERY_STATE, (Predicate((RECEIVED,), in_order),)),
        Property("all-arrive", Scope.RUN, (Predicate((RECEIVED,), all_arrive),)),
    )
    layout = Layout(tuple(map(SlotSpec, ("sender", "data", "received", "acks", "losses left"))))
    idle = {SENDER: words, DATA: (), ACKS: ()}
    start = (0, (), (), (), losses)
    return Model("alternating bit", layout, (start,), steps, properties, lambda slot, value: slot not in idle or value == idle[slot])
