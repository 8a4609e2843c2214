"""Runs that go on for ever: the weakly fair cycles of protocol steps, in a graph that was explored to its end.

With the environment's budget spent, no weakly fair run may go on for ever (semantics.md, section 6).  Such a run would stay in one
strongly connected component of protocol steps in the end, and a component can hold it iff every slot that is non-idle in all its states is served
inside.  Nothing here knows of models: states are numbers in the order of their discovery, so are steps and slots.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Component = frozenset[int]  # of states


@dataclass(slots=True)
class ProtocolGraph:
    """The protocol steps: those of state i are the edges from out[i] up to out[i + 1]."""

    serves: Sequence[int | None]  # by step: the slot that it empties in the end
    out: array[int] = field(default_factory=lambda: array("Q"))  # by state, and the number of edges at the end
    targets: array[int] = field(default_factory=lambda: array("I"))  # by edge
    steps: array[int] = field(default_factory=lambda: array("I"))  # by edge
    stirred: bytearray = field(default_factory=bytearray)  # by state: 1 if an environment step is enabled

    def edges(self, state: int) -> Iterator[tuple[int, int]]:
        """Target and step of each."""
        edges = slice(self.out[state], self.out[state + 1])
        return zip(self.targets[edges], self.steps[edges], strict=True)


@dataclass(frozen=True, slots=True)
class Cycles:
    """What was found.  A component is one of states with the budget spent, or one of states with some of it left."""

    fair: tuple[Component, ...]  # budget spent
    unfair: int  # budget spent
    waiting: int  # fair, budget left, but no environment step enabled anywhere: it waits for a silence that never comes


@dataclass(frozen=True, slots=True)
class Turn:
    """A fair closed walk: `steps` lead from the state `start` back to it."""

    start: int
    steps: tuple[int, ...]


def find_cycles(graph: ProtocolGraph, spent: Callable[[int], bool], busy: Callable[[int], frozenset[int]]) -> Cycles:
    """Find the components and sort them.  `spent` says whether a state's budget is spent, `busy` which of its slots are not idle."""
    fair, unfair, waiting = [], 0, 0
    for component in _components(graph, bytearray(2 if spent(state) else 1 for state in range(len(graph.stirred)))):
        is_spent, is_fair = spent(min(component)), _is_fair(graph, component, busy)
        if is_spent and is_fair:
            fair.append(component)
        elif is_spent:
            unfair += 1
        elif is_fair and not any(graph.stirred[state] for state in component):
            waiting += 1
    return Cycles(tuple(fair), unfair, waiting)


def _components(graph: ProtocolGraph, group: bytearray) -> list[Component]:
    """The strongly connected components with an edge inside, each within one group, ordered by their first states.

    Most graphs have none but states that lead to themselves.  So states without another way on in their group are struck off (group 0)
    before networkx is asked, the last found first: as few edges lead back, a round or two leave nothing of an acyclic graph.
    """
    loops = [state for state in range(len(group)) if state in graph.targets[graph.out[state] : graph.out[state + 1]]]
    left, worthwhile = list(range(len(group))), True
    while worthwhile:
        kept = []
        for state in reversed(left):
            targets = graph.targets[graph.out[state] : graph.out[state + 1]]
            if any(group[target] == group[state] and target != state for target in targets):
                kept.append(state)
            else:
                group[state] = 0
        worthwhile = 10 * len(kept) < 9 * len(left)
        left = kept[::-1]
    components: list[Component] = []
    if left:
        components = [component for component in _strongly_connected(graph, group, left) if len(component) > 1]
    covered = frozenset[int]().union(*components)
    return sorted((*components, *(frozenset([state]) for state in loops if state not in covered)), key=min)


def _strongly_connected(graph: ProtocolGraph, group: bytearray, states: list[int]) -> list[Component]:
    """The strongly connected components of these states, each within one group."""
    import networkx as nx  # slow to import, and seldom needed

    inside: nx.DiGraph[int] = nx.DiGraph()
    inside.add_nodes_from(states)
    for state in states:
        targets = graph.targets[graph.out[state] : graph.out[state + 1]]
        inside.add_edges_from((state, target) for target in targets if group[target] == group[state])
    return [frozenset(component) for component in nx.strongly_connected_components(inside)]


def _is_fair(graph: ProtocolGraph, component: Component, busy: Callable[[int], frozenset[int]]) -> bool:
    """Every slot that is busy in all states of the component is served inside it."""
    always_busy = frozenset.intersection(*map(busy, component))
    return always_busy <= {graph.serves[step] for state in component for target, step in graph.edges(state) if target in component}


def shortest_turn(graph: ProtocolGraph, fair: tuple[Component, ...], busy: Callable[[int], frozenset[int]], depth: Callable[[int], int]) -> Turn:
    """The fair closed walk for which the way there and one turn are shortest together; the first found among equals.

    `depth` is the distance of a state from the initial ones; it grows with the state's number, so states too far away end the search.
    In components of thousands of states with long turns alone this is slow: each state is tried as a start.
    """
    best: Turn | None = None
    bound: int | None = None  # on way and turn together: to be undercut
    home = {state: component for component in fair for state in component}
    for start in sorted(home):
        if bound is not None and depth(start) + 1 >= bound:
            break
        turn = _turn(graph, start, home[start], busy, None if bound is None else bound - depth(start))
        if turn is not None:
            best, bound = turn, depth(start) + len(turn.steps)
    assert best is not None, "a fair component holds a fair closed walk"
    return best


def _turn(graph: ProtocolGraph, start: int, component: Component, busy: Callable[[int], frozenset[int]], bound: int | None) -> Turn | None:
    """The shortest fair closed walk from `start`, if it has fewer steps than `bound`.

    Breadth first over (state, slots owed: those that were busy all the way and not served).  A node is dropped where the state was
    reached before, with no more slots owed.
    """
    first = (start, busy(start))
    before: dict[tuple[int, frozenset[int]], tuple[tuple[int, frozenset[int]], int]] = {}
    owed_at: dict[int, list[frozenset[int]]] = {start: [first[1]]}
    layer, length = [first], 1
    while layer and (bound is None or length < bound):
        following = []
        for node in layer:
            for target, step in graph.edges(node[0]):
                if target not in component:
                    continue
                owed = (node[1] & busy(target)) - {graph.serves[step]}
                if target == start and not owed:
                    steps = [step]
                    while node != first:
                        node, step = before[node]
                        steps.append(step)
                    return Turn(start, tuple(reversed(steps)))
                if not any(known <= owed for known in owed_at.setdefault(target, [])):
                    owed_at[target].append(owed)
                    before[target, owed] = (node, step)
                    following.append((target, owed))
        layer, length = following, length + 1
    return None
