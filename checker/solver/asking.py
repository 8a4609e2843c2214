"""A solver that leaves interrupts alone, and what is raised when it has no answer."""

from __future__ import annotations

import z3


class Undecided(Exception):
    """Z3 gave up, or the time is up; one line says which."""


def new_solver(logic: str | None = None, patience: float | None = None, context: z3.Context | None = None) -> z3.Solver:
    """For a logic of SMT-LIB or any; an answer takes at most `patience` seconds.

    Without this, Z3 takes an interrupt for itself, and loses it where it is about to answer.
    """
    solver = z3.Solver(ctx=context) if logic is None else z3.SolverFor(logic, ctx=context)
    solver.set("ctrl_c", False)
    if patience is not None:
        solver.set("timeout", int(1000 * patience))
    return solver
