"""The printed update of lambda is no stationary point of the evidence: shown with dense algebra.

Given precisions and noise, targets are Gaussian with covariance C = V_lambda / beta + X A^-1 X';
the derivative of their log density by lambda, over the root of its expected square, is the slope
in standard errors. It vanishes at a maximum. At converged precisions and noise the printed update
multiplies lambda by 1/2 + R, 1/2 - R (eq 5.48), 1 + R or 1 - R (eq 5.49), where R is the root of
1/4 + 2 g / (n - g) and g the number of well-determined weights.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.reproduce._fearn_analytic import Form, Sign, analytic_lambda
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.phylo import PhyRVM, Tree, brownian_traits, covariance, yule_tree

# What the printed step and the constant may differ by: fits converge to about this.
ALLOWED = 1e-6
SHARES = (0.3, 0.7)
SIGNS: tuple[Sign, ...] = ("minus", "plus")
FORMS: tuple[Form, ...] = ("5.48", "5.49")


def score_in_errors(model: PhyRVM, tree: Tree, X: Any, y: Any) -> float:
    """Return the slope of the log evidence by lambda at a fit, in standard errors."""
    posterior, V = model.posterior_, covariance(tree)
    across = V - np.diag(np.diag(V))
    design = np.column_stack([np.ones(len(X)), np.asarray(X)])[:, posterior.active]
    share, noise = model.lambda_, model.noise_variance_
    C = noise * (share * across + np.diag(np.diag(V)))
    C += (design / posterior.alpha) @ design.T
    factor = cho_factor(C, lower=True)
    weights = cho_solve(factor, np.asarray(y) - float(np.mean(y)))
    change = cho_solve(factor, noise * across)
    slope = 0.5 * (noise * weights @ across @ weights - np.trace(change))
    return float(slope / np.sqrt(0.5 * np.sum(change * change.T)))


def factor_rows(n_trees: int) -> list[Row]:
    """Return how far one printed step is from the constant, at converged precisions and noise."""
    apart: dict[tuple[Sign, Form], list[float]] = {}
    factors: dict[tuple[Sign, Form], list[float]] = {}
    for number in range(n_trees):
        for share in SHARES:
            fit = _converged(number, share)
            for sign in SIGNS:
                for form in FORMS:
                    step, constant = _step(fit, sign, form), _constant(fit, sign, form)
                    apart.setdefault((sign, form), []).append(abs(step - constant))
                    factors.setdefault((sign, form), []).append(step)
    return [
        _factor_row(sign, form, apart[sign, form], np.array(factors[sign, form]))
        for sign in SIGNS
        for form in FORMS
    ]


def _factor_row(sign: Sign, form: Form, apart: list[float], factors: Array) -> Row:
    constant = f"{'1/2' if form == '5.48' else '1'} {'+' if sign == 'minus' else '-'} R"
    return Row(
        f"One step of ({form}), {sign}",
        f"lambda after over before, less {constant}, greatest; peer: allowed",
        max(apart),
        ALLOWED,
        bar=1.0,
        rivals={"constant: no step": float(np.abs(factors - 1.0).max())},
        note=f"lambda is multiplied by {factors.min():.3f} to {factors.max():.3f}, "
        "whatever tree and residuals",
    )


class Converged(NamedTuple):
    """What enters the printed step: half the whitened squares come from the residuals."""

    share: float
    beta: float
    half_squares: float
    penalty: float
    well_determined: float
    n: int


def _converged(number: int, share: float) -> Converged:
    """Fit with a given lambda, which is not the one that the traits evolved with."""
    tree = yule_tree(200, random_state=number)
    table = brownian_traits(tree, 11, pagel_lambda=0.5, random_state=number)
    X, y = table.iloc[:, 1:], table.iloc[:, 0]
    model = PhyRVM(tree, prior="ard", pagel_lambda=share, tol=1e-10).fit(X, y)
    residuals = y.to_numpy() - model.fitted_values_
    squares = residuals @ np.linalg.solve(covariance(tree, pagel_lambda=share), residuals)
    return Converged(
        share,
        1.0 / model.noise_variance_,
        0.5 * float(squares),
        float(model.posterior_.alpha @ model.posterior_.mean**2),
        model.degrees_of_freedom_,
        len(y),
    )


def _step(fit: Converged, sign: Sign, form: Form) -> float:
    after = analytic_lambda(
        fit.share,
        beta=fit.beta,
        half_squares=fit.half_squares,
        penalty=fit.penalty,
        excess=fit.well_determined - fit.n,
        sign=sign,
        form=form,
    )
    return after / fit.share


def _constant(fit: Converged, sign: Sign, form: Form) -> float:
    root = float(np.sqrt(0.25 + 2.0 * fit.well_determined / (fit.n - fit.well_determined)))
    return (0.5 if form == "5.48" else 1.0) + (root if sign == "minus" else -root)
