import numpy as np
import pytest

from parsimon.phylo import PhyRVM, brownian_traits, yule_tree
from parsimon.phylo._lambda_evidence import integrate


def test_errors_are_as_large_as_they_are_said_to_be():
    tree = yule_tree(60, random_state=0)
    table = brownian_traits(tree, 2, random_state=1)
    train, test = table.index[:40], table.index[40:]
    table = table - table.loc[train].mean()
    scores = {"conditional": [], "marginal": []}
    for seed in range(200):
        noise = brownian_traits(tree, pagel_lambda=0.9, random_state=seed)["trait1"]
        y = 1.0 + table["trait1"] + noise
        model = PhyRVM(tree, pagel_lambda=0.9).fit(table.loc[train], y[train])
        for kind, found in scores.items():
            mean, sd = model.predict(table.loc[test], return_std=True, prediction=kind)
            found.append(((mean - y[test]) / sd) ** 2)
    for found in scores.values():
        # The rate is estimated from 40 rows.
        assert np.mean(found) == pytest.approx(1.0, abs=0.15)


def test_intervals_of_a_posterior_at_a_bound_begin_there():
    found = integrate(lambda x: -8.0 * x, (0.0, 1.0), 0.0, level=0.95, n_points=60)
    assert found.interval[0] == 0.0
    # An exponential density, cut at 1.
    expected = -np.log(1.0 - 0.95 * (1.0 - np.exp(-8.0))) / 8.0
    assert found.interval[1] == pytest.approx(expected, abs=1e-3)
    skew = integrate(
        lambda x: np.log(x * (1 - x) ** 3 + 1e-300), (0, 1), 0.25, level=0.9, n_points=80
    )
    density = [x * (1 - x) ** 3 for x in skew.interval]
    # The ends of the shortest interval are equally dense.
    assert density[0] == pytest.approx(density[1], rel=0.02)
