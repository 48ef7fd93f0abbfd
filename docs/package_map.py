"""The map of packages and the walk of `parsimon report`; `make_figures.py` saves it.

Names and their order are those of the layers in `pyproject.toml`, which import-linter enforces; a
room is a module of its package or a folder in it. What the map has and the source has not, or the
other way round, is an error.
"""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyBboxPatch

from parsimon._style import ORANGE

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "parsimon"
WIDTH, LOW, TALL, GAP = 12.0, 0.9, 1.34, 0.18
# Dark enough for white letters, light enough for a dark page.
BLUE, GREEN, RUST, PLUM, SLATE = "#1B6396", "#1F7A5C", "#A9490E", "#8A4A76", "#626770"


class Package(NamedTuple):
    """A box of the map: its name, what it is for, and its rooms."""

    name: str
    words: str
    rooms: tuple[str, ...] = ()
    share: float = 1.0


ROWS = (
    (
        BLUE,
        [
            Package(
                "cli", "one module a command", ("report", "predict", "phylo", "front", "datasets")
            )
        ],
    ),
    (
        BLUE,
        [
            Package(
                "statistician",
                "from a table to findings and a model",
                ("analyse", "prepare/", "looking", "families/", "folds", "measure"),
            )
        ],
    ),
    (
        BLUE,
        [
            Package(
                "report",
                "from findings to pages",
                ("findings/", "sections/", "document", "html/", "typst", "markdown", "figures/"),
            )
        ],
    ),
    (
        PLUM,
        [
            Package(
                "evaluation",
                "numbers to trust",
                ("folds", "honest", "compare"),
            )
        ],
    ),
    (
        GREEN,
        [
            Package("gp", "processes", ("classifier", "regressor", "search")),
            Package("rvm", "sparse vectors", ("classifier", "regressor", "pareto")),
            Package("svm", "wide margins", ("pareto", "indefinite")),
            Package("bpm", "Bayes points", ("classifier", "gamma_ep")),
            Package("ensembles", "yes/no rules", ("abc", "sparse")),
            Package("features", "few columns", ("pareto_selector", "stable")),
            Package("phylo", "family trees", ("tree", "pgls", "phyrvm")),
        ],
    ),
    (
        GREEN,
        [
            Package(
                "structures",
                "what rows support, with probabilities",
                ("posterior", "blocks", "claims"),
            )
        ],
    ),
    (
        GREEN,
        [
            Package(
                "inference",
                "arrays in, posterior and evidence out",
                ("ep", "laplace", "variational", "irls", "sparse_bayes/"),
            )
        ],
    ),
    (
        RUST,
        [
            Package("kernels", "an algebra", ("radial", "form"), 0.6),
            Package(
                "pareto",
                "every trade-off, and how to choose",
                ("front", "choose", "archive", "nsga2", "run", "estimator"),
                1.5,
            ),
        ],
    ),
    (
        PLUM,
        [Package("roc", "what errors there are, and what they cost", ("curve", "area", "costs"))],
    ),
    (
        SLATE,
        [
            Package("optimise", "one minimiser"),
            Package("linalg", "Cholesky factors"),
            Package("datasets", "tables, generators"),
        ],
    ),
)
# The stations of `parsimon report`, in order.
WALK = (
    "cli.report",
    "statistician.analyse",
    "statistician.prepare/",
    "structures.posterior",
    "statistician.families/",
    "gp.search",
    "pareto.run",
    "statistician.measure",
    "report.findings/",
    "report.sections/",
    "report.document",
    "report.html/",
)


def package_map():
    """Layers from the command to the ground, models side by side, stations of the walk."""
    check_layers()
    check_rooms()
    heights = [row_height(packages) for _, packages in ROWS]
    total = sum(heights) + GAP * (len(heights) + 1)
    figure = plt.figure(figsize=(8.7, 8.7 * total / WIDTH))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(0, total))
    ax.set_axis_off()
    bottom = total
    for height, (colour, packages) in zip(heights, ROWS, strict=True):
        bottom -= height + GAP
        draw_row(ax, bottom, height, colour, packages)
    return ax


def row_height(packages):
    """Rooms lie beside the name of a wide box and below that of a narrow one."""
    if len(packages) > 3:
        return 2.55
    return TALL if packages[0].rooms else LOW


def draw_row(ax, bottom, height, colour, packages):
    """One layer, its packages side by side."""
    room = WIDTH - GAP * (len(packages) + 1)
    left = GAP
    for package in packages:
        width = room * package.share / sum(other.share for other in packages)
        box(ax, (left, bottom), width, height, facecolor=colour, edgecolor="none")
        if len(packages) > 3:
            draw_narrow(ax, (left, bottom), width, height, package)
        else:
            draw_wide(ax, (left, bottom), width, height, package)
        left += width + GAP


def draw_wide(ax, corner, width, height, package):
    """Name and words in a line, rooms side by side below."""
    left, bottom = corner
    middle = bottom + (height / 2 if not package.rooms else height - 0.34)
    named = left + 0.22
    write(ax, named, middle, package.name, bold=True, align="left")
    write(ax, named + 0.32 + 0.158 * len(package.name), middle, package.words, align="left")
    each = (width - 0.4) / max(len(package.rooms), 1)
    for place, name in enumerate(package.rooms):
        draw_room(ax, (left + 0.2 + place * each, bottom + 0.16), each - 0.12, package, name)


def draw_narrow(ax, corner, width, height, package):
    """Name, words and rooms below each other."""
    left, bottom = corner
    middle = left + width / 2
    write(ax, middle, bottom + height - 0.32, package.name, bold=True)
    write(ax, middle, bottom + height - 0.68, package.words)
    for place, name in enumerate(package.rooms):
        corner = left + 0.1, bottom + height - 1.4 - place * 0.52
        draw_room(ax, corner, width - 0.2, package, name)


def draw_room(ax, corner, width, package, name):
    """A module, with its number on the walk."""
    left, bottom = corner
    ax.add_patch(rounded(corner, width, 0.44, facecolor="white", alpha=0.13, edgecolor="none"))
    station = f"{package.name}.{name}"
    if station not in WALK:
        write(ax, left + width / 2, bottom + 0.22, name)
        return
    ax.add_patch(Circle((left + 0.23, bottom + 0.22), 0.17, facecolor=ORANGE, edgecolor="none"))
    number = str(WALK.index(station) + 1)
    write(ax, left + 0.23, bottom + 0.215, number, colour="black", bold=True, size=8.5)
    write(ax, left + 0.2 + width / 2, bottom + 0.22, name)


def box(ax, corner, width, height, **look):
    ax.add_patch(rounded(corner, width, height, linewidth=1.4, **look))


def rounded(corner, width, height, **look):
    return FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.1", **look)


def write(ax, x, y, words, *, bold=False, align="center", colour="white", size=None):
    size = size or (12 if bold else 9.5)
    weight = "bold" if bold else "normal"
    ax.text(
        x,
        y,
        words,
        color=colour,
        ha=align,
        va="center",
        fontsize=size,
        fontweight=weight,
        linespacing=1.3,
    )


def check_layers():
    """Compare with the layers that import-linter enforces, private modules left out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"\w+", layer) for layer in contract["layers"]]
    there = {path.stem for path in SOURCE.iterdir()}
    asked = [name for layer in layers for name in layer if name in there and name[0] != "_"]
    asked.remove("exceptions")
    drawn = [package.name for _, packages in ROWS for package in packages]
    if asked != drawn:
        raise SystemExit(f"The map has {drawn}, the layers are {asked}.")


def check_rooms():
    """Compare rooms with modules and folders, and stations with rooms."""
    rooms = [(package.name, name) for _, row in ROWS for package in row for name in package.rooms]
    missing = [
        f"{package}/{name}"
        for package, name in rooms
        if not (SOURCE / package / (name if name.endswith("/") else f"{name}.py")).exists()
    ]
    missing += sorted(set(WALK) - {".".join(room) for room in rooms})
    if missing:
        raise SystemExit(f"The map has rooms that the source has not: {', '.join(missing)}.")
