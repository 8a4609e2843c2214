"""The narrow waist: all that an engine ever sees of a model, and all that a protocol has to provide.

A *state* is a tuple of slot values.  A *step* is a pure local function with a declared footprint: it takes the head of at
most one channel, reads (and may replace) the slots in `reads`, and adds words at the end of the slots in `appends` without
looking at them.  An engine may therefore run `react` once per distinct (head, values of `reads`) and look the rest up.

Nothing here knows of publish/subscribe; the tests explore two-phase commit through it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from enum import Enum

from roamcheck.spec.breach import Breach

Slot = int  # an index into the state vector
Value = Hashable  # what a slot holds; immutable
Word = Hashable  # what is appended to a slot: a message, a ghost record's entry
State = tuple[Value, ...]


class Kind(Enum):
    """Who takes a step.  Protocol steps are owed: weak fairness applies to them; the others may never come."""

    PROTOCOL = "protocol"
    ENVIRONMENT = "environment"
    LOSS = "loss"


class Scope(Enum):
    """Where a property is asked."""

    EVERY_STATE = "every state"
    QUIESCENT = "every quiescent state"
    RUN = "every run"


class FootprintError(Exception):
    """A step wrote what it had not declared; the model is wrong, not its input."""


def extend(value: Value, words: tuple[Word, ...]) -> Value:
    """Append to a slot that holds a sequence: a FIFO channel."""
    assert isinstance(value, tuple)
    return (*value, *words)


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """One component of the state: its name and how words are added to it."""

    name: str
    append: Callable[[Value, tuple[Word, ...]], Value] = field(default=extend, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """The fixed, ordered list of slots of a model."""

    slots: tuple[SlotSpec, ...]

    def index(self, name: str) -> Slot:
        """The slot called `name`; raises KeyError."""
        for slot, spec in enumerate(self.slots):
            if spec.name == name:
                return slot
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a step touches.  `takes` is a slot holding a tuple; the step is disabled while that is empty."""

    takes: Slot | None = None
    reads: tuple[Slot, ...] = ()
    appends: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class Effect:
    """What a step does: the new values of `reads`, in that order, and words for slots in `appends`."""

    values: tuple[Value, ...]
    appended: tuple[tuple[Slot, tuple[Word, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Disabled:
    """Why a step cannot fire here.

    `slot` says that this slot's value alone is to blame, whatever the others hold; `for_good` that the step cannot fire in any later state
    either.  Both are promises that a reduction builds on; without them it assumes the worst.
    """

    guard: str
    slot: Slot | None = field(default=None, compare=False, repr=False)
    for_good: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A transition of the model.

    `react(head, values)` is pure: equal arguments, equal answer.  `head` is the first element of the slot `takes` (None
    without one), `values` are those of `reads`.  Most steps have one footprint for good.  Where it depends on one slot
    (links that come and go), `selector` names the slot and `select` maps its value to the footprint or to the guard that fails.

    `guard` repeats a part of the step's own guards that one slot decides: what it refuses, `react` or `select` refuse too, whatever the other
    slots hold.  Engines ask it first.  A step that `claims` reads the guard's slot, whatever its footprint: unless the guard refuses, what it leaves
    there is what `claims` makes of what it finds there, and nothing else that it does depends on that.  `narrows` promises that while a slot holds
    a value, the step appends to these slots at most; all steps of a model that promise so name the same slot.
    """

    action: str  # "deliver", "migrate", …
    arguments: tuple[tuple[str, str], ...]  # (("from", "b3"), ("to", "b2"))
    kind: Kind
    react: Callable[[Word | None, tuple[Value, ...]], Effect | Disabled] = field(compare=False, repr=False)
    fixed: Footprint = Footprint()
    selector: Slot | None = None
    select: Callable[[Value], Footprint | Disabled] | None = field(default=None, compare=False, repr=False)
    serves: Slot | None = None  # fairness class: the slot that this step empties in the end
    only_when_quiescent: bool = False
    within: Footprint | None = None  # no footprint that is selected ever goes beyond it; None: nothing is promised
    guard: tuple[Slot, Callable[[Value], Disabled | None]] | None = field(default=None, compare=False, repr=False)
    claims: Callable[[Value], Value] | None = field(default=None, compare=False, repr=False)
    narrows: tuple[Slot, Callable[[Value], frozenset[Slot]]] | None = field(default=None, compare=False, repr=False)

    def footprint(self, state: State) -> Footprint | Disabled:
        """The slots that this step touches in `state`."""
        if self.selector is None or self.select is None:
            return self.fixed
        return self.select(state[self.selector])

    def __str__(self) -> str:
        return f"{self.action}({', '.join(value for _, value in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on some slots: `check` sees the values of `reads` alone and says what is breached, or None."""

    reads: tuple[Slot, ...]
    check: Callable[[tuple[Value, ...]], Breach | None] = field(compare=False, repr=False)
    wordwise: bool = False  # of one slot that holds a sequence: breached if, and only if, one of its words is
    blind: tuple[Slot, ...] = ()  # of `reads`: words appended there never change the answer


@dataclass(frozen=True, slots=True)
class Property:
    """What must hold, as predicates that an engine asks by `scope`.

    EVERY_STATE: in every state.  QUIESCENT: in every state whose slots are all idle.  RUN: in every quiescent state with the
    environment's budget spent, and besides no weakly fair run of protocol steps goes on for ever once it is spent.
    """

    name: str
    scope: Scope
    predicates: tuple[Predicate, ...]
    decisive: bool = True  # False: reported, but not part of the exit code unless it was asked for by name
    mendable: bool = False  # a later state may satisfy it again, so a reduction must not skip over the breach


@dataclass(frozen=True, slots=True)
class Measure:
    """How far a state is from a good one: the larger, the more a guided search wants to see of it.  It decides nothing; properties do."""

    name: str
    reads: tuple[Slot, ...]
    value: Callable[[tuple[Value, ...]], float] = field(compare=False, repr=False)  # of the values of `reads`


@dataclass(frozen=True, slots=True)
class Symmetry:
    """A renaming under which the model looks the same: slot s becomes slots[s], and there the value `rename(s, value)` stands for `value`.

    Step i becomes step steps[i].  An engine holds it against every reaction and every predicate that it meets, and drops it where it fails.
    """

    slots: tuple[Slot, ...]
    steps: tuple[int, ...]
    rename: Callable[[Slot, Value], Value] = field(compare=False, repr=False)
    rename_word: Callable[[Slot, Word], Word] = field(compare=False, repr=False)


def never_unordered(slot: Slot, one: Step, other: Step) -> bool:
    """Nothing is known to commute."""
    return False


@dataclass(frozen=True, slots=True)
class Model:
    """A finite transition system with properties.

    `unordered(slot, one, other)` promises that what the two steps do to the slot can be done in either order, and that neither's doing there
    enables or disables the other; `symmetries()` and the identity are a group of renamings.  Both serve reductions alone.
    """

    name: str
    layout: Layout
    initial_states: tuple[State, ...]
    steps: tuple[Step, ...]  # in a fixed order, which makes traces the same in every run
    properties: tuple[Property, ...]
    idle: Callable[[Slot, Value], bool] = field(compare=False, repr=False)  # quiescent = every slot idle
    budget: tuple[Slot, ...] = ()  # the slots that `spent` looks at
    spent: Callable[[tuple[Value, ...]], bool] = field(default=lambda _: True, compare=False, repr=False)  # no environment step is left
    unordered: Callable[[Slot, Step, Step], bool] = field(default=never_unordered, compare=False, repr=False)
    symmetries: Callable[[], tuple[Symmetry, ...]] = field(default=lambda: (), compare=False, repr=False)

    def quiescent(self, state: State) -> bool:
        """No protocol step is owed in `state`."""
        return all(self.idle(slot, value) for slot, value in enumerate(state))


def fire(model: Model, step: Step, state: State) -> State | Disabled:
    """Lift a step to the global state: the definition that every engine must agree with.

    Raises FootprintError when the effect does not fit the footprint.
    """
    if step.only_when_quiescent and not model.quiescent(state):
        return Disabled("the network is quiescent")
    footprint = step.footprint(state)
    if isinstance(footprint, Disabled):
        return footprint
    after = list(state)
    head: Word | None = None
    if footprint.takes is not None:
        channel = state[footprint.takes]
        assert isinstance(channel, tuple)
        if not channel:
            return Disabled(f"{model.layout.slots[footprint.takes].name} is not empty")
        head, after[footprint.takes] = channel[0], channel[1:]
    effect = step.react(head, tuple(state[slot] for slot in footprint.reads))
    if isinstance(effect, Disabled):
        return effect
    if len(effect.values) != len(footprint.reads):
        raise FootprintError(f"{step} reads {len(footprint.reads)} slots and returns {len(effect.values)} values")
    for slot, value in zip(footprint.reads, effect.values, strict=True):
        after[slot] = value
    for slot, words in effect.appended:
        if slot not in footprint.appends:
            raise FootprintError(f"{step} appends to {model.layout.slots[slot].name}, which it does not declare")
        after[slot] = model.layout.slots[slot].append(after[slot], words)
    return tuple(after)
