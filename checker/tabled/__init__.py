"""Exploration by table look-up.

The values of a slot are numbered, a state is a row of numbers, and a step is looked up by the numbers that it depends on; the pure functions
of the model run once per distinct combination.  `tables` holds what they answered, `kernels`, `visited` and
`trimming` the compiled loops, `store` what is kept of the states, `stubborn` what may be left out, `search` the breadth-first search that binds them.
"""
