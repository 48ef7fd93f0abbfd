"""Averages and sparse ensembles of label-only members beside forests, boosting and networks.

`ABCClassifier()` averages hard networks. `SparseEnsemble` prunes hard support vector machines of 13
prices of an error and 3 values of C: they only say labels, and are judged by folds that they were
not fitted to. The promise: an area of .965 on Ripley and .950 on Waveform with at most 20
members. Peers are scikit-learn's, as they come but for seeds, scaling and, where it is said,
calibration; areas are the usual ones, on test rows. Splits are those of Clark (2011).

Speed: chains of 10,000 steps of the hard network on Ripley beside the same loop with scikit-learn's
MLPClassifier, whose weights are set and whose `predict` is called at every step; the error
is computed from two means in both. Seconds for one step of one chain.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.reproduce._clark_data import Split
from benchmarks.reproduce._ensemble_data import table
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.roc import auc

SETS = ("Ripley", "Waveform", "Banana", "Pima", "German")
PROMISED = {"Ripley": 0.965, "Waveform": 0.950}
MOST_MEMBERS, FASTER = 20, 50.0
N_CHAINS = 100


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison; every library has one thread."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        # Convergence of peers, and of chains that stay above the tolerance, is told in notes.
        warnings.simplefilter("ignore")
        made = []
        for name in SETS[:2] if quick else SETS:
            made += _beside(name, quick)
        return [*made, _speed(2_000 if quick else 10_000, 300 if quick else 2_000)]


def hard_machines() -> list[Any]:
    """Return support vector machines of many prices, of which only labels are used."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return [
        make_pipeline(StandardScaler(), SVC(C=c, class_weight={0.0: 1.0, 1.0: ratio}))
        for c in (0.3, 1.0, 3.0)
        for ratio in np.geomspace(1 / 16, 16, 13)
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


def _beside(name: str, quick: bool) -> list[Row]:
    from parsimon.ensembles import ABCClassifier, SparseEnsemble

    data = table(name)
    steps: dict[str, Any] = {"n_samples": 200, "patience": 1000, "calibration": 2} if quick else {}
    average = ABCClassifier(random_state=0, **steps).fit(data.X_train, data.y_train)
    sparse = SparseEnsemble(hard_machines(), random_state=0).fit(data.X_train, data.y_train)
    pruned = SparseEnsemble(average, random_state=0).fit(data.X_train, data.y_train)
    ours = {
        "sparse ensemble": (sparse, len(sparse.support_)),
        "ABC average": (average, average.samples_.shape[0] * average.samples_.shape[1]),
        "ABC average, pruned": (pruned, len(pruned.support_)),
    }
    figures = {key: _figures(model, data) for key, (model, _) in ours.items()}
    made = _promised(name, figures["sparse ensemble"][0], len(sparse.support_))
    peers = _peers()
    for peer in list(peers)[:2] if quick else peers:
        theirs = _figures(peers[peer]().fit(data.X_train, data.y_train), data)
        for key, (_, n_members) in ours.items():
            mine = figures[key]
            case = f"{name}, {key}"
            note = f"{n_members} members"
            made.append(
                Row(case, f"test AUC; {peer}", mine[0], theirs[0], higher_is_better=True, note=note)
            )
            made.append(Row(case, f"test log loss; {peer}", mine[1], theirs[1], note=note))
    return made


def _promised(name: str, area: float, n_members: int) -> list[Row]:
    if name not in PROMISED:
        return []
    case = f"{name}, sparse ensemble of hard machines"
    return [
        Row(case, "test AUC; promised", area, PROMISED[name], higher_is_better=True, bar=1.0),
        Row(case, "members; most allowed", float(n_members), float(MOST_MEMBERS), bar=1.0),
    ]


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
        burn_in=0, thin=7,
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
