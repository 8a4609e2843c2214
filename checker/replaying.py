"""The command `replay`: reads a trace, re-executes it, and shows it in the form asked for."""

from __future__ import annotations

from roamcheck.spec.filters import printable

from . import narrate, report
from .files import FileError, read_text
from .interactive import Session
from .replay import Replay, ReplayMismatch, described, replay
from .trace import TraceError, loads
from .verdict import ExitCode

FORMS = {"text": narrate.text, "mermaid": narrate.mermaid, "itf": narrate.itf}


def run(path: str, step: int | None, interactive: bool, form: str, lines: report.JsonLines) -> ExitCode:
    """Replay the trace in the file `path`."""
    try:
        trace = loads(read_text(path), path)
        if lines.quiet and (interactive or form != "text"):
            raise FileError("--json - takes standard output for itself; leave out --interactive and --to, or write the JSON to a file")
        if step == 0 and lines.quiet:
            raise FileError("--step 0 --json -: step 0 is the start, and nothing has happened; steps count from 1")
        if interactive and form != "text":
            raise FileError(f"--interactive --to {form}: a walk is told as text; leave one of the two out")
        if step is not None and form != "text":
            raise FileError(f"--step {step} --to {form}: a step alone is told as text; leave one of the two out")
        if step is not None and step > trace.header.length:
            raise FileError(f"{printable(path)}: has no step {step}; it has {trace.header.length}")
        found = replay(trace)
        for replayed in found.steps:
            if step is None or step == replayed.number:
                lines.add(described(replayed))
        lines.close()
    except (FileError, TraceError) as error:
        report.warn(f"error: {error}")
        return ExitCode.USAGE
    except ReplayMismatch as error:
        report.warn(f"error: {printable(path)}: does not replay: {error}")
        return ExitCode.DISAGREES
    if interactive:
        walk(Session(found, step or 0))
    elif not lines.quiet:
        show(found, step, form)
    return ExitCode.HOLDS


def show(found: Replay, step: int | None, form: str) -> None:
    """Print the run, or one step of it."""
    header = found.header
    if form == "text":
        report.say(f"{header.scenario.name}  {header.scenario.title}")
        asked = header.question()
        report.say(f"protocol {header.protocol}, readings {report.readings_text(asked)}, {report.assumptions_text(asked)}")
        report.say(f"{header.property or 'a run'}, {header.length} steps, recorded by {header.engine}; every step has been replayed")
        report.say(narrate.text(found) if step is None else narrate.one_step(found, step))
    else:
        report.say(FORMS[form](found))


def walk(session: Session) -> None:
    """Ask for commands until there are no more."""
    report.say(f"{session.found.header.scenario.name}: {len(session.found.steps)} steps; h for help")
    while not session.done:
        try:
            line = report.prompt(session.prompt)
        except (EOFError, KeyboardInterrupt):
            report.say("")
            return
        except UnicodeDecodeError:
            report.say("that is no text; h lists the commands")
            continue
        answer = session.ask(line)
        if answer:
            report.say(answer)
