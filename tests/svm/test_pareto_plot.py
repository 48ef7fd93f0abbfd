"""Pictures of a front of support vector machines."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from parsimon.datasets import make_global_and_local
from parsimon.exceptions import InvalidInputError
from parsimon.svm.pareto import ParetoSVC

QUICK = {"n_points": 15, "max_iter": 1, "random_state": 0}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def search():
    X, y = make_global_and_local(120, random_state=0)
    return ParetoSVC(**QUICK).fit(X, np.where(y == 1, "in", "out"))


def test_the_front_is_drawn_with_the_chosen_machine(search):
    axes = search.plot()
    (line,) = axes.lines
    np.testing.assert_array_equal(line.get_xydata(), search.front_.values[:, :2])
    ring = axes.collections[0].get_offsets()[0]
    np.testing.assert_allclose(ring, search.front_.values[search.best_index_, :2])
    low, high = axes.get_xlim()
    assert low < 0 < search.front_.values[-1, 0] < high
    (caption,) = axes.texts
    assert (
        f"{len(search.front_.solution(search.best_index_).support_)} support" in caption.get_text()
    )


def test_both_errors_are_drawn_under_the_front(search):
    axes = search.plot_overfitting()
    training, held, chosen = axes.lines
    frame = search.to_frame()
    np.testing.assert_allclose(training.get_ydata(), 100 * frame.training_error)
    np.testing.assert_allclose(held.get_ydata(), 100 * frame.holdout_error)
    assert chosen.get_xdata()[0] == frame.margin_term.iloc[search.best_index_]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "training rows",
        "rows held out (24)",
        "chosen",
    ]
    assert len(axes.figure.axes) == 2
    own = plt.figure().add_subplot()
    assert search.plot("overfitting", ax=own) is own
    assert len(own.figure.axes) == 1


def test_without_rows_held_out_one_curve_is_drawn():
    X, y = make_global_and_local(60, random_state=0)
    whole = ParetoSVC(**QUICK, validation_fraction=0).fit(X, y)
    assert len(whole.plot_overfitting().lines) == 2


def test_maps_show_what_the_machines_of_the_walk_predict():
    X, y = make_global_and_local(80, random_state=0)
    search = ParetoSVC(**QUICK, kernel="sigmoid", gamma=0.01).fit(X, y)
    figure = search.plot_walk(3)
    models = search.walk(3)
    assert len(figure.axes) == len(models)
    for panel, model in zip(figure.axes, models, strict=True):
        mesh = panel.collections[0]
        corners = np.asarray(mesh.get_coordinates())
        middles = 0.25 * (
            corners[1:, 1:] + corners[:-1, 1:] + corners[1:, :-1] + corners[:-1, :-1]
        ).reshape(-1, 2)
        drawn = np.asarray(mesh.get_array()).ravel()
        np.testing.assert_array_equal(drawn, model.predict(middles) == model.classes_[1])
        assert f"{len(model.support_)} support vectors" in panel.get_title(loc="left")


def test_the_dual_front_has_its_own_axes():
    X, y = make_global_and_local(60, random_state=0)
    dual = ParetoSVC("dual", n_points=15, max_iter=20, random_state=0).fit(X, y)
    axes = dual.plot()
    np.testing.assert_allclose(axes.collections[0].get_offsets(), dual.front_.values[:, [1, 0]])
    assert "Σα" in axes.get_xlabel()


def test_maps_need_two_columns(search):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    three = ParetoSVC(**QUICK).fit(rows, rows[:, 0] > 0)
    with pytest.raises(InvalidInputError, match="need a table of two columns, got 3"):
        three.plot_walk()
    with pytest.raises(InvalidInputError, match="k must be an integer"):
        search.plot_walk(0)
    with pytest.raises(InvalidInputError, match='kind must be "front" or "overfitting"'):
        search.plot("3d")
