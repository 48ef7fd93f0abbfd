"""The bugs of `tools.plant_bugs`: where, what stood there, what stands there now, who sees it."""

from tools.planted_above import ABOVE
from tools.planted_below import BELOW
from tools.planted_bug import LEAK, plant
from tools.planted_models import MODELS

# What an earlier look at the tests did not see.
_FIRST = (
    plant(
        "features/series/series_model.py",
        "told = T - weights / ((vectors**2) @ inverse + rest / noise)[:, None]",
        "told = K @ weights",
        "features/series/test_left_out.py::test_a_row_left_out_is_told_what_a_fit_to_the_others_says",
        kind=LEAK,
    ),
    plant(
        "ensembles/sparse.py",
        "paths = [WAYS[self.method](own[folds != k], codes[folds != k], most, rng) or [equal]",
        "paths = [WAYS[self.method](own, codes, most, rng) or [equal]",
        "ensembles/test_sparse.py::test_the_area_of_a_size_is_that_of_paths_that_have_not_seen_the_fold",
        kind=LEAK,
    ),
    plant(
        "ensembles/abc.py",
        "found = self._sample(bound, X[left], codes[left], smaller, seed, place)",
        "found = self._sample(bound, X, codes, smaller, seed, place)",
        "ensembles/test_abc.py::test_what_a_fold_says_of_a_row_does_not_depend_on_the_rows_it_leaves_out",
        kind=LEAK,
    ),
    plant(
        "evaluation/honest.py",
        "baseline=self._baseline(target, truth)",
        "baseline=self._baseline(truth, truth)",
        "evaluation/test_honest.py::test_the_baseline_of_a_fold_is_the_mean_of_its_training_rows",
        kind=LEAK,
    ),
    plant(
        "bpm/classifier.py",
        "mean = (marginal.mean - marginal.variance * sites.shift) / rest",
        "mean = marginal.mean - marginal.variance * sites.shift",
        "bpm/test_classifier_oracles.py::test_few_rows_left_out_are_near_fits_without_them",
    ),
    plant(
        "structures/blocks.py",
        "for basis in (first.additive, second.additive) * 2:",
        "for basis in (first.additive,) * 2:",
        "structures/test_posterior.py::test_a_surface_says_nothing_that_either_variable_says_alone",
    ),
    plant(
        "structures/posterior.py",
        "1: k * (d - k), 0:",
        "1: k * d, 0:",
        "structures/test_posterior.py::test_the_prior_of_all_pairs_of_a_kind_is_that_of_their_number",
    ),
    plant(
        "statistician/families/_size.py",
        "return 0.5 * k * math.log2(max(2, self.n_rows))",
        "return k * math.log2(max(2, self.n_rows))",
        "statistician/test_sizes.py::test_a_number_is_half_the_logarithm_of_the_rows",
    ),
    plant(
        "statistician/measure.py",
        'side="right") - 1\n    return np.maximum(places, 0)',
        'side="left") - 1\n    return np.maximum(places, 0)',
        "statistician/test_models.py::test_the_points_that_a_report_tells_of_stay_in_a_thin_curve",
    ),
    plant(
        "features/chance.py",
        "factor = 4 * (1 - threshold + grain) / (1 + 2 * grain)",
        "factor = 2 * (1 - threshold + grain) / (1 + 2 * grain)",
        "features/test_chance.py::test_the_bound_of_one_peak_is_that_of_shah_and_samworth",
    ),
    plant(
        "ensembles/convergence.py",
        "within = covariance[0] * n / (n - 1)",
        "within = covariance[0]",
        "ensembles/test_convergence.py::test_the_effective_size_of_short_chains_is_its_formula",
    ),
)

BUGS = (*_FIRST, *BELOW, *MODELS, *ABOVE)
