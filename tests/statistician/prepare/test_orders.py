import numpy as np
import pandas as pd
import pytest

from parsimon.statistician.prepare import Preparer
from parsimon.statistician.prepare.orders import order_of


@pytest.mark.parametrize(
    "order",
    [
        ("low", "Medium", "HIGH"),
        ("never", "sometimes", "often", "always"),
        ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
        ("Fair", "Good", "Very Good", "Premium", "Ideal"),
        ("stage I", "stage II", "stage III", "stage IV"),
        ("1-10", "11-20", "21-30", "over 30"),
        ("<18", "18-24", "25-64", "65+"),
        ("10 mg", "20 mg", "100 mg"),
        ("S", "M", "L", "XL"),
        ("L", "M", "H"),
        ("1st", "2nd", "3rd"),
    ],
)
def test_names_give_an_order(order):
    shuffled = [order[place] for place in np.random.default_rng(0).permutation(len(order))]
    assert order_of(shuffled) == order
    assert order_of([*shuffled, "unknown"]) == order


@pytest.mark.parametrize(
    "levels",
    [
        ("red", "green", "blue"),
        ("north", "south", "low"),
        ("town 1", "town 2", "town 3"),
        ("low", "high"),
        ("low", "Low", "high"),
        ("10 mg", "20 kg", "30 m"),
    ],
)
def test_other_names_give_none(levels):
    assert order_of(levels) == ()


def test_a_category_of_pandas_keeps_its_order_and_rare_levels_are_known():
    names = np.array(["w", "x", "y", "z"])[np.arange(60) % 4]
    town = np.array([f"town {k}" for k in range(12)])[np.arange(60) % 12]
    table = pd.DataFrame(
        {"grade": pd.Categorical(names, categories=["z", "y", "x", "w"], ordered=True), "t": town}
    )
    found = Preparer().fit(table).level_rows(table)
    np.testing.assert_array_equal(found["grade"].places[:4], [1.5, 0.5, -0.5, -1.5])
    assert len(np.unique(found["t"].codes)) == 12
    assert found["t"].places is None
