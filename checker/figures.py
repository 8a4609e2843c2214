"""Figures of what a sweep found; the same numbers give the same files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .files import FileError
from .verdict import CannotBegin

Row = Mapping[str, Any]
FORMATS = ("svg", "png")
MOST = 60  # bars of the figure of rates


def draw(folder: Path, verdicts: Sequence[Row], rates: Sequence[Row]) -> list[Path]:
    """Write the figures into the folder; the files.  Raises FileError, CannotBegin."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise CannotBegin("matplotlib is not installed: pip install 'roamcheck[spark]', or leave out --figures") from None
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "roamcheck", "font.size": 8, "svg.fonttype": "none"})
    figures = {"verdicts": shares(verdicts), **({"rates": intervals(rates)} if rates else {})}
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            for form in FORMATS:
                path = folder / f"{name}.{form}"
                figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Date": None} if form == "svg" else {"Software": None})
                written.append(path)
    except OSError as error:
        raise FileError(f"{folder}: no figure can be written there: {error.strerror or error}") from None
    return written


def shares(verdicts: Sequence[Row]) -> Any:
    """A field for each property, protocol, set of readings and radio: in which part of the jobs the property is violated."""
    from matplotlib.figure import Figure

    columns = sorted({(row["protocol"], row["readings"], row["radio"]) for row in verdicts})
    rows = list(dict.fromkeys(row["property"] for row in verdicts))
    violated, asked = dict[Any, int](), dict[Any, int]()
    for row in verdicts:
        key = row["property"], (row["protocol"], row["readings"], row["radio"])
        violated[key] = violated.get(key, 0) + row["violated"]
        asked[key] = asked.get(key, 0) + row["jobs"] - row["not_applicable"]
    table = [[violated[row, c] / asked[row, c] if asked.get((row, c)) else float("nan") for c in columns] for row in rows]
    figure = Figure(figsize=(2 + 0.42 * max(len(columns), 4), 1.2 + 0.28 * max(len(rows), 4)))
    axes = figure.add_subplot()
    if not columns:
        axes.set_title("no verdicts yet")
        return figure
    image = axes.imshow(table, vmin=0, vmax=1, cmap="Reds", aspect="auto")
    axes.set_xticks(range(len(columns)), [" ".join(column) for column in columns], rotation=60, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    for y, of_property in enumerate(table):
        for x, share in enumerate(of_property):
            if share == share:  # not where nothing was asked
                axes.text(x, y, f"{share:.0%}", ha="center", va="center", fontsize=5, color="white" if share > 0.6 else "black")
    figure.colorbar(image, ax=axes, label="part of the explored jobs that violate it")
    return figure


def intervals(rates: Sequence[Row]) -> Any:
    """A bar for each kind of search in which something was found: the part of the seeds that found it, with its 95 % interval."""
    from matplotlib.figure import Figure

    shown = sorted((row for row in rates if row["violated"]), key=lambda row: -row["rate"])[:MOST]
    figure = Figure(figsize=(6, 1 + 0.18 * max(len(shown), 4)))
    axes = figure.add_subplot()
    places = range(len(shown))
    middle = [row["rate"] for row in shown]
    errors = [[max(0.0, row["rate"] - row["low"]) for row in shown], [max(0.0, row["high"] - row["rate"]) for row in shown]]
    axes.errorbar(middle, places, xerr=errors, fmt="o", markersize=3, capsize=2, linewidth=1)
    axes.set_yticks(places, [f"{row['property']} {row['protocol']} {row['readings']} {row['radio']} ({row['searches']})" for row in shown])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("part of the searches that violate it, 95 % interval (Wilson); in brackets how many searches")
    return figure
