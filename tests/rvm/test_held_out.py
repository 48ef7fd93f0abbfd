"""Scores that calibrate a solution of a front: those of refits without the rows, or none at all."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from parsimon.rvm import RVR, ParetoRVC, _solutions
from parsimon.rvm._automatic import Trials, deal_out
from parsimon.rvm._calibration import fit_calibration
from parsimon.rvm._machine import posterior_given


@pytest.fixture
def solutions(monkeypatch):
    """Return the solutions of a search, and the place of the one that it predicts with."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.hypot(*X.T) + 0.1 * rng.normal(size=80) < 1.1
    seen = []
    usual = _solutions.FrontSolutions.calibration

    def spied(self, row):
        seen.append((self, row, usual(self, row)))
        return seen[-1][2]

    monkeypatch.setattr(_solutions.FrontSolutions, "calibration", spied)
    ParetoRVC(gamma=2.0, cv=2, max_iter=80, random_state=0).fit(X, y)
    return seen[0]


def test_a_solution_is_calibrated_by_refits_without_the_rows(solutions):
    own, row, found = solutions
    model = own.models[own.which[row]]
    assert len(model.active)
    assert found.slope > 0
    columns, parts = (
        own.basis.columns(model.active).design(own.table.X),
        deal_out(own.table.codes, own.table.weights),
    )
    scores = np.empty((len(parts.rows), 1))
    for fold in range(parts.n_folds):
        held = parts.rows[parts.folds == fold]
        rest = np.setdiff1d(np.arange(len(own.table.codes)), held)
        labels = own.table.codes[rest].astype(float)
        mean = posterior_given(columns[rest], labels, model.alpha, row_weights=np.ones(len(rest)))
        scores[parts.folds == fold, 0] = columns[held] @ mean.mean
    latent = np.hstack([scores, np.zeros_like(scores)])
    expected = fit_calibration(latent, own.table.codes[parts.rows], parts.weights, (0.0,))
    assert found.slope == pytest.approx(expected.slope, rel=1e-4)
    np.testing.assert_allclose(found.shift, expected.shift, atol=1e-4)


@pytest.mark.filterwarnings("ignore::parsimon.exceptions.ConstantPredictionWarning")
def test_labels_without_cause_leave_the_shares_of_the_classes():
    model = ParetoRVC(gamma=2.0, cv=2, max_iter=60, random_state=0)
    rng = np.random.default_rng(1)
    losses = []
    for _ in range(3):
        X, y = rng.normal(size=(260, 2)), rng.permutation(260) % 2
        model.fit(X[:60], y[:60])
        losses.append(log_loss(y[60:], model.predict_proba(X[60:])))
    assert np.mean(losses) < np.log(2) + 0.03


def test_a_width_is_judged_by_refits_without_the_rows():
    """A kernel of a given width is the only one compared, so that its loss is that of refits."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=40)
    seen = []
    usual = Trials.scores

    def spied(self, kernel, parts):
        seen.append((self, kernel, parts, usual(self, kernel, parts)))
        return seen[-1][3]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trials, "scores", spied)
        RVR(kernel="rbf").fit(X, y)
    trials, kernel, parts, found = seen[0]
    basis = trials.table.scaled_basis(kernel, trials.bias)
    design, ones = basis.design(trials.table.X), np.ones(len(X))
    assert sorted(parts.rows) == list(range(40))
    for fold in range(parts.n_folds):
        held = parts.rows[parts.folds == fold]
        left = np.where(np.isin(np.arange(40), held), 0.0, ones)
        columns = trials._columns(left)
        # What is not fitted to is not even there.
        other = design.copy()
        other[held] = np.nan
        inside = trials.scorer(basis.columns(columns), other[:, columns], left, held[:0])
        assert inside.shape[0] == 0
        own = trials.scorer(basis.columns(columns), design[:, columns], left, held)
        np.testing.assert_allclose(found[parts.folds == fold], own)
