"""Debug mode: every step is also fired by definition in every state, and what the tables say is held against it; so are the promises of the steps.

A table is wrong where a step is no pure function of what it declares.  Promises (`within`, `narrows`, `for_good`) would mislead a reduction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamcheck.model.interface import Disabled, Footprint, FootprintError, Model, State, Step, fire

from .store import Chunk

if TYPE_CHECKING:
    from .search import Search


def compare(search: Search, batch: Chunk) -> tuple[int, int, FootprintError] | None:
    """The first row and step of a batch, which has been expanded, whose step does what it does not declare; and what that is."""
    c, tables = search.candidates, search.tables
    for r in range(len(batch)):
        state = tables.state(batch.rows[r].tolist())
        at = int(c.start[r])
        told = {int(c.step[j]): tuple(c.prints[j].tolist()) for j in range(at, at + int(c.size[r]))}
        for s, step in enumerate(search.model.steps):
            wrong = differs(search, step, state, told.get(s)) or breaks_promise(search.model, step, state)
            if wrong is not None:
                return r, s, FootprintError(wrong)
    return None


def differs(search: Search, step: Step, state: State, told: tuple[int, ...] | None) -> str | None:
    """How the step differs from what the tables say: the fingerprint of the state that it leads to, or None if it is disabled."""
    try:
        after = fire(search.model, step, state)
        again = fire(search.model, step, state)
    except Exception:  # the tables say so too, or what raises here was worked out for other values of what is not declared
        return None if told is None else f"{step} raises here, and does not elsewhere where it reads the same"
    if isinstance(after, Disabled) != isinstance(again, Disabled) or (not isinstance(after, Disabled) and after != again):
        return f"{step} does one thing and then another in the same state: it is not pure"
    if isinstance(after, Disabled):
        return None if told is None else f"{step} is disabled here, not elsewhere where it reads the same: it looks at what it does not declare"
    if told is None:
        return f"{step} is enabled here, and disabled elsewhere where it reads the same or where its guard refuses: a wrong guard or footprint"
    if search.print_of(after) != told:
        claims = ", or what it claims and the rest are not independent" if step.claims is not None else ""
        return f"{step} does another thing elsewhere where it reads the same: it looks at what it does not declare{claims}"
    return None


def breaks_promise(model: Model, step: Step, state: State) -> str | None:
    """Which promise the step does not keep in this state, or right after it."""
    after = fire_or_none(model, step, state)
    footprint = step.footprint(state)
    if after is None or isinstance(footprint, Disabled):
        return None
    if step.within is not None and step.selector is not None and not lies_within(footprint, step.within):
        return f"{step} selects a footprint beyond the one that it promises to stay within"
    if step.narrows is not None:
        allowed = step.narrows[1](state[step.narrows[0]])
        written = {*footprint.reads, *(() if footprint.takes is None else (footprint.takes,))}
        changed = {slot for slot in footprint.appends if slot not in written and state[slot] != after[slot]}
        if not changed <= allowed:
            return f"{step} appends to {model.layout.slots[min(changed - allowed)].name}, which it promises not to in this state"
    for other in model.steps:
        refused = refusal(model, other, state)
        if refused is not None and refused.for_good and fire_or_none(model, other, after) is not None:
            return f"{other} is disabled for good before {step} and enabled after it: {refused.guard}"
    return None


def lies_within(footprint: Footprint, most: Footprint) -> bool:
    """Whatever is taken or read may be read, and whatever is appended to may be appended to."""
    touched = {*footprint.reads, *(() if footprint.takes is None else (footprint.takes,))}
    return touched <= {*most.reads, most.takes} and set(footprint.appends) <= set(most.appends)


def refusal(model: Model, step: Step, state: State) -> Disabled | None:
    """Why the step is disabled, as its guard says first."""
    if step.guard is not None and (refused := step.guard[1](state[step.guard[0]])) is not None:
        return refused
    after: Any = fire(model, step, state)
    return after if isinstance(after, Disabled) else None


def fire_or_none(model: Model, step: Step, state: State) -> State | None:
    """The next state, if there is one."""
    try:
        after = fire(model, step, state)
    except Exception:
        return None
    return None if isinstance(after, Disabled) else after
