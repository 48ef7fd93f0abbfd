import matplotlib.pyplot as plt
import numpy as np
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.pareto import Front


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def sphere(n_objectives):
    directions = np.abs(np.random.default_rng(0).normal(size=(40, n_objectives)))
    points = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    names = [f"objective {i}" for i in range(n_objectives)]
    return Front(points, names, maximise=True)


@pytest.mark.parametrize(
    ("n_objectives", "kind"),
    [(2, None), (2, "parallel"), (3, None), (3, "3d"), (3, "parallel"), (5, None), (5, "parallel")],
)
def test_every_kind_draws_and_marks_the_knee(n_objectives, kind, tmp_path):
    front = sphere(n_objectives)
    ax = front.plot(kind=kind)
    texts = " ".join(text.get_text() for text in [*ax.texts, *ax.get_xticklabels()])
    assert "objective 0" in texts + ax.get_xlabel()
    chosen = front[front.knee()].objectives["objective 0"]
    assert f"{chosen:.4g}" in texts
    ax.figure.savefig(tmp_path / "front.svg")
    assert (tmp_path / "front.svg").read_text().count("<path") > 5


def test_the_staircase_never_leaves_the_dominated_region():
    front = Front([[1, 4], [2, 2], [4, 1]], ["a", "b"])
    corners = front.plot(chosen=None).lines[0].get_xydata()
    assert corners.tolist() == [[1, 4], [2, 4], [2, 2], [4, 2], [4, 1]]


def test_a_point_of_ones_choice_or_none_is_marked():
    front = sphere(2)
    assert not front.plot(chosen=None).texts
    assert "objective 0" in front.plot(chosen=3).texts[0].get_text()

    trade = Front([[0.9, 5], [0.8, 2]], ["accuracy", "features"], maximise=["accuracy"])
    ax = trade.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "features (lower is better)",
        "accuracy (higher is better)",
    )

    with pytest.raises(IndexError):
        front.plot(chosen=99)


def test_plots_draw_into_given_axes():
    _, ax = plt.subplots()
    assert sphere(2).plot(ax=ax) is ax


@pytest.mark.parametrize("kind", ["3d", "pie"])
def test_kinds_that_do_not_fit_are_refused(kind):
    with pytest.raises(InvalidInputError, match="kind"):
        sphere(2).plot(kind=kind)


def test_one_solution_can_be_drawn():
    for n_objectives in (2, 3, 4):
        Front(np.ones((1, n_objectives)), n_objectives).plot()
