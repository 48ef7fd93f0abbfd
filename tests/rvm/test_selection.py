import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import EmptyFrontError, InvalidInputError
from parsimon.pareto import Directions, Front
from parsimon.pareto.choose import Figures, choose
from parsimon.pareto.front import restore

solutions = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25
)


def figures_with(accuracy, n_columns, n_rows=100, training_accuracy=None):
    """Return figures as `ParetoRVC` makes them."""
    training = accuracy if training_accuracy is None else training_accuracy
    return Figures(
        {"columns": n_columns, "accuracy": accuracy, "training_accuracy": training},
        maximise=("accuracy", "training_accuracy"),
        judged={"error": 1 - accuracy},
        error="error",
        size=("complexity", "columns"),
        knee=("error", "complexity"),
        n_rows=n_rows,
    )


def chosen_by(rule, accuracy, complexity, n_columns, n_rows=100):
    """Return what a rule chooses among solutions in any order, dominated ones too."""
    directions = Directions.of(["complexity"])
    front = restore(directions, complexity[:, None], np.arange(len(complexity)), None)
    return choose(front, rule, figures_with(accuracy, n_columns, n_rows))


def most_accurate(accuracy, complexity, n_columns):
    return chosen_by("accuracy", accuracy, complexity, n_columns)


def within_standard_error(accuracy, complexity, n_columns, *, n_rows, n_errors):
    return chosen_by(f"one_se:{n_errors!r}", accuracy, complexity, n_columns, n_rows)


def error_knee(error, complexity, method="chord"):
    return chosen_by(f"knee:{method}", 1 - error, complexity, complexity)


def columns_of(rows):
    hits, complexity, n_columns = np.array(rows, dtype=np.float64).T
    return hits / 20, complexity, n_columns


@given(solutions)
def test_the_most_accurate_breaks_ties_by_complexity_then_columns(rows):
    accuracy, complexity, n_columns = columns_of(rows)
    chosen = most_accurate(accuracy, complexity, n_columns)
    best = min((-a, c, k) for a, c, k in zip(accuracy, complexity, n_columns, strict=True))
    assert (-accuracy[chosen], complexity[chosen], n_columns[chosen]) == best


def test_a_difference_of_rounding_is_a_tie():
    accuracy = np.array([0.1 + 0.2, 0.3])  # 0.30000000000000004 and 0.3
    assert accuracy[0] > accuracy[1]
    assert most_accurate(accuracy, np.array([5.0, 1.0]), np.zeros(2)) == 1
    size = np.array([1.0, 1.0])
    assert within_standard_error(accuracy, size, np.array([2.0, 1.0]), n_rows=9, n_errors=0) == 1


@given(solutions, st.integers(2, 500), st.floats(0, 3))
def test_one_standard_error_is_the_least_complex_near_the_best(rows, n_rows, n_errors):
    accuracy, complexity, n_columns = columns_of(rows)
    chosen = within_standard_error(
        accuracy, complexity, n_columns, n_rows=n_rows, n_errors=n_errors
    )
    p = (n_rows * accuracy.max() + 1) / (n_rows + 2)
    allowed = accuracy.max() - n_errors * np.sqrt(p * (1 - p) / n_rows)
    assert accuracy[chosen] >= allowed - 1e-9
    clearly_within = accuracy > allowed + 1e-9
    assert (complexity[chosen] <= complexity[clearly_within]).all()
    rivals = clearly_within & (complexity == complexity[chosen])
    assert (accuracy[chosen] >= accuracy[rivals] - 1e-9).all()


def test_no_standard_error_is_the_most_accurate_and_many_are_the_simplest():
    accuracy = np.array([0.5, 0.8, 0.9])
    size = np.array([0.0, 3.0, 8.0])
    picks = [within_standard_error(accuracy, size, size, n_rows=50, n_errors=k) for k in (0, 3, 99)]
    assert picks == [2, 1, 0]


def test_a_faultless_solution_has_a_standard_error_too():
    accuracy, size = np.array([1.0, 0.98]), np.array([40.0, 1.0])
    # p = 51 / 52, standard error 0.0194; 0.98 is one row of fifty short of 1.
    assert within_standard_error(accuracy, size, size, n_rows=50, n_errors=1.05) == 1
    assert within_standard_error(accuracy, size, size, n_rows=50, n_errors=1.0) == 0


def test_the_error_knee_sees_only_the_least_error_of_each_complexity():
    complexity = np.repeat([0.0, 1.0, 2.0, 10.0, 20.0], 2)
    error = np.array([0.5, 0.6, 0.45, 0.9, 0.1, 0.3, 0.09, 0.2, 0.08, 0.7])
    assert error_knee(error, complexity) == 4
    two = Front(np.column_stack([error, complexity])[::2], ["error", "complexity"])
    for method in ("chord", "gain", "tradeoff"):
        index = error_knee(error, complexity, method=method)
        expected = two.values[two.knee(method)]
        np.testing.assert_array_equal([error[index], complexity[index]], expected)


def test_solutions_of_equal_error_and_complexity_count_once():
    error, complexity = np.array([0.30, 0.20, 0.15, 0.14, 0.138]), np.array([1.0, 2, 3, 4, 10])
    once = error_knee(error, complexity, method="gain")
    twice = error_knee(error.repeat(2), complexity.repeat(2), method="gain")
    assert error.repeat(2)[twice] == error[once] == 0.15


def test_the_error_knee_forgets_what_is_dominated_in_error_and_complexity():
    # A larger error at a larger complexity lies on no front of the two.
    complexity, error = np.array([0.0, 2.0, 3.0, 4.0]), np.array([0.5, 0.1, 0.4, 0.09])
    assert error_knee(error, complexity) == 1


def test_a_knee_that_the_rows_tell_from_the_best_gives_way_to_one_standard_error():
    # As on iris: the first function takes off most errors, the third nearly all of the rest.
    error = np.array([0.667, 0.2, 0.12, 0.04, 0.033])
    complexity = np.arange(5.0)
    two = Front(np.column_stack([error, complexity]), ["error", "complexity"])
    assert two.values[two.knee()].tolist() == [0.2, 1.0]
    assert error_knee(error, complexity) == 3
    assert chosen_by("one_se", 1 - error, complexity, complexity) == 3
    # With few rows the first is as good as any.
    assert chosen_by("knee", 1 - error, complexity, complexity, n_rows=4) == 1


@given(solutions, st.integers(2, 500), st.sampled_from(["chord", "gain", "tradeoff"]))
def test_no_knee_is_further_than_a_standard_error_from_the_least_error(rows, n_rows, method):
    accuracy, complexity, n_columns = columns_of(rows)
    chosen = chosen_by(f"knee:{method}", accuracy, complexity, n_columns, n_rows)
    p = (n_rows * accuracy.max() + 1) / (n_rows + 2)
    allowed = accuracy.max() - np.sqrt(p * (1 - p) / n_rows)
    assert accuracy[chosen] >= allowed - 1e-9


@pytest.fixture(scope="module")
def front():
    return Front(
        [
            [1.0, 1.0, 0],
            [0.95, 0.30, 20],
            [0.90, 0.10, 8],
            [0.88, 0.12, 3],
            [0.60, 0.04, 3],
            [0.40, 0.02, 8],
            [0.0, 0.0, 0],
        ],
        ["tpr", "fpr", "complexity"],
        maximise=["tpr"],
    )


@pytest.fixture(scope="module")
def figures(front):
    tpr, fpr, complexity = front.values.T
    training = np.array([0.5, 0.99, 0.9, 0.9, 0.8, 0.8, 0.5])
    return figures_with((tpr + 1 - fpr) / 2, complexity, 100, training)


@pytest.mark.parametrize(
    ("rule", "index"),
    [
        ("accuracy", 2),
        ("training_accuracy", 1),
        ("one_se", 3),
        ("one_se:0.1", 2),
        ("one_se:99", 0),
        ("knee", 3),
        ("knee:gain", 3),
        ("best:tpr", 0),
        ("best:fpr", 6),
        ("nearest:fpr=0.3,complexity=20", 1),
        ("cheapest:cost_fp=100,cost_fn=1", 6),
        ("cheapest:cost_fp=1,cost_fn=1", 2),
        ("best:tpr where fpr<=0.05", 4),
        ("best:tpr where fpr<0.04", 5),
        ("best:tpr where fpr>0.05 and complexity<=3 and fpr<1", 3),
        ("training_accuracy where complexity>=8 and complexity<20", 2),
        ("accuracy where complexity<5", 3),
        (" one_se where fpr >= 0.2 ", 1),
        ("4", 4),
        (5, 5),
        (-1, 6),
        (lambda front: front.best("fpr"), 6),
    ],
)
def test_rules_as_texts(front, figures, rule, index):
    assert choose(front, rule, figures) == index


def test_a_knee_as_text_is_that_of_error_and_complexity(front, figures):
    error, complexity = figures.judged["error"], front.values[:, 2]
    for method in ("chord", "gain", "tradeoff"):
        expected = error_knee(error, complexity, method=method)
        assert choose(front, f"knee:{method}", figures) == expected
    assert choose(front, lambda front: front.knee(), figures) == front.knee()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("sideways", "There is no rule 'sideways'; the rules are knee, best.* columns, accuracy"),
        ("best:size", "There is no column 'size'"),
        ("best:tpr where fpr=0.05", "A condition looks like complexity<=0.05"),
        ("best:tpr where fpr<=low", "A condition looks like complexity<=0.05.*got 'fpr<=low'"),
        ("best:tpr where size<=2", "There is no column 'size'"),
        ("one_se:few", "needs numbers, got 'few'"),
        ("one_se:-1", "one_se must be zero or a positive number"),
        ("knee:guess", 'method must be "chord" or "gain" or "tradeoff"'),
        ("12", "There is no solution 12"),
    ],
)
def test_rules_that_cannot_be_followed(front, figures, rule, message):
    with pytest.raises(InvalidInputError, match=message):
        choose(front, rule, figures)


def test_conditions_that_nothing_meets(front, figures):
    with pytest.raises(EmptyFrontError, match="loosen the conditions"):
        choose(front, "accuracy where fpr<0", figures)
