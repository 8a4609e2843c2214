"""The ledger: every printed line is claimed by exactly one tag, or listed as not modelled with the reason."""

import itertools
import re
from collections import Counter

import pytest

from roamcheck.checker.recompiled import Printed, claims, source, tags
from roamcheck.spec.protocols import ALGORITHMS

PRINTED = {  # the algorithms as printed, with their first and last line
    "TR19 Alg. 1": (1, 34),
    "TR19 Alg. 2": (35, 48),
    "TR19 Alg. 3": (1, 27),
    "TR19 Alg. 4": (1, 26),
    "TR19 Alg. 5": (1, 12),
    "TR19 Alg. 6": (13, 47),
    "TR19 Alg. 7": (48, 63),
    "RP16 Alg. 1": (1, 15),
    "RP16 Alg. 2": (1, 29),
    "RP16 Alg. 3": (30, 52),
    "WN23 Alg. 1": (1, 38),
    "WN23 Alg. 2": (39, 56),
    "WN23 Alg. 3": (57, 72),
    "WN23 Alg. 4": (73, 115),
    "WN23 Alg. 5": (116, 138),
    "MFTR Alg. 1": (1, 20),
    "MFTR Alg. 2": (21, 32),
    "MFTR Alg. 3": (33, 71),
    "MFTR Alg. 4": (72, 96),
}
MODULES = {claim.algorithm: (module, claim) for module in ALGORITHMS for claim in claims(module)}
EXCUSE = re.compile(r"(?:(WN23) )?(\d+)(?:–(\d+))?")


def tagged(module: str, claim: Printed) -> list[int]:
    """The lines of the claim that tags stand for, once for each tag."""
    return [line for printed in tags(module).values() for one in printed if one.paper == claim.paper for line in range(one.first, one.last + 1)]


def excused(module: str, claim: Printed) -> list[int]:
    """The lines of the claim that are listed as not modelled."""
    lines: list[int] = []
    for key in ALGORITHMS[module].NOT_MODELLED:
        match = EXCUSE.fullmatch(key)
        assert match, key
        if (match[1] or claims(module)[0].paper) == claim.paper:
            lines += range(int(match[2]), int(match[3] or match[2]) + 1)
    return lines


def test_every_printed_algorithm_has_its_module() -> None:
    assert {name: (claim.first, claim.last) for name, (_, claim) in MODULES.items()} == PRINTED


@pytest.mark.parametrize("algorithm", PRINTED)
def test_every_printed_line_is_claimed_once_or_excused(algorithm: str) -> None:
    module, claim = MODULES[algorithm]
    accounted = Counter(tagged(module, claim) + excused(module, claim))
    first, last = PRINTED[algorithm]
    assert accounted == Counter(range(first, last + 1))


def test_every_excuse_has_a_reason() -> None:
    excuses = {(name, key): why for name, module in ALGORITHMS.items() for key, why in getattr(module, "NOT_MODELLED", {}).items()}
    assert excuses
    assert all(excuses.values())


def test_what_the_papers_only_describe_bears_no_tag() -> None:
    assert [module for module in ALGORITHMS if not claims(module)] == ["clients", "returns"]
    assert "# l." not in source("clients") + source("returns")


def test_everything_that_looks_like_a_tag_is_one() -> None:
    for module in ALGORITHMS:
        looks = [line for line, text in enumerate(source(module).splitlines(), 1) if re.search(r"#.*\bl\.\s*\d", text)]
        assert looks == list(tags(module))


def test_tags_stand_in_the_printed_order_within_each_handler() -> None:
    """But for a `y` that is looked up before it is asked for, and line 18's entries before line 17 asks where they lead."""
    swapped = {"TR19 Alg. 1": [(18, 17), (30, 29)], "TR19 Alg. 4": [(22, 21)], "RP16 Alg. 2": [(26, 25)]}
    for algorithm, (module, claim) in MODULES.items():
        if claim.paper != "WN23":
            firsts = [printed[0].first for printed in tags(module).values()]
            assert [pair for pair in itertools.pairwise(firsts) if pair[0] > pair[1]] == swapped.get(algorithm, [])
