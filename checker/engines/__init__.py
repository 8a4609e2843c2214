"""One engine per file, each a thin loop over the same expansion of a model; only the frontier and the store of visited states differ.

`reference` is the definition, and every other engine must agree with its counts and verdicts. What a guide proposes is a candidate
until the pure steps have replayed it.
"""
