"""Tables 5.1 and 5.2 of Fearn (2021): lambda of simulated traits, by every way of fitting it.

Ten Yule trees of 200 tips (birth rate 1), eleven independent Brownian traits with a known lambda;
the first is regressed on the others. "Scaled tree" is least squares that is given the tree with
its branches already scaled by the true lambda, so that the value to find is 1: the printed PGLS
looks like it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.reproduce._fearn_analytic import AnalyticPhyRVM, Form, Sign
from benchmarks.reproduce._fearn_stationary import score_in_errors
from benchmarks.reproduce._fearn_tables import (
    LEAST_SQUARES,
    MINUS,
    PLUS,
    SIMULATION,
    TRUE_SHARES,
)
from benchmarks.rivals import GUESS
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.phylo import PGLS, PhyRVM, Tree, brownian_traits, yule_tree

N_TREES, N_TIPS, N_TRAITS = 10, 200, 11
QUICK_TREES, QUICK_SHARES = 2, (0.0, 0.5, 0.9)
SIGNS: dict[str, Sign] = {MINUS: "minus", PLUS: "plus"}
FORMS: tuple[Form, ...] = ("5.49", "5.48")
PRINTED: dict[str, tuple[str, Form]] = {
    f"{name} ({form})": (name, form) for form in FORMS for name in SIGNS
}
EXACT, SCALED, ORIGINAL = "PhyRVM, exact evidence", "PGLS, scaled tree", "PGLS, tree as it is"
# With nothing set: columns pay a price in evidence.
DEFAULTS = "PhyRVM with defaults"
# A lambda of at most this is "near zero".
NEAR_ZERO = 0.1
# Nats: the sparse regression leaves out columns that are worth less.
COLUMN = 0.1
# At maxima the slope of the evidence, in its standard errors, has at most this root mean square;
# it is not zero where a column enters or leaves.
FLAT = 0.01


@dataclass(frozen=True)
class Simulation:
    """Which tree, and which of `TRUE_SHARES`."""

    tree: int
    place: int

    def __str__(self) -> str:
        return f"tree {self.tree + 1}, lambda {TRUE_SHARES[self.place]}"


def jobs(*, quick: bool) -> list[Simulation]:
    """Return all pairs of a tree and a true lambda."""
    shares = QUICK_SHARES if quick else TRUE_SHARES
    places = [TRUE_SHARES.index(share) for share in shares]
    return [Simulation(t, p) for p in places for t in range(QUICK_TREES if quick else N_TREES)]


def work(job: Simulation) -> dict[str, Any]:
    """Fit every model to one simulation; return lambda, evidence and its slope, training error."""
    tree = yule_tree(N_TIPS, random_state=job.tree)
    true = TRUE_SHARES[job.place]
    seed = np.random.SeedSequence((job.tree, job.place))
    table = brownian_traits(tree, N_TRAITS, pagel_lambda=true, random_state=seed)
    X, y = table.iloc[:, 1:], table.iloc[:, 0]
    found: dict[str, Any] = {"depth": float(tree.depth.max())}
    for name, model in _models(tree, true).items():
        model.fit(X, y)
        sparse = isinstance(model, PhyRVM)
        found[name] = {
            "kept": float(np.mean(model.coef_ != 0)),
            "share": model.lambda_,
            "evidence": model.log_evidence_ if sparse else model.log_likelihood_,
            "error": float(np.sqrt(np.mean((y.to_numpy() - model.fitted_values_) ** 2))),
            "slope": score_in_errors(model, tree, X, y) if sparse else 0.0,
        }
    return found


def _models(tree: Tree, true: float) -> dict[str, Any]:
    printed = {
        name: AnalyticPhyRVM(tree, sign=SIGNS[sign], form=form)
        for name, (sign, form) in PRINTED.items()
    }
    return {
        **printed,
        EXACT: PhyRVM(tree, prior="ard"),
        DEFAULTS: PhyRVM(tree),
        SCALED: PGLS(tree.transform(pagel_lambda=true)),
        ORIGINAL: PGLS(tree),
    }


def rows(found: Mapping[Simulation, Mapping[str, Any]]) -> list[Row]:
    """Return the tables beside ours, then what they show together."""
    places = sorted({job.place for job in found})
    cells = {place: [found[job] for job in found if job.place == place] for place in places}
    made: list[Row] = []
    for place in places:
        made += _table_rows(place, cells[place])
    made += _distance_rows(cells)
    made += _pattern_rows(cells)
    made += _evidence_rows(cells)
    made += _slope_rows(cells)
    return [*made, _kept_row(cells), _depth_row(cells)]


def values(cell: Sequence[Mapping[str, Any]], method: str, quantity: str) -> Array:
    """Return what a method gave on the trees of one true lambda."""
    return np.array([one[method][quantity] for one in cell])


def _table_rows(place: int, cell: Sequence[Mapping[str, Any]]) -> list[Row]:
    case = f"Table 5.{1 if place < 5 else 2}, lambda {TRUE_SHARES[place]}"
    made = []
    for method in (*PRINTED, EXACT, SCALED, ORIGINAL):
        printed = PRINTED.get(method, (LEAST_SQUARES, ""))[0] if method != EXACT else ""
        peer = SIMULATION[printed][place] if printed else None
        share = values(cell, method, "share")
        note = _note(cell, method, peer)
        if method == SCALED and TRUE_SHARES[place] == 0:
            note += "; the likelihood is flat: its value is the optimiser's"
        made.append(
            Row(
                case,
                f"{method}: mean lambda; {'printed ' + printed if peer else 'true'}",
                float(share.mean()),
                peer.share.mean if peer else TRUE_SHARES[place],
                note=note,
            )
        )
    return made


def _note(cell: Sequence[Mapping[str, Any]], method: str, peer: Any) -> str:
    def beside(quantity: str, digits: int, figure: Any) -> str:
        own = values(cell, method, quantity)
        text = f"{own.mean():.{digits}f}+-{_deviation(own):.{digits}f}"
        if figure is not None:
            text += f" (printed {figure.mean:g}+-{figure.deviation:g})"
        return text

    share = values(cell, method, "share")
    parts = [f"sd {_deviation(share):.3f}" + (f" ({peer.share.deviation:g})" if peer else "")]
    if method in PRINTED or method == EXACT:
        parts.append("evidence " + beside("evidence", 0, peer.evidence if peer else None))
    parts.append("RMSE " + beside("error", 2, peer.error if peer else None))
    return "; ".join(parts)


def _deviation(sample: Array) -> float:
    return float(sample.std(ddof=1)) if len(sample) > 1 else 0.0


def _distance_rows(cells: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """Return distances of mean lambda from the truth, averaged over true values."""

    def printed(name: str) -> Array:
        return np.array([abs(SIMULATION[name][p].share.mean - TRUE_SHARES[p]) for p in cells])

    def ours(method: str) -> float:
        return float(
            np.mean(
                [abs(values(c, method, "share").mean() - TRUE_SHARES[p]) for p, c in cells.items()]
            )
        )

    metric = "|mean lambda - true|, mean over true values"
    better = float(np.minimum(printed(MINUS), printed(PLUS)).mean())
    case = "Tables 5.1 and 5.2"
    true = np.array([TRUE_SHARES[place] for place in cells])
    half = float(np.abs(0.5 - true).mean())
    # The mean of guesses between 0 and 1 is one half.
    idle = {"constant: one half": half, GUESS: half, "no tree": float(true.mean())}
    made = [
        Row(
            case,
            f"{metric}: {EXACT}; printed, the better sign of each",
            ours(EXACT),
            better,
            bar=1.0,
            note=f"printed - {printed(MINUS).mean():.3f}, + {printed(PLUS).mean():.3f}",
            rivals={**idle, ORIGINAL: ours(ORIGINAL)},
        ).above_rivals(),
        Row(
            case,
            f"{metric}: {ORIGINAL}; printed PGLS",
            ours(ORIGINAL),
            float(printed(LEAST_SQUARES).mean()),
            bar=1.0,
            rivals=idle,
        ).above_rivals(),
    ]
    made += [
        Row(case, f"{metric}: {EXACT}; our {other}", ours(EXACT), ours(other))
        for other in (*PRINTED, SCALED, ORIGINAL)
    ]
    return made


def _pattern_rows(cells: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """Return whether the printed forms do what the printed tables show."""
    made = []
    for form in FORMS:
        minus, plus = (f"{name} ({form})" for name in SIGNS)
        shares = [float(values(cell, plus, "share").mean()) for cell in cells.values()]
        most = max(SIMULATION[PLUS][place].share.mean for place in cells)
        made.append(
            Row(
                f"Pattern, {form}",
                f"{PLUS} ends near zero: greatest mean lambda; peer: {NEAR_ZERO}",
                max(shares),
                NEAR_ZERO,
                note=f"printed {most:.3f}",
            )
        )
        for quantity, words in (("evidence", "higher evidence"), ("error", "higher RMSE")):
            gaps = [
                values(c, minus, quantity).mean() - values(c, plus, quantity).mean()
                for c in cells.values()
            ]
            printed = [
                getattr(SIMULATION[MINUS][p], quantity).mean
                - getattr(SIMULATION[PLUS][p], quantity).mean
                for p in cells
            ]
            made.append(
                Row(
                    f"Pattern, {form}",
                    f"true values at which {MINUS} has the {words}; printed",
                    int(np.sum(np.array(gaps) > 0)),
                    int(np.sum(np.array(printed) > 0)),
                    higher_is_better=True,
                    note=f"of {len(cells)}; mean difference {np.mean(gaps):+.3g}, "
                    f"printed {np.mean(printed):+.3g}",
                )
            )
    return made


def _evidence_rows(cells: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """Return how often the exact fit has an evidence no lower than the printed forms."""
    made = []
    for method in PRINTED:
        gain = np.concatenate(
            [values(c, EXACT, "evidence") - values(c, method, "evidence") for c in cells.values()]
        )
        made.append(
            Row(
                f"{EXACT}, {len(gain)} fits",
                f"fits with evidence no lower than {method} but by a column; peer: all",
                _no_lower(cells, EXACT, method),
                len(gain),
                higher_is_better=True,
                bar=1.0,
                rivals={
                    other: _no_lower(cells, other, method) for other in PRINTED if other != method
                },
                note=f"nats above it: median {np.median(gain):.2f}, least {gain.min():.3g}, "
                f"most {gain.max():.3g}",
            ).without_empty_bar()
        )
    return made


def _no_lower(cells: Mapping[int, Sequence[Mapping[str, Any]]], one: str, other: str) -> int:
    """Return in how many fits one way has an evidence no lower than another's, but by a column."""
    gains = [values(c, one, "evidence") - values(c, other, "evidence") for c in cells.values()]
    return int(np.sum(np.concatenate(gains) > -COLUMN))


def _slope_rows(cells: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[Row]:
    """Return the slope of the evidence where each fit ends, boundaries of lambda left out."""
    found = {}
    for method in (EXACT, *PRINTED):
        share, slope = (
            np.concatenate([values(c, method, quantity) for c in cells.values()])
            for quantity in ("share", "slope")
        )
        inside = (share > 0) & (share < 1)
        found[method] = np.abs(slope[inside])
    exact = float(np.sqrt(np.mean(found[EXACT] ** 2)))
    made = [
        Row(
            "Stationary point",
            "slope of the evidence in standard errors, root mean square: exact; peer: allowed",
            exact,
            FLAT,
            bar=1.0,
            rivals={
                name: float(np.sqrt(np.mean(found[name] ** 2)))
                for name in PRINTED
                if len(found[name])
            },
            note=f"{len(found[EXACT])} fits with lambda inside (0, 1), "
            f"greatest {found[EXACT].max():.2g}",
        )
    ]
    for method in PRINTED:
        slopes = found[method]
        if len(slopes):
            made.append(
                Row(
                    "Stationary point",
                    f"slope in standard errors, root mean square: exact; {method}",
                    exact,
                    float(np.sqrt(np.mean(slopes**2))),
                    note=f"{len(slopes)} fits inside (0, 1), {np.sum(slopes > 2)} of them more "
                    "than 2 standard errors from a stationary point",
                )
            )
    return made


def _kept_row(cells: Mapping[int, Sequence[Mapping[str, Any]]]) -> Row:
    """Return how many features are kept, none of which tells anything about the target."""
    ours, peer = (
        np.concatenate([values(cell, method, "kept") for cell in cells.values()])
        for method in (DEFAULTS, EXACT)
    )
    return Row(
        f"Features that tell nothing, {len(ours)} fits",
        f"% kept: {DEFAULTS}; {EXACT}, the published prior",
        100.0 * float(ours.mean()),
        100.0 * float(peer.mean()),
        note=f"fits that keep any: {np.sum(ours > 0)} and {np.sum(peer > 0)}",
    )


def _depth_row(cells: Mapping[int, Sequence[Mapping[str, Any]]]) -> Row:
    depths = np.array([one["depth"] for one in next(iter(cells.values()))])
    return Row(
        "Yule trees, birth rate 1",
        "depth; expected",
        float(depths.mean()),
        float(np.sum(1 / np.arange(2, N_TIPS + 1))),
        higher_is_better=None,
        note=f"sd {_deviation(depths):.2f}",
    )
