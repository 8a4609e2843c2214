"""Exploration by table look-up.

The values of a slot are numbered, a state is a row of numbers, and a step is looked up by the numbers that it depends on; the pure functions
of the model run once per distinct combination.  `tables` holds what they answered, `kernels` the compiled loops over rows, `store` the visited
set, `search` the breadth-first search that binds them.
"""
