"""`roamcheck prove`: local properties for runs of any length, and the algebra of filters."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import click

from roamcheck.checker.interrupts import held_back
from roamcheck.checker.options import BAD_INPUT, json_option, need_z3, pairs, refuse
from roamcheck.checker.verdict import ExitCode

STYLES = {"violated": "bold red", "proved": "green"}


@click.command(epilog="Example: roamcheck prove mft-pubsub --property timestamp-bound")
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]…")
@click.option("--property", "properties", multiple=True, metavar="NAME", help="Prove only this property (repeatable).")
@click.option("--readings", default="printed", show_default=True, metavar="SET", help="A named set of readings: printed, amended.")
@click.option("--reading", multiple=True, metavar="NAME=VALUE", help="One reading (repeatable); see `roamcheck list readings`.")
@click.option("--mutant", metavar="NAME", help="Plant a fault in the algorithms (see `roamcheck list mutants`).")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=300.0, show_default=True, metavar="S", help="Seconds in all.")
@click.option("--filters", "scenario", metavar="SCENARIO", help="Decide instead which filters of SCENARIO cover, overlap or equal which.")
@json_option
def prove(protocols: tuple[str, ...], json_to: str | None, scenario: str | None, **options: Any) -> None:
    """Prove well-formed, one-next-hop, timestamp-bound, timestamps-never-go-back and arrow of each PROTOCOL (default: all), for runs of any length.

    Where a reaction does not preserve a property it is shown, and the explorer looks for a run that leads there. With --filters, the filters of a
    scenario are compared instead.

    Exit code: 0 all proved, 1 a run breaches a property, 2 bad input, 3 not proved and no such run found, or out of time.
    """
    from roamcheck.checker import report

    lines = report.JsonLines(json_to)
    try:
        need_z3("prove")
        code = compare_filters(scenario, lines) if scenario is not None else prove_all(protocols, lines, options)
        lines.close()
    except BAD_INPUT as error:
        code = refuse(error)
    sys.exit(code)


def prove_all(protocols: tuple[str, ...], lines: Any, options: dict[str, Any]) -> ExitCode:
    """Every property of every protocol.  Raises QuestionError."""
    from roamcheck.checker import report
    from roamcheck.checker.question import QuestionError
    from roamcheck.checker.solver import proving

    for name in options["properties"]:
        if name not in proving.PROVABLE:
            raise QuestionError(f"no property that can be proved is called {name!r}; choose from {', '.join(proving.PROVABLE)}")
    values = pairs(options["reading"], "--reading")
    asked = [(name, *proving.asked_readings(options["readings"], values, name)) for name in proving.asked_protocols(protocols, options["mutant"])]
    started, proofs, interrupted = time.monotonic(), [], False
    with report.status() as observe:
        prover = proving.Prover(options["mutant"], started + options["timeout"], observe)
        try:
            with held_back():
                for protocol, readings, label in asked:
                    for proof in prover.prove(protocol, readings, label, options["properties"] or proving.PROVABLE):
                        proofs.append(proof)
                        lines.add(proving.as_record(proof))
        except KeyboardInterrupt:
            interrupted = True
    if not lines.quiet:
        tell(proofs, time.monotonic() - started)
    if interrupted:
        report.warn("interrupted; this is what was proved so far")
        return ExitCode.INTERRUPTED
    return exit_code(proofs)


def exit_code(proofs: Sequence[Any]) -> ExitCode:
    """A breach that a run reaches before what is not decided."""
    verdicts = {proof.verdict for proof in proofs}
    if "violated" in verdicts:
        return ExitCode.VIOLATED
    undecided = verdicts & {"not-inductive", "unknown"} or any(proof.rests_on for proof in proofs)
    return ExitCode.UNDECIDED if undecided else ExitCode.HOLDS


def tell(proofs: Sequence[Any], seconds: float) -> None:
    """The table, what was assumed, and each reaction that does not preserve its property."""
    from roamcheck.checker import report
    from roamcheck.checker.solver import arrow_links
    from roamcheck.checker.solver.induction import ASSUMED, EXCEPTED
    from roamcheck.checker.solver.proving import ARROW, STRENGTHENED, told
    from roamcheck.checker.solver.universe import SAYS

    rows = [[p.protocol, p.label, p.property, p.verdict, remark(p), f"{p.paths:,}" if p.paths else "", f"{p.seconds:.1f}"] for p in proofs]
    report.table(("protocol", "readings", "property", "verdict", "why, or the run that breaches it", "paths", "s"), rows)
    report.say(f"{seconds:.1f} s in all\n\nproved: for runs of any length, from every local state and message of this universe:")
    for line in SAYS:
        report.say(f"  {line}")
    report.say(f"  {ASSUMED}")
    if any(p.property == ARROW and p.verdict != "not-applicable" for p in proofs):
        report.say(f"for {ARROW} of this one:")
        for line in arrow_links.SAYS:
            report.say(f"  {line}")
    for name in dict.fromkeys(p.property for p in proofs if p.verdict != "not-applicable"):
        report.say(f"{name} is strengthened by:")
        for line in STRENGTHENED[name]:
            report.say(f"  {line}")
        if name in EXCEPTED:
            report.say(f"  and says nothing of {EXCEPTED[name]}")
    for p in proofs:
        for example in p.counterexamples:
            report.say(f"\n{p.protocol}, {p.property}: a reaction that does not preserve {'it' if example.own else 'what strengthens it'}")
            for line in told(example):
                report.say(line)


def remark(proof: Any) -> str:
    """What the table says beside the verdict."""
    from roamcheck.checker.solver.witness import Reached

    parts = [proof.why] if proof.why else []
    if isinstance(proof.reached, Reached):
        radio = "" if proof.reached.radio == "reliable" else f", radio = {proof.reached.radio}"
        parts.append(f"{proof.reached.scenario}, {proof.reached.length} steps{radio}")
    elif proof.reached is not None:
        parts.append(str(proof.reached))
    if proof.rests_on:
        parts.append(f"while {', '.join(proof.rests_on)} holds, which is not proved")
    if proof.shared:
        parts.append(f"the paths of {proof.shared}: the same functions, and no reading that differs is asked for")
    return "; ".join(parts)


def compare_filters(name: str, lines: Any) -> ExitCode:
    """How the filters of a scenario lie to each other.  Raises what load_scenario raises."""
    from roamcheck.checker import report
    from roamcheck.checker.files import load_scenario
    from roamcheck.checker.solver.filter_logic import relations
    from roamcheck.spec.filters import describe

    scenario = load_scenario(name)
    found = list(relations(dict(scenario.filters)))
    for relation in found:
        lines.add({"scenario": scenario.name, **relation.as_record()})
    if not lines.quiet:
        for f, meaning in scenario.filters:
            report.say(f"{f}: {describe(meaning)}")
        report.table(("filter", "relation", "filter", "an event that shows it"), [relation.as_row() for relation in found])
    return ExitCode.HOLDS
