"""Chapter 7 of Mierswa (2009): features of series found by a search over method trees.

Tables 7.1 to 7.4 are of music that cannot be had. Ours are of synthetic pieces, a *surrogate*: the
printed figure stands beside ours to be seen, and no bar is set against it. Features are chosen
anew in every fold; beside that stands the source's way, features chosen with all rows. Table 7.5 is
of the real index, with the last value beside it, which the source leaves out. Finished searches are
kept, and a second run goes on from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import ttest_rel, wilcoxon
from sklearn.metrics import precision_score, recall_score
from sklearn.tree import DecisionTreeClassifier

from benchmarks.reproduce import _mierswa_7_index as index
from benchmarks.reproduce import _mierswa_7_music as music
from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import classify_plainly
from benchmarks.rows import Row
from parsimon.features.series import MethodTree, standard_set, tree_values

# Per cent: accuracy, precision, recall.
TABLE_7_1 = {
    "classic": (100.0, 100.0, 100.0),
    "techno": (93.12, 94.80, 93.22),
    "hiphop": (82.50, 85.27, 79.41),
}
TABLE_7_2 = {
    "classic": (96.50, 94.12, 95.31),
    "techno": (64.38, 60.38, 64.00),
    "hiphop": (72.08, 70.41, 67.65),
}
# Per cent of error; hiphop and pop are not in the table.
TABLE_7_3 = {
    "linear SVM": {"classic": 0.0, "techno": 6.88},
    "RBF SVM": {"classic": 1.5, "techno": 14.38},
    "tree": {"classic": 0.0, "techno": 7.5},
    "k-NN": {"classic": 3.0, "techno": 9.38},
    "naive Bayes": {"classic": 2.5, "techno": 10.63},
}
TABLE_7_4 = {
    "listener 1": (95.19, 92.70, 99.00),
    "listener 2": (92.14, 98.33, 84.67),
    "listener 3": (90.56, 90.83, 93.00),
    "listener 4": (84.55, 85.87, 83.74),
}
STUMPS = {"classic": 93.0, "techno": 76.0}
# Mean and deviation.
TABLE_7_5 = {"linear regression": (0.035, 0.013), "features": (0.022, 0.005)}
# The correlation from which on the search itself takes features for copies of each other.
ALIKE = 0.8
SURROGATE = "surrogate music, no bar"
Found = dict[music.MusicJob, dict[str, Any]]


def rows(*, quick: bool) -> list[Row]:
    """Return tables 7.1 to 7.5, ours beside the printed figures and the peers."""
    genres = {"classic": music.GENRES["classic"]} if quick else music.GENRES
    listeners = {"listener 1": music.LISTENERS["listener 1"]} if quick else music.LISTENERS
    jobs = music.jobs_of({**genres, **listeners}, quick=quick)
    found = run_all(
        jobs,
        music.search_and_test,
        title="mierswa-7, music",
        file_name=None if quick else "mierswa-7-music.jsonl",
        n_processes=1,
    )
    made = _genre_rows(list(genres), found)
    made += _learner_rows(list(genres), found)
    made += _listener_rows(list(listeners), found)
    return [*made, *_index_rows(quick=quick)]


class _Told:
    """The outcome of all folds of a task: truth and what each learner said."""

    def __init__(self, task: str, found: Found) -> None:
        self.jobs = sorted((job for job in found if job.task == task), key=lambda job: job.fold)
        self.whole, self.folds = self.jobs[0], self.jobs[1:]
        self.X, self.y = music.pieces(task, self.whole.n, self.whole.seconds, self.whole.rate)
        rows = [row for job in self.folds for row in found[job]["rows"]]
        self.truth = self.y[rows]
        self.told = {
            name: np.concatenate([found[job]["told"][name] for job in self.folds])
            for name in music.LEARNERS
        }
        self.printed_way = float(
            np.mean(self.y[found[self.whole]["rows"]] == found[self.whole]["told"]["linear SVM"])
        )
        self.sizes = [len(found[job]["trees"]) for job in self.folds]
        # The plainest that is learnt of a piece: how loud it is, and how much that varies.
        loudness = np.column_stack([np.abs(self.X).mean(axis=1), self.X.std(axis=1)])
        self.plain = classify_plainly(
            (loudness[train], self.y[train], loudness[test], self.y[test])
            for train, test in music.folds_of(self.whole, self.y)
        )

    def error(self, name: str = "linear SVM") -> float:
        return float(np.mean(self.told[name] != self.truth))


def _quality(case: str, task: _Told, told: Any, printed: Sequence[float], note: str) -> list[Row]:
    """Return accuracy, precision, recall and error in per cent beside the printed ones."""
    truth = task.truth
    figures = {
        "accuracy": float(np.mean(truth == told)),
        "precision": float(precision_score(truth, told, zero_division=0.0)),
        "recall": float(recall_score(truth, told)),
    }
    made = [
        Row(case, f"{name}, %; printed", 100 * value, given, True, note=note)
        for (name, value), given in zip(figures.items(), printed, strict=True)
    ]
    wrong = 100 * (1 - figures["accuracy"])
    beside = wrong, 100 - printed[0]
    return [*made, Row(case, "error, %; printed", *beside, note=note, rivals=task.plain)]


def _genre_rows(genres: list[str], found: Found) -> list[Row]:
    """Return tables 7.1 and 7.2: features for each task, and one set of features for all."""
    made, tailored, standard = [], [], []
    tasks = {genre: _Told(genre, found) for genre in genres}
    for genre, task in tasks.items():
        case = f"7.1 {genre}/pop (surrogate), {len(task.y)} pieces"
        note = f"{SURROGATE}; {np.mean(task.sizes):.0f} features a fold"
        made += _quality(case, task, task.told["linear SVM"], TABLE_7_1[genre], note)
        made.append(_source_way(case, task))
        if genre in STUMPS:
            made.append(_stump(case, task, found, STUMPS[genre]))
    trees, by_task = _standard(tasks, found)
    note = "one set for all tasks, which has seen every row"
    subsets = sum(len(task.folds) for task in tasks.values())
    case = "7.2 standard set (surrogate)"
    made.append(
        Row(case, "features in half of all subsets; subsets", len(trees), subsets, note=note)
    )
    for genre, told in by_task.items():
        task = tasks[genre]
        case = f"7.2 {genre}/pop (surrogate), standard set"
        made += _quality(case, task, told, TABLE_7_2[genre], SURROGATE)
        tailored.append(1 - task.error())
        standard.append(float(np.mean(told == task.truth)))
    if len(standard) < 2:
        return made
    metric = "accuracy, %, features for each task; one standard set"
    note = f"claim of section 7.4.1, mean of {len(genres)} tasks; printed 91.9 and 77.7"
    case, peer = "7.1, 7.2 genres (surrogate)", 100 * float(np.mean(standard))
    idle = {
        name: 100.0 - float(np.mean([task.plain[name] for task in tasks.values()]))
        for name in next(iter(tasks.values())).plain
    }
    # The peer himself must miss.
    idle["one standard set"] = peer
    row = Row(case, metric, 100 * float(np.mean(tailored)), peer, True, 1.0, note, idle)
    made.append(row.above_rivals())
    seen = 100 * float(np.mean([task.printed_way for task in tasks.values()]))
    metric = "the same, features chosen with all rows, as the standard set is; standard set"
    return [*made, Row(case, metric, seen, peer, True, note="on equal terms, the source's way")]


def _source_way(case: str, task: _Told) -> Row:
    metric = "accuracy, %, features chosen in the folds; with all rows"
    note = "the source's way has seen the rows it is tested on"
    return Row(case, metric, 100 * (1 - task.error()), 100 * task.printed_way, True, note=note)


def _stump(case: str, task: _Told, found: Found, printed: float) -> Row:
    """Return the accuracy of a question about one feature, chosen in the folds."""
    told: list[int] = []
    for job, fold in zip(task.folds, music.folds_of(task.whole, task.y), strict=True):
        V = tree_values(music.trees_of(found[job]), task.X)
        told += music.told_by(
            DecisionTreeClassifier(max_depth=1, random_state=0), V, task.y, [fold]
        )
    accuracy = 100 * float(np.mean(np.array(told) == task.truth))
    metric = "accuracy of a one-level stump, %; printed"
    return Row(case, metric, accuracy, printed, True, note=SURROGATE)


def _standard(tasks: Mapping[str, _Told], found: Found) -> tuple[list[MethodTree], dict[str, Any]]:
    """Return the features of half of all subsets that were chosen, and what they tell each task.

    As in the source there is one set for all tasks and folds: it has seen every row, which is in
    its favour.
    """
    jobs = [job for task in tasks.values() for job in task.folds]
    trees = standard_set(
        [music.trees_of(found[job]) for job in jobs],
        np.vstack([task.X for task in tasks.values()]),
        limit=ALIKE,
    )
    if not trees:
        return trees, {}
    return trees, {
        genre: np.array(music.with_features(task.whole, trees, music.folds_of(task.whole, task.y)))
        for genre, task in tasks.items()
    }


def _learner_rows(genres: list[str], found: Found) -> list[Row]:
    """Return table 7.3: the error of several learners on the same features."""
    made = []
    for genre in genres:
        task = _Told(genre, found)
        case = f"7.3 {genre}/pop (surrogate)"
        for name, printed in TABLE_7_3.items():
            error = 100 * task.error(name)
            if genre in printed:
                made.append(
                    Row(case, f"error of {name}, %; printed", error, printed[genre], note=SURROGATE)
                )
            elif name != "linear SVM":
                metric = f"error of {name}, %; linear SVM"
                made.append(Row(case, metric, error, 100 * task.error(), note="not printed"))
    return made


def _listener_rows(listeners: list[str], found: Found) -> list[Row]:
    """Return table 7.4, and what listeners think of an unseen collection in order."""
    made = []
    for listener in listeners:
        task = _Told(listener, found)
        case = f"7.4 {listener} (surrogate), {len(task.y)} pieces"
        note = f"{SURROGATE}; {np.mean(task.sizes):.0f} features a fold"
        made += _quality(case, task, task.told["linear SVM"], TABLE_7_4[listener], note)
        made.append(_source_way(case, task))
        whole = found[task.whole]
        metric = f"liked of the first {music.FIRST} of {music.UNSEEN} unseen, %; by chance"
        note = f"area under ROC {whole['area']:.3f}; no printed figure"
        made.append(Row(case, metric, 100 * whole["liked_first"], 50.0, True, note=note))
    return made


def _index_rows(*, quick: bool) -> list[Row]:
    """Return table 7.5 with all readings of the error, and a later hold-out."""
    X, y, folds = index.windows()
    if quick:
        folds = folds[:1]
    jobs = [index.IndexJob(parts, 1 if quick else None) for parts in range(1, len(folds) + 1)]
    if not quick:
        jobs.append(index.IndexJob(index.N_PARTS))
    kept = None if quick else "mierswa-7-index.jsonl"
    results = run_all(jobs, index.forecast, title="mierswa-7, index", file_name=kept, n_processes=1)
    found = {job.parts: result for job, result in results.items()}
    ours, peers = index.nested(found, y, folds), index.baselines(X, y, folds)
    persistent = sum(found[parts]["is_persistence"] for parts in range(1, len(folds) + 1))
    note = f"{persistent} of {len(folds)} searches found nothing better than the last value"
    case = f"7.5 S&P 500, {len(folds)} tests, features chosen in each"
    made = [
        row
        for name, told in peers.items()
        for row in _against(case, name, y, ours, told, folds, note, index.plain(X, y, folds))
    ]
    if quick:
        made = [replace(row, bar=None) for row in made]
    return made if quick else [*made, *_printed_index(X, y, folds, ours, found)]


def _against(
    case: str,
    name: str,
    y: Any,
    ours: Any,
    theirs: Any,
    folds: index.Folds,
    note: str,
    rivals: Mapping[str, Any],
) -> list[Row]:
    """Return every reading of the error beside a peer's.

    `rivals` are forecasts of those who must miss: the last value among them, so that a search that
    found nothing better than it does not pass by being it.
    """
    bars = {"persistence": 1.0, "linear regression on 80 days": 1.5}
    made = []
    for measure, of in index.MEASURES.items():
        one, other = of(y, ours, folds), of(y, theirs, folds)
        idle = {rival: float(of(y, told, folds).mean()) for rival, told in rivals.items()}
        spread = f"{one.std():.4f}; {other.std():.4f}, " if len(one) > 1 else ""
        text = f"deviations {spread}{note}" if spread else note
        figures = float(one.mean()), float(other.mean())
        bar = bars.get(name)
        row = Row(case, f"{measure}; {name}", *figures, bar=bar, note=text, rivals=idle)
        made.append(row.above_rivals())
    return made


def _printed_index(
    X: Any, y: Any, folds: index.Folds, ours: Any, found: dict[int, dict[str, Any]]
) -> list[Row]:
    """Return what is printed, the source's way, and the later hold-out."""
    peers = index.baselines(X, y, folds)
    regression = peers["linear regression on 80 days"]
    trees = found[index.N_PARTS]["trees"]
    way = index.with_features(trees, X, y, folds)
    made = []
    for measure, of in index.MEASURES.items():
        one, other = of(y, ours, folds), of(y, regression, folds)
        given = TABLE_7_5["features"][0], TABLE_7_5["linear regression"][0]
        note = f"persistence {of(y, peers['persistence'], folds).mean():.4f}"
        made += [
            Row("7.5 S&P 500", f"{measure}; printed, features", one.mean(), given[0], note=note),
            Row("7.5 S&P 500, linear regression", f"{measure}; printed", other.mean(), given[1]),
            Row(
                "7.5 S&P 500, features chosen on the same tests",
                f"{measure}; persistence",
                float(of(y, way, folds).mean()),
                float(of(y, peers["persistence"], folds).mean()),
                note=f"the source's way: {len(trees)} features, linear regression",
            ),
        ]
    return [*made, _significance(y, ours, regression, folds), *_later(X, y, found)]


def _significance(y: Any, ours: Any, theirs: Any, folds: index.Folds) -> Row:
    """Return the larger chance of two tests that ours and linear regression err alike."""
    one, other = (index.relative_error(y, told, folds) for told in (ours, theirs))
    chance = max(ttest_rel(one, other).pvalue, wilcoxon(one, other).pvalue)
    metric = "chance of no difference from linear regression; printed level"
    note = "relative errors of nine tests; paired t and Wilcoxon, the larger"
    return Row("7.5 S&P 500", metric, float(chance), 0.01, note=note)


def _later(X: Any, y: Any, found: dict[int, dict[str, Any]]) -> list[Row]:
    """Return the error after seven parts, of what was learnt from those once."""
    train = np.arange(len(y) - len(found[index.FIRST_PARTS]["told"]))
    folds = [(train, np.arange(len(train), len(y)))]
    ours = np.concatenate((np.full(len(train), np.nan), found[index.FIRST_PARTS]["told"]))
    case = (
        f"7.5 S&P 500, the last {len(y) - len(train)} windows, learnt from the {len(train)} before"
    )
    return [
        row
        for name, told in index.baselines(X, y, folds).items()
        for row in _against(
            case, name, y, ours, told, folds, "a later hold-out", index.plain(X, y, folds)
        )
    ]
