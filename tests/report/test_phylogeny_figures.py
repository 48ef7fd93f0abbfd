"""Pictures of a trait: what is drawn, what is written below, and how large it is."""

import pytest

from parsimon.phylo import Tree, ancestral_states, brownian_traits, read_tree, yule_tree
from parsimon.report.figures import svg
from parsimon.report.figures.svg_text import caption
from parsimon.report.figures.trait_figures import (
    draw_ancestors,
    draw_curves,
    draw_errors,
    draw_features,
    draw_posterior,
    draw_predicted,
)
from parsimon.report.findings import Interval, Picture
from parsimon.report.findings.trait_findings import LambdaCurve
from parsimon.report.html import checked_svg
from tests.report import trait_samples as samples


def states(n):
    tree = yule_tree(n, random_state=0)
    return ancestral_states(tree, brownian_traits(tree, random_state=0)["trait1"])


def drawn(axes):
    return svg(axes.figure, salt="picture")


def test_few_species_are_named_and_many_are_not():
    assert len(draw_ancestors(states(80), "mass").texts) == 80
    many = draw_ancestors(states(81), "mass")
    assert not many.texts
    assert caption(many).endswith("Their names are left out.")


def test_names_of_tips_are_no_mathematics():
    tree = read_tree("(('$x':1,'a$_b$':1):1,'<b>&':2);")
    found = ancestral_states(tree, dict(zip(tree.tip_names, [1.0, 2.0, 4.0], strict=True)))
    axes = draw_ancestors(found, "$y$ <i>")
    assert [text.get_text() for text in axes.texts] == ["$x", "a$_b$", "<b>&"]
    text = drawn(axes)
    assert "&lt;b&gt;&amp;" in text
    assert checked_svg(Picture(name="tree", svg=text, caption="", title="")) == text


@pytest.mark.parametrize(("n", "most"), [(300, 60_000), (1500, 250_000), (2500, 100_000)])
def test_trees_of_any_size_fit_a_page(n, most):
    text = drawn(draw_ancestors(states(n), "mass"))
    assert len(text) < most
    assert ("<image" in text) == (n > 2000)


def test_a_tree_with_one_value_is_drawn():
    tree = Tree([-1, 0, 0, 0], [0, 1, 1, 1], ["", "a", "b", "c"])
    found = ancestral_states(tree, {"a": 1.0, "b": 1.0, "c": 1.0 + 1e-12})
    assert len(draw_ancestors(found, "mass").collections[0].get_paths()) >= 1


def test_curves_are_drawn_from_their_tops():
    best = Interval(estimate=0.5, low=0.2, high=0.8)
    values = (0.0, 0.5, 1.0)
    first = LambdaCurve(of="target", values=values, heights=(-90.0, -50.0, -70.0), best=best)
    second = LambdaCurve(of="pgls", values=values, heights=(-9.0, -5.0, -6.0), best=best)
    axes = draw_curves([first, second], "mass")
    tops = [line.get_ydata().max() for line in axes.lines if len(line.get_xdata()) == 3]
    assert tops == [0.0, 0.0]
    assert "Of a regression the residuals are meant" in caption(axes)
    alone = draw_curves([first], "mass")
    assert "Of a regression" not in caption(alone)
    assert caption(axes).endswith("Bands, down to the dashed line: 95 % intervals.")
    third = LambdaCurve(of="phyrvm", values=values, heights=(-9.0, -5.0, -6.0), best=best)
    assert caption(draw_curves([first, third], "mass")).endswith(
        "Bands: 95 % intervals, of likelihoods down to the dashed line, of PhyRVM by the posterior."
    )
    assert [text.get_text() for text in alone.get_legend().get_texts()] == ["mass itself"]


def test_the_posterior_is_shaded_inside_its_interval():
    found = samples.phyrvm()
    (shade,) = draw_posterior(found).collections
    places = shade.get_paths()[0].vertices[:, 0]
    assert places.min() >= found.pagel_lambda.low - 0.01
    assert places.max() <= 0.9


def test_features_stand_in_the_order_of_their_relevance():
    weights = (samples.weight("tail"), samples.weight("head"))
    found = samples.phyrvm(weights=weights)
    squares = samples.pgls(coefficients=tuple(samples.coefficient(n) for n in ("leg", "head")))
    axes = draw_features(found, squares, "mass")
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["tail", "head", "leg"]
    assert len(axes.patches) == 2
    assert caption(axes).startswith(
        "Features that PhyRVM keeps, the most relevant on top; then the others, by the size of "
        "their t in PGLS."
    )
    kept = draw_features(found, None, "mass")
    assert caption(kept).startswith("Features that PhyRVM keeps, the most relevant on top. Bars")


def test_many_features_are_cut_and_none_are_not_drawn():
    found = samples.phyrvm(weights=tuple(samples.weight(f"x{k}") for k in range(40)))
    axes = draw_features(found, None, "mass")
    assert len(axes.get_yticklabels()) == 25
    assert caption(axes).endswith("15 further features are not shown.")
    assert "PGLS" not in caption(axes)
    one = samples.phyrvm(weights=tuple(samples.weight(f"x{k}") for k in range(26)))
    said = caption(draw_features(one, None, "mass"))
    assert said.endswith("1 further feature is not shown.")
    assert draw_features(samples.phyrvm(weights=()), None, "mass") is None


def test_features_of_pgls_alone_say_nothing_of_bars():
    said = caption(draw_features(samples.phyrvm(weights=()), samples.pgls(), "mass"))
    assert "Diamonds" in said
    assert "Bars" not in said
    assert said.startswith("Features by the size of their t in PGLS.")


def test_errors_stand_with_the_smallest_on_top():
    axes = draw_errors(samples.error(), "mass")
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names[0] == "PhyRVM"
    assert names[-1] == "mean of the others"
    assert axes.yaxis_inverted()
    assert axes.get_xlim()[0] == 0
    assert "for a new clade those errors can be too small" in caption(axes)


def test_species_outside_their_interval_are_counted():
    inside = samples.error().species[0]
    far = samples.SpeciesFinding(tip="b", observed=9.0, predicted=samples.around(4.0), fold=1)
    axes = draw_predicted([inside, far], "mass", "PhyRVM")
    assert "Filled: 1 of 2 species outside their 95 % interval." in caption(axes)
    filled = [line for line in axes.lines if line.get_markerfacecolor() != "none"]
    assert [len(line.get_xdata()) for line in filled if line.get_marker() == "o"] == [1]
