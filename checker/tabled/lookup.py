"""The look-up table: what was learnt, for Python and for the compiled loops."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from .column import ENOUGH, Column
from .kernels import Arrays, store_answers


class View:
    """The answers as an array for kernels that run at the same time: what is added for some others must not meet these at their look-ups."""

    def __init__(self) -> None:
        self.asked = np.zeros((ENOUGH, 2), np.int64)
        self.shift = np.uint64(64 - (ENOUGH.bit_length() - 1))
        self.given = 0  # so many of the new answers are there
        self.size: tuple[int, ...] = ()
        self.arrays: Arrays | None = None  # of tables of this size

    def give(self, answers: array[int], known: int) -> None:
        """Add the answers that are new here, each behind its key; with them, so many are known."""
        places = len(self.asked)
        while 2 * known >= places:
            places *= 2
        if places > len(self.asked):
            asked = np.zeros((places, 2), np.int64)
            self.shift = np.uint64(64 - (places.bit_length() - 1))
            store_answers(self.asked, asked, self.shift)
            self.asked = asked
        store_answers(np.frombuffer(answers, np.int64)[self.given :].reshape(-1, 2), self.asked, self.shift)
        self.given = len(answers)


class LookUp:
    """Answers by node and value.  An answer may be the node at which to go on with another value."""

    def __init__(self, views: int) -> None:
        self.answers: dict[int, int] = {}  # node << 32 | value: the answer
        self.views = [View() for _ in range(views)]
        self.holds = Column(np.uint64)  # by node
        self.holds.append(0)
        self._new = array("q")  # answers that some view has not been given yet, each behind its key

    def node(self) -> int:
        """A new node: a place at which values are looked up."""
        return self.holds.append(0)

    def known(self, node: int, value: int) -> int | None:
        """An answer, if there is one."""
        return self.answers.get(node << 32 | value)

    def put(self, node: int, value: int, answer: int) -> int:
        """Store an answer."""
        key = node << 32 | value
        self.answers[key] = answer
        self._new.append(key)
        self._new.append(answer)
        return answer

    def walk(self, node: int, values: Sequence[int]) -> int:
        """The node that these values lead to, made where it is not there."""
        answers, new, nodes = self.answers, self._new, self.holds.items
        for value in values:
            key = node << 32 | value
            found = answers.get(key)
            if found is None:
                found = answers[key] = len(nodes)
                nodes.append(0)
                new.append(key)
                new.append(found)
            node = found
        return node

    def give(self, view: View) -> None:
        """Let a view have all answers."""
        if view.given < len(self._new):
            view.give(self._new, len(self.answers))
            if all(other.given == len(self._new) for other in self.views):
                self._new = array("q")
                for other in self.views:
                    other.given = 0
