"""A logistic regression by Newton's method: exact where there is a best line, else None."""

import numpy as np
import pytest
from scipy.special import expit

from parsimon.inference.logistic import fit_logistic


@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_slope_of_the_likelihood_vanishes_to_the_last_digits(penalty, scale, rng):
    design = np.column_stack([np.ones(60), scale * rng.normal(size=60)])
    offset = rng.normal(size=60)
    y = (rng.random(60) < expit(2 * design[:, 1] / scale + offset)).astype(float)
    line = fit_logistic(design, y, offset=offset, penalty=penalty)
    slope = design.T @ (y - expit(design @ line + offset)) - penalty * line
    np.testing.assert_allclose(slope / [1.0, scale], 0.0, atol=1e-8)


def test_classes_that_a_line_separates_have_coefficients_only_with_a_penalty():
    x = np.linspace(-1, 1, 20)
    design, y = np.column_stack([np.ones(20), x]), (x > 0).astype(float)
    assert fit_logistic(design, y) is None
    line = fit_logistic(design, y, penalty=0.1)
    np.testing.assert_allclose(design.T @ (y - expit(design @ line)), 0.1 * line, atol=1e-8)
