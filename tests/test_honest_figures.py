"""Every honest figure of the product, with the tests that hold it to its word.

One test says that the figure stays at chance where labels are random or targets noise, another
compares it with refits that never saw the rows it is measured on. A new figure gets a line here.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
_FOLDS = "statistician/test_honest_folds.py"
_OUTER = "features/test_outer_figures.py"
_ALONE = "test_left_out_rows.py"
_HONEST = "evaluation/test_honest.py"

# Figure: the file and name of its test at chance, and of that by refits.
FIGURES = {
    "honest_score: scores": (
        (_HONEST, "test_on_pure_noise_the_guide_is_optimistic_and_the_honest_score_is_chance"),
        (_HONEST, "test_scores_are_those_of_cross_validation_by_hand"),
    ),
    "honest_score: baseline": (
        (_HONEST, "test_on_pure_noise_the_guide_is_optimistic_and_the_honest_score_is_chance"),
        (_HONEST, "test_the_baseline_of_a_fold_is_the_mean_of_its_training_rows"),
    ),
    "honest_score: intervals": (
        ("evaluation/test_row_intervals.py", "test_an_area_without_signal_is_held"),
        ("evaluation/test_row_intervals.py", "test_an_honest_score_takes_rows_where_it_can"),
    ),
    "permutation_gain, importance": (
        ("evaluation/test_importance.py", "test_columns_are_worth_nothing_where_labels_are_random"),
        ("evaluation/test_importance.py", "test_gains_are_rises_of_refits_to_training_rows"),
    ),
    "comparison of families and rivals": (
        (_FOLDS, "test_the_comparison_stays_at_chance_on_random_labels"),
        (_FOLDS, "test_errors_of_the_comparison_are_those_of_refits_to_training_rows"),
    ),
    "searches on outer folds, rows taken apart": (
        (_FOLDS, "test_folds_of_a_search_stay_at_chance_on_random_labels"),
        (_FOLDS, "test_a_fold_of_a_search_says_what_a_search_of_its_training_rows_alone_says"),
    ),
    "tempering": (
        (_FOLDS, "test_tempered_probabilities_of_random_labels_are_guesses"),
        (_FOLDS, "test_a_fold_is_tempered_by_the_slope_that_the_other_folds_teach"),
    ),
    "several classes together": (
        ("statistician/test_outer.py", "test_classes_that_are_called_by_chance_are_wrong_as_often"),
        ("statistician/test_outer.py", "test_the_classes_together_count_the_most_probable_one"),
    ),
    "decisions at a threshold": (
        (
            "statistician/test_outer.py",
            "test_decisions_about_random_labels_are_no_better_than_a_coin",
        ),
        (
            "statistician/test_outer.py",
            "test_a_rare_class_is_judged_by_more_than_the_error_at_one_half",
        ),
    ),
    "calibration line": (
        ("statistician/test_calibration_line.py", "test_perfect_probabilities_are_seldom_doubted"),
        ("statistician/test_calibration_line.py", "test_the_line_is_that_of_logistic_regression"),
    ),
    "interactions for new rows": (
        (_ALONE, "test_rows_left_out_are_no_more_probable_with_blocks_of_noise"),
        (
            "structures/test_evidence.py",
            "test_what_a_block_gains_for_new_rows_is_that_of_fits_without_each_row",
        ),
    ),
    "select_columns": (
        (_FOLDS, "test_few_columns_of_noise_are_measured_at_chance"),
        (_FOLDS, "test_the_error_of_few_columns_is_that_of_searches_of_training_rows"),
    ),
    "ParetoSelector: rows set apart": (
        (_OUTER, "test_subsets_of_noise_are_at_chance_on_rows_set_apart"),
        (_OUTER, "test_the_error_on_rows_set_apart_is_that_of_refits_to_the_searched_rows"),
    ),
    "ParetoConstructor: rows held out": (
        (_OUTER, "test_formulas_of_noise_are_no_better_than_a_constant_on_rows_held_out"),
        (_OUTER, "test_the_error_of_formulas_on_rows_held_out_is_that_of_fits_to_the_others"),
    ),
    "formulas: rows left out": (
        ("features/test_constructor.py", "test_noise_is_answered_by_a_constant"),
        ("features/test_constructor.py", "test_the_inner_error_is_that_of_rows_left_out"),
    ),
    "StableSelector: areas of the other half": (
        (_OUTER, "test_areas_of_noise_are_at_chance_in_the_other_half"),
        (_OUTER, "test_areas_of_halves_are_those_of_refits_to_the_other_half"),
    ),
    "wide tables": (
        (_FOLDS, "test_the_area_of_a_wide_table_is_that_of_the_other_halves"),
        (_OUTER, "test_what_a_half_selects_and_learns_does_not_depend_on_the_other"),
    ),
    "analyse_series": (
        ("statistician/test_series_tables.py", "test_what_chance_tells_is_not_claimed"),
        (_FOLDS, "test_errors_of_series_are_those_of_refits_to_training_series"),
    ),
    "SeriesExtractor: trust_": (
        (
            "features/series/test_series_model.py",
            "test_noise_has_no_trust_and_every_series_the_shares_of_the_classes",
        ),
        (
            "features/series/test_left_out.py",
            "test_outputs_of_folds_are_those_of_features_chosen_and_fitted_without_their_rows",
        ),
    ),
    "SeriesExtractor: errors of subsets": (
        ("features/series/test_left_out.py", "test_rows_left_out_agree_with_noise_by_chance_only"),
        (
            "features/series/test_left_out.py",
            "test_a_row_left_out_is_told_what_a_fit_to_the_others_says",
        ),
    ),
    "SeriesExtractor: forecasts": (
        (_OUTER, "test_forecasts_by_features_of_noise_do_not_beat_the_last_value"),
        (
            "features/series/test_left_out.py",
            "test_a_fold_is_told_what_a_fit_to_its_training_rows_says",
        ),
    ),
    "traits: clade folds": (
        (
            "statistician/test_phylogeny_judging.py",
            "test_a_trait_without_cause_is_not_explained_on_clades_never_seen",
        ),
        ("statistician/test_phylogeny_judging.py", "test_errors_are_those_of_clade_folds"),
    ),
    "GPClassifier: leave_one_out": (
        (_ALONE, "test_left_out_probabilities_of_a_gaussian_process_are_at_chance"),
        ("inference/test_ep.py", "test_leave_one_out_is_near_a_refit_without_the_row"),
    ),
    "GPClassifier: leave_one_out of several classes": (
        (_ALONE, "test_left_out_probabilities_of_several_classes_are_at_chance"),
        ("gp/test_classifier.py", "test_softmax_leave_one_out_comes_close_to_leaving_rows_out"),
    ),
    "GPRegressor: leave_one_out": (
        (_ALONE, "test_left_out_targets_of_noise_are_missed_by_its_spread"),
        ("gp/test_regressor.py", "test_leave_one_out_is_exact"),
    ),
    "KernelSearch: folds": (
        (_ALONE, "test_folds_of_a_kernel_search_are_at_chance"),
        (
            "gp/test_judge.py",
            "test_a_judged_kernel_has_the_numbers_of_a_cross_validation_by_hand",
        ),
    ),
    "BayesPointClassifier: loo_error_, loo_log_loss_": (
        (_ALONE, "test_left_out_figures_of_a_bayes_point_are_at_chance"),
        ("bpm/test_classifier_oracles.py", "test_leave_one_out_is_near_a_fit_without_the_row"),
    ),
    "RVC, RVR: rows held out": (
        ("rvm/test_automatic.py", "test_pure_noise_gets_the_class_frequencies"),
        ("rvm/test_held_out.py", "test_a_width_is_judged_by_refits_without_the_rows"),
    ),
    "ParetoRVC: rates of folds": (
        ("rvm/test_held_out.py", "test_labels_without_cause_leave_the_shares_of_the_classes"),
        (
            "rvm/test_pareto_splits.py",
            "test_rates_are_means_over_the_folds_in_which_a_class_occurs",
        ),
    ),
    "ParetoRVC: calibration": (
        ("rvm/test_held_out.py", "test_labels_without_cause_leave_the_shares_of_the_classes"),
        ("rvm/test_held_out.py", "test_a_solution_is_calibrated_by_refits_without_the_rows"),
    ),
    "support vector machines: calibration": (
        (
            "svm/test_classifier_probability.py",
            "test_decisions_for_calibration_come_from_machines_that_have_not_seen_the_row",
        ),
        (
            "svm/test_classifier_probability.py",
            "test_decisions_of_rows_left_out_are_those_of_machines_of_the_others",
        ),
    ),
    "ParetoSVC: rows held out": (
        (_ALONE, "test_machines_of_a_front_are_at_chance_on_rows_held_out"),
        ("svm/test_pareto.py", "test_figures_of_the_front_are_those_of_its_classifiers"),
    ),
    "SparseEnsemble: areas": (
        (
            "ensembles/test_sparse.py",
            "test_where_members_guess_areas_are_at_chance_and_probabilities_too",
        ),
        (
            "ensembles/test_sparse.py",
            "test_the_area_of_a_size_is_that_of_paths_that_have_not_seen_the_fold",
        ),
    ),
    "ABCClassifier: calibration": (
        ("ensembles/test_abc.py", "test_probabilities_of_random_labels_are_no_worse_than_guesses"),
        (
            "ensembles/test_abc.py",
            "test_what_a_fold_says_of_a_row_does_not_depend_on_the_rows_it_leaves_out",
        ),
    ),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_an_honest_figure_has_a_test_at_chance_and_one_by_refits(figure):
    for file, name in FIGURES[figure]:
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
