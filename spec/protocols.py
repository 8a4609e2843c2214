"""The registry of protocols: which algorithm handles which message, what a protocol knows and what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from . import custody
from .algorithms import (
    alg1_mobile_clients,
    alg2_replay,
    alg3_mobile_brokers,
    alg4_timestamped_clients,
    alg5_migrate,
    alg6_bmig,
    alg7_consistency,
    clients,
    mftr_alg1_turns,
    mftr_alg2_events,
    mftr_alg3_filters,
    mftr_alg4_links,
    returns,
    rp16_alg1_static,
    rp16_alg2_dynamic_clients,
    rp16_alg3_dynamic_brokers,
)
from .arrow_state import ArrowBroker
from .messages import (
    Bmig,
    BmigModular,
    BmigOnce,
    Bquery,
    BqueryNumber,
    BrokerId,
    Bsub,
    BsubClaim,
    Btab,
    Done,
    Fmig,
    Got,
    Interface,
    Message,
    Mig,
    Pub,
    PubFor,
    Rep,
    Sub,
    SubSince,
    Turn,
    Uns,
    UnsSince,
)
from .rules import Reaction, Rules
from .state import Broker

Handler = Callable[[Broker, Interface, Any, Rules], Reaction]
Migrate = Callable[[Broker, BrokerId | None, BrokerId, Rules], Reaction]
Fall = Callable[[Broker, Interface, Rules], Broker]

# In an order in which each module comes after those that it calls.
ALGORITHMS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        alg2_replay, alg7_consistency, alg1_mobile_clients, alg3_mobile_brokers, alg4_timestamped_clients, alg5_migrate, alg6_bmig,
        rp16_alg1_static, rp16_alg2_dynamic_clients, rp16_alg3_dynamic_brokers, clients, returns,
        mftr_alg1_turns, mftr_alg2_events, mftr_alg3_filters, mftr_alg4_links,
    )
}  # fmt: skip

STATIC = frozenset({"publish", "subscribe", "unsubscribe", "attach-publisher", "detach-publisher"})
CLIENTS = STATIC | {"attach", "detach"}
BROKERS = CLIENTS | {"link-down", "migrate", "merge", "crash"}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol of the papers.  Functions are named "module.function", to be looked up among ALGORITHMS (or a mutant of them)."""

    name: str
    title: str
    source: str
    margin: str  # how the algorithms' margins number its lines: "" (their own) or "WN23"
    handlers: Mapping[type, str]
    migrate: str | None
    moves: frozenset[str]  # the environment's moves that it knows
    timestamps: bool  # keeps T_i
    queues: bool  # keeps Q_i, and asks that PUB and REP come back when a link falls
    names_subscribers: bool = True  # entries are (f, z, s), not (f, z)
    hops: bool = True  # timestamps count hops
    spins: bool = False  # reading flush = spin is what its text says
    broker: type[Broker] = Broker  # the local state of a broker
    fall: str | None = None  # what a broker does when a link of its has fallen, before anything comes back
    returned: str = "returns.on_return"  # what it does with a PUB or REP that comes back
    layers: Mapping[type, Any] = field(default_factory=dict)  # what handles the messages of optional layers
    rerooting: tuple[str, str] = ("reroot", "every-changed-hop")  # the reading under which a turn over an old link is a migration

    def printed(self) -> dict[str, str]:
        """The readings that its own text prints differently from TR19's."""
        return {"flush": "spin"} if self.spins else {}


_ALG1 = {Sub: "alg1_mobile_clients.on_sub", Uns: "alg1_mobile_clients.on_uns", Mig: "alg1_mobile_clients.on_mig"}
_PUB_REP = {Pub: "alg1_mobile_clients.on_pub", Rep: "alg2_replay.on_rep"}
_RP16_ALG2 = {
    Sub: "rp16_alg2_dynamic_clients.on_sub",
    Uns: "rp16_alg2_dynamic_clients.on_uns",
    Pub: "rp16_alg2_dynamic_clients.on_pub",
    Mig: "rp16_alg2_dynamic_clients.on_mig",
}
_STAMPED = {
    Sub: "alg4_timestamped_clients.on_sub",
    Uns: "alg4_timestamped_clients.on_uns",
    Mig: "alg4_timestamped_clients.on_mig",
    **_PUB_REP,
    Bmig: "alg6_bmig.on_bmig",
    Bsub: "alg7_consistency.on_bsub",
    Bquery: "alg7_consistency.on_bquery",
}

_REPAIRED = {
    Sub: "mftr_alg3_filters.on_change_of_subscriber",
    Uns: "mftr_alg3_filters.on_change_of_subscriber",
    Mig: "mftr_alg3_filters.on_mig",
    SubSince: "mftr_alg3_filters.on_change",
    UnsSince: "mftr_alg3_filters.on_change",
    Pub: "mftr_alg2_events.on_pub_of_publisher",
    PubFor: "mftr_alg2_events.on_pub",
    Turn: "mftr_alg1_turns.on_turn",
    BmigOnce: "mftr_alg4_links.on_bmig",
    BsubClaim: "mftr_alg3_filters.on_bsub",
    BqueryNumber: "mftr_alg3_filters.on_bquery",
}

PROTOCOLS: dict[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "simple-routing", "Simple Routing: nobody moves", "RP16 Algorithm 1", "",
            {Sub: "rp16_alg1_static.on_sub", Uns: "rp16_alg1_static.on_uns", Pub: "rp16_alg1_static.on_pub"},
            None, STATIC, timestamps=False, queues=False, names_subscribers=False,
        ),
        Protocol(
            "phoenix-2016", "mobile clients, no replay", "RP16 Algorithm 2", "", _RP16_ALG2, None, CLIENTS, timestamps=False, queues=False,
        ),
        Protocol(
            "modular-2016", "mobile clients and brokers, no replay", "RP16 Algorithms 2–3", "",
            {
                **_RP16_ALG2, BmigModular: "rp16_alg3_dynamic_brokers.on_bmig", Btab: "rp16_alg3_dynamic_brokers.on_btab",
                Fmig: "rp16_alg3_dynamic_brokers.on_fmig",
            },
            "rp16_alg3_dynamic_brokers.migrate", BROKERS, timestamps=False, queues=False,
        ),
        Protocol(
            "phoenix", "mobile clients with replay", "TR19 Algorithms 1–2", "", {**_ALG1, **_PUB_REP}, None, CLIENTS, timestamps=False, queues=True,
        ),
        Protocol(
            "modular", "mobile clients and brokers, forced migration of the branch", "TR19 Algorithms 1–3", "",
            {
                **_ALG1, **_PUB_REP, BmigModular: "alg3_mobile_brokers.on_bmig", Btab: "alg3_mobile_brokers.on_btab",
                Fmig: "alg3_mobile_brokers.on_fmig",
            },
            "alg3_mobile_brokers.migrate", BROKERS, timestamps=False, queues=True,
        ),
        Protocol(
            "mft-pubsub", "timestamps and hop counts instead of forced migration", "TR19 Algorithms 1–2, 4–7", "", _STAMPED,
            "alg5_migrate.migrate", BROKERS, timestamps=True, queues=True,
        ),
        Protocol(
            "mft-pubsub-2023", "the journal version", "WN23 Algorithms 1–5", "WN23", _STAMPED,
            "alg5_migrate.migrate", BROKERS, timestamps=True, queues=True, spins=True,
        ),
        Protocol(
            "mft-pubsub-r", "repaired: path reversal that nothing decides against, PUB with targets", "MFTR Algorithms 1–4", "", _REPAIRED,
            "mftr_alg4_links.migrate", BROKERS, timestamps=True, queues=True, hops=False, broker=ArrowBroker, fall="mftr_alg1_turns.fall",
            returned="mftr_alg2_events.on_return", rerooting=("reroot-is-nothing", "taken-out"),
            layers={Got: custody.on_got, Done: custody.on_done},
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A protocol's functions, looked up."""

    handlers: dict[type, Handler]
    migrate: Migrate | None
    fall: Fall | None
    on_return: Handler
    clients: ModuleType

    def handle(self, i: Broker, z: Interface, m: Message, rules: Rules) -> Reaction:
        """When receive m from z ∈ I_i: one step of broker i.  Raises KeyError for a kind the protocol does not know."""
        return self.handlers[type(m)](i, z, m, rules)


def behaviour(protocol: Protocol, algorithms: Mapping[str, ModuleType] | None = None) -> Behaviour:
    """Look the protocol's functions up among `algorithms` (default: those printed)."""
    modules = ALGORITHMS if algorithms is None else algorithms

    def function(path: str) -> Any:
        module, _, name = path.partition(".")
        return getattr(modules[module], name)

    return Behaviour(
        {**{kind: function(path) for kind, path in protocol.handlers.items()}, **protocol.layers},
        function(protocol.migrate) if protocol.migrate else None,
        function(protocol.fall) if protocol.fall else None,
        function(protocol.returned),
        modules["clients"],
    )
