import numpy as np
import pytest
from scipy.stats import t

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PGLS, ancestral_states, brownian_traits, covariance, read_tree, yule_tree


@pytest.fixture(scope="module")
def tree():
    return yule_tree(25, random_state=2)


@pytest.fixture(scope="module")
def traits(tree):
    return brownian_traits(tree, 2, root=[5.0, -3.0], random_state=3)


def test_the_root_is_the_phylogenetic_mean(tree, traits):
    states = ancestral_states(tree, traits)
    inverse = np.linalg.inv(covariance(tree))
    mean = inverse.sum(axis=0) @ traits / inverse.sum()
    np.testing.assert_allclose(states.mean[0], mean)
    rate = [
        (traits[name] - mean[name]) @ inverse @ (traits[name] - mean[name]) / 24 for name in traits
    ]
    np.testing.assert_allclose(states.sd[0] ** 2, np.array(rate) / inverse.sum())
    half = t.ppf(0.975, 24) * states.sd[0]
    np.testing.assert_allclose(states.upper[0] - states.mean[0], half)
    np.testing.assert_allclose(states.mean[0] - states.lower[0], half)
    assert states.parameters == (1.0, 1.0)


def test_tips_are_what_was_seen_and_the_others_are_predicted(tree, traits):
    states = ancestral_states(tree, traits["trait1"][:20])
    seen, hidden = tree.tips[tree.match(traits[:20])], tree.tips[tree.match(traits[20:])]
    np.testing.assert_allclose(states.mean[seen, 0], traits["trait1"][:20])
    np.testing.assert_allclose(states.sd[seen], 0.0, atol=1e-7)
    codes = np.column_stack([tree.match(traits), np.zeros(25)])
    fit = PGLS(tree, tips=0, pagel_lambda=1.0).fit(codes[:20], traits["trait1"][:20])
    mean, sd = fit.predict(codes[20:], return_std=True)
    np.testing.assert_allclose(states.mean[hidden, 0], mean)
    np.testing.assert_allclose(states.sd[hidden, 0], sd)


@pytest.mark.parametrize(("model", "name"), [("lambda", "lambda_"), ("ou", "alpha_")])
def test_parameters_are_estimated_for_each_trait(tree, traits, model, name):
    states = ancestral_states(tree, traits, model=model)
    options = {"alpha": "ML", "pagel_lambda": 1.0} if model == "ou" else {}
    codes = np.column_stack([tree.match(traits), np.zeros(25)])
    for column, trait in enumerate(traits):
        fit = PGLS(tree, tips=0, **options).fit(codes, traits[trait])
        assert states.parameters[column] == getattr(fit, name)
        assert ancestral_states(tree, traits[trait], model=model).mean[0, 0] == pytest.approx(
            states.mean[0, column]
        )


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    tree = yule_tree(15, random_state=1)
    draws = brownian_traits(tree, 120, random_state=2)
    for level in (0.5, 0.95):
        states = ancestral_states(tree, draws, level=level)
        inside = (states.lower[0] < 0) & (states.upper[0] > 0)
        assert inside.mean() == pytest.approx(level, abs=0.08)


def test_the_frame_and_the_drawing_show_one_trait(tree, traits):
    states = ancestral_states(tree, traits)
    frame = states.to_frame("trait2")
    assert frame.index.tolist() == states.nodes.tolist()
    assert frame["tips"].iloc[0] == 25
    np.testing.assert_array_equal(frame["mean"], states.mean[states.nodes, 1])
    axes = states.plot("trait2")
    low, _ = axes.figure.axes[1].get_ylim()
    assert low == pytest.approx(states.mean[:, 1].min(), abs=0.2)
    assert axes.figure.axes[1].get_ylabel() == "trait2"
    assert states.plot(label="size").figure.axes[1].get_ylabel() == "size"


def test_what_cannot_be_reconstructed_is_said(tree, traits):
    with pytest.raises(InvalidInputError, match="model must be"):
        ancestral_states(tree, traits, model="trend")
    with pytest.raises(InvalidInputError, match="at least two tips"):
        ancestral_states(tree, {"t1": 1.0})
    with pytest.raises(InvalidInputError, match="level must be between 0 and 1"):
        ancestral_states(tree, traits, level=95)
    with pytest.raises(InvalidInputError, match="no trait 'mass'"):
        ancestral_states(tree, traits).to_frame("mass")
    with pytest.raises(InvalidInputError, match="not tips of the tree: x"):
        ancestral_states(read_tree("(A:1,B:1);"), {"A": 1.0, "x": 2.0})
