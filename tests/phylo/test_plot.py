import numpy as np
import pytest
from matplotlib.figure import Figure

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import ancestral_states, plot_tree, read_tree, yule_tree
from parsimon.phylo.plot import join_pieces

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


def shades(axes):
    """Return, for each piece of a line, its ends and its place among the shades."""
    lines = axes.collections[0]
    scale = axes.figure.axes[1].collections[-1].cmap(np.arange(48))
    found = []
    for path, colour in zip(lines.get_paths(), lines.get_edgecolors(), strict=True):
        (shade,) = np.flatnonzero((scale == colour).all(axis=1))
        found += [(ends, int(shade)) for ends in path.vertices.reshape(-1, 2, 2).tolist()]
    return found


def test_a_trait_colours_branches_from_ancestor_to_descendant():
    tree, values = read_tree(FIVE), {"A": 1.0, "B": 2.0, "C": 4.0, "D": 5.0, "E": 7.0}
    states = ancestral_states(tree, values).mean[:, 0]
    axes = tree.plot(values)
    for row, value in enumerate(values.values()):
        pieces = sorted(
            (ends, shade) for ends, shade in shades(axes) if ends[0][1] == ends[1][1] == row
        )
        parent = tree.parent[tree.tips[row]]
        places = [shade for _, shade in pieces]
        assert places == sorted(places, reverse=bool(states[parent] > value))
        assert pieces[0][0][0] == [tree.depth[parent], row]
        assert pieces[-1][0][1] == [3.0, row]
        # The scale goes from the least piece to the greatest, which end just before the tips.
        expected = 48 * (value - 1.0) / (7.0 - 1.0)
        assert abs(places[-1] - expected) < 6
    assert axes.figure.axes[1].get_ylabel() == "trait"
    given = plot_tree(tree, node_values=states, label="size")
    assert shades(given) == shades(axes)
    assert given.figure.axes[1].get_ylabel() == "size"


def test_tinted_lines_are_as_long_as_their_pieces_and_few():
    tree = yule_tree(60, random_state=0)
    values = dict(zip(tree.tip_names, np.random.default_rng(0).normal(size=60), strict=True))
    lines = tree.plot(values).collections[0]
    assert len(lines.get_paths()) <= 48
    length = 0.0
    for path in lines.get_paths():
        ends = path.vertices.reshape(-1, 2, 2)
        length += np.abs(ends[:, 1, 0] - ends[:, 0, 0]).sum()
    assert length == pytest.approx(tree.length[1:].sum())


def test_very_large_trees_are_drawn_as_pixels():
    for n, expected in ((50, False), (2001, True)):
        tree = yule_tree(n, random_state=0)
        axes = plot_tree(tree, node_values=np.arange(2 * n - 1.0))
        assert bool(axes.collections[0].get_rasterized()) == expected


def test_lines_that_turn_stay_apart():
    corner = np.array([[[0.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [2.0, 1.0]]])
    back = np.array([[[0.0, 0.0], [2.0, 0.0]], [[2.0, 0.0], [1.0, 0.0]]])
    assert len(join_pieces(corner)) == len(join_pieces(back)) == 2


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
