import numpy as np
import pytest
from matplotlib.figure import Figure

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import ancestral_states, plot_tree, read_tree, yule_tree

FIVE = "((A:1,B:1):2,(C:2,(D:1,E:1):1):1);"


def test_tips_are_one_apart_at_their_depth_and_parents_between_children():
    axes = read_tree(FIVE).plot()
    points = {text.get_text(): text.xy for text in axes.texts}
    assert [points[name] for name in "ABCDE"] == [(3.0, i) for i in range(5)]
    segments = np.array(axes.collections[0].get_segments())
    across = segments[segments[:, 0, 1] == segments[:, 1, 1]]
    # The branch to the ancestor of A and B runs between them; that to C, D, E at 2.75.
    assert [[0.0, 0.5], [2.0, 0.5]] in across.tolist()
    assert [[0.0, 2.75], [1.0, 2.75]] in across.tolist()


def test_nodes_in_any_order_are_drawn_without_crossings():
    tree = yule_tree(12, random_state=0)
    axes = tree.plot()
    rows = {text.get_text(): text.xy[1] for text in axes.texts}
    for node in np.flatnonzero(~tree.is_tip):
        below = np.zeros(len(tree.parent), dtype=bool)
        below[node] = True
        for child in range(node + 1, len(below)):
            below[child] |= below[tree.parent[child]]
        here = sorted(rows[tree.name[tip]] for tip in np.flatnonzero(below & tree.is_tip))
        assert here == list(range(int(here[0]), int(here[0]) + len(here)))


def test_a_trait_colours_branches_from_ancestor_to_descendant():
    tree, values = read_tree(FIVE), {"A": 1.0, "B": 2.0, "C": 4.0, "D": 5.0, "E": 7.0}
    axes = tree.plot(values)
    states = ancestral_states(tree, values).mean[:, 0]
    colours = axes.collections[0].get_array()
    assert colours.max() < 7.0
    assert colours.max() > 0.9 * 7.0 + 0.1 * states.min()
    assert axes.figure.axes[1].get_ylabel() == "trait"
    given = plot_tree(tree, node_values=states, label="size")
    np.testing.assert_allclose(given.collections[0].get_array(), colours)
    assert given.figure.axes[1].get_ylabel() == "size"


def test_names_are_left_out_of_large_trees_unless_asked_for():
    tree = yule_tree(90, random_state=0)
    assert len(tree.plot().texts) == 0
    assert len(tree.plot(names=True).texts) == 90
    assert len(read_tree(FIVE).plot(names=False).texts) == 0


def test_it_draws_where_it_is_told():
    axes = Figure().add_subplot()
    assert read_tree(FIVE).plot(ax=axes) is axes
    assert read_tree("A:1;").plot() is not None


def test_values_that_do_not_fit_are_refused():
    tree = read_tree("(A:1,B:1);")
    with pytest.raises(InvalidInputError, match="not both"):
        plot_tree(tree, {"A": 1.0, "B": 2.0}, node_values=[1, 2, 3])
    with pytest.raises(InvalidInputError, match="each of 3 nodes, got 2"):
        plot_tree(tree, node_values=[1, 2])
