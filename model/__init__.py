"""Closing the spec into a finite transition system: scenarios, the initial state, channels and failing links, radio loss, environment
moves, overlays, and the steps with their footprints.

`interface.py` is the narrow waist, all that an engine ever sees. This room knows nothing of engines, Spark, Z3 or the terminal, and
does not import `roamcheck.checker`.
"""
