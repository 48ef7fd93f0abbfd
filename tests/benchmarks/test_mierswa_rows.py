"""How folds become rows: what is allowed, what counts as a win, which matrices are indefinite."""

import numpy as np
import pytest
from benchmarks.peers import svm
from benchmarks.reproduce import mierswa_3, mierswa_4


def _measured(errors):
    errors = np.array(errors, dtype=float)
    return mierswa_3.Measured(np.ones(len(errors)), np.zeros(len(errors)), errors, 1.0)


def test_an_error_within_one_standard_error_of_libsvm_passes():
    machine = _measured([10.0] * 10)
    # One fold differs: the mean difference is exactly one standard error.
    assert mierswa_3.against_libsvm("case", _measured([10.0] * 9 + [15.0]), machine).ok
    assert mierswa_3.against_libsvm("case", machine, machine).ok
    assert mierswa_3.against_libsvm("case", _measured([9.0] * 10), machine).ok


@pytest.mark.parametrize("errors", [[11.0] * 10, [11.0, 12.0] * 5])
def test_an_error_beyond_one_standard_error_fails(errors):
    assert not mierswa_3.against_libsvm("case", _measured(errors), _measured([10.0] * 10)).ok


def test_where_libsvm_makes_no_error_none_is_allowed():
    perfect = _measured([0.0] * 10)
    assert mierswa_3.against_libsvm("case", perfect, perfect).ok
    assert not mierswa_3.against_libsvm("case", _measured([0.0] * 9 + [1.0]), perfect).ok


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
