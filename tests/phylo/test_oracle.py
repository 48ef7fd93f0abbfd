"""Values that other programs printed: BayesTraits, and R (tests/reference/pgls.R)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parsimon.exceptions import InvalidInputError
from parsimon.phylo import PGLS, ancestral_states, covariance, read_tree

R = json.loads((Path(__file__).parents[1] / "reference" / "pgls.json").read_text())["cases"]


def case(folder, name):
    """Return X, y and the tree of the R script, the root moved as ape does."""
    theirs = R[name]
    table = pd.read_csv(folder / f"phylo_{name}.csv.gz", dtype={"tip": str}).set_index("tip")
    X, y = table[[theirs["x"]]], table[theirs["y"]]
    if theirs["log"]:
        X, y = np.log(X), np.log(y)
    tree = read_tree(folder / f"phylo_{name}.nwk").keep(list(X.index), trim=True)
    return X, y, tree


def assert_same(model, theirs, tol):
    np.testing.assert_allclose([model.intercept_, *model.coef_], theirs["coefficients"], atol=tol)
    np.testing.assert_allclose(model.standard_errors_, theirs["standard_errors"], atol=tol)
    np.testing.assert_allclose(model.t_values_, theirs["t"], rtol=100 * tol)
    np.testing.assert_allclose(model.p_values_, theirs["p"], atol=tol)
    assert model.log_likelihood_ == pytest.approx(theirs["log_likelihood"], abs=tol)
    assert model.aic_ == pytest.approx(theirs["aic"], abs=tol)
    assert model.bic_ == pytest.approx(theirs["bic"], abs=tol)


@pytest.mark.parametrize("name", R)
def test_a_given_lambda_agrees_with_gls(data_folder, name):
    X, y, tree = case(data_folder, name)
    assert_same(PGLS(tree, pagel_lambda=0.5).fit(X, y), R[name]["half"], 1e-9)
    reml = PGLS(tree, pagel_lambda=0.5, method="REML").fit(X, y)
    assert_same(reml, R[name]["half_reml"], 1e-9)


@pytest.mark.parametrize("name", R)
def test_the_best_lambda_agrees_with_gls(data_folder, name):
    X, y, tree = case(data_folder, name)
    theirs = R[name]["ml"]
    if name == "geiger_geospiza":
        # R leaves the range: its matrix is no covariance there, and ours refuses it.
        V = covariance(tree)
        outside = theirs["lambda"] * V + (1 - theirs["lambda"]) * np.diag(np.diag(V))
        assert np.linalg.eigvalsh(outside)[0] < -1e-3
        with pytest.raises(InvalidInputError, match="makes the branches of these tips negative"):
            PGLS(tree, pagel_lambda=theirs["lambda"]).fit(X, y)
        return
    bounds = {"lambda": (0.0, "max")} if theirs["lambda"] > 1 else None
    model = PGLS(tree, bounds=bounds).fit(X, y)
    assert model.lambda_ == pytest.approx(theirs["lambda"], abs=1e-5)
    assert_same(model, theirs, 1e-5)


@pytest.mark.parametrize("name", ["lizards", "sunfish"])
def test_the_best_pull_agrees_with_gls(data_folder, name):
    X, y, tree = case(data_folder, name)
    model = PGLS(tree, pagel_lambda=1.0, alpha="ML", root="stationary").fit(X, y)
    assert model.alpha_ == pytest.approx(R[name]["ou"]["alpha"], rel=1e-5)
    assert_same(model, R[name]["ou"], 1e-5)


@pytest.mark.parametrize("name", [name for name in R if "ancestors" in R[name]][:3])
def test_ancestors_agree_with_ace(data_folder, name):
    _, y, tree = case(data_folder, name)
    states = ancestral_states(tree, y)
    below = [frozenset()] * len(tree.parent)
    for node in range(len(below) - 1, -1, -1):
        if tree.is_tip[node]:
            below[node] = frozenset([tree.name[node]])
        if node:
            below[tree.parent[node]] |= below[node]
    ours = {tips: states.mean[node, 0] for node, tips in enumerate(below)}
    theirs = R[name]["ancestors"]
    expected = dict(zip(map(frozenset, theirs["tips"]), theirs["mean"], strict=True))
    assert len(expected) == tree.n_tips - 1
    for tips, mean in expected.items():
        assert ours[tips] == pytest.approx(mean, abs=1e-6)


OPTIONS = {"K": "kappa", "L": "pagel_lambda", "D": "delta"}


@pytest.mark.parametrize("code", ["nul", "fix", "kld", "Kld", "kLd", "klD", "kLD"])
def test_models_of_bayestraits(data_folder, code):
    models = pd.read_csv(data_folder / "phylo_caper_oracle_models.csv.gz", index_col="model")
    printed = models.loc[code]
    table = pd.read_csv(data_folder / "phylo_caper_oracle.csv.gz", index_col="tip")
    options = {"kappa": printed["Kappa"], "pagel_lambda": printed["Lambda"]}
    options["delta"] = printed["Delta"]
    options |= {name: "ML" for letter, name in OPTIONS.items() if letter in code}
    tree = read_tree(data_folder / "phylo_caper_oracle.nwk")
    model = PGLS(tree, **options).fit(table[["V2"]], table["V1"])
    assert model.log_likelihood_ == pytest.approx(printed["Lh"], abs=2e-6)
    pairs = {
        "Alpha": model.intercept_,
        "Beta Trait 2": model.coef_[0],
        "Var": model.variance_,
        "R^2": model.r_squared_,
        "Kappa": model.kappa_,
        "Lambda": model.lambda_,
        "Delta": model.delta_,
    }
    for name, value in pairs.items():
        assert value == pytest.approx(printed[name], rel=1e-4), name
