"""Z3 orders the events of a run so that a condition arises; the pure steps replay each order that it gives.

A run that was really fired tells which events there are, which message each takes and sends, and which move waits for which.  Z3 looks for
another order of some of them: a message is taken after it was sent, channels are FIFO, moves keep their order, and the condition holds.  What a
broker does may depend on the order, so the order is fired: if it is no run, or the condition does not arise, orders that are the same up to there
are ruled out, and the run that came of it is a further one to start from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import z3

from roamcheck.checker.conditions import REACHED, Condition, InFlight, Meeting, after, stamps
from roamcheck.checker.interrupts import heed
from roamcheck.model.interface import Disabled, Footprint, Kind, Model, Slot, State, fire
from roamcheck.model.world import World
from roamcheck.spec.messages import kind

from .asking import new_solver

LONGEST = 60  # steps of a run to start from
PATIENCE = 20.0  # seconds for one order


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of a run."""

    channel: Slot
    message: Any
    by: int | None  # the event that sent it; None if it was under way at the start
    ends: int | None = None  # the event that took it, or that ended its way


@dataclass(frozen=True, slots=True)
class Event:
    """A step of a run, and the slots that it touched."""

    step: int  # its number in the model
    touched: frozenset[Slot]
    takes: int | None = None  # the number of the message that it took


@dataclass(slots=True)
class Run:
    """A run that was fired: what happened, and which messages there were."""

    events: list[Event] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    reached: int | None = None  # after so many steps the condition had arisen

    @property
    def steps(self) -> tuple[int, ...]:
        """The numbers of the steps."""
        return tuple(event.step for event in self.events)


@dataclass(slots=True)
class Found:
    """What came of the search."""

    steps: tuple[int, ...] | None  # a run at the end of which the condition has arisen
    solutions: int  # orders that Z3 gave
    replayed: int  # of these, how many were runs
    exhausted: bool  # Z3 has no other order to offer


class Interleavings:
    """The search for one condition on one model."""

    def __init__(self, w: World, model: Model, wanted: Condition, seed: int = 0) -> None:
        self.w, self.model, self.wanted, self.random = w, model, wanted, Random(seed)
        self.context = z3.Context()  # its own: what Z3 was asked before has no say
        self.sequences = {*w.channel.values(), *w.returned.values()}
        self.runs: deque[tuple[Run, z3.Solver, list[Any], list[Any]]] = deque()
        self.met: set[tuple[int, ...]] = set()

    def search(self, solutions: int = 200, starts: int = 8, stop: Callable[[], bool] = lambda: False) -> Found:
        """Ask Z3 for orders until one does it, `solutions` were tried, none is left, or one is told to stop."""
        tried = replayed = 0
        met: Run | None = None  # a run from which one starts may do it as it is, at some length
        for _ in range(starts):
            run = self.fire((), to_the_end=True)
            if run.reached is not None and (met is None or run.reached < (met.reached or LONGEST)):
                met = run
            self.start_from(run)
        while self.runs and tried < solutions and not stop():
            heed()
            run, solver, included, place = self.runs[0]
            order = self.ask(solver, included, place)
            if order is None:
                self.runs.popleft()
                continue
            tried += 1
            steps = tuple(run.events[e].step for e in order)
            new = self.fire(steps)
            replayed += new.steps[: len(steps)] == steps
            if new.reached is not None:
                return Found(new.steps[: new.reached], tried, replayed, False)
            same = next((i for i, (one, other) in enumerate(zip(new.steps, steps, strict=False)) if one != other), min(len(new.steps), len(steps)))
            self.rule_out(run, solver, included, place, order[: same + 1])
            self.start_from(new)
            self.runs.rotate(-1)
        return Found(None if met is None else met.steps[: met.reached], tried, replayed, not self.runs)

    # ---- runs ---------------------------------------------------------------------------------------------------

    def fire(self, steps: tuple[int, ...], to_the_end: bool = False) -> Run:
        """Fire these steps as far as they can be, and then any that are enabled, until the condition has arisen or `to_the_end`."""
        run, state, memory = Run(), self.model.initial_states[0], self.wanted.start()
        queues: dict[Slot, list[int]] = {slot: [] for slot in self.sequences}
        for slot in self.sequences:
            self.sends(run, queues, slot, state[slot], None)
        given = iter(steps)
        while len(run.events) < LONGEST:
            index = next(given, None)
            moved = None if index is None else fire(self.model, self.model.steps[index], state)
            if index is None or isinstance(moved, Disabled):
                given = iter(())
                chosen = self.any_step(state)
                if chosen is None:
                    break
                index, moved = chosen
            assert moved is not None
            if memory != REACHED:
                memory = after(self.w, self.wanted, memory, self.model.steps[index], state)
            self.note(run, queues, index, state, moved)
            state = moved
            if memory == REACHED and run.reached is None:
                run.reached = len(run.events)
                if not to_the_end:
                    break
        return run

    def any_step(self, state: State) -> tuple[int, State] | None:
        """A step that is enabled, at random: what the condition speaks of, moves and all the rest are as likely as each other."""
        enabled: dict[str, list[tuple[int, State]]] = {"meant": [], "moves": [], "rest": []}
        for index, step in enumerate(self.model.steps):
            moved = fire(self.model, step, state)
            if not isinstance(moved, Disabled):
                meant = isinstance(self.wanted, InFlight) and self.wanted.when.fits(step)
                enabled["meant" if meant else "rest" if step.kind is Kind.PROTOCOL else "moves"].append((index, moved))
        some = [way for way in enabled.values() if way]
        return self.random.choice(self.random.choice(some)) if some else None

    def note(self, run: Run, queues: dict[Slot, list[int]], index: int, state: State, moved: State) -> None:
        """Write down what an event took, sent and ended."""
        number, footprint = len(run.events), self.model.steps[index].footprint(state)
        assert isinstance(footprint, Footprint)
        taken = None
        if footprint.takes is not None and queues.get(footprint.takes):
            taken = queues[footprint.takes].pop(0)
            self.ends(run, taken, number)
        for slot in self.sequences & {*footprint.reads, *footprint.appends, *(() if footprint.takes is None else (footprint.takes,))}:
            before: Any = state[slot]
            now: Any = moved[slot]
            left = before[1:] if slot == footprint.takes else before
            if now[: len(left)] != left:  # a link fell: what was under way on it has gone
                for message in queues[slot]:
                    self.ends(run, message, number)
                queues[slot].clear()
                left = ()
            self.sends(run, queues, slot, now[len(left) :], number)
        touched = frozenset((*footprint.reads, *footprint.appends, *(() if footprint.takes is None else (footprint.takes,))))
        run.events.append(Event(index, touched, taken))

    def ends(self, run: Run, message: int, event: int) -> None:
        """The way of a message ends with an event."""
        one = run.sent[message]
        run.sent[message] = Sent(one.channel, one.message, one.by, event)

    def sends(self, run: Run, queues: dict[Slot, list[int]], slot: Slot, words: Any, event: int | None) -> None:
        """Messages go on their way."""
        for word in words:
            queues[slot].append(len(run.sent))
            run.sent.append(Sent(slot, word, event))

    # ---- what Z3 is told ----------------------------------------------------------------------------------------------

    def start_from(self, run: Run) -> None:
        """Look for orders of the events of this run, unless it was looked at before."""
        if run.steps in self.met:
            return
        self.met.add(run.steps)
        solver, n = new_solver(patience=PATIENCE, context=self.context), len(run.events)
        included, place = [z3.Bool(f"in{e}", self.context) for e in range(n)], [z3.Int(f"at{e}", self.context) for e in range(n)]
        if n > 1:
            solver.add(z3.Distinct(*place))
        solver.add(*(z3.And(at >= 0, at < n) for at in place))
        for e, f in self.causes(run):
            solver.add(z3.Implies(included[f], z3.And(included[e], place[e] < place[f])))
        for message, other in self.followers(run):
            solver.add(*self.fifo(run, message, other, included, place))
        ways = [*self.ways(run, included, place)]
        if ways:
            solver.add(z3.Or(*ways))
            self.runs.append((run, solver, included, place))

    def causes(self, run: Run) -> Iterator[tuple[int, int]]:
        """Events that come before others in every order: who sends and who takes, and moves that wait for each other."""
        moves = {dict(self.model.steps[event.step].arguments).get("move"): e for e, event in enumerate(run.events)}
        waits = {move.id: move.after for move in self.w.scenario.moves}
        for f, event in enumerate(run.events):
            if event.takes is not None and (by := run.sent[event.takes].by) is not None:
                yield by, f
            for before in waits.get(dict(self.model.steps[event.step].arguments).get("move", ""), ()):
                if before in moves:
                    yield moves[before], f

    def followers(self, run: Run) -> Iterator[tuple[Sent, Sent]]:
        """Messages that were sent one after the other on one channel."""
        for i, message in enumerate(run.sent):
            yield from ((message, other) for other in run.sent[i + 1 :] if other.channel == message.channel)

    def fifo(self, run: Run, one: Sent, other: Sent, included: list[Any], place: list[Any]) -> Iterator[z3.BoolRef]:
        """Of two messages on a channel that which is sent first is taken first."""
        if one.ends is None or other.ends is None or one.ends == other.ends:
            return
        surely = one.by is None or one.by == other.by
        first = z3.BoolVal(surely, self.context) if one.by is None or other.by is None or surely else place[one.by] < place[other.by]
        both = z3.And(included[one.ends], included[other.ends])
        yield z3.Implies(both, first == (place[one.ends] < place[other.ends]))
        if surely:  # it is not overtaken
            yield z3.Implies(included[other.ends], included[one.ends])

    def ways(self, run: Run, included: list[Any], place: list[Any]) -> Iterator[z3.BoolRef]:
        """How the condition may arise in an order of these events."""
        wanted = self.wanted
        if isinstance(wanted, Meeting):
            yield from self.meetings(run, wanted, included, place)
            return
        channels = {self.w.channel[way]: way for way in wanted.ways(self.w)}
        for e, event in enumerate(run.events):
            step = self.model.steps[event.step]
            if not wanted.when.fits(step) or (wanted.when.kind is not None and self.kind_taken(run, event) != wanted.when.kind):
                continue
            for one in run.sent:
                if one.channel in channels and wanted.is_one(one.message) and self.may_fall(wanted, event, channels[one.channel]):
                    sent = z3.BoolVal(True, self.context) if one.by is None else z3.And(included[one.by], place[one.by] < place[e])
                    there = z3.BoolVal(True, self.context)
                    if one.ends is not None and one.ends != e:
                        there = z3.Or(z3.Not(included[one.ends]), place[e] < place[one.ends])
                    yield z3.And(included[e], sent, there)

    def kind_taken(self, run: Run, event: Event) -> str | None:
        """The kind of the message that an event took."""
        return None if event.takes is None else kind(run.sent[event.takes].message)

    def may_fall(self, wanted: InFlight, event: Event, way: tuple[str, str]) -> bool:
        """The event may let the link fall that is meant; which one a migration leaves depends on the order."""
        step = self.model.steps[event.step]
        meant = [*((way,) if wanted.falling else ()), *((wanted.when.link,) if wanted.when.link is not None else ())]
        if step.action == "link-down":
            return all({*dict(step.arguments)["link"].split("–")} == {*ends} for ends in meant)
        return all(dict(step.arguments).get("broker") in ends for ends in meant)

    def meetings(self, run: Run, wanted: Meeting, included: list[Any], place: list[Any]) -> Iterator[z3.BoolRef]:
        """Two messages that belong together reach one broker; if none do in this run, any other order may change that."""
        arrivals: dict[tuple[str, int], list[tuple[str, int]]] = {}
        for e, event in enumerate(run.events):
            step = self.model.steps[event.step]
            to = dict(step.arguments).get("to", "")
            if step.action == "deliver" and to in self.w.broker and event.takes is not None:
                message = run.sent[event.takes].message
                if kind(message) not in wanted.kinds:
                    continue
                for subscriber, t in stamps(message):
                    if subscriber == wanted.subscriber:
                        arrivals.setdefault((to, t), []).append((kind(message), e))
        for some in arrivals.values():
            for one, e in some:
                yield from (z3.And(included[e], included[f]) for other, f in some if (one, other) == wanted.kinds)
        if len(place) > 1:
            yield z3.Or(*(place[e] > place[f] for e in range(len(place)) for f in range(e + 1, len(place))))

    # ---- orders -------------------------------------------------------------------------------------------------------

    def ask(self, solver: z3.Solver, included: list[Any], place: list[Any]) -> list[int] | None:
        """An order of as few events as will do; None if there is none, or Z3 does not say."""
        if solver.check() != z3.sat:
            return None
        best = solver.model()
        while True:
            few = sum(z3.is_true(best.eval(one, True)) for one in included)
            solver.push()
            solver.add(z3.PbLe([(one, 1) for one in included], few - 1))
            better = few > 0 and solver.check() == z3.sat
            if better:
                best = solver.model()
            solver.pop()
            if not better:
                break
        chosen = [e for e, one in enumerate(included) if z3.is_true(best.eval(one, True))]
        return sorted(chosen, key=lambda e: best.eval(place[e], True).as_long())

    def rule_out(self, run: Run, solver: z3.Solver, included: list[Any], place: list[Any], order: list[int]) -> None:
        """No order that has the same events up to there, and the same order of those that touch the same slots."""
        differs: list[Any] = [z3.Not(included[e]) for e in order]
        for i, e in enumerate(order):
            differs += [place[f] < place[e] for f in order[i + 1 :] if run.events[e].touched & run.events[f].touched]
        others = [e for e in range(len(run.events)) if e not in order]
        differs += [z3.And(included[e], place[e] < place[order[-1]]) if order else included[e] for e in others]
        solver.add(z3.Or(differs) if differs else z3.BoolVal(False, self.context))

