"""Phylogenetic least squares beside BayesTraits and R.

Ten models of BayesTraits (kappa, lambda and delta given or estimated; printed in caper's
`benchBayesTraitsOutputs`), and `nlme::gls` with `ape::corPagel` on ten trees: script and output are
`tests/reference/pgls.R` and `pgls.json`. A difference is compared with what is allowed, so that a
ratio above 1 is an agreement; every fit of ours is by maximum likelihood.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from benchmarks.data_folder import point_to_data
from benchmarks.rows import Row
from parsimon.datasets import load
from parsimon.phylo import PGLS, Tree, covariance, read_tree
from parsimon.phylo._evolution import greatest_lambda

REFERENCE = Path(__file__).parents[2] / "tests" / "reference" / "pgls.json"
# What was promised: log likelihoods, digits of BayesTraits' table, and agreement with R.
LIKELIHOOD, DIGITS, R_AGREEMENT = 1e-4, 5e-4, 1e-5
# Below this difference two likelihoods are the same maximum.
SAME_MAXIMUM = 1e-5
OPTIONS = {"K": "kappa", "L": "pagel_lambda", "D": "delta"}


def rows(*, quick: bool) -> list[Row]:
    """Return the agreement with both; `quick` leaves out the models of two or more estimates."""
    point_to_data()
    return bayestraits_rows(quick=quick) + r_rows(quick=quick)


def bayestraits_rows(*, quick: bool) -> list[Row]:
    """Return, for each of the ten models, how far likelihood and estimates are apart."""
    given = load("phylo_caper_oracle")
    table, tree = given.frame.set_index(given.tips), read_tree(given.tree_path)
    plain = plain_models(table[["V2"]], table["V1"], tree)
    made: list[Row] = []
    for _, printed in load("phylo_caper_oracle_models").frame.iterrows():
        free = sum(letter in "KLD" for letter in printed["model"])
        if quick and free > 1:
            continue
        model = PGLS(tree, **_bayestraits_options(printed)).fit(table[["V2"]], table["V1"])
        made += _bayestraits_model(printed, model, plain)
    return made


def _bayestraits_options(printed: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "kappa": float(printed["Kappa"]),
        "pagel_lambda": float(printed["Lambda"]),
        "delta": float(printed["Delta"]),
    }
    for letter, name in OPTIONS.items():
        if letter in printed["model"]:
            options[name] = "ML"
    return options


def _bayestraits_model(printed: Any, model: PGLS, plain: Mapping[str, PGLS]) -> list[Row]:
    case = f"BayesTraits {printed['model']}"
    ours = model.log_likelihood_
    shortfall = max(float(printed["Lh"]) - ours, 0.0)
    made = [
        Row(
            case,
            "log-likelihood below the printed; peer: allowed",
            shortfall,
            LIKELIHOOD,
            bar=1.0,
            note=f"{ours:.6f}, printed {printed['Lh']:.6f}",
            rivals={
                name: abs(float(printed["Lh"]) - each.log_likelihood_)
                for name, each in plain.items()
            },
        ).without_empty_bar()
    ]
    if ours - float(printed["Lh"]) < SAME_MAXIMUM:
        pairs = _estimates(model)
        apart = {name: _relative(value, float(printed[name])) for name, value in pairs.items()}
        worst = max(apart, key=lambda name: apart[name])
        made.append(
            Row(
                case,
                "estimates, greatest relative difference; peer: 4 digits",
                apart[worst],
                DIGITS,
                bar=1.0,
                note=f"{worst}: {pairs[worst]:.6f}, printed {printed[worst]:.6f}",
                rivals={
                    name: max(
                        _relative(_estimates(each)[key], float(printed[key])) for key in pairs
                    )
                    for name, each in plain.items()
                },
            ).without_empty_bar()
        )
    return made


def _estimates(model: PGLS) -> dict[str, float]:
    return {
        "Alpha": model.intercept_,
        "Beta Trait 2": float(model.coef_[0]),
        "Var": model.variance_,
        "R^2": model.r_squared_,
        "Kappa": model.kappa_,
        "Lambda": model.lambda_,
        "Delta": model.delta_,
    }


def plain_models(X: Any, y: Any, tree: Tree, **options: Any) -> dict[str, PGLS]:
    """Return those who estimate nothing of the tree: without it, by lot, and with it as it is."""
    drawn = float(np.random.default_rng(0).random())
    shares = {"constant: no tree": 0.0, "guess: a share by lot": drawn, "the tree as it is": 1.0}
    return {
        name: PGLS(tree, pagel_lambda=share, **options).fit(X, y) for name, share in shares.items()
    }


def _relative(ours: float, printed: float) -> float:
    return abs(ours - printed) / abs(printed) if printed else abs(ours)


def r_rows(*, quick: bool) -> list[Row]:
    """Return, for each tree, how far our fits are from R's, ML and REML."""
    cases = json.loads(REFERENCE.read_text())["cases"]
    made: list[Row] = []
    for name, theirs in cases.items():
        X, y, tree = r_case(name, theirs)
        methods: dict[str, Literal["ML", "REML"]] = {"ml": "ML", "reml": "REML"}
        if quick:
            del methods["reml"]
        for key, method in methods.items():
            case = f"R gls, corPagel, {name} ({theirs['n']} tips), {method}"
            if theirs[key]["lambda"] > greatest_lambda(tree):
                made.append(_no_covariance(case, theirs[key]["lambda"], tree))
                continue
            model = PGLS(tree, method=method, bounds=r_bounds(theirs[key])).fit(X, y)
            made += _r_model(case, theirs[key], model, plain_models(X, y, tree, method=method))
    return made


def r_case(name: str, theirs: dict[str, Any]) -> tuple[pd.DataFrame, "pd.Series[float]", Tree]:
    """Return the table and tree that the R script read, the root moved as ape does."""
    given = load(f"phylo_{name}")
    table = given.frame.set_index(given.tips.astype(str))
    X, y = table[[theirs["x"]]].astype(float), table[theirs["y"]].astype(float)
    if theirs["log"]:
        X, y = np.log(X), np.log(y)
    return X, y, read_tree(given.tree_path).keep(list(X.index), trim=True)


def r_bounds(theirs: dict[str, Any]) -> dict[str, Any] | None:
    """Return bounds that hold R's estimate: it has none, and lambda may be above 1."""
    return {"lambda": (0.0, "max")} if theirs["lambda"] > 1 else None


def _no_covariance(case: str, theirs: float, tree: Tree) -> Row:
    """Say that R's estimate is none: the matrix there has negative eigenvalues."""
    V = covariance(tree)
    outside = theirs * V + (1.0 - theirs) * np.diag(np.diag(V))
    least = float(np.linalg.eigvalsh(outside)[0])
    return Row(
        case,
        "greatest lambda of a covariance; peer: R's estimate",
        greatest_lambda(tree),
        theirs,
        note=f"not compared: R's matrix has the eigenvalue {least:.3g}",
    )


def _apart(model: PGLS, theirs: dict[str, Any]) -> dict[str, float]:
    """Return absolute differences of a fit from R's."""
    coefficients = np.array([model.intercept_, *model.coef_])
    return {
        "coefficients": float(np.abs(coefficients - theirs["coefficients"]).max()),
        "lambda": abs(model.lambda_ - theirs["lambda"]),
        "log-likelihood": abs(model.log_likelihood_ - theirs["log_likelihood"]),
    }


def _r_model(
    case: str, theirs: dict[str, Any], model: PGLS, plain: Mapping[str, PGLS]
) -> list[Row]:
    differences = _apart(model, theirs)
    return [
        Row(
            case,
            f"{name}, absolute difference; peer: allowed",
            float(difference),
            R_AGREEMENT,
            bar=1.0,
            note=f"lambda {model.lambda_:.6f}" if name == "lambda" else "",
            rivals={who: _apart(each, theirs)[name] for who, each in plain.items()},
        ).without_empty_bar()
        for name, difference in differences.items()
    ]
