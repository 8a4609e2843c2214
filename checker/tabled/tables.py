"""The tables: every value, reaction, append and answer of a check that has been met, as arrays for the kernels.

They grow on demand.  A kernel that misses an answer says in which row and for which step or check, and the pure function is run here once.
Nothing is decided here: what is stored is what `roamcheck.model.interface.fire` would do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import xor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from roamcheck.model.interface import Disabled, Effect, Footprint, FootprintError, Kind, Model, Scope, Slot, State, Step, Symmetry, Value, Word

from .column import Column
from .contents import keys
from .kernels import APPENDS, DISABLED, FAILED, GONE, HELD, Arrays
from .lookup import LookUp, View
from .symmetries import Asymmetric, Batches, Footprints, Images, Question

Numbers = Sequence[int]  # a row: the number of each slot's value
Touched = frozenset[Slot]
SETTLING = 1  # the view of a thread that settles batches while another one expands the next


class Asked(NamedTuple):
    """A check, or all checks of some slots, as one look-up."""

    slots: tuple[Slot, ...]
    functions: list[tuple[int, Callable[[tuple[Value, ...]], Any]]]  # with the numbers of the checks
    node: int
    turned: int  # where there are two slots: the node at which the second one is looked up first; -1 where there are not


class Tables:
    """Grows as the search goes on.  Values are numbered over all slots together, so that a number tells the slot too."""

    def __init__(self, model: Model, wide: bool = False, symmetries: tuple[Symmetry, ...] = (), views: int = 1) -> None:
        slots = range(len(model.layout.slots))
        self.model, self.width = model, 2 if wide else 1
        self.columns = (1 + len(symmetries)) * self.width  # of a fingerprint: the value's own, and that of each of its images
        self._unchanged = (0,) * self.columns
        self.values: list[Value] = []
        self.slots: list[Slot] = []  # by value
        self.numbers: list[dict[Value, int]] = [{} for _ in slots]
        self.words: list[Word] = []
        self._word_numbers: dict[tuple[Slot, Word], int] = {}
        self.key, self.busy = Column(np.uint64, self.columns), Column(np.uint8)
        self.head, self.rest = Column(np.int32), Column(np.int32)
        self.popped, self.suspect, self.local = Column(np.uint64, self.columns), Column(np.uint8), Column(np.int32)
        self.blocks, self.gates = Column(np.uint64, -(-len(model.steps) // 64) or 1), Column(np.uint32)
        self.lookup = LookUp(views)
        self._lock = Lock()  # two threads may learn, each for a view of its own
        self.causes: dict[int, Exception] = {}  # by step: why it failed first
        self.evaluated = [0] * len(model.steps)  # by step: how often it reacted
        self.operands: dict[int, tuple[int, int, dict[Slot, int]]] = {}  # by reaction: the step, its word or -1, and what it read
        self.selector, self.chosen = Column(np.int32), Column(np.int32)
        self.guard, self.barred = Column(np.int32), Column(np.int32)
        self.mouth, self.silent, self.owed = Column(np.int32), Column(np.uint8), Column(np.uint8)
        self.takes, self.start, self.reads, self.read = Column(np.int32), Column(np.int32), Column(np.int32, 2), Column(np.uint32)
        self.moves: list[tuple[Step, Footprint, Footprints, Slot | None]] = []  # with the slot in which it claims something apart
        self._move_numbers: dict[tuple[int, Footprint, Footprints], int] = {}
        self.reactions, self.change = Column(np.int32, 8), Column(np.uint32, 2)
        self.delta = Column(np.uint64, self.columns)
        self.appended, self.check = Column(np.uint32, 2), Column(np.int32, 5)
        self._append_nodes: dict[tuple[Slot, Batches], int] = {}
        self._appended_at: dict[int, tuple[Slot, Batches]] = {}  # by node
        self._claim_nodes: dict[int, int] = {}  # by step: the node at which what it claims is looked up, as what is appended is
        self.checks, self.looks, self.members = Column(np.int32, 6), Column(np.uint32), Column(np.int32)
        self.questions: list[Question] = []  # by check
        self._asked: list[Asked] = []  # by check; behind them bundles of those that have the same slots
        self.images = Images(model, symmetries, self.questions)
        self.taken_from: set[Slot] = set()
        # By set of slots, what to ask when they have new values: the slots with which look-ups may begin, checks of several slots, and checks of one.
        self._touching: dict[Touched, tuple[list[Slot], list[tuple[int, tuple[Slot, ...]]], list[tuple[int, int, int, int, Slot]]]] = {}
        self._touched: dict[tuple[Touched, tuple[int | None, ...]], tuple[int, int, int]] = {}
        self.asked_of: dict[Scope, list[int]] = {scope: [] for scope in Scope}  # the checks of the properties with this scope, in order
        for i, of in enumerate(model.properties):
            self.asked_of[of.scope] += [self._add_check(i, predicate.reads, predicate.check) for predicate in of.predicates]
        self._asked_at: dict[Slot, list[int]] = {}  # by slot: the checks of every state that look at it
        self._single: list[list[int]] = [[] for _ in slots]  # those that look at it alone
        self._constant: list[int] = []  # those that look at none
        self.spent = self._add_check(-1, model.budget, lambda values: model.spent(values) or None)
        alike: dict[tuple[Slot, ...], list[int]] = {}
        for check in self.asked_of[Scope.EVERY_STATE]:
            slots_of = self.questions[check][2]
            if not slots_of:
                self._constant.append(check)
            elif len(slots_of) == 1:
                self._single[slots_of[0]].append(check)
                self._asked_at.setdefault(slots_of[0], []).append(check)
            else:
                alike.setdefault(slots_of, []).append(check)
        for slots_of, checks in alike.items():
            check = checks[0] if len(checks) == 1 else self._add_bundle(checks, slots_of)
            for slot in slots_of:
                self._asked_at.setdefault(slot, []).append(check)
        self.images.begin()
        self._fed: dict[Slot, list[int]] = {}  # by slot: the steps that always take from it
        self._guarded: dict[Slot, list[int]] = {}  # by slot: the steps whose guards look at it
        for index, step in enumerate(model.steps):
            self._add_step(index, step)
        self.gates.extend(sorted({slot for of in (self.mouth, self.guard, self.selector) for slot in of.items if slot >= 0}))

    # ---- values ---------------------------------------------------------------------------------------

    def number(self, slot: Slot, value: Value) -> int:
        """The number of a value of a slot."""
        found = self.numbers[slot].get(value)
        if found is None:
            found = self._add_value(slot, value)
        return found

    def row(self, state: State) -> list[int]:
        """The numbers of a state's values."""
        return [self.number(slot, value) for slot, value in enumerate(state)]

    def state(self, row: Numbers) -> State:
        """The values of a row's numbers."""
        return tuple(self.values[number] for number in row)

    def _add_value(self, slot: Slot, value: Value) -> int:
        key = keys(self.model.layout.slots[slot].name, value)[: self.width]
        for image in self.images.value(slot, value):
            key += image[: self.width]
        head = rest = -1
        if slot in self.taken_from:
            self.images.taken(slot, value)
        if isinstance(value, tuple) and value and slot in self.taken_from:
            rest = self.number(slot, value[1:])
            head = self._word(slot, value[0])
        self.local.append(len(self.numbers[slot]))
        number = self.numbers[slot][value] = len(self.values)
        self.values.append(value)
        self.slots.append(slot)
        self.key.append(key)
        self.busy.append(not self.model.idle(slot, value))
        self.head.append(head)
        self.rest.append(rest)
        self.blocks.append((0,) * self.blocks.width)
        self.popped.append(key if rest < 0 else tuple(map(xor, key, self.key[rest])))
        self.suspect.append(any(self._may_breach(check, value) for check in self._single[slot]))
        blocked = self._fed.get(slot, []) if head < 0 else []
        # Of the steps whose guards look at it, all will ask.
        self._block(number, [*blocked, *(step for step in self._guarded.get(slot, ()) if self._refuse(step, number) in (DISABLED, GONE))])
        if self.images.symmetries and not self.suspect[number]:  # they will not be asked in a state
            for check in self._single[slot]:
                self.images.answered(check, (value,), False)
        return number

    def _block(self, number: int, steps: Iterable[int]) -> None:
        """Have the kernels pass over the steps wherever their slot has this value."""
        words = list(self.blocks.items[number])
        for step in steps:
            words[step >> 6] |= 1 << (step & 63)
        self.blocks[number] = tuple(words)

    def _may_breach(self, check: int, value: Value) -> bool:
        try:
            return self.questions[check][1]((value,)) is not None
        except Exception:  # the value may never be met in a state; where it is, the check is asked again
            return True

    def _word(self, slot: Slot, word: Word) -> int:
        number = self._word_numbers.get((slot, word))
        if number is None:
            number = self._word_numbers[slot, word] = len(self.words)
            self.words.append(word)
        return number

    # ---- steps ------------------------------------------------------------------------------------------

    def _add_step(self, index: int, step: Step) -> None:
        fixed, images = step.selector is None or step.select is None, self.images.step(index)
        self.selector.append(-1 if fixed else step.selector)
        self.chosen.append(self._move(index, step.fixed, images) if fixed else self.lookup.node())
        self.guard.append(-1 if step.guard is None else step.guard[0])
        self.barred.append(self.lookup.node())
        if step.guard is not None:
            self._guarded.setdefault(step.guard[0], []).append(index)
        self.mouth.append(step.fixed.takes if fixed and step.fixed.takes is not None else -1)
        if self.mouth[index] >= 0:
            self._fed.setdefault(self.mouth[index], []).append(index)
        self.silent.append(step.only_when_quiescent)
        self.owed.append(step.kind is Kind.PROTOCOL)

    def _move(self, index: int, footprint: Footprint, images: Footprints) -> int:
        """The number of a step with one of its footprints."""
        number = self._move_numbers.get((index, footprint, images))
        if number is None:
            number = self._move_numbers[index, footprint, images] = len(self.moves)
            claimed = self._claimed_apart(index, footprint)
            seen = [slot for slot in footprint.reads if slot != claimed]
            self.moves.append((self.model.steps[index], footprint, images, claimed))
            self._take_from(footprint.takes)
            self.takes.append(-1 if footprint.takes is None else footprint.takes)
            self.reads.append(self.read.extend(seen))
            self.start.append(0)
            self.start[number] = self.lookup.node() if footprint.takes is not None or seen else self.evaluate(number, None, [], index)
        return number

    def _claimed_apart(self, index: int, footprint: Footprint) -> Slot | None:
        """The slot in which the step claims something, whatever else it sees.  With symmetries, each reaction is held to them as a whole."""
        guard = self.model.steps[index].guard
        if self.model.steps[index].claims is None or guard is None or self.images.symmetries or footprint.reads == (guard[0],):
            return None
        return guard[0] if guard[0] in footprint.reads else None

    def _take_from(self, slot: Slot | None) -> None:
        """Tell first word and rest of the slot's values, from now on and of those that are there."""
        if slot is None or slot in self.taken_from:
            return
        self.taken_from.add(slot)
        for value, number in list(self.numbers[slot].items()):
            assert isinstance(value, tuple)
            self.images.taken(slot, value)
            if value:
                rest = self.rest[number] = self.number(slot, value[1:])
                self.head[number] = self._word(slot, value[0])
                self.popped[number] = tuple(map(xor, self.key[number], self.key[rest]))

    def learn_step(self, row: Numbers, index: int) -> None:
        """Store all that is needed to fire a step in a row."""
        with self._lock:
            step, move = self.model.steps[index], self.chosen.items[index]
            if step.guard is not None and self._refused(index, row[step.guard[0]]) < 0:
                return
            if step.selector is not None and step.select is not None:
                value, node = row[step.selector], move
                known = self.lookup.known(node, value)
                move = self.lookup.put(node, value, self._select(index, self.values[value])) if known is None else known
                if move in (DISABLED, GONE):
                    self._block(value, (index,))
                if move < 0:
                    return
            (_, footprint, _, claimed), reaction = self.moves[move], self.start.items[move]
            path = [row[slot] for slot in footprint.reads if slot != claimed]
            word: Word | None = None
            if footprint.takes is not None:
                head = self.head[row[footprint.takes]]
                if head < 0:
                    return
                path, word = [head, *path], self.words[head]
            if path:
                node = self.lookup.walk(reaction, path[:-1])
                known = self.lookup.known(node, path[-1])
                read = [row[slot] for slot in footprint.reads]
                reaction = self.lookup.put(node, path[-1], self.evaluate(move, word, read, index)) if known is None else known
            if reaction >= 0:
                self._learn_appends(row, reaction, index)

    def _refused(self, index: int, value: int) -> int:
        """DISABLED or GONE where the step's guard refuses this value of its slot."""
        known = self.lookup.known(self.barred.items[index], value)
        if known is not None:
            return known
        if (refused := self._refuse(index, value)) in (DISABLED, GONE):
            self._block(value, (index,))
        return refused

    def _refuse(self, index: int, value: int) -> int:
        """As `_refused`, for a value that was not asked of yet; what it blocks is to be said."""
        guard = self.model.steps[index].guard
        assert guard is not None, "it is asked of those that have one"
        try:
            refused = guard[1](self.values[value])
            self.images.refused(index, guard[0], self.values[value], refused)
        except Exception as cause:
            return self.lookup.put(self.barred.items[index], value, self._failed(index, cause))
        return self.lookup.put(self.barred.items[index], value, 0 if refused is None else _disabled(refused))

    def _select(self, index: int, value: Value) -> int:
        step = self.model.steps[index]
        assert step.selector is not None
        assert step.select is not None
        try:
            footprint = step.select(value)
        except Exception as cause:
            return self._failed(index, cause)
        images = self.images.selected(index, step.selector, value, footprint)
        return _disabled(footprint) if isinstance(footprint, Disabled) else self._move(index, footprint, images)

    def evaluate(self, move: int, word: Word | None, read: Numbers, index: int) -> int:
        """React, by the pure function; a reaction that raises is stored as such, and tells what it raises when it is fired by definition."""
        step, footprint, images, claimed = self.moves[move]
        values, old = tuple([self.values[number] for number in read]), dict(zip(footprint.reads, read, strict=True))
        self.evaluated[index] += 1
        try:
            effect = step.react(word, values)
            self.images.reacted(index, footprint, images, word, values, effect)
            if not isinstance(effect, Disabled):
                reaction = self._add_reaction(index, footprint, claimed, old, effect)
                self.operands[reaction] = index, -1 if word is None or footprint.takes is None else self._word(footprint.takes, word), old
                return reaction
        except Exception as cause:
            return self._failed(index, cause)
        return _disabled(effect)

    def _failed(self, index: int, cause: Exception) -> int:
        self.causes.setdefault(index, cause)
        return FAILED

    def _add_reaction(self, index: int, footprint: Footprint, claimed: Slot | None, old: dict[Slot, int], effect: Effect) -> int:
        """Values that stay are left out, except where the slot is also taken from: there they undo the taking.

        An append to a slot that has a new value is worked out here; one to any other slot is looked up by what the slot holds, and so is a claim.
        """
        step = self.model.steps[index]
        if len(effect.values) != len(footprint.reads) or not all(slot in footprint.appends for slot, _ in effect.appended):
            raise FootprintError(str(step))
        changed: dict[Slot, Value] = {}
        for slot, value in dict(zip(footprint.reads, effect.values, strict=True)).items():
            before = self.values[old[slot]]
            if slot == footprint.takes or (value is not before and value != before):
                changed[slot] = value
        appends: dict[Slot, Batches] = {}
        for slot, words in effect.appended:
            if slot in changed:
                shorter, changed[slot] = changed[slot], self.model.layout.slots[slot].append(changed[slot], words)
                self.images.appended(slot, shorter, (words,), changed[slot])
            else:
                appends[slot] = (*appends.get(slot, ()), words)
        looked_up = [(slot, self._append_node(slot, words)) for slot, words in appends.items()]
        if claimed is not None:
            before = self.values[old[claimed]]
            left = changed.pop(claimed, before)
            if step.claims is not None and left != step.claims(before):
                raise FootprintError(f"{step} leaves something else than it claims")
            if index not in self._claim_nodes:
                self._claim_nodes[index] = self.lookup.node()
            looked_up.append((claimed, self._claim_nodes[index]))
        now = {slot: self.number(slot, value) for slot, value in changed.items()}
        changes, appended = self.change.extend([*now.items()]), self.appended.extend(looked_up)
        delta = self._unchanged
        for slot, number in now.items():
            was = self.rest[old[slot]] if slot == footprint.takes else old[slot]
            delta = tuple(map(xor, delta, map(xor, self.key[was], self.key[number])))
        self.delta.append(delta)
        taken = () if footprint.takes is None else (footprint.takes,)
        checks = self._add_touched({*taken, *now, *(slot for slot, _ in looked_up)}, now)
        return self.reactions.append((-1 if footprint.takes is None else footprint.takes, *changes, *appended, *checks))

    def _add_touched(self, touched: set[Slot], now: dict[Slot, int]) -> tuple[int, int, int]:
        """What to ask in every state that has new values in these slots: checks of several slots, then those of single ones.

        Where the first slot that a check looks at has a value that is known here, `now`, its look-up starts behind it.
        """
        slots = frozenset(touched)
        if slots not in self._touching:
            asked = sorted(set().union(*(self._asked_at.get(slot, ()) for slot in slots)))
            several = [(check, self._asked[check].slots) for check in asked if len(self._asked[check].slots) != 1]
            begin = sorted({slot for _, at in several for slot in at[: 2 if len(at) == 2 else 1]})
            single = [(check, *self.checks[check][:3], self._asked[check].slots[0]) for check in asked if len(self._asked[check].slots) == 1]
            self._touching[slots] = begin, several, single
        begin, several, single = self._touching[slots]
        key = slots, tuple([now.get(slot) for slot in begin])
        if key not in self._touched:
            first, middle = self.check.extend([self._begun(check, at, slots, now) for check, at in several])
            self._touched[key] = first, middle, self.check.extend(single)[1]
        return self._touched[key]

    def _begun(self, check: int, at: tuple[Slot, ...], touched: Touched, now: dict[Slot, int]) -> tuple[int, int, int, int, int]:
        """A check of several slots, from behind the value in `now` that its look-up can start with.

        If there is none, and one of two slots is touched, the other one is first: there, neighbours often have the same.
        """
        node, lo, hi, *_ = self.checks[check]
        if at[0] in now:
            return check, self.lookup.walk(node, [now[at[0]]]), lo + 1, hi, at[1] if len(at) == 2 else -1
        if len(at) == 2 and at[1] in now:
            return check, self.lookup.walk(self._asked[check].turned, [now[at[1]]]), hi, hi + 1, at[0]
        if len(at) == 2 and at[1] not in touched:
            return check, self._asked[check].turned, lo + 1, hi + 1, -1
        return check, node, lo, hi, -1

    def add_origin(self) -> int:
        """The reaction of which initial states come: it changes nothing, and everything is asked."""
        self.delta.append(self._unchanged)
        constant, _ = self.check.extend([(check, *self.checks[check][:3], -1) for check in self._constant])
        first, middle, last = self._add_touched(set(range(len(self.numbers))), {})
        assert constant + len(self._constant) == first, "these are asked too"
        return self.reactions.append((-1, 0, 0, 0, 0, constant, middle, last))

    def _append_node(self, slot: Slot, batches: Batches) -> int:
        node = self._append_nodes.get((slot, batches))
        if node is None:
            node = self._append_nodes[slot, batches] = self.lookup.node()
            self._appended_at[node] = (slot, batches)
        return node

    def _learn_appends(self, row: Numbers, reaction: int, index: int) -> None:
        taken, _, _, lo, hi = self.reactions.items[reaction][: APPENDS + 2]
        for slot, node in self.appended.items[lo:hi]:
            was = row[slot] if slot != taken else self.rest[row[slot]]
            if self.lookup.known(node, was) is None:
                self.lookup.put(node, was, self._append(node, was, index))

    def _append(self, node: int, number: int, index: int) -> int:
        value, claims = self.values[number], self.model.steps[index].claims
        try:
            if claims is not None and node == self._claim_nodes.get(index):
                return self.number(self.slots[number], claims(value))
            slot, batches = self._appended_at[node]
            for words in batches:
                value = self.model.layout.slots[slot].append(value, words)
            self.images.appended(slot, self.values[number], batches, value)
            return self.number(slot, value)
        except Exception as cause:
            return self._failed(index, cause)

    # ---- checks -----------------------------------------------------------------------------------------

    def _add_check(self, of: int, slots: tuple[Slot, ...], function: Callable[[tuple[Value, ...]], Any]) -> int:
        """A function of some slots that answers None or something."""
        node = self.lookup.node() if slots else int(function(()) is not None)
        self.questions.append((of, function, slots))
        return self._add_asked(node, slots, of, [(len(self.questions) - 1, function)])

    def _add_bundle(self, checks: list[int], slots: tuple[Slot, ...]) -> int:
        """A check that says whether any of these, all of the same slots, answers something."""
        return self._add_asked(self.lookup.node(), slots, -1, [(check, self.questions[check][1]) for check in checks], self.members.extend(checks))

    def _add_asked(
        self, node: int, slots: tuple[Slot, ...], of: int, functions: list[tuple[int, Callable[[tuple[Value, ...]], Any]]],
        members: tuple[int, int] = (0, 0),
    ) -> int:  # fmt: skip
        lo, hi = self.looks.extend(slots)
        if len(slots) == 2:
            self.looks.append(slots[0])  # behind the second one
        self._asked.append(Asked(slots, functions, node, self.lookup.node() if len(slots) == 2 else -1))
        return self.checks.append((node, lo, hi, of, *members))

    def learn_check(self, row: Numbers, check: int) -> None:
        """Store a check's answer in a row, or a bundle's.  Raises what the check raises."""
        with self._lock:
            slots, functions, node, turned = self._asked[check]
            *path, last = [row[slot] for slot in slots]
            node = self.lookup.walk(node, path)
            if self.lookup.known(node, last) is not None:
                return
            values, breached = tuple([self.values[row[slot]] for slot in slots]), False
            for one, function in functions:
                answer = function(values) is not None
                self.images.answered(one, values, answer)
                breached = breached or answer
            self._answer(node, last, breached)
            if turned >= 0:
                self._answer(self.lookup.walk(turned, (last,)), path[0], breached)

    def _answer(self, node: int, value: int, breached: bool) -> None:
        self.lookup.put(node, value, int(breached))
        if not breached and (bit := self.local.items[value]) < HELD:
            self.lookup.holds[node] |= 1 << bit

    # ---- for the kernels ----------------------------------------------------------------------------------

    def arrays(self, view: int = 0) -> Arrays:
        """The tables as they are now; valid until this is called again for the same view after something was learnt.  Raises Asymmetric."""
        with self._lock:
            return self._arrays(self.lookup.views[view % len(self.lookup.views)])

    def _arrays(self, view: View) -> Arrays:
        if self.images.odd:
            raise Asymmetric
        size = self.answers, len(self.values), len(self.moves), len(self.reactions.items), len(self.check.items)
        if view.arrays is not None and view.size == size:
            return view.arrays
        self.lookup.give(view)
        view.size, view.arrays = size, Arrays(
            self.key.array, self.busy.array, self.head.array, self.rest.array, self.popped.array, self.suspect.array,
            self.local.array, self.blocks.array, self.gates.array[: len(self.gates.items)], self.lookup.holds.array,
            view.asked, view.shift, self.selector.array[: len(self.selector.items)], self.chosen.array, self.guard.array, self.barred.array,
            self.mouth.array, self.silent.array, self.owed.array, self.takes.array, self.start.array, self.reads.array, self.read.array,
            self.reactions.array, self.delta.array, self.change.array, self.appended.array, self.check.array, self.checks.array, self.looks.array,
            self.members.array,
        )  # fmt: skip
        return view.arrays

    @property
    def answers(self) -> int:
        """How many look-ups have an answer."""
        return len(self.lookup.answers)


def _disabled(refused: Disabled) -> int:
    return GONE if refused.for_good else DISABLED

