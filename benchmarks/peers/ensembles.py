"""Averages and sparse ensembles of label-only members beside forests, boosting and networks.

`ABCClassifier()` averages hard networks; `SparseEnsemble` prunes that average, and a wide pool of
hard support vector machines of 4 widths, 3 values of C and 13 prices of an error. They only say
labels, are judged by folds that they were not fitted to, and those folds choose among them and how
many there are: nothing is tuned for a table. The pool and the way of pruning were settled on other
tables, drawn by `make_ripley` and `make_waveform` with seeds 1 to 6. The promise: an area of .965
on Ripley and .950 on Waveform with at most 20 members. Peers are scikit-learn's, as they come but
for seeds, scaling and, where it is said, calibration; areas are the usual ones, on test rows.

Ripley has one split. Ten tables of the same size are drawn from its densities beside it. The other
tables have the splits of Clark (2011). Figures are means over splits; notes have the interval of
the mean difference at 95 % (Student's t over splits).

Speed: chains of 10,000 steps of the hard network on Ripley beside the same loop with scikit-learn's
MLPClassifier, whose weights are set and whose `predict` is called at every step; the error
is computed from two means in both. Processor time for one step of one chain.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.reproduce._clark_data import Split
from benchmarks.reproduce._ensemble_data import table
from benchmarks.reproduce._resume import run_all
from benchmarks.rivals import CONSTANT, GUESS, LOGISTIC, turned
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.roc import auc

DRAWN = "Ripley, drawn"
# Splits of each table for the pool and the peers, and how many of them for the longer averages.
SPLITS = {
    "Ripley": (1, 1),
    DRAWN: (10, 3),
    "Waveform": (10, 3),
    "Banana": (5, 2),
    "Pima": (5, 2),
    "German": (5, 2),
}
PROMISED = {"Ripley": 0.965, "Waveform": 0.950}
MOST_MEMBERS, FASTER = 20, 50.0
N_CHAINS = 100
SPARSE, AVERAGE, PRUNED = "sparse ensemble", "ABC average", "ABC average, pruned"
FIRST_DRAW = 1000


@dataclass(frozen=True)
class Fits:
    """Ours or theirs on one split: the pool beside all peers, or the average of networks."""

    data_set: str
    number: int
    is_average: bool


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison; every library has one thread."""
    from threadpoolctl import threadpool_limits

    jobs = all_jobs(quick)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [_speed(2_000 if quick else 10_000, 300 if quick else 2_000)]
    file_name = None if quick else "ensembles.jsonl"
    found = run_all(jobs, work, title="ensembles", file_name=file_name)
    for name in dict.fromkeys(job.data_set for job in jobs):
        own = {job: found[job]["figures"] for job in jobs if job.data_set == name}
        made += [*_promised(name, own), *_beside(name, own)]
    return made


def all_jobs(quick: bool) -> list[Fits]:
    """Return the jobs: those that something was promised of first."""
    sizes = {"Ripley": (1, 1), "Waveform": (1, 0)} if quick else SPLITS
    pools = [Fits(name, k, False) for name, (n, _) in sizes.items() for k in range(n)]
    return [*pools, *(Fits(name, k, True) for name, (_, n) in sizes.items() for k in range(n))]


def work(job: Fits) -> dict[str, Any]:
    """Return test area, test log loss and members of every model of a job, by name.

    The average has R-hat besides.
    """
    data = drawn_ripley(job.number) if job.data_set == DRAWN else table(job.data_set, job.number)
    with warnings.catch_warnings():
        # Of peers that do not converge, and of chains that do not agree: R-hat is in the notes.
        warnings.simplefilter("ignore")
        models = _averages(data) if job.is_average else _pool_and_peers(data)
        return {"figures": {name: [*_figures(model, data), *more] for name, model, *more in models}}


def drawn_ripley(number: int) -> Split:
    """Return a table like Ripley's, drawn from its densities."""
    from parsimon.datasets import make_ripley

    X, y = make_ripley(1250, random_state=FIRST_DRAW + number)
    return Split(X[:250], y[:250].astype(float), X[250:], y[250:].astype(float))


def _averages(data: Split) -> list[tuple[Any, ...]]:
    from parsimon.ensembles import ABCClassifier, SparseEnsemble

    average = ABCClassifier(random_state=0).fit(data.X_train, data.y_train)
    pruned = SparseEnsemble(average, random_state=0).fit(data.X_train, data.y_train)
    n_members = average.samples_.shape[0] * average.samples_.shape[1]
    worst = max(average.r_hat_.values())
    return [(AVERAGE, average, n_members, worst), (PRUNED, pruned, len(pruned.support_))]


def _pool_and_peers(data: Split) -> list[tuple[Any, ...]]:
    from parsimon.ensembles import SparseEnsemble

    pool = hard_pool(data.X_train.shape[1])
    sparse = SparseEnsemble(pool, random_state=0).fit(data.X_train, data.y_train)
    made: list[tuple[Any, ...]] = [(SPARSE, sparse, len(sparse.support_))]
    for name, make in _peers().items():
        made.append((name, make().fit(data.X_train, data.y_train), 0))
    return made


def hard_pool(n_columns: int) -> list[Any]:
    """Return machines of many widths and prices, of which only labels are used."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    prices = [{0.0: 1.0, 1.0: ratio} for ratio in np.geomspace(1 / 16, 16, 13)]
    return [
        make_pipeline(StandardScaler(), SVC(C=c, gamma=width / n_columns, class_weight=price))
        for width in (0.1, 0.3, 1.0, 3.0)
        for c in (0.3, 1.0, 3.0)
        for price in prices
    ]


def _peers() -> dict[str, Callable[[], Any]]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import (
        BaggingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "forest, 500 trees": lambda: RandomForestClassifier(500, random_state=0),
        "bagged trees, 100": lambda: BaggingClassifier(
            DecisionTreeClassifier(), 100, random_state=0
        ),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "network by back-propagation": lambda: make_pipeline(
            StandardScaler(), MLPClassifier((10,), max_iter=1000, random_state=0)
        ),
        "calibrated SVC": lambda: make_pipeline(
            StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)
        ),
        "calibrated hard tree of depth 3": lambda: CalibratedClassifierCV(
            DecisionTreeClassifier(max_depth=3, random_state=0)
        ),
    }


def _beside(name: str, own: Mapping[Fits, Mapping[str, Sequence[float]]]) -> list[Row]:
    """Return ours beside every peer, on the splits that both have."""
    theirs = {job.number: figures for job, figures in own.items() if not job.is_average}
    made = []
    for key in (SPARSE, AVERAGE, PRUNED):
        mine = {job.number: figures[key] for job, figures in own.items() if key in figures}
        for peer in _peers() if mine else ():
            for place, metric in enumerate(("test AUC", "test log loss")):
                a = np.array([mine[k][place] for k in mine])
                b = np.array([theirs[k][peer][place] for k in mine])
                made.append(
                    Row(
                        f"{name}, {key}",
                        f"{metric}; {peer}",
                        float(a.mean()),
                        float(b.mean()),
                        higher_is_better=place == 0,
                        note=f"{_interval(a - b)}; {_members(list(mine.values()))}",
                    )
                )
    return made


def _interval(differences: Array) -> str:
    """Return the mean difference with its interval at 95 %, in words."""
    from scipy.stats import t

    k = len(differences)
    if k < 2:
        return f"difference {differences[0]:+.3f}, one split"
    half = t.ppf(0.975, k - 1) * differences.std(ddof=1) / np.sqrt(k)
    return f"difference {differences.mean():+.3f} +- {half:.3f}, {k} splits"


def _members(figures: Sequence[Sequence[float]]) -> str:
    low, high = min(one[2] for one in figures), max(one[2] for one in figures)
    text = f"{low:.0f} members" if low == high else f"{low:.0f} to {high:.0f} members"
    worst = [one[3] for one in figures if len(one) > 3]
    return f"{text}; R-hat at most {max(worst):.2f}" if worst else text


def _promised(name: str, own: Mapping[Fits, Mapping[str, Sequence[float]]]) -> list[Row]:
    if name not in PROMISED:
        return []
    figures = np.array([found[SPARSE] for found in own.values() if SPARSE in found])
    n = "one split" if len(figures) == 1 else f"{len(figures)} splits"
    case = f"{name}, sparse ensemble of label-only members, {n}"
    area = float(figures[:, 0].mean())
    note = f"{figures[:, 0].min():.3f} to {figures[:, 0].max():.3f}"
    plain, n_pool = _plain_areas(name, len(figures)), len(hard_pool(1))
    metric = "mean test AUC; promised"
    promise = Row(case, metric, area, PROMISED[name], True, 1.0, note, plain).above_rivals()
    members = float(figures[:, 2].max())
    return [
        promise,
        Row(
            case,
            "most members, the whole pool if the AUC is missed; allowed",
            members if promise.met else float(n_pool),
            MOST_MEMBERS,
            bar=1.0,
            note=f"{members:.0f}",
            # Whoever misses the area has no use for few members.
            rivals=turned(plain, lambda _: float(n_pool)),
        ),
    ]


def _plain_areas(name: str, n_splits: int) -> dict[str, float]:
    """Return mean test areas of a constant, a guess and logistic regression."""
    found = []
    for data in (table(name, number) for number in range(n_splits)):
        model = LogisticRegression().fit(data.X_train, data.y_train)
        found.append(auc(data.y_test, model.decision_function(data.X_test)))
    return {CONSTANT: 0.5, GUESS: 0.5, LOGISTIC: float(np.mean(found))}


def _figures(model: Any, data: Split) -> tuple[float, float]:
    """Return area and log loss on the test rows."""
    from sklearn.metrics import log_loss

    positive = model.predict_proba(data.X_test)[:, 1]
    clipped = np.clip(positive, 1e-6, 1 - 1e-6)
    return auc(data.y_test, positive), float(log_loss(data.y_test, clipped))


def _speed(n_steps: int, n_peer_steps: int) -> Row:
    """Return processor time for one step of one chain, ours and of the loop, in turns."""
    from parsimon.ensembles import ChainOptions, ErrorOf, HardNetwork, abc_sample
    from parsimon.pareto.run import SearchOptions

    data = table("Ripley")
    codes = data.y_train.astype(np.intp)
    bound = HardNetwork(7, standardise=False).bind(data.X_train)
    options = ChainOptions(
        tolerance=0.5, proposal=0.05, redraw=0.0, n_chains=N_CHAINS, n_samples=n_steps,
        burn_in=0, thin=7, max_r_hat=None,
    )  # fmt: skip
    ours, theirs = [], []
    for turn in range(3):
        start = time.process_time()
        limits = SearchOptions(max_iter=None, random_state=turn)
        found = abc_sample(bound, data.X_train, ErrorOf("auc", codes), options, limits)
        ours.append((time.process_time() - start) / (found.n_iter * N_CHAINS))
        start = time.process_time()
        _mlp_loop(data.X_train, codes, n_peer_steps, turn)
        theirs.append((time.process_time() - start) / n_peer_steps)
    return Row(
        f"Ripley, hard network, {N_CHAINS} chains of {n_steps:,} samples",
        "microseconds of processor a sample; MLPClassifier objects",
        1e6 * float(np.median(ours)),
        1e6 * float(np.median(theirs)),
        bar=FASTER,
        note="one product for all chains; starts from the prior counted",
    )


def _mlp_loop(X: Array, codes: Any, n_steps: int, seed: int) -> None:
    """Walk one chain of the hard network with a scikit-learn object, as one would write it."""
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(seed)
    network = MLPClassifier((7,), activation="tanh", max_iter=1, random_state=seed).fit(X, codes)
    parts = [*network.coefs_, *network.intercepts_]
    positive = codes == 1

    def log_prior(weights: list[Array]) -> float:
        return float(sum(-2.0 * np.log1p(0.05 * w**2 / 3.0).sum() for w in weights))

    prior = log_prior(parts[:2])
    for _ in range(n_steps):
        proposed = [part + 0.05 * rng.standard_normal(part.shape) for part in parts]
        network.coefs_, network.intercepts_ = proposed[:2], proposed[2:]
        labels = network.predict(X)
        error = 1.0 - labels[positive].mean() * (1.0 - labels[~positive].mean())
        new = log_prior(proposed[:2])
        if error <= 0.5 and np.log(rng.random()) < new - prior:
            parts, prior = proposed, new
