"""The graph of a model as far as runs have come, by look-up.

Local values are numbered slot by slot; a step reacts once per distinct combination of what it sees, and where a state leads is worked out once.
It does what `roamcheck.model.interface.fire` does, and what is found here is replayed by that before it counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roamcheck.model.interface import Disabled, Footprint, FootprintError, Measure, Model, Predicate, Property, Scope, Slot, State, Step, Value, Word
from roamcheck.spec.breach import Breach

Numbers = tuple[int, ...]  # for each slot, which of its values
Key = tuple[int, ...]
Batch = int  # which words, in order
Change = tuple[tuple[tuple[Slot, int], ...], tuple[tuple[Slot, Batch], ...]]  # new values, and what is appended to which slots
MOST = 200_000  # states kept; beyond them the graph is forgotten and begun anew


class Raised(Exception):
    """The model raised `cause` where a step was to be fired."""

    def __init__(self, step: int, cause: Exception) -> None:
        super().__init__(step, cause)
        self.step, self.cause = step, cause


@dataclass(slots=True, eq=False)
class Node:
    """A state that some run has come to."""

    numbers: Numbers
    quiescent: bool
    spent: bool
    out: list[tuple[int, Node]] | None = None  # enabled steps in the model's order and where they lead, once asked for
    breaches: dict[int, Breach] | None = None  # by property: what fails here, once asked for
    measured: list[float] | None = None  # by measure, once asked for


class Graph:
    """Grows as runs go on.  `Node`s are the same objects for the same states until the graph is forgotten."""

    def __init__(self, model: Model, measures: tuple[Measure, ...] = ()) -> None:
        slots = range(len(model.layout.slots))
        self.model, self.measures = model, measures
        self.values: list[list[Value]] = [[] for _ in slots]
        self._numbers: list[dict[Value, int]] = [{} for _ in slots]
        self._busy: list[list[bool]] = [[] for _ in slots]
        self._heads: list[list[tuple[int, int] | None]] = [[] for _ in slots]  # of values taken from: number of the head, number of the rest
        self._words: dict[Word, int] = {}
        self._batches: list[tuple[Word, ...]] = []
        self._batch_numbers: dict[tuple[Word, ...], Batch] = {}
        self._reactions: list[dict[Key, Change | None]] = [{} for _ in model.steps]
        self._chosen: list[dict[int, Footprint | None]] = [{} for _ in model.steps]
        self._appended: dict[tuple[Slot, int, Batch], int] = {}
        self._answers: dict[int, dict[Key, Any]] = {}  # by predicate, measure or budget
        self._asked: dict[tuple[int, tuple[Slot, ...]], tuple[Predicate, ...]] = {}
        self.nodes: dict[Numbers, Node] = {}
        self.evaluated = 0  # reactions worked out

    # ---- states ---------------------------------------------------------------------------------------

    def initial(self, which: int = 0) -> Node:
        """One of the model's initial states."""
        if len(self.nodes) > MOST:
            self.nodes = {}
        return self.node(tuple(self._number(slot, value) for slot, value in enumerate(self.model.initial_states[which])))

    def state(self, node: Node) -> State:
        """The state in full."""
        return tuple(self.values[slot][number] for slot, number in enumerate(node.numbers))

    def node(self, numbers: Numbers) -> Node:
        """The node of a state."""
        found = self.nodes.get(numbers)
        if found is None:
            quiescent = not any(self._busy[slot][number] for slot, number in enumerate(numbers))
            spent = bool(self._answer(self.model.spent, self.model.budget, numbers))
            found = self.nodes[numbers] = Node(numbers, quiescent, spent)
        return found

    def busy(self, node: Node) -> frozenset[Slot]:
        """The slots that are not idle."""
        return frozenset(slot for slot, number in enumerate(node.numbers) if self._busy[slot][number])

    def _number(self, slot: Slot, value: Value) -> int:
        number = self._numbers[slot].get(value)
        if number is None:
            number = self._numbers[slot][value] = len(self.values[slot])
            self.values[slot].append(value)
            self._busy[slot].append(not self.model.idle(slot, value))
            self._heads[slot].append(None)
        return number

    # ---- steps ----------------------------------------------------------------------------------------

    def out(self, node: Node) -> list[tuple[int, Node]]:
        """The enabled steps, in the model's order, and where they lead.  Raises Raised."""
        if node.out is None:
            found = []
            for index, step in enumerate(self.model.steps):
                if step.only_when_quiescent and not node.quiescent:
                    continue
                try:
                    after = self._fire(index, step, node.numbers)
                except Exception as cause:
                    raise Raised(index, cause) from cause
                if after is not None:
                    found.append((index, self.node(after)))
            node.out = found
        return node.out

    def _fire(self, index: int, step: Step, numbers: Numbers) -> Numbers | None:
        footprint = step.fixed
        key: Key = ()
        if step.selector is not None:
            chosen = self._footprint(index, step, numbers[step.selector])
            if chosen is None:
                return None
            footprint, key = chosen, (numbers[step.selector],)
        head = None
        if footprint.takes is not None:
            head = self._head(footprint.takes, numbers[footprint.takes])
            if head is None:
                return None
            key = (*key, head[0])
        key = (*key, *[numbers[slot] for slot in footprint.reads])
        known = self._reactions[index]
        if key not in known:
            known[key] = self._react(step, footprint, numbers)
        change = known[key]
        if change is None:
            return None
        after = list(numbers)
        if footprint.takes is not None and head is not None:
            after[footprint.takes] = head[1]
        for slot, number in change[0]:
            after[slot] = number
        for slot, words in change[1]:
            after[slot] = self._append(slot, after[slot], words)
        return tuple(after)

    def _footprint(self, index: int, step: Step, number: int) -> Footprint | None:
        known = self._chosen[index]
        if number not in known:
            assert step.selector is not None
            assert step.select is not None
            chosen = step.select(self.values[step.selector][number])
            known[number] = None if isinstance(chosen, Disabled) else chosen
        return known[number]

    def _head(self, slot: Slot, number: int) -> tuple[int, int] | None:
        """Which word is at the head, and which value is left without it; None if there is none."""
        found = self._heads[slot][number]
        if found is None:
            channel = self.values[slot][number]
            assert isinstance(channel, tuple)
            if channel:
                word = self._words.setdefault(channel[0], len(self._words))
                found = self._heads[slot][number] = word, self._number(slot, channel[1:])
        return found

    def _react(self, step: Step, footprint: Footprint, numbers: Numbers) -> Change | None:
        """The step's own reaction, once for all states that look alike to it.  Raises what `fire` raises."""
        self.evaluated += 1
        channel: Any = None if footprint.takes is None else self.values[footprint.takes][numbers[footprint.takes]]
        effect = step.react(None if channel is None else channel[0], tuple(self.values[slot][numbers[slot]] for slot in footprint.reads))
        if isinstance(effect, Disabled):
            return None
        if len(effect.values) != len(footprint.reads):
            raise FootprintError(f"{step} reads {len(footprint.reads)} slots and returns {len(effect.values)} values")
        for slot, _ in effect.appended:
            if slot not in footprint.appends:
                raise FootprintError(f"{step} appends to {self.model.layout.slots[slot].name}, which it does not declare")
        values = tuple((slot, self._number(slot, value)) for slot, value in zip(footprint.reads, effect.values, strict=True))
        return values, tuple((slot, self._batch(words)) for slot, words in effect.appended)

    def _batch(self, words: tuple[Word, ...]) -> Batch:
        number = self._batch_numbers.setdefault(words, len(self._batches))
        if number == len(self._batches):
            self._batches.append(words)
        return number

    def _append(self, slot: Slot, number: int, words: Batch) -> int:
        key = slot, number, words
        found = self._appended.get(key)
        if found is None:
            value = self.model.layout.slots[slot].append(self.values[slot][number], self._batches[words])
            found = self._appended[key] = self._number(slot, value)
        return found

    # ---- what is asked ----------------------------------------------------------------------------------

    def measured(self, node: Node) -> list[float]:
        """The value of each measure in this state."""
        if node.measured is None:
            node.measured = [float(self._answer(of.value, of.reads, node.numbers)) for of in self.measures]
        return node.measured

    def breaches(self, node: Node, before: Node | None = None) -> dict[int, Breach]:
        """What fails in this state, by property; `before` is a state that a step leads here from, where it is known."""
        if node.breaches is None:
            node.breaches = {}
            known = None if before is None else before.breaches
            changed = () if before is None else differing(before.numbers, node.numbers)
            for i, of in enumerate(self.model.properties):
                if asked_in(of, node):
                    same = of.scope is Scope.EVERY_STATE and known is not None and i not in known
                    breach = self._breach(self._touched(i, changed) if same else of.predicates, node.numbers)
                    if breach is not None:
                        node.breaches[i] = breach
        return node.breaches

    def _touched(self, of: int, changed: tuple[Slot, ...]) -> tuple[Predicate, ...]:
        """The property's predicates that look at a slot that has changed; where none failed before, only these may."""
        key = of, changed
        if key not in self._asked:
            self._asked[key] = tuple(p for p in self.model.properties[of].predicates if not set(changed).isdisjoint(p.reads))
        return self._asked[key]

    def _breach(self, asked: tuple[Predicate, ...], numbers: Numbers) -> Breach | None:
        answers = (self._answer(predicate.check, predicate.reads, numbers) for predicate in asked)
        return next((breach for breach in answers if breach is not None), None)

    def _answer(self, asked: Callable[[tuple[Value, ...]], Any], reads: tuple[Slot, ...], numbers: Numbers) -> Any:
        """What a pure function of some slots says, worked out once."""
        known = self._answers.setdefault(id(asked), {})
        key = tuple(numbers[slot] for slot in reads)
        if key not in known:
            known[key] = asked(tuple(self.values[slot][number] for slot, number in zip(reads, key, strict=True)))
        return known[key]


def differing(one: Numbers, other: Numbers) -> tuple[Slot, ...]:
    """The slots in which two states differ."""
    return tuple(slot for slot, (a, b) in enumerate(zip(one, other, strict=True)) if a != b)


def asked_in(of: Property, node: Node) -> bool:
    """The property is asked in this state."""
    match of.scope:
        case Scope.EVERY_STATE:
            return True
        case Scope.QUIESCENT:
            return node.quiescent
        case Scope.RUN:
            return node.quiescent and node.spent

