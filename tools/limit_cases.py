"""What `tools.keep_limits` runs: commands on files, and every estimator with a `time_limit`.

All tables are made here from a seed; a name says their rows and columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CommandCase:
    """A command on a table with a limit in seconds.

    given: Words between the table and the limit.
    quick: Whether a short run has it.
    """

    command: str
    table: str
    limit: float
    given: tuple[str, ...] = ()
    quick: bool = False

    @property
    def name(self) -> str:
        """The command as it is typed, without the table."""
        return " ".join([self.command, *self.given])

    @property
    def prints(self) -> bool:
        """Whether it has no page but rows."""
        return self.command == "compare"

    @property
    def out(self) -> str:
        """The file that must be there in the end."""
        ending = {"fit": "skops", "compare": "json"}.get(self.command, "html")
        return f"found.{ending}"

    def words(self, file: Path) -> list[str]:
        """Return the command line up to the limit."""
        tree = file.with_suffix(".nwk")
        species = ["--tree", str(tree)] if tree.exists() else []
        return [self.command, str(file), "--target", "target", *species, *self.given]


@dataclass(frozen=True)
class EstimatorCase:
    """An estimator with a limit in seconds, and what it is fitted to.

    task: "classes", "numbers", "unlabelled" (classes of a few rows, -1 for the rest) or "series".
    options: Of the constructor.
    """

    name: str
    package: str
    table: str
    limit: float
    task: str = "classes"
    options: tuple[tuple[str, Any], ...] = ()
    quick: bool = False

    def made(self) -> Callable[[], Any]:
        """Import, make the table, and return what fits."""
        from importlib import import_module

        made = getattr(import_module(f"parsimon.{self.package}"), self.name)
        options = dict(self.options)
        X, y = _arrays(self.table, self.task)
        return partial(made(time_limit=self.limit, **options).fit, X, y)


def _shape(table: str) -> tuple[int, int]:
    rows, _, columns = table.split(" (")[0].replace(",", "").partition(" x ")
    return int(rows), int(columns)


def _plain(table: str) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and a number that follows some of them."""
    n, d = _shape(table)
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    few = X[:, : min(d, 6)]
    y = few[:, 0] + np.sin(2 * few[:, -1]) + few[:, 1] * few[:, -1] + 0.7 * rng.normal(size=n)
    return X, y


def _arrays(table: str, task: str) -> tuple[Any, Any]:
    if task == "series":
        frame = make_table(f"{table} (series)")
        return frame.drop(columns="target").to_numpy()[:, None, :], frame["target"].to_numpy()
    X, y = _plain(table)
    if task == "numbers":
        return X, y
    classes = (y > 0).astype(int)
    if task == "unlabelled":
        hidden = np.arange(len(classes)) % 10 > 0
        classes = np.where(hidden, -1, classes)
    return X, classes


def make_table(table: str) -> "pd.DataFrame":
    """Return a table as a command reads it: rows x columns, and what it is about in brackets."""
    import pandas as pd

    (n, d), about = _shape(table), table.partition("(")[2].rstrip(")")
    rng = np.random.default_rng(n * d)
    if about == "series":
        at = np.arange(d)
        kinds = rng.integers(0, 2, n)
        shift = rng.uniform(0, d, n)[:, None]
        wave = np.sin((0.02 + 0.02 * kinds[:, None]) * (at + shift))
        frame = pd.DataFrame(wave + 0.5 * rng.normal(size=(n, d)))
        return frame.set_axis([f"t{k}" for k in range(d)], axis=1).assign(target=kinds)
    X, y = _plain(table)
    frame = pd.DataFrame(np.round(X, 4), columns=[f"x{k}" for k in range(d)])
    if about == "diamonds":
        # Carats, sizes, three words and a skewed price.
        for name, levels in (("cut", 5), ("colour", 7), ("clarity", 8)):
            codes = rng.integers(0, levels, n)
            y = y + 0.2 * codes
            frame[name] = np.array([f"{name}{k}" for k in range(levels)])[codes]
        return frame.assign(target=np.round(np.exp(6 + y / 2)))
    if about == "numbers":
        return frame.assign(target=np.round(y, 4))
    if about == "species":
        return frame.assign(tip=_tree(n).tip_names, target=np.round(y, 4))
    if about == "ten classes":
        places = np.digitize(y, np.quantile(y, np.linspace(0.1, 0.9, 9)))
        return frame.assign(target=[f"class{k}" for k in places])
    return frame.assign(target=np.where(y > 0, "yes", "no"))


def make_file(table: str, folder: Path) -> Path:
    """Return the file of a table."""
    stem = "".join(letter if letter.isalnum() else "-" for letter in table).strip("-")
    file = folder / f"{stem}.csv"
    if file.exists():
        return file
    made = make_table(table)
    made.to_csv(file, index=False)
    if "tip" in made:
        file.with_suffix(".nwk").write_text(_tree(len(made)).write(), encoding="utf-8")
    return file


def _tree(n_species: int) -> Any:
    from parsimon.phylo import yule_tree

    return yule_tree(n_species, random_state=0)


_LARGE, _WIDE = "200,000 x 30", "100 x 5,000"
COMMANDS = (
    CommandCase("report", _LARGE, 20, ("--fast",), quick=True),
    CommandCase("report", _LARGE, 40),
    CommandCase("report", "53,940 x 6 (diamonds)", 40),
    CommandCase("report", "2,000 x 20 (ten classes)", 20),
    CommandCase("report", "1,000 x 300 (numbers)", 20),
    CommandCase("report", "500 x 10 (numbers)", 10, ("--families", "rvm")),
    CommandCase("report", _WIDE, 10),
    CommandCase("report", "400 x 20 (species)", 30),
    CommandCase("fit", _LARGE, 20, quick=True),
    CommandCase("fit", "53,940 x 6 (diamonds)", 20),
    CommandCase("fit", _LARGE, 20, ("--family", "formula")),
    CommandCase("compare", _LARGE, 20),
    CommandCase("compare", "5,000 x 100 (numbers)", 20),
    CommandCase("select-features", "20,000 x 30", 20),
    CommandCase("select-features", "2,000 x 100 (numbers)", 20),
    CommandCase("select-features", "20,000 x 30", 20, ("--construct",)),
    CommandCase("select-features", "200 x 5,000", 10, quick=True),
    CommandCase("series", "2,000 x 1,000 (series)", 20, quick=True),
    CommandCase("series", "2,000 x 1,000 (series)", 60),
    CommandCase("series", "300 x 200 (series)", 10),
)
_MANY = "20,000 x 20"
ESTIMATORS = (
    EstimatorCase("GPClassifier", "gp", "2,000 x 20", 5),
    EstimatorCase("GPRegressor", "gp", "2,000 x 20", 5, "numbers"),
    EstimatorCase("SparseGPClassifier", "gp", _MANY, 5),
    EstimatorCase("KernelSearch", "gp", "2,000 x 20", 5),
    EstimatorCase("RVC", "rvm", "5,000 x 20", 5, quick=True),
    EstimatorCase("RVR", "rvm", "5,000 x 20", 5, "numbers"),
    EstimatorCase("ParetoRVC", "rvm", "2,000 x 20", 5),
    EstimatorCase("EvolutionarySVC", "svm", "2,000 x 20", 5),
    EstimatorCase("EvolutionarySVR", "svm", "2,000 x 20", 5, "numbers"),
    EstimatorCase("ParetoSVC", "svm", "2,000 x 20", 5),
    EstimatorCase("TransductiveSVC", "svm", "2,000 x 20", 5, "unlabelled"),
    EstimatorCase("ParetoTransductiveSVC", "svm", "2,000 x 20", 5, "unlabelled"),
    EstimatorCase("ABCClassifier", "ensembles", _MANY, 5),
    EstimatorCase("ParetoSelector", "features", "20,000 x 100", 5),
    EstimatorCase("ParetoConstructor", "features", _MANY, 5, "numbers"),
    EstimatorCase("SeriesExtractor", "features.series", "1,000 x 500", 10, "series", quick=True),
)
