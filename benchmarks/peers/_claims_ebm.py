"""The claims of an explainable boosting machine of interpret-core, terms and pairs.

The machine itself gives every column a weight. A term is claimed if its importance stands out
from those of the same machine fitted to permuted targets: more than `STANDING_OUT` standard
deviations above their mean (columns with columns, pairs with pairs) and above every one of its
own. The standard deviations are its score. A claimed pair claims both variables.
"""

import warnings
from collections import defaultdict

import numpy as np
import pandas as pd

from benchmarks.peers._claims_statements import Statement, about_pairs, about_variables
from benchmarks.peers._claims_truths import SimulatedTable

N_PERMUTATIONS = 4
N_PAIRS = 10
STANDING_OUT = 4.0
# A faster machine than the default's, with the same pairs on top where both were tried. It does not
# stop early: how early is a matter of chance, and importances of targets would not compare.
SETTINGS = {
    "outer_bags": 4,
    "learning_rate": 0.04,
    "smoothing_rounds": 25,
    "interaction_smoothing_rounds": 25,
    "early_stopping_rounds": 0,
    "max_rounds": 100,
    "max_bins": 64,
    "max_interaction_bins": 16,
    "n_jobs": 1,
    "random_state": 0,
}

Importances = dict[frozenset[str], float]


def state(table: SimulatedTable, *, quick: bool = False) -> list[Statement]:
    """Return the machine's statements about a table."""
    inputs, target = table.peer_inputs, table.coded_target
    random = np.random.default_rng(0)
    own = _importances(inputs, target, regression=table.is_regression)
    permuted = [
        _importances(inputs, random.permutation(target), regression=table.is_regression)
        for _ in range(2 if quick else N_PERMUTATIONS)
    ]
    scores = {**_stand_out(own, permuted, size=1), **_stand_out(own, permuted, size=2)}
    pairs = {term: score for term, score in scores.items() if len(term) == 2}
    variables: dict[str, float] = {}
    for term, score in scores.items():
        for name in term:
            variables[name] = max(variables.get(name, -np.inf), score)
    return [
        *about_variables(variables, above=STANDING_OUT),
        *about_pairs(pairs, above=STANDING_OUT),
    ]


def _importances(inputs: pd.DataFrame, target: np.ndarray, *, regression: bool) -> Importances:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    machine = ExplainableBoostingRegressor if regression else ExplainableBoostingClassifier
    n_columns = inputs.shape[1]
    n_pairs = min(N_PAIRS, n_columns * (n_columns - 1) // 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = machine(interactions=n_pairs, **SETTINGS).fit(inputs, target)
    names = list(map(str, inputs))
    return {
        frozenset(names[place] for place in places): float(importance)
        for places, importance in zip(model.term_features_, model.term_importances(), strict=True)
    }


def _stand_out(own: Importances, permuted: list[Importances], *, size: int) -> Importances:
    """Return how many standard deviations the terms of `size` columns are above chance."""
    chance: dict[frozenset[str], list[float]] = defaultdict(list)
    for importances in permuted:
        for term, value in importances.items():
            if len(term) == size:
                chance[term].append(value)
    pooled = np.array([value for values in chance.values() for value in values] or [0.0])
    spread = max(float(pooled.std(ddof=1)) if len(pooled) > 1 else 0.0, 1e-9)
    scores = {}
    for term, value in own.items():
        if len(term) == size:
            beats_its_own = value > max(chance.get(term, [0.0]))
            score = (value - float(pooled.mean())) / spread
            scores[term] = score if beats_its_own else min(score, 0.0)
    return scores
