"""How folds become rows: what is allowed, what counts as a win, which matrices are indefinite."""

import numpy as np
import pytest
from benchmarks.peers import svm
from benchmarks.reproduce import mierswa_3, mierswa_4


def _measured(errors):
    errors = np.array(errors, dtype=float)
    return mierswa_3.Measured(np.ones(len(errors)), np.zeros(len(errors)), errors, 1.0)


def _against(errors, machine, **rivals):
    idle = {"constant": 50.0, "guess": 50.0, "logistic regression": 30.0} | rivals
    return mierswa_3.against_libsvm("case", _measured(errors), _measured(machine), idle)


def test_an_error_within_one_standard_error_of_libsvm_passes():
    # One fold differs: the mean difference is exactly one standard error.
    assert _against([10.0] * 9 + [15.0], [10.0] * 10).ok
    assert _against([10.0] * 10, [10.0] * 10).ok
    assert _against([9.0] * 10, [10.0] * 10).ok


@pytest.mark.parametrize("errors", [[11.0] * 10, [11.0, 12.0] * 5])
def test_an_error_beyond_one_standard_error_fails(errors):
    assert not _against(errors, [10.0] * 10).ok


def test_where_libsvm_makes_no_error_none_is_allowed():
    assert _against([0.0] * 10, [0.0] * 10).ok
    assert not _against([0.0] * 9 + [1.0], [0.0] * 10).ok


def test_to_be_as_wrong_as_a_constant_libsvm_is_no_promise():
    row = _against([42.0] * 10, [42.0] * 10, constant=42.0)
    assert (row.bar, row.verdict) == (None, "")
    assert "met by constant" in row.note


def test_evolution_alone_does_not_begin_from_libsvm(monkeypatch, rng):
    from benchmarks.libsvm import coefficients, dual_value, plain_values

    from parsimon.svm import _evolve
    from parsimon.svm._dual import Dual

    monkeypatch.setattr(_evolve, "solve", None)
    K = mierswa_4.matrix("sigmoid", "any", rng.normal(size=(40, 3)))
    signs = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    alpha = mierswa_4.evolved_alone(Dual(K, signs, np.ones(40)))
    ours, theirs = dual_value(K, alpha * signs), dual_value(K, coefficients(K, signs, 1.0))
    assert ours > 0.999 * theirs
    assert all(value < 0.999 * theirs for value in plain_values(K, signs, 1.0).values())


@pytest.mark.parametrize("equality", [True, False])
def test_plain_values_are_those_of_feasible_points(rng, equality):
    from benchmarks.libsvm import dual_value, plain_values

    X = rng.normal(size=(30, 2))
    K, signs = X @ X.T + np.eye(30), np.where(np.arange(30) < 12, 1.0, -1.0)
    found = plain_values(K, signs, 1.0, equality=equality)
    shares = np.where(signs > 0, 1 / 12, 1 / 18) if equality else np.full(30, 1 / 30)
    sizes = np.linspace(0, 12 if equality else 30, 2001)
    best = max(dual_value(K, size * shares * signs) for size in sizes)
    assert found["equal weights"] == pytest.approx(best, rel=1e-4)
    assert found["constant"] == 0.0
    assert found["guess"] < best


def test_both_tasks_of_lawsuit_have_the_printed_width():
    assert mierswa_3.gamma_of("Lawsuit, laid off") == mierswa_3.gamma_of("Lawsuit") == 0.01


@pytest.mark.parametrize("kernel", ["sigmoid", "Gaussian combination", "multiquadric"])
def test_added_kernels_have_real_negative_mass(kernel, rng):
    K = mierswa_4.matrix(kernel, "any", 5.0 + 3.0 * rng.normal(size=(60, 4)))
    eigenvalues = np.linalg.eigvalsh(K)
    np.testing.assert_allclose(K, K.T)
    assert np.abs(eigenvalues[eigenvalues < 0]).sum() > 0.05 * np.abs(eigenvalues).sum()


def test_epanechnikov_takes_raw_values_and_the_printed_parameters():
    K = mierswa_4.matrix("Epanechnikov", "Checkerboard", np.array([[0.0, 0.0], [1.0, 2.0]]))
    assert K[0, 1] == pytest.approx((1 - 5 / 9.75) ** 3)


def test_interval_is_that_of_a_paired_t_test(rng):
    from scipy.stats import ttest_rel

    ours, theirs = rng.normal(size=(2, 10))
    expected = ttest_rel(ours, theirs).confidence_interval(0.95)
    assert mierswa_4.interval(ours, theirs) == pytest.approx(tuple(expected), rel=1e-3)


def test_clear_wins_are_counted_from_both_sides():
    low, high = np.linspace(10, 11, 10), np.linspace(20, 21.5, 10)
    results = {
        method: mierswa_4.Measured(np.ones(10), high if method == "clip" else low, 1.0)
        for method in mierswa_4.METHODS
    }
    results["libsvm"] = mierswa_4.Measured(np.ones(10), low - np.linspace(1, 2, 10), 1.0)
    wins = mierswa_4.clear_wins(results)
    assert (wins["clip"], wins["flip"], wins["libsvm"]) == (-1, 0, 1)
    rows = {row.metric.split()[-1]: row for row in mierswa_4.win_rows([wins, wins])}
    assert (rows["clip"].ours, rows["clip"].peer) == (2, 0)
    assert (rows["libsvm"].ours, rows["libsvm"].peer) == (0, 2)
    assert mierswa_4.interval_note(low, high, "clip").endswith("native wins")
    assert mierswa_4.interval_note(high, low, "clip").endswith("clip wins")
    assert mierswa_4.interval_note(low, low, "clip").endswith("no clear difference")


def test_points_of_a_machine_are_its_norm_and_its_hinge_losses():
    from sklearn.svm import SVC

    X, y = svm.table(60)
    machine = SVC(C=2.0).fit(X, y)
    ((half_norm, loss),) = svm.points([machine], X, y)
    scores = machine.decision_function(X)
    assert loss == pytest.approx(np.maximum(0, 1 - (2 * y - 1) * scores).sum())
    # At the optimum the primal value is the dual one.
    value = np.abs(machine.dual_coef_).sum() - half_norm
    assert half_norm + 2.0 * loss == pytest.approx(value, rel=1e-3)


def test_volumes_share_the_scale_of_the_path():
    exact = np.array([[0.0, 4.0], [1.0, 1.0], [4.0, 0.0]])
    # In the path's scale the middle point is (1/4, 1/4); the ends lie on the reference's border.
    assert svm.volumes(exact, exact) == pytest.approx((9 / 16, 9 / 16))
    assert svm.volumes(exact[[0, 2]], exact)[0] == 0.0
    # Machines beyond the ends of the path add nothing.
    beyond = np.vstack([exact, [[-1.0, 9.0], [9.0, -1.0]]])
    assert svm.volumes(beyond, exact)[0] == pytest.approx(9 / 16)


def test_logarithm_of_the_norm_changes_the_scale_alone():
    exact = np.array([[1.0, 2.0], [10.0, 1.0], [100.0, 0.0]])
    assert svm.volumes(exact, exact, logarithm=True)[1] == pytest.approx(0.25)
    assert svm.volumes(exact, exact)[1] == pytest.approx(0.5 * 90 / 99)


@pytest.mark.parametrize("installed", [True, False])
def test_a_default_that_begins_from_libsvm_has_no_bar_beside_it(installed, monkeypatch):
    row = mierswa_3.Row("t", "dual value", 1.0, 1.0, True, 0.999, rivals={"constant": 0.0})
    monkeypatch.setattr(mierswa_3, "begins_from_zero", lambda: installed)
    monkeypatch.setattr(mierswa_3, "_if_there", lambda *_: [row])
    assert {each.bar for each in mierswa_3.rows(quick=True)} == {0.999 if installed else None}
