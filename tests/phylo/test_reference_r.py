"""Values of R's phytools and ape on simulated trees (tests/reference/phylo_traits.R)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parsimon.phylo import (
    PhyloPCA,
    ancestral_states,
    covariance,
    phylogenetic_signal,
    read_tree,
)
from parsimon.phylo._evolution import greatest_lambda

R = json.loads((Path(__file__).parents[1] / "reference" / "phylo_traits.json").read_text())["cases"]
MODES = {"cov": "covariance", "corr": "correlation"}


def case(name):
    theirs = R[name]
    tree = read_tree(theirs["newick"])
    table = pd.DataFrame(theirs["traits"], index=theirs["tips"], columns=["t1", "t2", "t3", "t4"])
    return theirs, tree, table


def assert_same_components(model, theirs, tol):
    np.testing.assert_allclose(model.explained_variance_, theirs["values"], rtol=tol)
    np.testing.assert_allclose(model.covariance_, theirs["rates"], rtol=tol, atol=tol)
    vectors = np.array(theirs["vectors"])
    signs = np.sign(np.sum(model.components_.T * vectors, axis=0))
    np.testing.assert_allclose(model.components_.T * signs, vectors, atol=tol)
    np.testing.assert_allclose(model.loadings_ * signs, theirs["loadings"], atol=tol)
    np.testing.assert_allclose(
        model.scores_ * signs, theirs["scores"], atol=tol * np.ptp(theirs["scores"])
    )


@pytest.mark.parametrize("name", R)
def test_the_covariance_agrees_with_ape(name):
    theirs, tree, table = case(name)
    order = tree.match(table)
    np.testing.assert_allclose(covariance(tree)[np.ix_(order, order)], theirs["vcv"], atol=1e-12)


@pytest.mark.parametrize(("model", "share"), [("BM", 1.0), ("half", 0.5)])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", R)
def test_components_at_a_lambda_agree_with_phytools(name, mode, model, share):
    theirs, tree, table = case(name)
    ours = PhyloPCA(tree, pagel_lambda=share, mode=MODES[mode]).fit(table)
    assert_same_components(ours, theirs["pca"][mode][model], 1e-9)
    # With columns in units of their rates the root is there, too.
    unit = np.sqrt(np.diag(ours.covariance_)) if mode == "corr" else 1.0
    np.testing.assert_allclose(ours.mean_ / unit, theirs["pca"][mode][model]["root"], atol=1e-9)


def rates_by_degrees_of_freedom(n, m):
    """Return what is lost by rates with n - 1 in the denominator, as in phytools.

    Rates that maximise the likelihood have n there; the difference does not depend on lambda.
    """
    return 0.5 * m * (n * np.log(n / (n - 1)) - 1.0)


@pytest.mark.parametrize("name", R)
def test_the_likelihood_agrees_with_phytools(name):
    theirs, tree, table = case(name)
    ours = PhyloPCA(tree, pagel_lambda=0.5).fit(table)
    loss = rates_by_degrees_of_freedom(*table.shape)
    printed = theirs["pca"]["cov"]["half"]["log_likelihood"]
    assert ours.log_likelihood_ - loss == pytest.approx(printed, abs=1e-8)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", R)
def test_the_best_lambda_is_no_worse_than_that_of_phytools(name, mode):
    theirs, tree, table = case(name)
    printed = theirs["pca"][mode]["lambda"]
    bounds = (0.0, theirs["greatest_lambda"])
    ours = PhyloPCA(tree, mode=MODES[mode], bounds=bounds).fit(table)
    gain = ours.log_likelihood_ - rates_by_degrees_of_freedom(*table.shape)
    assert -1e-8 < gain - printed["log_likelihood"] < 1e-6
    # R's optimize() stops within 1.2e-4 of the range; at its lambda all else is the same.
    assert ours.lambda_ == pytest.approx(printed["lambda"], abs=2e-4)
    there = PhyloPCA(tree, mode=MODES[mode], pagel_lambda=printed["lambda"]).fit(table)
    assert_same_components(there, printed, 1e-9)


def test_the_greatest_lambda_agrees_with_phytools():
    theirs, tree, _ = case("ultrametric")
    assert greatest_lambda(tree) == pytest.approx(theirs["greatest_lambda"], rel=1e-9)


@pytest.mark.parametrize("trait", range(4))
@pytest.mark.parametrize("name", R)
def test_the_signal_agrees_with_phytools(name, trait):
    theirs, tree, table = case(name)
    printed = theirs["signal"][trait]
    ours = phylogenetic_signal(tree, table.iloc[:, trait], n_permutations=9, random_state=0)
    assert pytest.approx(printed["K"], rel=1e-10) == ours.K
    assert ours.log_likelihood_without == pytest.approx(printed["log_likelihood_without"], abs=1e-9)
    # Ours ends at 1, theirs at the greatest lambda of an ultrametric tree.
    assert printed["lambda"] < 1.0
    gain = ours.log_likelihood - printed["log_likelihood"]
    if printed["lambda"] > 1e-3:
        assert -1e-8 < gain < 1e-6
        assert ours.pagel_lambda == pytest.approx(printed["lambda"], abs=1e-4)
        assert ours.lambda_p_value == pytest.approx(printed["p"], abs=1e-6)
    else:
        # optimize() never looks at the end of the range itself, where ours ends.
        assert ours.pagel_lambda < 1e-6
        assert 0 < gain < 1e-3


@pytest.mark.parametrize("name", R)
def test_ancestors_agree_with_phytools(name):
    theirs, tree, table = case(name)
    states = ancestral_states(tree, table["t1"])
    below = [frozenset()] * len(tree.parent)
    for node in range(len(below) - 1, -1, -1):
        if tree.is_tip[node]:
            below[node] = frozenset([tree.name[node]])
        if node:
            below[tree.parent[node]] |= below[node]
    found = {tips: node for node, tips in enumerate(below)}
    printed = theirs["ancestors"]
    nodes = [found[frozenset(tips)] for tips in printed["tips"]]
    assert sorted(nodes) == states.nodes.tolist()
    np.testing.assert_allclose(states.mean[nodes, 0], printed["mean"], atol=1e-9)
    np.testing.assert_allclose(states.sd[nodes, 0] ** 2, printed["variance"], rtol=1e-9)
    # Theirs are intervals of a Gaussian with 1.96, ours Student's: the rate is estimated.
    half = np.array(printed["interval"])[:, 1] - printed["mean"]
    np.testing.assert_allclose(1.96 * states.sd[nodes, 0], half, rtol=1e-9)
    assert (states.upper[nodes, 0] - states.mean[nodes, 0] > half).all()
