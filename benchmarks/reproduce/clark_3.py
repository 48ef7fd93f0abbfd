"""Tables 3.2 to 3.5 of Clark (2011): fronts of relevance vector machines on eight data sets.

Every scheme runs on every split; the figures are means over splits. A search may fit a given
number of models, also NSGA-II, whose 2000 generations of 300 in the source are out of proportion:
here its 300 have 100 generations. The source prints neither its step of the threshold grid (ours is
0.01) nor its number of iterations: the numbers of models below are ours, raised with the printed
results in sight until the searches came near them. On MNIST it printed one run, of unknown
training images: there ours is the mean of three draws, an accuracy's deviation is that of the
10,000 test rows together with ours between draws, and a count's its square root. Jobs run on two
processes, and a run that was stopped goes on where it was: see `benchmarks.reproduce._resume`.

The rows of `ParetoRVC` on the same dictionary show its own choice and the automatic choices of
complexity, all measured on test rows, beside the printed figures of five folds. The rows called
"defaults" are `RVC()` and `ParetoRVC()` with nothing set but the seed, beside the printed RVM and
five folds: they have a dictionary of their own, so that their vectors are there to be seen only.

Banana Subset is where the source sees an RVM overfit and its front not. Ours overfits less: the
last rows have what became of that story, and `RVC()` beside a support vector machine.

Bars: an accuracy may lie two standard errors of the difference of means below the printed one, and
must be above that of the larger class, of a guess, of logistic regression and of a single bump.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproduce import _clark_data, _clark_jobs, _clark_widths
from benchmarks.reproduce._clark_data import Split, load_split, n_splits
from benchmarks.reproduce._clark_jobs import (
    OURS,
    PARETO_DEFAULTS,
    RVC_DEFAULTS,
    SAME_DICTIONARY,
    Job,
    work,
)
from benchmarks.reproduce._clark_tables import (
    DATA_SETS,
    RVM,
    SCHEMES,
    TABLE_3_2,
    TABLE_3_3,
    TABLE_3_4,
    TABLE_3_5,
    VARIANT_SETS,
    VARIANTS,
    Published,
)
from benchmarks.reproduce._clark_widths import WIDTHS
from benchmarks.reproduce._resume import N_PROCESSES, run_all
from benchmarks.rivals import (
    CONSTANT,
    GUESS,
    LOGISTIC,
    allowed_above,
    classify_plainly,
    error_between,
    standard_error,
)
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.exceptions import DatasetNotFoundError
from parsimon.kernels import MultiResolution
from parsimon.rvm._dictionary import make_basis

MEANT = 60.0
QUICK_SETS, QUICK_SPLITS, QUICK_EVALUATIONS = ("Titanic", "Banana Subset"), 2, 500
# Models that a search may fit, and for the shuffles, each of which fits its whole archive again
# when a solution enters the validation archive: the same number of children costs far more fits.
EVALUATIONS = {"German": 8_000, "MNIST": 100_000}
SHUFFLE_EVALUATIONS = {
    "Banana": 100_000,
    "Banana Subset": 60_000,
    "Waveform": 80_000,
    "Pima": 40_000,
    "MNIST": 100_000,
}
USUAL_EVALUATIONS, USUAL_SHUFFLE_EVALUATIONS = 15_000, 20_000
GENERATIONS, GENERATION_EVALUATIONS = ("NSGA-II", "NSGA-II + crossover"), 30_000
# The source stops after 100 iterations without an addition, but counts a solution that equals a
# member as one, so that its searches hardly ever stop. Ours refuses such solutions.
STALL = 1000
SHUFFLES = ("Shuffle", "Shuffle Strat", "H. Shuffle")
MANY_FOLDS = ("5 Fold", "10 Fold", SAME_DICTIONARY)
FOLDS = "5 Fold"
# The printed schemes that ours are judged by: its fronts come from five folds too.
LIKE = {SAME_DICTIONARY: FOLDS, PARETO_DEFAULTS: FOLDS, RVC_DEFAULTS: RVM}
SUBSET = "Banana Subset"
TEST_ROWS_MNIST = 10_000


def rows(*, quick: bool) -> list[Row]:
    """Return all tables beside ours, for the data sets that can be loaded."""
    jobs = all_jobs(quick)
    found = run_all(
        jobs,
        work,
        title="clark-3",
        file_name=None if quick else "clark-3.jsonl",
        code=[Path(module.__file__ or "") for module in (_clark_data, _clark_jobs, _clark_widths)],
    )
    cells = gather(found)
    splits = {cell.data_set: len(cell.test) for cell in cells}
    rivals = {name: rivals_of(name, count) for name, count in splits.items()}
    made = [row for cell in cells for row in cell_rows(cell, rivals[cell.data_set])]
    if SUBSET in splits:
        made += story_rows(cells, rivals[SUBSET], support_vector_machine(splits[SUBSET]))
    if quick:
        # Nothing is promised of two splits and so few evaluations.
        made = [replace(row, bar=None) for row in made]
    return [*made, _time_row(found)]


def all_jobs(quick: bool) -> list[Job]:
    """Return the jobs, the longest first, so that the last one does not keep the others waiting."""
    jobs = []
    for name in QUICK_SETS if quick else DATA_SETS:
        try:
            load_split(name, 0)
        except DatasetNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        schemes = [RVM, *SCHEMES, *(VARIANTS if name in VARIANT_SETS else ()), *OURS]
        for scheme in schemes:
            count, stall = _budget(name, scheme, quick)
            splits = range(QUICK_SPLITS if quick else n_splits(name))
            jobs += [Job(name, scheme, split, count, stall) for split in splits]
    return sorted(jobs, key=_cost, reverse=True)


def _budget(name: str, scheme: str, quick: bool) -> tuple[int, int | None]:
    """Return evaluations and stall; on MNIST with few folds news is rare, but goes on."""
    if scheme in (RVC_DEFAULTS, PARETO_DEFAULTS):
        return 0, None
    if quick:
        return QUICK_EVALUATIONS, STALL
    if name == "MNIST" and scheme in MANY_FOLDS:
        return USUAL_EVALUATIONS, None
    if scheme in GENERATIONS:
        return GENERATION_EVALUATIONS, None
    if scheme in SHUFFLES:
        count = SHUFFLE_EVALUATIONS.get(name, USUAL_SHUFFLE_EVALUATIONS)
    else:
        count = EVALUATIONS.get(name, USUAL_EVALUATIONS)
    return count, None if name == "MNIST" else STALL


def _cost(job: Job) -> int:
    rows_of = {"MNIST": 1000, "German": 700, "Waveform": 400, "Banana": 400}
    folds = {"10 Fold": 10, FOLDS: 5, SAME_DICTIONARY: 5}
    return rows_of.get(job.data_set, 200) * folds.get(job.scheme, 2)


@dataclass(frozen=True)
class Cell:
    """One choice of one scheme on one data set: the splits of ours, and what was printed."""

    data_set: str
    scheme: str
    choice: str
    train: Array
    test: Array
    vectors: Array
    areas: Array
    published: Published
    published_areas: tuple[float, float] | None

    @property
    def case(self) -> str:
        """How rows name it."""
        if self.scheme == SAME_DICTIONARY:
            return f"{self.data_set}: ParetoRVC on the same dictionary, {self.choice}"
        if self.scheme in OURS:
            return f"{self.data_set}: {self.scheme}, defaults"
        table = "3.4" if self.scheme in VARIANTS else "3.2"
        return f"{self.data_set}: {self.scheme} (table {table})"


@dataclass(frozen=True)
class Rival:
    """Mean test accuracy in per cent, vectors, and how many rows it learnt from."""

    accuracy: float
    vectors: float
    n_rows: float


def gather(found: Mapping[Job, Mapping[str, Any]]) -> list[Cell]:
    """Return the cells in the order of the tables."""
    by_cell: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for job in sorted(found, key=lambda job: job.split):
        by_cell.setdefault((job.data_set, job.scheme), []).append(found[job])
    cells = []
    for name in DATA_SETS:
        for scheme in (RVM, *SCHEMES, *VARIANTS, *OURS):
            results = by_cell.get((name, scheme), [])
            for choice in results[0]["choices"] if results else ():
                cells.append(_cell(name, scheme, choice, results))
    return cells


def _cell(name: str, scheme: str, choice: str, results: Sequence[Mapping[str, Any]]) -> Cell:
    like = LIKE.get(scheme, scheme)
    table, areas = (TABLE_3_4, TABLE_3_5) if like in VARIANTS else (TABLE_3_2, TABLE_3_3)
    answers = [result["choices"][choice] for result in results]
    train, test, vectors = (
        np.array([answer[key] for answer in answers], dtype=np.float64)
        for key in ("train", "test", "vectors")
    )
    return Cell(
        name,
        scheme,
        choice,
        train,
        test,
        vectors,
        np.array([result["areas"] for result in results]),
        table[like][name],
        areas[like].get(name),
    )


def cell_rows(cell: Cell, rivals: Mapping[str, Rival]) -> list[Row]:
    """Return test accuracy, vectors and area under the front beside the printed ones.

    Vectors count only with the accuracy: without it, a machine counts as one of all training rows.
    """
    published = cell.published
    deviation, error = deviations(published, cell.test)
    accuracy = Row(
        cell.case,
        "test accuracy %; allowed: 2 se of the difference of means",
        float(cell.test.mean()),
        published.test,
        higher_is_better=True,
        bar=1.0 - 2.0 * error / published.test,
        note=f"sd {_deviation(cell.test):.2f}, "
        f"{'assumed' if published.test_deviation is None else 'printed'} {deviation:.2f}; training "
        f"{cell.train.mean():.2f}, printed {published.train:.2f}",
        rivals={name: rival.accuracy for name, rival in rivals.items()},
    ).above_rivals()
    made = [accuracy, _vectors_row(cell, accuracy, rivals)]
    if cell.published_areas is not None and cell.scheme not in OURS:
        train, test = cell.areas.mean(axis=0)
        note = f"training {train:.2f}, printed {cell.published_areas[0]:.2f}"
        area = "area under the front, test"
        made.append(
            Row(cell.case, area, test, cell.published_areas[1], higher_is_better=True, note=note)
        )
    return made


def _vectors_row(cell: Cell, accuracy: Row, rivals: Mapping[str, Rival]) -> Row:
    """Return the vectors of a scheme; the defaults have a dictionary of their own and no bar."""
    published, n_rows = cell.published, next(iter(rivals.values())).n_rows
    deviation = published.vectors_deviation or float(np.sqrt(published.vectors))
    error = error_between(cell.vectors, deviation)

    def counted(figure: float, vectors: float) -> float:
        return vectors if replace(accuracy, ours=figure).met else n_rows

    own = float(cell.vectors.mean())
    return Row(
        cell.case,
        "relevance vectors; all rows if the accuracy is missed",
        counted(accuracy.ours, own),
        published.vectors,
        bar=None
        if cell.scheme in (RVC_DEFAULTS, PARETO_DEFAULTS)
        else allowed_above(published.vectors, error),
        note=f"{own:.1f}, sd {_deviation(cell.vectors):.2f}",
        rivals={name: counted(one.accuracy, one.vectors) for name, one in rivals.items()},
    )


def rivals_of(name: str, splits: int) -> dict[str, Rival]:
    """Return who must miss the bars of a data set.

    A constant, a guess, logistic regression, whose vectors are all rows, and a machine of one
    vector: the bump of the dictionary that divides the training rows best.
    """
    parts = [load_split(name, number) for number in range(splits)]
    n_rows = float(len(parts[0].y_train))
    plain = classify_plainly((p.X_train, p.y_train, p.X_test, p.y_test) for p in parts)
    sizes = {CONSTANT: 0.0, GUESS: 0.0, LOGISTIC: n_rows}
    found = {each: Rival(100.0 - plain[each], sizes[each], n_rows) for each in plain}
    bumps = float(np.mean([_one_bump(name, part) for part in parts]))
    return {**found, "one vector": Rival(bumps, 1.0, n_rows)}


def _one_bump(name: str, part: Split) -> float:
    from sklearn.tree import DecisionTreeClassifier

    basis = make_basis(MultiResolution(WIDTHS[name]), part.X_train, bias=False)
    stump = DecisionTreeClassifier(max_depth=1).fit(basis.design(part.X_train), part.y_train)
    used = np.array([stump.tree_.feature[0]])
    column = basis.columns(used).design(part.X_test)[:, 0]
    says = stump.classes_[stump.tree_.value[:, 0].argmax(axis=1)[1:]]
    told = np.where(column <= stump.tree_.threshold[0], says[0], says[1])
    return 100.0 * float(np.mean(told == part.y_test))


def deviations(published: Published, ours: Array) -> tuple[float, float]:
    """Return the deviation of an accuracy, and the standard error of ours less the printed mean.

    Where none is printed, the one printed run has that of the test rows and of our draws together.
    """
    if published.test_deviation is not None:
        return published.test_deviation, error_between(ours, published.test_deviation)
    share = published.test / 100.0
    binomial = 100.0 * float(np.sqrt(share * (1.0 - share) / TEST_ROWS_MNIST))
    deviation = float(np.hypot(binomial, _deviation(ours)))
    return deviation, error_between(ours, deviation, 1)


def _deviation(values: Array) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def story_rows(cells: Sequence[Cell], rivals: Mapping[str, Rival], peer: Array) -> list[Row]:
    """Return the story of Banana Subset: whether a front's choice overfits less than the RVM.

    Shapes: peer (n_splits,), the test accuracies of a support vector machine.
    """
    subset = {cell.scheme: cell for cell in cells if cell.data_set == SUBSET}
    machine, front, defaults = subset[RVM], subset[FOLDS], subset[RVC_DEFAULTS]
    case = f"{SUBSET}, {FOLDS} against RVM"
    printed = [TABLE_3_2[scheme][SUBSET] for scheme in (FOLDS, RVM)]
    gaps = [one.train - one.test for one in printed]
    error = _deviation(front.test - machine.test) / np.sqrt(len(front.test))
    accuracies = {name: rival.accuracy for name, rival in rivals.items()}
    return [
        Row(
            case,
            "training above test accuracy, points; our RVM",
            float((front.train - front.test).mean()),
            float((machine.train - machine.test).mean()),
            note=f"printed {gaps[0]:.2f} against {gaps[1]:.2f}; a constant has none",
        ),
        Row(
            case,
            "test accuracy %; our RVM",
            float(front.test.mean()),
            float(machine.test.mean()),
            higher_is_better=True,
            bar=1.0,
            note=f"printed {printed[0].test:.2f} against {printed[1].test:.2f}; our RVM finds "
            f"higher maxima than the printed one; standard error of the difference {error:.2f}",
            rivals=accuracies,
        ),
        Row(
            f"{SUBSET}, RVC(), defaults",
            "test accuracy %; SVC(), allowed: 2 se of paired differences",
            float(defaults.test.mean()),
            float(peer.mean()),
            higher_is_better=True,
            bar=1.0 - 2.0 * standard_error(defaults.test - peer) / float(peer.mean()),
            note=f"sd {_deviation(defaults.test):.2f} and {_deviation(peer):.2f}",
            rivals=accuracies,
        ).above_rivals(),
    ]


def support_vector_machine(n_splits: int) -> Array:
    """Return test accuracies of a machine with nothing set, on the splits of Banana Subset."""
    from sklearn.svm import SVC

    parts = [load_split(SUBSET, number) for number in range(n_splits)]
    scores = [SVC().fit(p.X_train, p.y_train).score(p.X_test, p.y_test) for p in parts]
    return 100.0 * np.array(scores)


def _time_row(found: Mapping[Job, Mapping[str, Any]]) -> Row:
    minutes = sum(float(result["seconds"]) for result in found.values()) / N_PROCESSES / 60.0
    note = "half of the jobs' processor time: a resumed run counts them all"
    return Row(f"all {len(found)} jobs", "minutes on two cores; meant", minutes, MEANT, note=note)
