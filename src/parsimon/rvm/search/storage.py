"""Archives and genomes as plain arrays, for results and for checkpoints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from parsimon._typing import AnyArray, Array, Indices
from parsimon.rvm.search.elite import Elite, Point
from parsimon.rvm.search.genome import Genome


class Points(NamedTuple):
    """Operating points and the distinct genomes behind them.

    Shapes: values (k, 3), cutoffs (k,).

    which (k,): Index of each point's genome.
    """

    values: Array
    cutoffs: Array
    which: Indices
    genomes: list[Genome]


def points_in(elites: Sequence[Elite]) -> Points:
    """Return the union of archives; of a point in several, the values of the last count."""
    found: dict[tuple[int, float], Array] = {}
    genomes: dict[int, Genome] = {}
    for elite in elites:
        values, points = elite.members()
        genomes |= {point.genome: elite.genomes[point.genome] for point in points}
        found |= {
            (point.genome, point.cutoff): row for point, row in zip(points, values, strict=True)
        }
    place = {number: i for i, number in enumerate(genomes)}
    return Points(
        np.array(list(found.values())).reshape(-1, 3),
        np.array([cutoff for _, cutoff in found], dtype=np.float64),
        np.array([place[number] for number, _ in found], dtype=np.intp),
        list(genomes.values()),
    )


def elite_arrays(elite: Elite, prefix: str) -> dict[str, AnyArray]:
    """Return all that an archive holds as arrays whose names begin with `prefix`."""
    values, points = elite.members()
    arrays: dict[str, AnyArray] = {
        "values": values,
        "cutoffs": np.array([point.cutoff for point in points], dtype=np.float64),
        "owners": np.array([point.genome for point in points], dtype=np.int64),
        "order": np.array(elite.order, dtype=np.int64),
        **genome_arrays([elite.genomes[number] for number in elite.order]),
    }
    if points and points[0].rates is not None:
        arrays["rates"] = np.array([point.rates for point in points])
    return {f"{prefix}_{name}": array for name, array in arrays.items()}


def elite_from(arrays: Mapping[str, AnyArray], prefix: str) -> Elite:
    """Return the archive that `elite_arrays` stored."""
    own = {
        name.removeprefix(f"{prefix}_"): array
        for name, array in arrays.items()
        if name.startswith(f"{prefix}_")
    }
    order = own["order"].tolist()
    rates: Iterable[Array | None] = own.get("rates", [None] * len(own["values"]))
    points = [
        Point(int(owner), float(cutoff), row)
        for owner, cutoff, row in zip(own["owners"], own["cutoffs"], rates, strict=True)
    ]
    elite = Elite()
    elite.restore(own["values"], points, dict(zip(order, genomes_from(own), strict=True)))
    return elite


def genome_arrays(genomes: Sequence[Genome]) -> dict[str, AnyArray]:
    """Return genomes as arrays: their pieces one after the other, and the size of each."""
    n_fits = len(genomes[0].weights) if genomes else 1
    return {
        "sizes": np.array([len(genome.active) for genome in genomes], dtype=np.int64),
        "active": np.array([c for genome in genomes for c in genome.active], dtype=np.int64),
        "levels": np.array([v for genome in genomes for v in genome.levels], dtype=np.float64),
        "weights": np.concatenate(
            [np.empty((n_fits, 0)), *(genome.weights for genome in genomes)], axis=1
        ),
    }


def genomes_from(arrays: Mapping[str, AnyArray]) -> list[Genome]:
    """Return the genomes that `genome_arrays` stored."""
    sizes = arrays["sizes"]
    ends = np.cumsum(sizes)[:-1]
    active, levels = (np.split(arrays[name], ends) for name in ("active", "levels"))
    weights = np.split(arrays["weights"], np.cumsum(sizes + 1)[:-1], axis=1)
    return [
        Genome(columns.tolist(), heights.tolist(), np.ascontiguousarray(fitted))
        for columns, heights, fitted in zip(active, levels, weights, strict=True)
        if len(columns)
    ]
