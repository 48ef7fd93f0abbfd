import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front
from parsimon.roc import front_area
from parsimon.rvm.pareto import complexity_levels, draw_staircase, plot_roc_levels

NAMES = ["tpr", "fpr", "complexity"]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def front():
    rng = np.random.default_rng(0)
    fpr, complexity = rng.random(60), rng.integers(0, 12, size=60)
    tpr = np.clip(fpr + 0.05 * complexity + 0.1 * rng.random(60), 0, 1)
    return Front(np.column_stack([tpr, fpr, complexity]), NAMES, maximise=["tpr"])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=20))
def test_the_staircase_encloses_the_area_of_the_front(points):
    fpr, tpr = np.array(points).reshape(-1, 2).T
    x, y = draw_staircase(fpr, tpr)
    assert (np.diff(x) >= 0).all()
    assert (np.diff(y) >= 0).all()
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)
    assert np.trapezoid(y, x) == pytest.approx(front_area(fpr, tpr) if len(fpr) else 0)


def test_each_level_holds_the_ones_below(front):
    axes = plot_roc_levels(front, levels=[9, 2, 5], chosen=3)
    labels = [line.get_label() for line in axes.lines]
    assert [label.split(":")[0] for label in labels] == ["up to 2", "up to 5", "up to 9", "chance"]
    areas = [float(label.split()[-1]) for label in labels[:3]]
    assert areas == sorted(areas)
    within = front.values[:, 2] <= 5
    assert areas[1] == round(front_area(front.values[within, 1], front.values[within, 0]), 2)
    assert len(axes.patches) == 2  # a band for each step up
    mark = axes.collections[-1].get_offsets()[0]
    np.testing.assert_allclose(mark, front.values[3, [1, 0]])


def test_levels_of_their_own_accord(front):
    axes = plot_roc_levels(front)
    occurring = np.unique(front.values[:, 2])
    assert 2 <= len(axes.lines) - 1 <= 5
    assert axes.lines[-2].get_label().startswith(f"up to {occurring[-1]:g}")
    assert complexity_levels(np.array([0.0, 0.0])).tolist() == [0.0]
    assert complexity_levels(np.array([3e-9, 0.0, 0.5])).tolist() == [3e-9, 0.5]


def test_given_axes_are_used(front):
    _, axes = plt.subplots()
    assert plot_roc_levels(front, ax=axes) is axes


def test_a_front_without_rates_is_refused():
    with pytest.raises(InvalidInputError, match="need the objectives tpr, fpr and complexity"):
        plot_roc_levels(Front([[1, 2]], ["error", "size"]))
