"""Re-executes a trace through the pure steps.  Whatever does not reproduce, to the letter, is refused with the step that differs."""

from __future__ import annotations

from dataclasses import dataclass

from roamcheck.model.encoding import digest, to_data
from roamcheck.model.interface import Disabled, Kind, Model, Property, Scope, State, Step, fire
from roamcheck.spec.breach import Breach
from roamcheck.spec.messages import Message
from roamcheck.spec.properties import PROPERTIES
from roamcheck.spec.protocols import PROTOCOLS

from .changes import Change, changes
from .lines import Lines, printed_lines
from .trace import Header, Trace, TraceStep, taken
from .verdict import goes_on_for_ever


class ReplayMismatch(Exception):
    """A trace that does not replay: one line with the step, what differs, how far it does replay, and what was enabled there."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One step, re-executed."""

    number: int  # from 1
    step: Step
    message: Message | None
    before: State
    after: State
    changes: tuple[Change, ...]
    lines: tuple[Lines, ...]  # the printed lines that ran


@dataclass(frozen=True, slots=True)
class Replay:
    """A trace that reproduces."""

    header: Header
    model: Model
    steps: tuple[Replayed, ...]

    @property
    def initial(self) -> State:
        """The state in which the run starts."""
        return self.model.initial_states[self.header.initial]

    def state(self, number: int) -> State:
        """The state after `number` steps."""
        return self.steps[number - 1].after if number else self.initial


def replay(trace: Trace) -> Replay:
    """Fire every step of the trace and hold it to what was recorded.  Raises ReplayMismatch."""
    header = trace.header
    model = header.question().model()
    if header.initial >= len(model.initial_states) or digest(model.initial_states[header.initial]) != header.digest:
        raise ReplayMismatch("no step replays: the initial state differs from the recorded one; the header was edited, or roamcheck has changed")
    margin = PROTOCOLS[header.protocol].margin
    by_name = {(step.action, step.arguments): step for step in model.steps}
    state, done = model.initial_states[header.initial], []
    for recorded in trace.steps:
        step = by_name.get((recorded.kind, recorded.arguments))
        if step is None:
            raise mismatch(model, state, recorded, f"the scenario has no step {recorded}")
        message = taken(step, state)
        try:
            after = fire(model, step, state)
        except Exception as error:  # a defect of the model, which the trace is not to blame for
            raise mismatch(model, state, recorded, f"{recorded} raises {type(error).__name__}: {' '.join(str(error).split())}") from error
        if isinstance(after, Disabled):
            raise mismatch(model, state, recorded, f"{recorded} cannot fire, since this does not hold: {after.guard}")
        if message != recorded.message:
            raise mismatch(model, state, recorded, f"{recorded} takes another message than the recorded one")
        if digest(after) != recorded.digest:
            raise mismatch(model, state, recorded, f"the state after {recorded} differs from the recorded one")
        done.append(Replayed(recorded.number, step, message, state, after, changes(model, state, after), printed_lines(step, state, margin)))
        state = after
    found = Replay(header, model, tuple(done))
    if header.property is not None:
        hold_to_breach(found)
    return found


def mismatch(model: Model, state: State, recorded: TraceStep, why: str) -> ReplayMismatch:
    """The refusal of one step."""
    names = [str(step) for step in enabled(model, state)]
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    reached = recorded.number - 1
    prefix = "no step replays" if reached == 0 else f"the first {reached} step{'s replay' if reached > 1 else ' replays'}"
    return ReplayMismatch(f"step {recorded.number}: {why}; {prefix}; enabled there: {shown or 'nothing'}")


def enabled(model: Model, state: State) -> list[Step]:
    """The steps that can fire in a state, in the model's order."""
    return [step for step in model.steps if why_disabled(model, step, state) is None]


def why_disabled(model: Model, step: Step, state: State) -> str | None:
    """The guard that keeps the step from firing; None when it can fire."""
    try:
        after = fire(model, step, state)
    except Exception as error:  # seen from here it only cannot be taken; whoever takes it is told
        return f"it does not raise {type(error).__name__}"
    return after.guard if isinstance(after, Disabled) else None


# ---- the recorded breach ----------------------------------------------------------------------------


def hold_to_breach(found: Replay) -> None:
    """The recorded breach is the one that the run ends in.  Raises ReplayMismatch."""
    header, model = found.header, found.model
    asked = next(p for p in model.properties if p.name == header.property)
    last = found.state(header.length)
    if header.loop is None:
        if asked.scope is not Scope.EVERY_STATE and not model.quiescent(last):
            raise ReplayMismatch(f"the last state is not quiescent, and {asked.name} is asked in {PROPERTIES[asked.name].scope}")
        if asked.scope is Scope.RUN and not model.spent(tuple(last[slot] for slot in model.budget)):
            raise ReplayMismatch(f"the environment's budget is not spent in the last state, and {asked.name} is asked of runs in which it is")
    breaches = breaches_in(asked, last) if header.loop is None else [breach_of_lasso(found, header.loop)]
    if not breaches:
        raise ReplayMismatch(f"all {header.length} steps replay, but {asked.name} holds at their end")
    if header.breach not in breaches:
        raise ReplayMismatch(f"all {header.length} steps replay, but another breach than the recorded one comes of them: {breaches[0]}")


def breaches_in(asked: Property, state: State) -> list[Breach]:
    """What each predicate of the property says that fails in the state; which of them a trace records is the engine's choice."""
    found = (predicate.check(tuple(state[slot] for slot in predicate.reads)) for predicate in asked.predicates)
    return [breach for breach in found if breach is not None]


def breach_of_lasso(found: Replay, loop: int) -> Breach:
    """The run goes on for ever: the turn leads back, is made of protocol steps with the budget spent, and starves no channel."""
    model, turn = found.model, found.steps[loop:]
    start = found.state(loop)
    if turn[-1].after != start:
        raise ReplayMismatch(f"the turn from step {loop + 1} on does not lead back to where it began")
    if any(replayed.step.kind is not Kind.PROTOCOL for replayed in turn):
        raise ReplayMismatch("the turn has a step that the environment or the radio need not take")
    if not model.spent(tuple(start[slot] for slot in model.budget)):
        raise ReplayMismatch("the environment's budget is not spent in the turn")
    served = {replayed.step.serves for replayed in turn}
    for slot, spec in enumerate(model.layout.slots):
        if slot not in served and all(not model.idle(slot, replayed.after[slot]) for replayed in turn):
            raise ReplayMismatch(f"the turn is not fair: {spec.name} always holds something and is never served")
    return goes_on_for_ever(replayed.step for replayed in turn)


def described(replayed: Replayed) -> dict[str, object]:
    """The step as `replay --json` prints it."""
    arguments = dict(replayed.step.arguments)
    actor = next((arguments[key] for key in ("from", "broker", "subscriber", "publisher") if key in arguments), None)
    return {
        "step": replayed.number,
        "kind": replayed.step.action,
        "from": arguments["link"].split("–")[0] if "link" in arguments else actor,
        "to": arguments["link"].split("–")[1] if "link" in arguments else arguments.get("to"),
        "message": None if replayed.message is None else to_data(replayed.message),
        "changes": [{"slot": change.slot, "what": change.what} for change in replayed.changes],
    }
