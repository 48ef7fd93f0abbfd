import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front
from parsimon.pareto.choose import choose


@pytest.fixture
def front():
    return Front(
        [[0.95, 0.5], [0.85, 0.2], [0.7, 0.1], [0.5, 0.02]], ["tpr", "fpr"], maximise=["tpr"]
    )


@pytest.mark.parametrize(
    ("rule", "index"),
    [
        ("knee", 1),
        ("knee:tradeoff", 1),
        ("knee:gain", 1),
        ("best:tpr", 0),
        ("best:fpr", 3),
        ("nearest:fpr=0.11", 2),
        ("nearest:tpr=0.5, fpr=0.02", 3),
        ("cheapest:cost_fp=1,cost_fn=100", 0),
        ("cheapest:cost_fp=1,cost_fn=5,prevalence=0.02", 3),
        ("desirable:tpr=0.4..0.7,fpr=0.2..0.0", 2),
        ("2", 2),
        ("-1", 3),
        (2, 2),
        (lambda front: len(front) - 1, 3),
    ],
)
def test_rules_choose(front, rule, index):
    assert choose(front, rule) == index


def test_the_knee_is_the_default(front):
    assert choose(front) == front.knee()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("elbow", "no rule 'elbow'"),
        ("knee:elbow", '"chord" or "gain" or "tradeoff"'),
        ("best", "best needs a column"),
        ("best:auc", "no column 'auc'; the columns are tpr, fpr"),
        ("nearest", "NAME=VALUE"),
        ("nearest:fpr", "NAME=VALUE"),
        ("nearest:fpr=low", "needs numbers, got 'low'"),
        ("cheapest:cost_fp=1", "needs cost_fp and cost_fn"),
        ("cheapest:cost_fp=1,cost_fn=2,cost=3", "needs cost_fp and cost_fn"),
        ("desirable:tpr=0.5", "needs numbers, got ''"),
        ("7", "no solution 7; the front has 4"),
    ],
)
def test_bad_rules_get_one_clear_sentence(front, rule, message):
    with pytest.raises(InvalidInputError, match=message):
        choose(front, rule)
