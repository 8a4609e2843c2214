"""What the papers say: state variables, messages, filters, the registries of protocols and of readings, and the properties.

This room knows nothing of networks, budgets, engines or files. It imports neither `roamcheck.model` nor `roamcheck.checker`, and its
functions are pure: the same local values give the same effect, always.
"""
