"""`python -m roamcheck`: the console script under its other name."""

from roamcheck.checker.cli import main

if __name__ == "__main__":
    main()
