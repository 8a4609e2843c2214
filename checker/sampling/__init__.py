"""Searching by runs instead of by states: a graph that is looked up as far as runs go, single runs through it, and how what they find is shrunk.

Strategies choose the steps (`checker/engines/hypothesis_guide.py`, `checker/engines/random_runs.py`); all else is here, and knows only the narrow
waist.
"""
