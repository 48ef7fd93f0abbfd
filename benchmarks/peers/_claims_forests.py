"""Two peers that ask random forests which variables matter: Boruta, and permutation tests.

Text enters as the places of its levels. Neither says anything about interactions.
"""

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers._claims_statements import Statement, about_variables
from benchmarks.peers._claims_truths import SimulatedTable, is_text

# Boruta's authors ask for trees of depth 3 to 7; its "auto" says how many.
BORUTA_DEPTH = 7
BORUTA_TURNS = 40
N_TREES = 50
SMALLEST_LEAF = 3
N_PARTS = 2
N_PERMUTATIONS = 10
LEVEL = 0.05


def state_boruta(table: SimulatedTable, *, quick: bool = False) -> list[Statement]:
    """Return a statement for each column: importance over that of the best shadow."""
    from boruta import BorutaPy

    class Recorded(BorutaPy):
        """Boruta that keeps how good the best shadow of every turn was."""

        def _assign_hits(self, hit_reg: Any, cur_imp: Any, imp_sha_max: float) -> Any:
            self.best_shadows_ = [*getattr(self, "best_shadows_", []), imp_sha_max]
            return super()._assign_hits(hit_reg, cur_imp, imp_sha_max)

    names, columns = _as_numbers(table.peer_inputs)
    selector = Recorded(
        _forest(table, max_depth=BORUTA_DEPTH),
        n_estimators="auto",
        max_iter=20 if quick else BORUTA_TURNS,
        random_state=0,
    ).fit(columns, table.coded_target)
    history = selector.importance_history_[1:]  # 0 from the turn on in which it was given up
    best = np.maximum(selector.best_shadows_, 1e-12)[:, None]
    ratios = np.median(history / best, axis=0)
    confirmed = [name for name, rank in zip(names, selector.ranking_, strict=True) if rank == 1]
    return about_variables(dict(zip(names, map(float, ratios), strict=True)), confirmed)


def state_tests(table: SimulatedTable, *, quick: bool = False) -> list[Statement]:
    """Return a statement for each column: -log10 of its p-value, corrected for their number.

    Altmann and others' test: importance by permutation on held-out parts, against a distribution
    fitted to the importances of forests of permuted targets (here Student's, for a new draw from
    a normal one).
    """
    from scipy.stats import t as student

    names, columns = _as_numbers(table.peer_inputs)
    target, random = table.coded_target, np.random.default_rng(0)
    own = _importances(table, columns, target, random)
    n_permutations = 5 if quick else N_PERMUTATIONS
    chance = np.array(
        [
            _importances(table, columns, random.permutation(target), random)
            for _ in range(n_permutations)
        ]
    )
    # A column that no tree ever used has no spread of its own.
    spread = np.maximum(chance.std(axis=0, ddof=1), 0.25 * chance.std(ddof=1))
    scaled = (own - chance.mean(axis=0)) / np.maximum(spread, 1e-12)
    logs = student.logsf(scaled / (1 + 1 / n_permutations) ** 0.5, n_permutations - 1)
    scores = -(logs + np.log(len(names))) / np.log(10)
    return about_variables(
        dict(zip(names, map(float, scores), strict=True)), above=-float(np.log10(LEVEL))
    )


def _as_numbers(inputs: pd.DataFrame) -> tuple[list[str], np.ndarray]:
    """Return names and values, (n, d)."""
    columns = [
        np.unique(inputs[name], return_inverse=True)[1].astype(float)
        if is_text(inputs[name])
        else inputs[name].to_numpy(float)
        for name in inputs
    ]
    return list(map(str, inputs)), np.column_stack(columns)


def _forest(table: SimulatedTable, **settings: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if table.is_regression:
        return RandomForestRegressor(n_jobs=1, max_features=1 / 3, **settings)
    return RandomForestClassifier(n_jobs=1, class_weight="balanced", **settings)


def _importances(
    table: SimulatedTable, columns: np.ndarray, target: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Return the growth of held-out loss when a column is permuted, (d,)."""
    from sklearn.model_selection import KFold, StratifiedKFold

    folds = (KFold if table.is_regression else StratifiedKFold)(N_PARTS, shuffle=True)
    folds.random_state = int(random.integers(2**31))
    total = np.zeros(columns.shape[1])
    for train, test in folds.split(columns, target):
        model = _forest(
            table,
            n_estimators=N_TREES,
            min_samples_leaf=SMALLEST_LEAF,
            random_state=int(random.integers(2**31)),
        ).fit(columns[train], target[train])
        total += _growth(model, columns[test], target[test], random)
    return total / N_PARTS


def _growth(
    model: Any, columns: np.ndarray, target: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Return how much the loss grows with each column permuted, (d,): all in one call."""
    n_rows, n_columns = columns.shape
    copies = np.repeat(columns[None], n_columns + 1, axis=0)
    for place in range(n_columns):
        copies[place, :, place] = random.permutation(columns[:, place])
    stacked = copies.reshape(-1, n_columns)
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(stacked).reshape(n_columns + 1, n_rows, -1)
        losses = ((chances - np.eye(chances.shape[2])[target]) ** 2).sum(axis=2)
    else:
        losses = (model.predict(stacked).reshape(n_columns + 1, n_rows) - target) ** 2
    means = losses.mean(axis=1)
    return np.asarray(means[:-1] - means[-1])
