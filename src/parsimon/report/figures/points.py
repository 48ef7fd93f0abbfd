"""The rows that a figure shows: inputs, classes, and what they are called.

Text that came from a table is made fit to be drawn: never interpreted, never too long.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._checks import finite_matrix, finite_vector, shorten
from parsimon._random import Seed, generator
from parsimon._style import BLUE, CYCLE
from parsimon._typing import Array, Indices, Mask
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 28


def label(text: object, most: int = LONGEST) -> str:
    r"""Return text that matplotlib draws as it stands.

    Line breaks become spaces, characters that cannot be printed go, a long text loses its middle
    (names of columns often differ at their ends only), and ``$`` is escaped, since a pair of them
    would be read as mathematics.
    """
    printable = "".join(c for c in " ".join(str(text).split()) if c.isprintable())
    if len(printable) > most:
        tail = 2 * most // 5
        printable = f"{printable[: most - tail]}…{printable[-tail:]}"
    return printable.replace("$", r"\$")


def number_label(value: float) -> str:
    """Return a number as an axis shows it: four significant digits, a true minus sign."""
    if np.abs(value) >= 1e4 and np.abs(value) < 1e8:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def percent_label(share: float) -> str:
    """Return a share in percent, with no false certainty at the ends."""
    if 0.999 < share < 1:
        return "> 99.9 %"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"


# Vector graphics beyond this many marks load slowly and weigh more than pixels.
MOST_VECTOR_MARKS = 3000


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows of a table with their classes, ready to be drawn.

    X (n, d): Finite numbers; a vector is one column.
    y (n,): Codes of the classes: 0 and 1, where 1 is the positive class; pictures of data alone
        also take 2, 3 and so on.
    names: One for each column; without them x1, x2, ...
    class_names: One for each code, in the order of the codes.
    most_marks: Of more rows than these a sample is drawn as marks, every class at its share;
        numbers of rows, ranges and means are those of all rows.
    """

    X: Any
    y: Any
    names: Sequence[str] = field(default=(), kw_only=True)
    class_names: Sequence[str] = field(default=(), kw_only=True)
    most_marks: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        X = np.asarray(self.X)
        X = finite_matrix(X[:, None] if X.ndim == 1 else X, "X")
        y = _codes(self.y, len(X))
        names = list(self.names) or [f"x{column + 1}" for column in range(X.shape[1])]
        n_classes = max(2, int(y.max()) + 1)
        classes = list(self.class_names) or [f"class {code}" for code in range(n_classes)]
        if len(names) != X.shape[1]:
            raise InvalidInputError(f"{X.shape[1]} columns need as many names, got {len(names)}.")
        if len(classes) < n_classes:
            raise InvalidInputError(
                f"{n_classes} classes need as many class names, got {len(classes)}."
            )
        if self.most_marks is not None and self.most_marks < 1:
            raise InvalidInputError(f"most_marks must be 1 or more, got {self.most_marks}.")
        for values in (X, y):
            values.flags.writeable = False
        changes = {"X": X, "y": y, "names": tuple(names), "class_names": tuple(classes)}
        for name, value in changes.items():
            object.__setattr__(self, name, value)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def column(self, which: int | str | None) -> int:
        """Return the place of a column, given by place or by name; None is the only one."""
        if which is None:
            if self.n_columns != 1:
                raise InvalidInputError(
                    f"X has {self.n_columns} columns. Say with `column` which one to draw."
                )
            return 0
        if isinstance(which, str) and which in self.names:
            return list(self.names).index(which)
        if isinstance(which, str) or not 0 <= which < self.n_columns:
            raise InvalidInputError(
                f"There is no column {which!r}; columns are 0 to {self.n_columns - 1}: "
                f"{shorten(self.names)}."
            )
        return int(which)

    def columns(self, which: Sequence[int | str] | None, number: int) -> list[int]:
        """Return the places of `number` columns; None is all of them."""
        chosen = range(self.n_columns) if which is None else which
        if len(chosen) != number:
            raise InvalidInputError(
                f"This figure shows {number} columns, got {len(chosen)}. Choose with `columns`."
            )
        return [self.column(one) for one in chosen]

    def title(self, column: int, most: int = 28) -> str:
        """Return a column's name as a figure shows it."""
        shown = label(self.names[column], most)
        if shown and sum(label(name, most) == shown for name in self.names) > 1:
            # Long names may differ only where they were shortened.
            shown = f"{label(self.names[column], most - 5)} [{column + 1}]"
        return shown or f"x{column + 1}"

    def split_words(self, column: int) -> str:
        """Return how a picture is split by a column of two values."""
        title = self.title(column, 60)
        is_level = " = " in self.names[column]
        return f"with and without {title}" if is_level else f"for each value of {title}"

    def class_title(self, code: int, most: int = 18) -> str:
        """Return a class's name as a figure shows it."""
        return label(self.class_names[code], most) or f"class {code}"

    def two_classes(self) -> "ClassRows":
        """Return self, or refuse more classes than a latent function separates."""
        if self.y.max() > 1:
            raise InvalidInputError(
                f"This figure shows two classes, 0 and 1, and y holds {self.y.max()}. Draw one "
                "class against the rest: y == code."
            )
        return self

    def of_class(self, code: int) -> Mask:
        """Return which rows belong to a class."""
        return self.y == code

    @property
    def marked(self) -> Indices:
        """Places of the rows that are drawn as marks, in order."""
        return sampled_rows(self.y, self.most_marks or len(self.y))

    def marks_words(self) -> str:
        """Return a sentence on the rows that are not drawn, or nothing."""
        n_drawn, n_rows = len(self.marked), len(self.y)
        if n_drawn == n_rows:
            return ""
        return f" {n_drawn:,} of {n_rows:,} rows are drawn."


def sampled_rows(y: Indices, most: int, random_state: Seed = 0) -> Indices:
    """Return places of at most about `most` rows, every class at its share and at least once."""
    if len(y) <= most:
        return np.arange(len(y))
    rng = generator(random_state)
    kept = [
        rng.choice(members, max(1, int(len(members) * most / len(y))), replace=False)
        for members in (np.flatnonzero(y == code) for code in np.unique(y))
    ]
    return np.sort(np.concatenate(kept))


def _codes(y: Any, n_rows: int) -> Indices:
    codes = finite_vector(y, "y")
    if len(codes) != n_rows:
        raise InvalidInputError(f"X has {n_rows} rows and y has {len(codes)}.")
    if n_rows == 0:
        raise InvalidInputError("There is no row to draw.")
    if codes.min() < 0 or not np.array_equal(codes, np.floor(codes)):
        raise InvalidInputError(
            f"y must hold codes of classes, 0, 1, ...; got {shorten(np.unique(codes).tolist())}. "
            "Labels -1 and 1 become codes with y > 0."
        )
    return codes.astype(np.intp)


def opacity(n_marks: int) -> float:
    """Return how opaque marks are: the more there are, the fainter each."""
    return float(np.clip(0.9 - 0.3 * np.log10(max(n_marks, 50) / 50), 0.15, 0.9))


def colour(code: int) -> str:
    """Return the colour of a class: negative blue, positive vermilion, then the house cycle."""
    return CYCLE[code % len(CYCLE)]


def marker(code: int) -> str:
    """Return the mark of a class; the first two differ as ring and disc."""
    return "os^Dvp*"[max(code - 1, 0) % 7]


def class_and_count(points: ClassRows, code: int) -> str:
    """Return a class's name and its number of rows, for a legend."""
    text = f"{points.class_title(code)} ({points.of_class(code).sum()})"
    # Matplotlib leaves out of a legend whatever begins with an underscore.
    return f"\u2009{text}" if text.startswith("_") else text


def spread_apart(values: Array) -> Array:
    """Return numbers in [0, 1) that differ for values near one another, ties too.

    The fractional parts of multiples of the golden ratio fill an interval evenly, without chance.
    """
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return (0.5 + ranks * (np.sqrt(5) - 1) / 2) % 1


def draw_points(ax: "Axes", points: ClassRows, places: Sequence[Array], **options: Any) -> None:
    """Draw rows at two or three coordinates; the last class lies on top.

    Negative rows are rings and the others discs, so that print without colour tells them apart.
    """
    marked = points.marked
    for code in range(len(points.class_names)):
        rows = marked[points.y[marked] == code]
        if not len(rows):
            continue
        ring = colour(code) == BLUE
        settings: dict[str, Any] = {
            "linestyle": "none",
            "marker": marker(code),
            "markersize": 4.6 if len(marked) <= 300 else 3.6,
            "color": colour(code),
            "markerfacecolor": "none" if ring else colour(code),
            "markeredgewidth": 1.1 if ring else 0.0,
            "alpha": opacity(len(marked)),
            "rasterized": len(marked) > MOST_VECTOR_MARKS,
            "label": class_and_count(points, code),
            "zorder": 3 + 0.1 * code,
        }
        ax.plot(*(place[rows] for place in places), **(settings | options))


def rasterise_marks(axes: Iterable["Axes"]) -> None:
    """Turn marks into pixels where all panels together hold too many for vectors."""
    marks = [
        line for ax in axes for line in ax.lines if line.get_marker() not in {"None", "", None}
    ]
    if sum(np.size(line.get_xdata()) for line in marks) > MOST_VECTOR_MARKS:
        for line in marks:
            line.set_rasterized(True)


def classes_above(ax: "Axes", height: float = 1.0) -> None:
    """Name the classes above the axes, in full colour however faint the marks are."""
    legend = ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, height),
        ncols=4,
        handletextpad=0.3,
        columnspacing=1.4,
        borderaxespad=0.2,
    )
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
