import numpy as np
import pytest
from benchmarks.reproduce._fearn_stationary import factor_rows, score_in_errors

from parsimon.phylo import PhyRVM, brownian_traits, covariance, yule_tree


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_slope_of_the_evidence_is_that_of_differences(share):
    tree = yule_tree(30, random_state=1)
    table = brownian_traits(tree, 3, random_state=2)
    y = table["trait1"] + brownian_traits(tree, pagel_lambda=0.5, random_state=3)["trait1"]
    model = PhyRVM(tree, prior="ard", pagel_lambda=share).fit(table, y)
    posterior, V = model.posterior_, covariance(tree)
    design = np.column_stack([np.ones(30), table])[:, posterior.active]

    def matrix(value):
        scaled = value * V + (1.0 - value) * np.diag(np.diag(V))
        return model.noise_variance_ * scaled + (design / posterior.alpha) @ design.T

    def height(value):
        C, rest = matrix(value), y - y.mean()
        return -0.5 * (np.linalg.slogdet(C)[1] + rest @ np.linalg.solve(C, rest))

    slope = (height(share + 1e-5) - height(share - 1e-5)) / 2e-5
    change = np.linalg.solve(matrix(share), (matrix(share + 1e-5) - matrix(share - 1e-5)) / 2e-5)
    error = np.sqrt(0.5 * np.trace(change @ change))
    assert score_in_errors(model, tree, table, y) == pytest.approx(slope / error, rel=1e-5)


def test_one_printed_step_is_the_constant_on_every_tree():
    assert all(row.ok for row in factor_rows(1))
