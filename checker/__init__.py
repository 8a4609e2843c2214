"""Search and everything at the rim: verdicts, traces and their replay, engines, guides, reports, and the command line.

The only room that reads files, keeps time, draws random numbers or prints; of its files, only `report.py` and `cli.py` print.
"""
