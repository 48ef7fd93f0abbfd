"""The rows worth a look: those that a model did not expect, and those that it leans on."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from parsimon._data import Rows
from parsimon._typing import Array, Indices
from parsimon.inference import LatentPosterior
from parsimon.report.findings import RowFinding
from parsimon.statistician.left_out import OwnPredictions
from parsimon.statistician.subject import Subject

MOST_ROWS = 10


def surprising_rows(
    subject: Subject, own: OwnPredictions, most: int = MOST_ROWS
) -> tuple[RowFinding, ...]:
    """Return the rows that the model expected least, the most surprising first."""
    return _rows(subject, own, surprise(subject, own), most)


def influential_rows(
    subject: Subject, own: OwnPredictions, most: int = MOST_ROWS
) -> tuple[RowFinding, ...]:
    """Return the rows whose removal would change the latent function most, the first most."""
    changes = influence(subject.model)
    if changes is None or len(changes) != len(subject.y):
        return ()
    return _rows(subject, own, changes, most)


def surprise(subject: Subject, own: OwnPredictions) -> Array:
    """Return how unexpected each row is, shape (n,): bits, or standard deviations."""
    if subject.task == "regression":
        return np.abs(subject.y - own.value) / own.deviation
    chance = np.where(subject.y == 1, own.value, 1 - own.value)
    bits: Array = -np.log2(np.maximum(chance, np.finfo(np.float64).tiny))
    return bits


def influence(model: Any) -> Array | None:
    """Return how much the latent mean changes at all rows if a row is taken out.

    The posterior at the training rows is N(m, S) with S = inv(inv(K) + diag(t)) and m = S v,
    where site i is exp(-t_i f_i^2 / 2 + v_i f_i). Without the share s of site i, the precision
    inv(S) loses s t_i in one diagonal entry, so that by Sherman and Morrison

        S' = S + s t_i S_i S_i^T / (1 - s t_i S_ii),     with S_i the i-th column of S,

    and m' = S' (v - s v_i e_i). Multiplied out, m' - m = S_i (s t_i m_i - s v_i) / (1 - s t_i S_ii)
    and the root mean square of that vector needs only the lengths of the columns of S. All other
    sites and the hyperparameters stay as they are. For Gaussian noise this is exact; for classes
    it is what expectation propagation would say before it moves the other sites.

    Equal rows share one site; each takes out its share of it, and in the mean over rows every
    one of them counts.

    Shape: (n,).
    """
    parts = _posterior_of(model)
    if parts is None:
        return None
    posterior, rows, unit = parts
    used = rows.which >= 0
    place, share = rows.which[used], rows.share[used]
    precision = share * posterior.sites.precision[place]
    shift = share * posterior.sites.shift[place]
    lengths = _column_lengths(posterior, np.bincount(place, minlength=len(rows.X)))
    mean, variance = posterior.mean[place], posterior.variance[place]
    changes = np.zeros(len(used))
    changes[used] = (
        unit * np.abs(precision * mean - shift) / (1 - precision * variance) * lengths[place]
    )
    return changes


class _Fitted(NamedTuple):
    posterior: LatentPosterior
    rows: Rows
    unit: float


def _posterior_of(model: Any) -> _Fitted | None:
    """Return the posterior, the rows it was made of, and the unit of its latent function."""
    rows = getattr(model, "_rows", None)
    if isinstance(getattr(model, "_posterior", None), LatentPosterior) and rows is not None:
        return _Fitted(model._posterior, rows, float(model._unit))
    fits: Sequence[Any] = getattr(getattr(model, "_model", None), "fits", ())
    if rows is None or len(fits) != 1 or not isinstance(fits[0].posterior, LatentPosterior):
        return None
    return _Fitted(fits[0].posterior, rows, 1.0)


def _column_lengths(posterior: LatentPosterior, counts: Indices) -> Array:
    """Return the root mean square of each column of S, row j counted `counts[j]` times.

    With S = F Q F^T, the sum over j of counts_j S_ji^2 is F_i^T (G^T diag(counts) G) F_i for
    G = F Q: nothing larger than n by the rank is made.
    """
    F, Q = posterior.conditioned.basis()
    G = F @ Q
    squares = np.einsum("ik,kl,il->i", F, (G.T * counts) @ G, F, optimize=True)
    lengths: Array = np.sqrt(np.maximum(squares, 0.0) / counts.sum())
    return lengths


def _rows(
    subject: Subject, own: OwnPredictions, scores: Array, most: int
) -> tuple[RowFinding, ...]:
    """Return the rows of greatest score; among equals, in the order of the table."""
    order = np.argsort(-scores, kind="stable")[:most]
    return tuple(
        RowFinding(
            row=int(subject.rows[place]),
            label=_label(subject, place),
            probability=float(own.value[place]),
            score=float(scores[place]),
            values=tuple(_values(subject, place)),
        )
        for place in order.tolist()
    )


def _label(subject: Subject, place: int) -> str:
    if subject.target in subject.table.columns:
        return written(subject.table[subject.target].iloc[place])
    if subject.task == "regression":
        return written(subject.y[place])
    return subject.positive if subject.y[place] == 1 else subject.negative


def _values(subject: Subject, place: int) -> Iterator[tuple[str, str]]:
    """Yield the variables of the best structure with their cells as the table has them."""
    for column in subject.search.best_candidate_.columns:
        name = subject.names[column]
        known = name in subject.table.columns
        table = subject.table[name] if known else subject.X.iloc[:, column]
        yield name, written(table.iloc[place])


def written(cell: Any) -> str:
    """Return a cell of a table as a reader would write it."""
    import pandas as pd

    if pd.isna(cell):
        return "missing"
    if isinstance(cell, float | np.floating):
        return f"{cell:.6g}".replace("-", "−")
    return str(cell)
