"""Constraints on scenarios in words: `--where "two migrations concurrent and the moving broker has a child"`.

Phrases are joined by `and`, `or` (which binds less) and `not`; brackets group.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING

import z3

from roamcheck.checker.enumeration import CLIENT_MOVE, DURABLE, LINK_DOWN, MERGE, MIGRATE, NONE, PUBLISHER_MOVE, VOLATILE, Action

if TYPE_CHECKING:
    from .scenarios import Problem

Constraint = Callable[["Problem"], z3.BoolRef]
Units = list[tuple[int, z3.BoolRef]]  # numbers of moves and publications, and what is true if they are of the kind


class PhraseError(ValueError):
    """Words that are not understood; one line says where and what would be."""


KINDS: dict[str, tuple[int, ...]] = {  # the first letters are enough: "migrations"
    "client move": (CLIENT_MOVE, PUBLISHER_MOVE),
    "subscriber move": (CLIENT_MOVE,),
    "publisher move": (PUBLISHER_MOVE,),
    "broker migration": (MIGRATE,),
    "migration": (MIGRATE,),
    "partition": (LINK_DOWN,),
    "link failure": (LINK_DOWN,),
    "merge": (MERGE,),
    "durable crash": (DURABLE,),
    "volatile crash": (VOLATILE,),
    "crash": (DURABLE, VOLATILE),
    "publication": (),
    "move": (CLIENT_MOVE, LINK_DOWN, MIGRATE, MERGE, DURABLE, VOLATILE, PUBLISHER_MOVE),
}
NUMBERS = {"no": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
PHRASES = (
    "[no|one|two|…|at least N|at most N] KIND", "two KIND concurrent", "a KIND after|before|concurrent with a KIND", "everything concurrent",
    "everything in a row", "the moving broker has a child|has no child|is next to the leader", "the same broker moves twice",
    "publisher|subscriber inside|outside the moving branch", "publisher|subscriber at the leader|a leaf|the moving broker",
    "publisher and subscriber at the same broker|at different brokers", "the subscriber returns", "an event matches",
)  # fmt: skip
_KIND = "(" + "|".join(sorted(KINDS, key=len, reverse=True)) + ")(?:s|es)?"
_RULES: list[tuple[re.Pattern[str], Callable[[Problem, re.Match[str]], z3.BoolRef]]] = []


def _rule(pattern: str) -> Callable[[Callable[[Problem, re.Match[str]], z3.BoolRef]], Callable[[Problem, re.Match[str]], z3.BoolRef]]:
    def register(build: Callable[[Problem, re.Match[str]], z3.BoolRef]) -> Callable[[Problem, re.Match[str]], z3.BoolRef]:
        _RULES.append((re.compile(pattern.replace("KIND", _KIND) + r"(?![\w-])"), build))
        return build

    return register


def constraint(text: str) -> Constraint:
    """What a `--where` asks for.  Raises PhraseError."""
    words = " ".join(text.split()).lower()
    found, rest = _either(words)
    if rest:
        raise PhraseError(f"--where {text!r}: {rest!r} is not understood; phrases are joined by and, or, not: {'; '.join(PHRASES)}")
    return found


# ---- and, or, not ------------------------------------------------------------------------------------------


def _either(words: str) -> tuple[Constraint, str]:
    found, rest = _both(words)
    while rest.startswith("or "):
        other, rest = _both(rest[3:])
        found = _joined(z3.Or, found, other)
    return found, rest


def _both(words: str) -> tuple[Constraint, str]:
    found, rest = _one(words)
    while rest.startswith("and "):
        other, rest = _one(rest[4:])
        found = _joined(z3.And, found, other)
    return found, rest


def _joined(join: Callable[..., z3.BoolRef], one: Constraint, other: Constraint) -> Constraint:
    return lambda problem: join(one(problem), other(problem))


def _one(words: str) -> tuple[Constraint, str]:
    if words.startswith("not "):
        found, rest = _one(words[4:])
        return lambda problem: z3.Not(found(problem)), rest
    if words.startswith("("):
        found, rest = _either(words[1:].lstrip())
        if not rest.startswith(")"):
            raise PhraseError(f"--where: a bracket is not closed before {rest!r}")
        return found, rest[1:].lstrip()
    for pattern, build in _RULES:
        if match := pattern.match(words):
            return _built(build, match), words[match.end() :].lstrip()
    raise PhraseError(f"--where: {words!r} is not understood; phrases are joined by and, or, not: {'; '.join(PHRASES)}")


def _built(build: Callable[[Problem, re.Match[str]], z3.BoolRef], match: re.Match[str]) -> Constraint:
    return lambda problem: build(problem, match)


# ---- how many, and in what order ----------------------------------------------------------------------------


def units(problem: Problem, kind: str) -> Units:
    """The moves, or the publications, of a kind."""
    if kind == "publication":
        return [(problem.size.moves + e, z3.BoolVal(True)) for e in range(problem.size.events)]
    return [(k, problem.moving(k, lambda action: action[0] in KINDS[kind])) for k in range(problem.size.moves)]


@_rule("(?P<least>at least |at most |)(?P<number>no|one|two|three|four|five|[0-9]+) KIND(?P<how> concurrent| in a row|)")
def _how_many(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    word = match["number"]
    number, found = NUMBERS[word] if word in NUMBERS else int(word), units(problem, match[3])
    if match["how"]:
        return z3.Or(*(
            z3.And(*(is_one for _, is_one in some), *(_in_order(problem, i, j, match["how"]) for (i, _), (j, _) in combinations(some, 2)))
            for some in combinations(found, number)
        ))  # fmt: skip
    literals = [(is_one, 1) for _, is_one in found]
    if not literals:
        return z3.BoolVal(number == 0 or match["least"] == "at most ")
    count = {"": z3.PbEq, "at least ": z3.PbGe, "at most ": z3.PbLe}[match["least"]]
    return count(literals, number)


def _in_order(problem: Problem, i: int, j: int, how: str) -> z3.BoolRef:
    return problem.concurrent(i, j) if how == " concurrent" else z3.Not(problem.concurrent(i, j))


@_rule("an? KIND (?P<how>after|before|concurrent with) an? (?:other )?KIND")
def _two_kinds(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    one, other = units(problem, match[1]), units(problem, match[3])
    order = {"after": lambda i, j: problem.first(j, i), "before": problem.first, "concurrent with": problem.concurrent}[match["how"]]
    return z3.Or(*(z3.And(a, b, order(i, j)) for i, a in one for j, b in other if i != j))


@_rule("(?:at least )?an? KIND")
def _some(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    return z3.Or(*(is_one for _, is_one in units(problem, match[1])))


@_rule("everything (?P<how>concurrent|in a row)")
def _everything(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    return z3.And(*(_in_order(problem, i, j, f" {match['how']}") for i, j in problem.order))


# ---- who is where -------------------------------------------------------------------------------------------


def _mover(problem: Problem, holds: Callable[[int], bool]) -> z3.BoolRef:
    """Some broker moves for which this holds."""
    return z3.Or(*(problem.moving(k, lambda action: _moves(action) and holds(action[1])) for k in range(problem.size.moves)))


def _moves(action: Action) -> bool:
    return action[0] in (MIGRATE, MERGE)


def _places(problem: Problem, who: str) -> list[list[tuple[int, z3.BoolRef]]]:
    """By client: the brokers at which it may be, and what is true if it is there."""
    if who == "publisher":
        return [[*choice.items()] for choice in problem.home]
    return [[(broker, literal) for (broker, _), literal in choice.items()] for choice in problem.at]


@_rule("the moving broker (?P<how>has a child|has no child|is a leaf|is next to the leader)")
def _moving_broker(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    def holds(b: int) -> bool:
        if match["how"] == "is next to the leader":
            return problem.parents[b] != NONE and problem.parents[problem.parents[b]] == NONE
        return (len(problem.branch(b)) > 1) == (match["how"] == "has a child")

    return _mover(problem, holds)


@_rule("the same broker moves twice")
def _twice(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    brokers, pairs = range(problem.size.brokers), [*combinations(range(problem.size.moves), 2)]

    def moved(k: int, b: int) -> z3.BoolRef:
        return problem.moving(k, lambda action: _moves(action) and action[1] == b)

    return z3.Or(*(z3.And(moved(i, b), moved(j, b)) for b in brokers for i, j in pairs))


@_rule("(?:the |a )?(?P<who>publisher|subscriber) (?P<how>inside|outside) the moving branch")
def _branch(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    return z3.Or(*(
        z3.And(literal, _mover(problem, lambda b, place=place: (place in problem.branch(b)) == (match["how"] == "inside")))  # type: ignore[misc]
        for places in _places(problem, match["who"]) for place, literal in places
    ))  # fmt: skip


@_rule("(?:the |a )?(?P<who>publisher|subscriber) at (?P<where>the leader|a leaf|the moving broker)")
def _at(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    def there(place: int) -> z3.BoolRef:
        if match["where"] == "the moving broker":
            return _mover(problem, lambda b: b == place)
        is_there = problem.parents[place] == NONE if match["where"] == "the leader" else place not in problem.parents
        return z3.BoolVal(is_there)

    return z3.Or(*(z3.And(literal, there(place)) for places in _places(problem, match["who"]) for place, literal in places))


@_rule("(?:the |a )?publisher and (?:the |a )?subscriber at (?P<how>the same broker|different brokers)")
def _together(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    same = match["how"] == "the same broker"
    pairs = [(p, s) for p in _places(problem, "publisher") for s in _places(problem, "subscriber")]
    return z3.Or(*(z3.And(at_p, at_s) for p, s in pairs for b, at_p in p for c, at_s in s if (b == c) == same))


@_rule("(?:the |a )?subscriber returns")
def _returns(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    """It moves to where it was at the start."""
    return z3.Or(*(
        z3.And(at, literal)
        for choice in problem.move for action, literal in choice.items() if action[0] == CLIENT_MOVE
        for (broker, _), at in problem.at[action[1]].items() if broker == action[2]
    ))  # fmt: skip


@_rule("an event matches")
def _matches(problem: Problem, match: re.Match[str]) -> z3.BoolRef:
    pairs = [(wanted, about) for wanted in problem.at for about in problem.event]
    return z3.Or(*(z3.And(wanted[s], about[e]) for wanted, about in pairs for s in wanted for e in about if s[1] == e[1]))
