import numpy as np
import pytest
from sklearn.metrics import confusion_matrix

from parsimon.exceptions import InvalidInputError
from parsimon.roc import confusion_rates, expected_cost

# Clark (2011), table 2.1: rows predicted, columns true, for squares, stars and triangles.
SHAPES = ["square", "star", "triangle"]
PRINTED = np.array([[6, 4, 0], [4, 5, 1], [0, 1, 9]])


def shapes():
    pairs = [
        (SHAPES[true], SHAPES[predicted])
        for predicted in range(3)
        for true in range(3)
        for _ in range(PRINTED[predicted, true])
    ]
    return [true for true, _ in pairs], [predicted for _, predicted in pairs]


def test_the_source_s_table_of_shapes_is_reproduced():
    rates = confusion_rates(*shapes(), labels=SHAPES)
    np.testing.assert_array_equal(rates.table(rows="predicted"), PRINTED)
    np.testing.assert_array_equal(rates.table(), PRINTED.T)
    assert rates.accuracy == pytest.approx(20 / 30)
    assert rates.error == pytest.approx(10 / 30)
    np.testing.assert_allclose(rates.tpr, [0.6, 0.5, 0.9])
    np.testing.assert_allclose(rates.fpr, [4 / 20, 5 / 20, 1 / 20])
    np.testing.assert_allclose(rates.precision, [6 / 10, 5 / 10, 9 / 10])


def test_counts_equal_scikit_learn_s_with_weights_and_text(rng):
    true, predicted = rng.choice(["c", "a", "b"], (2, 60))
    weight = rng.random(60)
    for labels in (None, ["b", "a", "c", "never"]):
        ours = confusion_rates(true, predicted, labels=labels, sample_weight=weight)
        theirs = confusion_matrix(true, predicted, labels=labels, sample_weight=weight)
        np.testing.assert_allclose(ours.counts, theirs)
        np.testing.assert_allclose(ours.table(rows="predicted"), theirs.T)


def test_a_class_without_rows_has_no_rate():
    rates = confusion_rates([0, 1], [0, 0], labels=[0, 1, 2])
    assert np.isnan(rates.tpr[2])
    assert np.isnan(rates.precision[1])
    with pytest.raises(InvalidInputError, match="no rates, so no cost"):
        rates.cost(np.ones((3, 3)))


def test_two_class_costs_are_the_equations_of_the_source():
    rates = confusion_rates([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 0])
    prices = [[0, 2], [7, 0]]
    point = {"tpr": 0.75, "fpr": 0.5, "cost_fp": 2, "cost_fn": 7}
    assert rates.cost(prices) == pytest.approx(expected_cost(**point))
    assert rates.cost(prices, priors=[0.9, 0.1]) == pytest.approx(
        expected_cost(**point, prevalence=0.1)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: confusion_rates([0, 1], [0]), "2 rows and y_pred has 1"),
        (lambda: confusion_rates([], []), "one list of labels"),
        (lambda: confusion_rates([0.0, np.nan], [0, 1]), "y_true holds missing"),
        (lambda: confusion_rates(["a", "b"], ["a", None]), "y_pred holds missing"),
        (lambda: confusion_rates([0, 1], [0, 1], labels=[0]), "lacks classes that occur: 1"),
        (lambda: confusion_rates([0, 1], ["a", "b"]), "mix kinds"),
        (lambda: confusion_rates([0, 1], [0, 1]).table(rows="both"), '"true" or "predicted"'),
        (lambda: confusion_rates([0, 1], [0, 1]).cost([[0, 1]]), r"shape \(2, 2\)"),
        (
            lambda: confusion_rates([0, 1], [0, 1]).cost(np.eye(2), priors=[0.5, 0.6]),
            "add up to 1",
        ),
    ],
)
def test_unusable_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
