"""The sparse Gaussian-process classifier: options, labels, weights, predictions, stopping."""

import warnings

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from parsimon.exceptions import InvalidInputError
from parsimon.gp.sparse import SparseGPClassifier
from parsimon.inference.variational import LabelledRows, bound_statistics
from parsimon.kernels import Constant, Linear, Sigmoid, SquaredExponential


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(300, noise=0.25, random_state=0)
    X.flags.writeable = y.flags.writeable = False
    return X, y


def small(kernel=None, **options):
    return SparseGPClassifier(
        kernel, **{"n_inducing": 12, "random_state": 0, "tol": 0.01, **options}
    )


class TestAccuracy:
    @pytest.mark.parametrize("batch_size", [100, 1000])
    def test_bent_boundaries_are_learnt(self, moons, batch_size):
        X, X_test, y, y_test = train_test_split(*moons, random_state=0)
        ours = small(n_inducing=20, batch_size=batch_size).fit(X, y)
        line = LogisticRegression().fit(X, y)
        assert ours.score(X_test, y_test) > line.score(X_test, y_test) + 0.03

    def test_probabilities_are_calibrated(self, moons):
        X, X_test, y, y_test = train_test_split(*moons, random_state=0)
        proba = small(n_inducing=20).fit(X, y).predict_proba(X_test)[:, 1]
        sure = np.maximum(proba, 1 - proba)
        hits = (proba > 0.5) == (y_test == 1)
        assert sure.mean() == pytest.approx(hits.mean(), abs=0.06)

    def test_three_classes_share_kernel_and_points(self):
        X, y = load_iris(return_X_y=True)
        model = small().fit(X, y)
        assert model.score(X, y) > 0.95
        assert len(model.posterior_.gaussians) == 3
        assert model.latent(X).shape == model.decision_function(X).shape == (150, 3)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)

    def test_irrelevant_columns_get_long_lengthscales(self, moons, rng):
        X, y = moons
        X = np.column_stack([X / X.std(axis=0), rng.normal(size=(300, 2))])
        lengthscale = np.array(small(n_inducing=60).fit(X, y).kernel_.terms[1].lengthscale)
        longest = 2 * np.ptp(X, axis=0)
        np.testing.assert_allclose(lengthscale[2:], longest[2:])
        assert (lengthscale[:2] < 0.9 * longest[:2]).all()

    def test_works_in_pipelines_and_grid_searches(self, moons):
        X, y = moons
        pipeline = make_pipeline(StandardScaler(), small())
        grid = {"sparsegpclassifier__n_inducing": [2, 15]}
        search = GridSearchCV(pipeline, grid, cv=2).fit(X, y)
        assert search.best_params_["sparsegpclassifier__n_inducing"] == 15


class TestPredictions:
    def test_averaged_probabilities_integrate_over_the_latent_value(self, moons):
        X, y = moons
        model = small().fit(X, y)
        mean, std = model.latent(X[:20], return_std=True)
        score = mean / np.sqrt(1 + std**2)
        np.testing.assert_allclose(model.decision_function(X[:20]), score)
        np.testing.assert_allclose(model.predict_proba(X[:20])[:, 1], ndtr(score))
        np.testing.assert_array_equal(model.latent(X[:20]), mean)

    def test_plug_in_is_more_extreme(self, moons):
        X, y = moons
        averaged, plug_in = (
            small(response=response).fit(X, y) for response in ("averaged", "plug_in")
        )
        np.testing.assert_allclose(plug_in.decision_function(X), averaged.latent(X))
        np.testing.assert_allclose(plug_in.predict_proba(X)[:, 1], ndtr(averaged.latent(X)))
        np.testing.assert_array_equal(plug_in.predict(X), averaged.predict(X))

    def test_far_from_the_data_it_is_unsure(self, moons):
        X, y = moons
        model = small(SquaredExponential()).fit(X, y)
        np.testing.assert_allclose(model.predict_proba([[1e3, 1e3]]), 0.5)

    def test_text_labels_are_kept(self, moons):
        X, y = moons
        words = np.array(["no", "yes"])[y]
        model, numbers = small().fit(X, words), small().fit(X, y)
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_array_equal(model.predict(X) == "yes", numbers.predict(X) == 1)

    def test_a_hopeless_row_of_several_classes_has_finite_probabilities(self):
        X, y = load_iris(return_X_y=True)
        model = small(Linear(0, fixed=("variance",))).fit(X - X.mean(axis=0), y)
        proba = model.predict_proba(np.full((1, 4), 1e6))
        assert np.isfinite(proba).all()
        assert proba.sum() == pytest.approx(1)

    def test_not_fitted_is_said(self, moons):
        with pytest.raises(NotFittedError, match="not fitted"):
            small().latent(moons[0])


class TestWeights:
    def test_whole_weights_equal_duplicated_rows(self, rng):
        X, y = make_moons(40, noise=0.2, random_state=0)
        times = rng.integers(0, 4, 40)
        weighted = small(n_inducing=50).fit(X, y, sample_weight=times)
        repeated = small(n_inducing=50).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert weighted.elbo_ == pytest.approx(repeated.elbo_)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)

    def test_balanced_classes_have_equal_sums_of_weights(self, moons):
        X, y = moons
        kept = (y == 0) | (np.arange(300) % 10 == 0)
        X, y = X[kept], y[kept]
        share = (y == 1).mean()
        by_hand = small().fit(X, y, sample_weight=np.where(y == 1, 0.5 / share, 0.5 / (1 - share)))
        balanced = small(class_weight="balanced").fit(X, y)
        plain = small().fit(X, y)
        np.testing.assert_allclose(balanced.predict_proba(X), by_hand.predict_proba(X), atol=1e-9)
        assert balanced.predict(X).mean() > plain.predict(X).mean()

    def test_a_mapping_weighs_classes(self, moons):
        X, y = moons
        by_hand = small().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
        mapped = small(class_weight={1: 3.0}).fit(X, y)
        np.testing.assert_allclose(mapped.predict_proba(X), by_hand.predict_proba(X), atol=1e-9)

    @pytest.mark.parametrize(
        ("class_weight", "message"),
        [
            ({7: 1.0}, "class_weight names 7, which is not among the classes 0, 1"),
            ({1: -1.0}, "Class weights must be positive"),
            ("even", "class_weight must be a dict, 'balanced' or None"),
        ],
    )
    def test_bad_class_weights_are_refused(self, moons, class_weight, message):
        with pytest.raises(InvalidInputError, match=message):
            small(class_weight=class_weight).fit(*moons)


class TestInducing:
    @pytest.mark.parametrize("inducing", ["kmeans", "pivoted"])
    @pytest.mark.parametrize("batch_size", [200, 1000])
    def test_there_are_as_many_as_asked_for(self, moons, inducing, batch_size):
        model = small(inducing=inducing, n_inducing=9, batch_size=batch_size).fit(*moons)
        assert model.inducing_points_.shape == (9, 2)
        are_rows = np.isin(model.inducing_points_, moons[0]).all()
        assert are_rows == (inducing == "pivoted")

    def test_points_can_be_given(self, moons):
        points = [[0.0, 0.0], [1.0, 0.5], [-1.0, 0.2]]
        model = small(inducing=points).fit(*moons)
        np.testing.assert_array_equal(model.inducing_points_, points)

    def test_given_points_must_fit_the_columns(self, moons):
        with pytest.raises(InvalidInputError, match="have 1 columns, but X has 2"):
            small(inducing=[[0.0]]).fit(*moons)

    def test_more_points_give_a_better_bound(self, moons):
        bounds = [small(n_inducing=m).fit(*moons).elbo_ for m in (3, 10, 30)]
        assert (np.diff(bounds) > 0).all()

    def test_columns_the_kernel_does_not_see_do_not_spread_the_points(self, moons, rng):
        X, y = moons
        wide = np.column_stack([X, rng.normal(size=(300, 5))])
        kernel = SquaredExponential((0, 1))
        model = small(kernel).fit(wide, y)
        reference = small(kernel).fit(X, y)
        np.testing.assert_allclose(model.inducing_points_[:, :2], reference.inducing_points_)
        np.testing.assert_allclose(model.elbo_, reference.elbo_)


class TestKernel:
    def test_the_default_skips_constant_columns(self, moons):
        X, y = moons
        model = small().fit(np.column_stack([X[:, 0], np.ones(300), X[:, 1]]), y)
        assert model.kernel_.terms[1].columns == (0, 2)

    def test_without_any_varying_column_the_class_shares_are_learnt(self):
        y = np.repeat([0, 1], [20, 60])
        proba = small().fit(np.zeros((80, 2)), y).predict_proba(np.zeros((1, 2)))
        assert proba[0, 1] == pytest.approx(0.75, abs=0.03)

    def test_a_given_kernel_is_learnt_and_left_untouched(self, moons):
        kernel = Constant() + SquaredExponential(0) + SquaredExponential(1)
        model = small(kernel).fit(*moons)
        assert kernel == Constant() + SquaredExponential(0) + SquaredExponential(1)
        assert model.kernel_ != kernel
        assert type(model.kernel_) is type(kernel)

    def test_fixed_hyperparameters_stay(self, moons):
        kernel = SquaredExponential(lengthscale=0.7, fixed=("lengthscale", "variance"))
        assert small(kernel).fit(*moons).kernel_ == kernel

    def test_an_indefinite_kernel_is_refused(self, moons):
        with pytest.raises(InvalidInputError, match="not positive semi-definite"):
            small(Sigmoid()).fit(*moons)

    def test_a_constant_column_in_a_given_kernel_is_named(self, moons):
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame({"left": moons[0][:, 0], "flat": 1.0})
        with pytest.raises(InvalidInputError, match="Column 'flat' is constant"):
            small(SquaredExponential()).fit(X, moons[1])


class TestStopping:
    def test_the_bound_is_over_all_rows(self, moons):
        X, y = moons
        model = small(batch_size=100).fit(X, y)
        rows = LabelledRows(X, np.where(y == 1, 1.0, -1.0)[:, None], np.ones(300))
        posterior = model.posterior_
        again = bound_statistics(posterior.prior, posterior.gaussians, rows).bound
        assert model.elbo_ == pytest.approx(again)
        assert model.elbo_ > model.elbo_history_.max()

    @pytest.mark.parametrize("batch_size", [100, 1000])
    def test_same_seed_same_result(self, moons, batch_size):
        X, y = moons
        model = small(batch_size=batch_size)
        first, second = clone(model).fit(X, y), clone(model).fit(X, y)
        np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
        other = small(batch_size=batch_size, random_state=1).fit(X, y)
        assert not np.array_equal(first.predict_proba(X), other.predict_proba(X))

    @pytest.mark.parametrize("batch_size", [100, 1000])
    def test_too_few_iterations_warn(self, moons, batch_size):
        model = small(max_iter=1, batch_size=batch_size)
        with pytest.warns(ConvergenceWarning, match="still rising after max_iter=1"):
            model.fit(*moons)
        assert (model.converged_, model.stopped_by_) == (False, "max_iter")
        assert len(model.elbo_history_) == model.n_iter_

    @pytest.mark.parametrize("batch_size", [10, 1000])
    def test_a_time_limit_stops_quietly(self, moons, batch_size):
        model = small(time_limit=1e-6, batch_size=batch_size).fit(*moons)
        assert (model.converged_, model.stopped_by_) == (False, "time_limit")
        assert np.isfinite(model.elbo_)
        assert model.predict(moons[0]).shape == (300,)

    def test_a_greater_tolerance_stops_earlier(self, moons):
        coarse, fine = (small(batch_size=50, tol=tol).fit(*moons) for tol in (0.5, 1e-3))
        assert coarse.converged_
        assert fine.converged_
        assert coarse.n_iter_ < fine.n_iter_
        assert coarse.elbo_ < fine.elbo_

    def test_steps_change_the_search(self, moons):
        def history(**options):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                return small(batch_size=100, max_iter=3, **options).fit(*moons).elbo_history_

        plain = history()
        assert not np.array_equal(plain, history(learning_rate=0.1))
        assert not np.array_equal(plain, history(natural_step=0.3))

    def test_progress_is_shown_when_asked_for(self, moons, capsys):
        small(verbose=True, batch_size=200).fit(*moons)
        assert "passes" in capsys.readouterr().err
        small(batch_size=200).fit(*moons)
        assert capsys.readouterr().err == ""


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_inducing": 0}, "n_inducing must be an integer of at least 1, got 0"),
            ({"batch_size": 1.5}, "batch_size must be an integer of at least 1, got 1.5"),
            ({"max_iter": True}, "max_iter must be an integer of at least 1, got True"),
            ({"learning_rate": 0.0}, "learning_rate must be above 0, got 0.0"),
            ({"natural_step": 1.5}, "natural_step must be above 0 and at most 1, got 1.5"),
            ({"time_limit": -1}, "time_limit must be above 0, got -1"),
            ({"tol": -1e-3}, "tol must be a number from 0, got -0.001"),
            ({"response": "mean"}, 'response must be "averaged" or "plug_in", got'),
            ({"inducing": "grid"}, "inducing must be 'kmeans', 'pivoted' or an array"),
            ({"kernel": "rbf"}, "kernel must be one of parsimon.kernels or None, got str"),
        ],
    )
    def test_bad_options_are_named(self, moons, options, message):
        with pytest.raises(InvalidInputError, match=message):
            small(**options).fit(*moons)

    def test_one_class_is_refused(self, moons):
        with pytest.raises(InvalidInputError, match="among the rows with weight, got 1 class: 0"):
            small().fit(moons[0], np.zeros(300, dtype=int))

    def test_weights_that_leave_one_class_are_refused(self, moons):
        X, y = moons
        with pytest.raises(InvalidInputError, match="among the rows with weight, got 1 class: 1"):
            small().fit(X, y, sample_weight=y)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [(0.0, "All 300 sample weights are zero"), (-1.0, "Weights must not be negative")],
    )
    def test_bad_weights_are_refused(self, moons, weights, message):
        with pytest.raises(InvalidInputError, match=message):
            small().fit(*moons, sample_weight=np.full(300, weights))

    def test_missing_values_are_refused(self, moons):
        X = moons[0].copy()
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            small().fit(X, moons[1])
