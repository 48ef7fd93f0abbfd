"""The two stages of the source end in a linear machine of few features."""

import numpy as np
import pytest
from benchmarks.reproduce._mierswa_7_stages import machine_error, search_in_two_stages
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(60, 40)), RNG.normal(size=(200, 40))
BUMP, TOLD = np.repeat([0, 1], 30), np.repeat([0, 1], 100)
X[30:, 20:30] += 1.5
NEW[100:, 20:30] += 1.5


@pytest.fixture(scope="module")
def found():
    return search_in_two_stages(X, BUMP, 3, max_iter=2)


def test_two_stages_end_in_a_linear_machine(found):
    assert np.mean(found.predict(NEW) == TOLD) > 0.9
    assert 1 <= len(found.trees_) <= 3
    machine = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    machine.fit(found.transform(X), BUMP)
    assert np.array_equal(machine.predict(found.transform(NEW)), found.predict(NEW))
    order = np.argsort(-found.predict_proba(NEW)[:, 1], kind="stable")
    signed = machine.decision_function(found.transform(NEW))
    np.testing.assert_allclose(signed[order], np.sort(signed)[::-1])


def test_the_second_stage_is_judged_by_machines_for_rows_left_out(found):
    codes = BUMP.copy()
    codes[::7] = 1 - codes[::7]
    Z = StandardScaler().fit_transform(found.transform(X))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    told = cross_val_predict(SVC(kernel="linear"), Z, codes, cv=folds)
    assert machine_error(Z, codes) == pytest.approx((told != codes).mean())


def test_two_stages_tell_several_classes():
    three = X.copy()
    three[:20, :10] -= 1.5
    y = np.repeat([2, 0, 1], 20)
    three[20:40, 20:30], three[40:, 20:30] = X[:20, 20:30], X[40:, 20:30]
    model = search_in_two_stages(three, y, 3, max_iter=2)
    assert np.mean(model.predict(three) == y) > 0.8
    np.testing.assert_allclose(model.predict_proba(three).sum(axis=1), 1.0)


def test_machines_tell_rows_left_out_of_noise_by_chance_only():
    rng = np.random.default_rng(0)
    errors = [machine_error(rng.normal(size=(40, 20)), rng.permutation(40) % 2) for _ in range(5)]
    # Three standard errors of a share of 200 rows.
    assert np.mean(errors) == pytest.approx(0.5, abs=0.106)
