"""Bugs planted above the models, and in the private modules that all of them use."""

from tools.planted_bug import LEAK, plant

ABOVE = (
    plant(
        "evaluation/honest.py",
        ".fit(train, target, **options)",
        ".fit(self.X, self.y, **options)",
        "evaluation/test_honest.py::test_scores_are_those_of_cross_validation_by_hand",
        kind=LEAK,
    ),
    plant(
        "evaluation/_honest_result.py",
        "left = max(1, len(together) - len(folds)) / len(together)",
        "left = max(1, len(together) - 1) / len(together)",
        "evaluation/test_row_intervals.py::test_r2_of_small_test_parts_is_held",
    ),
    plant(
        "evaluation/row_intervals.py",
        "spread = float(residuals @ residuals) * n / max(n - 1, 1)",
        "spread = float(residuals @ residuals)",
        "evaluation/test_row_intervals.py::test_halls_cubic_of_either_end_is_the_quantile",
    ),
    plant(
        "evaluation/recommending.py",
        "middle, spread = gap * (_SPREAD / reach) ** 2,",
        "middle, spread = gap * (_SPREAD / reach),",
        "evaluation/test_recommending.py::test_the_probability_is_that_of_even_odds_and_a_half_normal_excess",
    ),
    plant(
        "evaluation/folds.py",
        "yield np.arange(begin - gap), np.arange(begin, end)",
        "yield np.arange(begin), np.arange(begin, end)",
        "evaluation/test_back_test.py::test_a_gap_is_left_out",
        kind=LEAK,
    ),
    plant(
        "evaluation/importance.py",
        "fitted = clone(model).fit(_safe_indexing(table, part.train), target[part.train])",
        "fitted = clone(model).fit(table, target)",
        "evaluation/test_importance.py::test_gains_are_rises_of_refits_to_training_rows",
        kind=LEAK,
    ),
    plant(
        "evaluation/compare.py",
        "variance = (1 / k + n_test / n_train) * np.var(a - b, ddof=1)",
        "variance = (1 / k + n_train / n_test) * np.var(a - b, ddof=1)",
        "evaluation/test_comparison.py::test_the_sklearn_example_of_the_corrected_t_test",
    ),
    plant(
        "statistician/fold_answers.py",
        "table = prepare(question.at(part.train))",
        "table = prepare(question)",
        "statistician/test_honest_folds.py::test_errors_of_the_comparison_are_those_of_refits_to_training_rows",
        kind=LEAK,
    ),
    plant(
        "statistician/fold_answers.py",
        "_slope(rows[:place] + rows[place + 1 :])",
        "_slope(rows)",
        "statistician/test_honest_folds.py::test_a_fold_is_tempered_by_the_slope_that_the_other_folds_teach",
        kind=LEAK,
    ),
    plant(
        "statistician/question.py",
        "inside, outside = job.question.at(part.train), job.question.at(part.test)",
        "inside, outside = job.question, job.question.at(part.test)",
        "statistician/test_honest_folds.py::test_a_fold_of_a_search_says_what_a_search_of_its_training_rows_alone_says",
        kind=LEAK,
    ),
    plant(
        "statistician/outer_folds.py",
        "plain.append(codes[test] != np.argmax(np.bincount(codes[train])))",
        "plain.append(codes[test] != np.argmax(np.bincount(codes[test])))",
        "statistician/test_outer.py::test_classes_that_are_called_by_chance_are_wrong_as_often",
        kind=LEAK,
    ),
    plant(
        "statistician/study.py",
        "baseline=float(np.mean(question.y[train])),",
        "baseline=float(np.mean(question.y)),",
        "statistician/test_honest_folds.py::test_the_baseline_of_a_model_told_of_folds_is_the_mean_of_their_training_rows",
        kind=LEAK,
    ),
    plant(
        "statistician/wide.py",
        "area=float(selector.test_auc_.mean())",
        "area=float(selector.train_auc_.mean())",
        "statistician/test_honest_folds.py::test_the_area_of_a_wide_table_is_that_of_the_other_halves",
        kind=LEAK,
    ),
    plant(
        "statistician/comparison.py",
        "own = np.where(wrong == 1, rate / (value.shape[1] - 1), 1.0 - rate)",
        "own = np.where(wrong == 1, rate, 1.0 - rate)",
        "statistician/test_honest_folds.py::test_what_only_calls_classes_is_believed_as_often_as_it_was_right",
    ),
    plant(
        "statistician/families/phylo/_clades.py",
        "pseudo = k * whole - (k - 1) * np.array(parts)",
        "pseudo = k * whole - k * np.array(parts)",
        "statistician/test_phylogeny_judging.py::test_intervals_of_a_mean_over_equal_folds_are_the_corrected_t_interval",
    ),
)
