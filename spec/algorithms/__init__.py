"""One module per printed algorithm, transcribed: functions in the paper's order, named after the event that they handle.

Each docstring cites its source, and each guard and effect ends in the tag of the printed line that it stands for (`# l.16`). Where the
text can be read in more than one way, the choice is a named reading, declared in the registry and cited where it acts.
"""
