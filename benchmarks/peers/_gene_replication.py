"""Why five genes do not come back from 11 patients: rows for information, of which none has a bar.

Four questions. Do the genes of the larger tables come back when these have as few patients as
hedenfalk? How often would they on tables simulated with the classes as far apart as measured, which
flatters, for what was measured holds luck as well; and with how many patients? And what does it
cost to choose without labels first, among genes of extreme or low level or of large scatter?
Last, who predicts better with as few patients, over more splits than the comparison has?
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from benchmarks.gene_tables import gene_table, halves, levels_of
from benchmarks.rows import Row
from parsimon._typing import Array, Indices

Chooser = Callable[[Array, Indices, Array], tuple[Array, Indices]]
Pair = tuple[Indices, Indices]

# Patients of hedenfalk: of the class that is asked for, and others.
FEW = (7, 15)
N_THINNED, N_SIMULATED = 60, 30
MULTIPLES = (1, 4, 16)
POOLS = (
    ("most extreme level", 5),
    ("most extreme level", 12),
    ("most extreme level", 40),
    ("most extreme level", 160),
    ("lowest level", 5),
    ("lowest level", 12),
    ("lowest level", 40),
    ("lowest level", 160),
    ("largest scatter", 5),
    ("largest scatter", 40),
    ("largest scatter", 160),
)
N_OTHER = 300


def replication_rows(
    ours: Mapping[int, Chooser], peers: Mapping[str, Chooser], n_splits: int, bar: float
) -> list[Row]:
    """Return what is known about the genes of hedenfalk that come back.

    `ours` are choosers by the number of genes they take; "anova-5" is one of the peers. The first
    `n_splits` splits are those of the comparison.
    """
    made = [_thinned_row(name, ours[5], peers["anova-5"]) for name in ("golub", "alon")]
    for name in ("hedenfalk", "golub", "alon"):
        made += [
            Row(
                name,
                f"Jaccard of simulated halves, {multiple} x the patients; bar",
                simulated_jaccard(name, multiple),
                bar,
                higher_is_better=True,
                note="effects as measured taken for true",
            )
            for multiple in MULTIPLES
        ]
    return made + _label_free_rows(n_splits, bar) + _other_split_rows(ours, peers, n_splits)


def _label_free_rows(n_splits: int, bar: float) -> list[Row]:
    X, y = gene_table("hedenfalk")
    pairs = [halves(y, split) for split in range(n_splits)]
    made = []
    for kind, size in POOLS:
        area, shared = judged_pairs(best_among(kind, size), X, y, pairs)
        metric = f"Jaccard, 5 of the {size} genes of {kind}; bar"
        note = f"AUC {area:.3f}"
        made.append(Row("hedenfalk", metric, shared, bar, higher_is_better=True, note=note))
    return made


def _other_split_rows(
    ours: Mapping[int, Chooser], peers: Mapping[str, Chooser], n_splits: int
) -> list[Row]:
    X, y = gene_table("hedenfalk")
    pairs = [halves(y, split) for split in range(n_splits, n_splits + N_OTHER)]
    areas = {size: judged_pairs(chooser, X, y, pairs)[0] for size, chooser in ours.items()}
    return [
        Row(
            f"hedenfalk, {N_OTHER} other splits",
            f"AUC; {name}",
            areas[int(name.rsplit("-", 1)[1])],
            judged_pairs(chooser, X, y, pairs)[0],
            higher_is_better=True,
        )
        for name, chooser in peers.items()
    ]


def _thinned_row(name: str, ours: Chooser, peer: Chooser) -> Row:
    X, y = gene_table(name)
    pairs = list(thinned_halves(y))
    (area, shared), (peer_area, peer_shared) = (
        judged_pairs(chooser, X, y, pairs) for chooser in (ours, peer)
    )
    return Row(
        f"{name}, {sum(FEW)} patients",
        "Jaccard of the halves, 5 genes; anova-5",
        shared,
        peer_shared,
        higher_is_better=True,
        note=f"AUC {area:.3f}, anova-5 {peer_area:.3f}",
    )


def thinned_halves(y: Indices) -> Iterator[Pair]:
    """Yield halves of as few patients as hedenfalk has, of its proportion, the rarer class few."""
    rarer = int(y.mean() < 0.5)
    for draw in range(N_THINNED):
        rng = np.random.default_rng([22, draw])
        parts = []
        for label, size in zip((rarer, 1 - rarer), FEW, strict=True):
            rows = rng.permutation(np.flatnonzero(y == label))[:size]
            cut = size // 2 + int(rng.integers(2))
            parts.append((rows[:cut], rows[cut:]))
        one, other = (np.sort(np.concatenate(half)) for half in zip(*parts, strict=True))
        yield one, other


def judged_pairs(chooser: Chooser, X: Array, y: Indices, pairs: list[Pair]) -> tuple[float, float]:
    """Return the mean AUC on the other half, and the mean Jaccard of the genes of both halves."""
    from parsimon.roc import auc

    areas, shared = [], []
    for pair in pairs:
        genes = []
        for own, held in (pair, pair[::-1]):
            scores, chosen = chooser(X[own], y[own], X[held])
            areas.append(auc(y[held], scores))
            genes.append(set(chosen.tolist()))
        shared.append(jaccard(*genes))
    return float(np.mean(areas)), float(np.mean(shared))


def jaccard(one: set[int], other: set[int]) -> float:
    """Return the share of the genes of either that both have."""
    return len(one & other) / max(1, len(one | other))


def simulated_jaccard(name: str, multiple: int) -> float:
    """Return the Jaccard of halves of simulated tables with so many times the patients.

    Genes are normal on our levels, with the means of the classes, the scatter and the correlations
    that the whole table has; the halves have no patient in common.
    """
    from parsimon.features import FewColumnsClassifier

    X, y = gene_table(name)
    levels = levels_of(X, X)
    means = np.array([levels[y == label].mean(axis=0) for label in (0, 1)])
    # Normal sums of what is left of the patients have its covariance, never as a matrix.
    left = (levels - means[y]) / np.sqrt(len(y) - 2)
    middle = np.arcsinh(np.median(X) / np.median(np.abs(X)))
    rng = np.random.default_rng([16, multiple])
    shared = []
    for _ in range(N_SIMULATED):
        sizes = [max(2, round(multiple * np.sum(y == label) / 2)) for label in (0, 1)]
        target = np.repeat([0, 1], sizes)
        genes = []
        for _half in range(2):
            half = means[target] + rng.normal(size=(len(target), len(y))) @ left
            # The way back from levels to values, of which the classifier finds the levels again.
            values = np.sinh(half + middle)
            model = FewColumnsClassifier(shared_unit=True).fit(values, target)
            genes.append(set(model.columns_.tolist()))
        shared.append(jaccard(*genes))
    return float(np.mean(shared))


def best_among(kind: str, size: int) -> Chooser:
    """Return a chooser of the best 5 of so many genes that were found without labels."""
    from parsimon.features import FewColumnsClassifier

    def chosen(X: Array, y: Indices, new: Array) -> tuple[Array, Indices]:
        levels = levels_of(X, X)
        means = levels.mean(axis=0)
        wanted = {
            "most extreme level": np.abs(means - np.median(means)),
            "lowest level": -means,
            "largest scatter": levels.std(axis=0),
        }
        pool = np.argsort(-wanted[kind], kind="stable")[:size]
        scores = FewColumnsClassifier().fit(X, y).scores_[pool]
        best = pool[np.argsort(-scores, kind="stable")[:5]]
        model = FewColumnsClassifier(columns=best).fit(X, y)
        return model.decision_function(new), best

    return chosen
