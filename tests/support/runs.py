"""A run driven by hand: a scenario in a few words, steps by name, local states by name."""

from __future__ import annotations

from typing import Any

from roamcheck.checker.question import question
from roamcheck.model.interface import Disabled, Kind, Model, State, Step, fire
from roamcheck.model.scenario import from_data
from roamcheck.spec.messages import Pub
from support.footprints import enabled

CHAIN = [["b1", "b2"], ["b2", "b3"]]
FORK = [["b1", "b2"], ["b1", "b3"]]
S1_AT_B3 = {"s1": {"at": "b3", "filters": ["f1"]}}
P1_AT_B1 = {"p1": {"at": "b1"}}
E1, E2 = Pub("e1"), Pub("e2")


class Run:
    """One run through a scenario of ours: f1 matches e1, e2 and e4, f2 matches e3 and e4."""

    def __init__(
        self,
        links: list[list[str]] = CHAIN,
        subscribers: dict[str, Any] | None = None,
        moves: tuple[str, ...] = (),
        *,
        leaders: tuple[str, ...] = ("b1",),
        publishers: dict[str, Any] | None = None,
        free: dict[str, int] | None = None,
        assume: dict[str, Any] | None = None,
        start: str = "settled",
        protocol: str = "mft-pubsub",
        readings: str = "printed",
        reading: dict[str, str] | None = None,
        algorithms: Any = None,
    ) -> None:
        publishers = P1_AT_B1 if publishers is None else publishers
        events = {f"e{k}": {"f1": k != 3, "f2": k > 2} for k in range(1, 5)}
        data = {
            "format": "roamcheck-scenario/1",
            "name": "test",
            "network": {"leaders": list(leaders), "links": links},
            "filters": {"f1": {"f1": True}, "f2": {"f2": True}},
            "subscribers": S1_AT_B3 if subscribers is None else subscribers,
            "publishers": publishers,
            "events": {name: {"from": "p1", "attributes": attributes} for name, attributes in events.items()} if publishers else {},
            "start": {"subscriptions": start},
            "moves": [parsed(text) for text in moves],
            "free": free or {},
            "assume": assume or {},
        }
        asked = question(from_data(data, "test"), protocol=protocol, readings=readings, reading=reading)
        self.world = asked.world(algorithms)
        self.model: Model = asked.model(algorithms)
        self.state: State = self.model.initial_states[0]

    def __getitem__(self, name: str) -> Any:
        """What a slot holds: run["b1→b2"]."""
        return self.state[self.model.layout.index(name)]

    def step(self, text: str) -> Step:
        """"deliver b1 b2": the step whose action and first arguments these are."""
        action, *arguments = text.split()
        found = [s for s in self.model.steps if s.action == action and [v for _, v in s.arguments][: len(arguments)] == arguments]
        assert found, text
        return found[0]

    def do(self, *texts: str) -> Run:
        """Fire these steps in turn."""
        for text in texts:
            after = fire(self.model, self.step(text), self.state)
            assert not isinstance(after, Disabled), f"{text}: {after}"
            self.state = after
        return self

    def refused(self, text: str) -> str:
        """The guard that fails."""
        after = fire(self.model, self.step(text), self.state)
        assert isinstance(after, Disabled), text
        return after.guard

    def why(self, text: str) -> str | None:
        """The guard that fails, or None where the step can fire."""
        after = fire(self.model, self.step(text), self.state)
        return after.guard if isinstance(after, Disabled) else None

    def offered(self, *actions: str) -> list[str]:
        """The steps that can fire, of these actions."""
        return [f"{s.action} {' '.join(v for _, v in s.arguments)}" for s, _ in enabled(self.model, self.state) if not actions or s.action in actions]

    def settle(self) -> Run:
        """Protocol steps, the first in order again and again, until none is owed."""
        for _ in range(300):
            after = next((after for s, after in enabled(self.model, self.state) if s.kind is Kind.PROTOCOL), None)
            if after is None:
                return self
            self.state = after
        raise AssertionError("does not settle")

    @property
    def quiescent(self) -> bool:
        return self.model.quiescent(self.state)

    @property
    def spent(self) -> bool:
        return self.model.spent(tuple(self.state[slot] for slot in self.model.budget))

    def under_way(self) -> dict[str, Any]:
        """The slots with messages in them."""
        slots = zip(self.model.layout.slots, self.state, strict=True)
        return {spec.name: value for spec, value in slots if "→" in spec.name and value}


def parsed(text: str) -> dict[str, Any]:
    """A move in one line: "id: migrate b3 b2 after other, another when quiescent"."""
    name, _, rest = text.partition(": ")
    rest, _, when = rest.partition(" when ")
    rest, _, after = rest.partition(" after ")
    do, *given = rest.split()
    client = "publisher" if given[0].startswith("p") else "subscriber"
    keys = {
        "publish": ["event"], "subscribe": ["subscriber", "filter"], "unsubscribe": ["subscriber", "filter"], "detach": [client],
        "attach": [client, "to"], "migrate": ["broker", "to"], "merge": ["broker", "to"], "crash": ["broker", "state"],
    }  # fmt: skip
    arguments: dict[str, Any] = {"link": given} if do == "link-down" else dict(zip(keys[do], given, strict=True))
    return {"id": name, "do": do, "after": after.split(", ") if after else [], **arguments, **({"when": when} if when else {})}


TWO = [["b1", "b2"], ["b3", "b4"], ["b4", "b5"], ["b5", "b6"]]  # b6 – b5 – b4 – b3, led by b3
FAR = {"s1": {"at": "b3", "filters": ["f1"]}, "s2": {"at": "b1", "filters": ["f2"]}}


def merging(*more: str, **options: Any) -> Run:
    return Run(TWO, FAR, ("m: merge b6 b2", *more), leaders=("b1", "b3"), **options)
