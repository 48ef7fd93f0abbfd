"""Count the files, functions and depth that a call walks through, by tracing it.

    python -m tools.trace_walks [WALK ...] [--root CHECKOUT] [--json FILE]

Each walk runs in a fresh interpreter. Counted are the files under ``src/parsimon`` of which a
function was entered; not what runs because a module is imported, nor generated or compiled code.
"""

import argparse
import inspect
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class Tracer:
    """A profile function that notes which functions of a folder are entered, and how deep."""

    def __init__(self, folder: Path) -> None:
        self.folder = f"{folder}{os.sep}"
        self.files: set[str] = set()
        self.functions: set[tuple[str, str]] = set()
        self.depth = self.deepest = self.n_importing = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: ARG002
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self.folder):
            return
        step = 1 if event == "call" else -1
        # Bodies of modules and classes are not optimised; functions are.
        if not code.co_flags & inspect.CO_OPTIMIZED:
            self.n_importing += step
        elif not self.n_importing and not code.co_name.startswith("<"):  # no comprehensions
            self.depth += step
            self.deepest = max(self.deepest, self.depth)
            self.files.add(code.co_filename)
            self.functions.add((code.co_filename, code.co_qualname))


def two_classes() -> Any:
    """Return 80 rows of two overlapping classes."""
    from sklearn.datasets import make_moons

    return make_moons(80, noise=0.25, random_state=0)


def pareto_rvc() -> Callable[[], object]:
    """Prepare a short search for relevance vector machines."""
    from parsimon.rvm import ParetoRVC

    X, y = two_classes()
    return lambda: ParetoRVC(max_iter=50, random_state=0).fit(X, y)


def pareto_svc() -> Callable[[], object]:
    """Prepare a short search for support vector machines."""
    from parsimon.svm import ParetoSVC

    X, y = two_classes()
    return lambda: ParetoSVC(max_iter=5, random_state=0).fit(X, y)


def rvc() -> Callable[[], object]:
    """Prepare a relevance vector machine."""
    from parsimon.rvm import RVC

    X, y = two_classes()
    return lambda: RVC().fit(X, y)


def gp_classifier() -> Callable[[], object]:
    """Prepare a Gaussian-process classifier."""
    from parsimon.gp import GPClassifier

    X, y = two_classes()
    return lambda: GPClassifier().fit(X, y)


def nsga2() -> Callable[[], object]:
    """Prepare a search for the trade-off between two distances."""
    import numpy as np

    from parsimon.pareto import Box, nsga2

    def distances(x: Any) -> Any:
        return np.column_stack([np.sum(x**2, axis=1), np.sum((x - 1) ** 2, axis=1)])

    return lambda: nsga2(distances, Box(0, 1, n_variables=3), max_iter=5, random_state=0)


def pgls() -> Callable[[], object]:
    """Prepare a regression among related species."""
    import numpy as np
    import pandas as pd

    from parsimon.phylo import PGLS, yule_tree

    tree = yule_tree(40, random_state=0)
    values = np.random.default_rng(0).normal(size=(40, 3))
    table = pd.DataFrame(values, index=list(tree.tip_names), columns=["a", "b", "y"])
    return lambda: PGLS(tree).fit(table[["a", "b"]], table["y"])


def page_of(*words: str) -> Callable[[], object]:
    """Prepare a command that writes a page, in this process."""
    from parsimon.cli import main

    page = Path(tempfile.mkdtemp()) / "page.html"
    more = ["--outer", "2", "--jobs", "1", "--quiet", "--out", str(page)]
    return lambda: main([*words, *more], standalone_mode=False)


def report() -> Callable[[], object]:
    """Prepare the first command of the README, with a short search."""
    return page_of("report", "pima", "--depth", "2")


def series() -> Callable[[], object]:
    """Prepare a short search for features of series."""
    import numpy as np
    import pandas as pd

    table = Path(tempfile.mkdtemp()) / "series.csv"
    values = np.random.default_rng(0).normal(size=(20, 12)).round(3)
    values[10:, 3:9] += 3.0
    frame = pd.DataFrame(values, columns=[f"t{k}" for k in range(12)])
    frame.assign(kind=np.repeat(["flat", "high"], 10)).to_csv(table, index=False)
    return page_of("series", str(table), "--target", "kind", "--fast")


def select_features() -> Callable[[], object]:
    """Prepare a search for the columns that are needed."""
    return page_of("select-features", "pima")


WALKS = {
    "ParetoRVC.fit": pareto_rvc,
    "ParetoSVC.fit": pareto_svc,
    "RVC.fit": rvc,
    "GPClassifier.fit": gp_classifier,
    "nsga2": nsga2,
    "PGLS.fit": pgls,
    "parsimon report pima": report,
    "parsimon series": series,
    "parsimon select-features": select_features,
}


def walk(name: str, root: Path) -> dict[str, Any]:
    """Trace one walk through the checkout at `root`."""
    sys.path.insert(0, str(root / "src"))
    warnings.simplefilter("ignore")
    run = WALKS[name]()
    tracer = Tracer(root / "src" / "parsimon")
    sys.setprofile(tracer)
    try:
        run()
    finally:
        sys.setprofile(None)
    return {
        "walk": name,
        "files": len(tracer.files),
        "functions": len(tracer.functions),
        "depth": tracer.deepest,
        "names": sorted(str(Path(file).relative_to(root / "src")) for file in tracer.files),
    }


def main() -> None:
    """Trace the walks and print a line for each."""
    parser = argparse.ArgumentParser(description="Count the files that a call walks through.")
    parser.add_argument("walks", nargs="*", help=f"some of {', '.join(WALKS)}; all if none")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to trace")
    parser.add_argument("--json", type=Path, help="also write figures and file names to this file")
    options = parser.parse_args()
    names = options.walks or list(WALKS)
    if unknown := set(names) - set(WALKS):
        parser.error(f"There is no walk {sorted(unknown)}; there are {list(WALKS)}.")
    os.environ["MPLBACKEND"] = "Agg"
    print(f"{'walk':24}{'files':>7}{'functions':>11}{'depth':>7}")
    found = []
    fresh = get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, max_tasks_per_child=1) as pool:
        for row in pool.map(walk, names, [options.root.resolve()] * len(names)):
            found.append(row)
            print(f"{row['walk']:24}{row['files']:7}{row['functions']:11}{row['depth']:7}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
