"""Regression with Pagel's lambda against R, and how our time and memory grow with the tree.

R is `nlme::gls` with `ape::corPagel` by maximum likelihood, both at their defaults; it holds dense
n x n matrices, while ours walks the tree. The package phylolm is linear in tips too, but Debian
does not have it, so that it is not compared. The clock runs around the fit alone on both sides,
trees and tables being read before it; R has a process of its own, and one thread as we have.
"""

import statistics
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.data_folder import point_to_data
from benchmarks.peers._phylo_growth import growth_rows
from benchmarks.peers._phylo_r import INSTALL, LIMIT, RFit, r_is_ready, run_r
from benchmarks.reproduce.pgls_oracle import plain_models
from benchmarks.rows import Row, median_seconds
from parsimon.datasets import load
from parsimon.exceptions import DatasetNotFoundError
from parsimon.phylo import PGLS, Tree, brownian_traits, read_tree, yule_tree

if TYPE_CHECKING:
    import pandas as pd

SIZES, QUICK_SIZES = (250, 1000), (250,)
N_GTDB = 3707
# At 1,000 tips, as promised.
SPEED = {1000: 50.0}
REPEATS_OF_R = {250: 3, 1000: 3}
# R stops where the relative change of the likelihood is small, some 1e-6 from the maximum.
LIKELIHOOD, ESTIMATES = 1e-4, 1e-4


def rows(*, quick: bool) -> list[Row]:
    """Return all rows of the comparison; every library has one thread."""
    from threadpoolctl import threadpool_limits

    ready = r_is_ready()
    if not ready:
        print(INSTALL, file=sys.stderr)
    made = growth_rows(quick)
    with threadpool_limits(1):
        for n in QUICK_SIZES if quick else SIZES:
            case = f"Yule tree, {n:,} tips"
            made += peer_rows(case, yule_tree(n, random_state=0), ready=ready)
        if not quick:
            made += peer_rows(*largest(), ready=ready)
    return made


def largest() -> tuple[str, Tree]:
    """Return the tree of archaeal genomes, or a simulated one of its size, and what it is."""
    point_to_data()
    try:
        tree = read_tree(load("gtdb_ar53").tree_path)
    except DatasetNotFoundError:
        tree = yule_tree(N_GTDB, random_state=0)
        return f"Yule tree, {N_GTDB:,} tips (without the data folder)", tree
    return f"GTDB archaea, {tree.n_tips:,} tips", tree


def table(tree: Tree) -> "pd.DataFrame":
    """Return a feature and a target whose residuals have a lambda of 0.7."""
    frame = brownian_traits(tree, random_state=1).set_axis(["x"], axis=1)
    noise = brownian_traits(tree, pagel_lambda=0.7, random_state=2)["trait1"]
    return frame.assign(y=1.0 + 0.5 * frame["x"] + noise)


def peer_rows(case: str, tree: Tree, *, ready: bool) -> list[Row]:
    """Return seconds beside R's, and whether both found the same."""
    given, model = table(tree), PGLS(tree)
    fit = partial(model.fit, given[["x"]], given["y"])
    [seconds] = median_seconds([fit], 7)
    metric, bar = "seconds of the fit; R, gls with corPagel", SPEED.get(tree.n_tips)
    if not ready:
        return [Row(case, metric, seconds, float("nan"), note=INSTALL)]
    print(f"{case}: {seconds:.4f} s; R is running ...", file=sys.stderr)
    theirs = run_r(tree, given, REPEATS_OF_R.get(tree.n_tips, 1))
    if isinstance(theirs, str):
        # Time that was not enough is less than it takes; an error tells nothing about time.
        stopped = theirs.startswith("stopped")
        spent = LIMIT if stopped else float("nan")
        return [Row(case, metric, seconds, spent, bar=bar if stopped else None, note=f"R {theirs}")]
    spent = statistics.median(theirs.seconds)
    print(f"{case}: R {spent:.2f} s", file=sys.stderr)
    begin = time.process_time()
    fit()
    ours, used = time.process_time() - begin, statistics.median(theirs.processor)
    note = (
        f"{theirs.versions}, {_times(len(theirs.seconds))}; dense matrices, {theirs.memory}; of "
        f"the processor {used:.4g} s, ours {ours:.2g}; phylolm is linear, but not in Debian"
    )
    return [
        Row(case, metric, seconds, spent, bar=bar, note=note),
        *_agreement(case, model, theirs, plain_models(given[["x"]], given["y"], tree)),
    ]


def _agreement(case: str, model: PGLS, theirs: RFit, plain: Mapping[str, PGLS]) -> list[Row]:
    above = model.log_likelihood_ - theirs.log_likelihood

    def apart(one: PGLS) -> float:
        found = np.array([one.lambda_, one.intercept_, *one.coef_])
        return float(np.abs(found - [theirs.pagel_lambda, *theirs.coefficients]).max())

    return [
        Row(
            case,
            "log-likelihood below R's; peer: allowed",
            max(-above, 0.0),
            LIKELIHOOD,
            bar=1.0,
            note=f"ours {model.log_likelihood_:.8f}, ours minus R's {above:+.1e}",
            rivals={
                name: max(theirs.log_likelihood - one.log_likelihood_, 0.0)
                for name, one in plain.items()
            },
        ),
        Row(
            case,
            "lambda and coefficients, greatest difference; peer: allowed",
            apart(model),
            ESTIMATES,
            # At another maximum of greater likelihood the estimates are others, and should be.
            bar=1.0 if above <= LIKELIHOOD else None,
            note=f"lambda {model.lambda_:.6f}, R's {theirs.pagel_lambda:.6f}; slope "
            f"{model.coef_[0]:.6f}, R's {theirs.coefficients[1]:.6f}",
            rivals={name: apart(one) for name, one in plain.items()},
        ),
    ]


def _times(count: int) -> str:
    return "one run" if count == 1 else f"median of {count} runs"
