"""Gene selection of Clark (2011), chapter 4: counts over 100 splits, front search, wrong labels.

Relevance vector machines on the columns (standardised on the half) and the search of algorithm 5
see the same splits, the published counts stand beside ours. The source's machine keeps 43 genes on
average and its search is stopped by chance, so counts are compared by which genes lead, not by how
often. InChianti is not public; a table of its shape (132 x 16,600) with five planted columns stands
in. Gene numbers of the colon table count from 1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.data_folder import point_to_data
from benchmarks.gene_tables import gene_names, gene_table
from benchmarks.reproduce._clark_genes import Job, counted
from benchmarks.reproduce._clark_planted import N_GENES, N_PLANTED, Planted, selected
from benchmarks.reproduce._resume import run_all
from benchmarks.rows import Row
from parsimon._typing import Array, Indices

N_SPLITS, QUICK_SPLITS = 100, 1
# Published total and coincident counts (tables 4.1 to 4.8) by what the name of the gene holds; in
# the colon table by its number.
PUBLISHED = {
    ("golub", "rvm"): {
        "zyxin": (136, 44),
        "tcf3": (93, 19),
        "ccnd3": (75, 18),
        "macmarcks": (73, 12),
        "aplp2": (70, 11),
        "cd33": (58, 7),
    },
    ("golub", "front"): {
        "cst3": (24, 0),
        "ccnd3": (21, 0),
        "tcf3": (17, 1),
        "zyxin": (14, 1),
        "aplp2": (14, 2),
        "cd33": (11, 1),
    },
    ("alon", "rvm"): {"1772": (94, 13), "377": (73, 7), "493": (64, 9)},
    ("alon", "front"): {"493": (82, 11), "1772": (38, 0), "765": (37, 2), "249": (35, 2)},
    ("hedenfalk", "rvm"): {
        "keratin 8": (55, 0),
        "transducer of erbb2": (53, 3),
        "cyclin d1": (37, 0),
    },
    ("hedenfalk", "front"): {"transducer of erbb2": (9, 0)},
}
_FLIPS = (0, 1, 3, 5)
# Genes that count as leading.
FIRST = 10


def rows(*, quick: bool) -> list[Row]:
    """Return counts, the analysis of section 4.6, label noise and the planted table."""
    point_to_data()
    data = ("alon",) if quick else ("golub", "alon", "hedenfalk")
    n_splits = QUICK_SPLITS if quick else N_SPLITS
    methods = ("stable", "rvm", "front")
    jobs = [
        Job(name, method, split) for name in data for method in methods for split in range(n_splits)
    ]
    file = None if quick else "clark-4.jsonl"
    found = run_all(jobs, counted, title="clark-4", file_name=file)
    made: list[Row] = []
    for name in data:
        for method in methods:
            results = [found[job] for job in jobs if (job.data, job.method) == (name, method)]
            made += count_rows(name, method, results)
    tables = [Planted(seed, 10 if quick else 50) for seed in range(1 if quick else 5)]
    planted = run_all(tables, selected, title="clark-4, planted", file_name=file)
    made += noise_rows(quick)
    return made + planted_rows([planted[job] for job in tables], judged=not quick)


def count_rows(name: str, method: str, results: list[dict[str, Any]]) -> list[Row]:
    """Return which genes lead, and the analysis of section 4.6."""
    pairs = [[set(one["genes"]) for one in result["halves"]] for result in results]
    fits = [one for result in results for one in result["halves"]]
    d = gene_table(name)[0].shape[1]
    totals, both = np.zeros(d, dtype=int), np.zeros(d, dtype=int)
    for first, second in pairs:
        totals[list(first)] += 1
        totals[list(second)] += 1
        both[list(first & second)] += 1
    order = np.argsort(-totals, kind="stable")[:6]
    names = called(name)
    top = "; ".join(f"{names[k]} {totals[k]}/{both[k]}" for k in order)
    train = np.concatenate([one["train"] for one in fits])
    test = np.concatenate([one["test"] for one in fits])
    sizes = np.concatenate([one["sizes"] for one in fits])
    case = f"{name}, {method}"
    correlation = np.corrcoef(train, test)[0, 1] if train.std() and test.std() else np.nan
    made = [
        Row(
            case,
            "genes a model, mean",
            float(sizes.mean()),
            float(sizes.max()),
            higher_is_better=None,
            note=f"peer: most; {top}",
        ),
        Row(
            case,
            "unique genes a half, mean",
            float(np.mean([len(one["genes"]) for one in fits])),
            float(np.max([len(one["genes"]) for one in fits])),
            higher_is_better=None,
            note="peer: most",
        ),
        Row(
            case,
            "AUC train; test",
            float(train.mean()),
            float(test.mean()),
            higher_is_better=None,
            note=f"correlation of the two {correlation:.2f}",
        ),
    ]
    return made + published_rows(name, method, names, totals, both, len(results))


def published_rows(
    name: str, method: str, names: list[str], totals: Indices, both: Indices, n_splits: int
) -> list[Row]:
    """Return our counts of the genes that lead in the source, and how many of them lead in ours.

    Counts are scaled to 100 splits; of several columns with a name the most frequent counts. Those
    of `FewColumnsClassifier` stand beside the source's machine.
    """
    wanted = PUBLISHED[name, "rvm" if method == "stable" else method]
    ranks = ranks_of(totals)
    case, leading = f"{name}, {method}", []
    made = []
    for word, (total, coincident) in wanted.items():
        places = called_so(name, names, word)
        if not places:
            continue
        leading.append(places)
        best = max(places, key=lambda k: (totals[k], -k))
        made.append(
            Row(
                case,
                f"total of {names[best]}; published",
                float(totals[best]) * N_SPLITS / n_splits,
                float(total),
                higher_is_better=None,
                note=f"rank {ranks[best]}; coincident {both[best]}, published {coincident}",
            )
        )
    return [*made, _leaders_row(case, name, leading, ranks, judged=n_splits == N_SPLITS)]


def _leaders_row(
    case: str, name: str, leading: list[list[int]], ranks: Indices, *, judged: bool
) -> Row:
    """Return how many genes that lead in the source are among our ten most frequent.

    Half of them are asked for, and more than the ten of the greatest t of all rows have.
    """
    X, y = gene_table(name)
    first = np.arange(1, X.shape[1] + 1)

    def found(order: Indices) -> int:
        return sum(bool(order[places].min() <= FIRST) for places in leading)

    return Row(
        case,
        f"published leaders among the {FIRST} most frequent; leaders",
        found(ranks),
        len(leading),
        higher_is_better=True,
        bar=0.5 if judged else None,
        rivals={
            "constant: the first columns": found(first),
            "guess": sum(min(1.0, FIRST * len(places) / len(first)) for places in leading),
            "greatest t of all rows": found(ranks_of(np.abs(welch(X, y)))),
        },
    ).above_rivals()


def ranks_of(figures: Any) -> Indices:
    """Return the rank of each figure, the greatest first, counted from 1."""
    ranks = np.empty(len(figures), dtype=np.intp)
    ranks[np.argsort(-np.asarray(figures), kind="stable")] = np.arange(1, len(figures) + 1)
    return ranks


def welch(X: Array, y: Indices) -> Array:
    """Return the t of each column for two classes of unequal variance."""
    from scipy.stats import ttest_ind

    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.nan_to_num(ttest_ind(X[y == 1], X[y == 0], equal_var=False).statistic)
    return found


def called_so(name: str, names: list[str], word: str) -> list[int]:
    """Return the columns with a published name; in the colon table a number."""
    if name == "alon":
        return [k for k, one in enumerate(names) if one == word]
    return [k for k, one in enumerate(names) if word in one.lower()]


def called(name: str) -> list[str]:
    """Return names as the source prints them; numbers from 1 for the colon table."""
    names = gene_names(name)
    return [str(k + 1) for k in range(len(names))] if name == "alon" else names


def noise_rows(quick: bool) -> list[Row]:
    """Return train and test AUC with flipped labels: 132 points on a line, 35 of one class."""
    from parsimon.features import label_noise

    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [97, 35])
    X = rng.normal(size=(132, 1)) + 4.0 * y[:, None]
    study = label_noise(X, y, flips=_FLIPS, n_splits=10 if quick else 50, random_state=0)
    made = []
    for k, flips in enumerate(_FLIPS):
        case = f"{flips} flips a class"
        train, test = (float(part[k].mean()) for part in (study.train, study.test))
        made.append(Row(case, "AUC train; test", train, test, None))
        if not flips:
            continue
        # Two standard errors of a correlation of nothing.
        clear = -2.0 / np.sqrt(len(study.train[k]))
        made.append(
            Row(
                case,
                "correlation of train and test AUC, published negative; clearly so",
                float(study.correlation[k]),
                clear,
                bar=None if quick else 1.0,
                rivals={"guess": 0.0, "no flips": float(study.correlation[0])},
            ).above_rivals()
        )
        made.append(
            Row(
                case,
                "share of flipped rows found; chance",
                float(study.hit_rate[k]),
                float(study.chance_rate[k]),
                higher_is_better=True,
            )
        )
    return made


def planted_rows(results: Sequence[Mapping[str, Any]], *, judged: bool) -> list[Row]:
    """Return what is found in tables of the shape of InChianti.

    Found and false together, since one who selects nothing selects nothing false: the share that
    planted and selected columns have in common, of all that are either.
    """
    case = f"planted, 132 x {N_GENES}"
    found, wrong, bounds = (
        float(np.mean([one[name] for one in results])) for name in ("found", "false", "bound")
    )
    shares = {
        name: float(np.mean([one["shares"][name] for one in results]))
        for name in results[0]["shares"]
    }
    return [
        Row(case, f"planted genes found, of {N_PLANTED}", found, N_PLANTED, higher_is_better=True),
        Row(case, "false selections; stated bound", wrong, bounds),
        Row(
            case,
            "planted and selected in common, share of either; all",
            shares.pop("ours"),
            1.0,
            higher_is_better=True,
            bar=0.5 if judged else None,
            rivals=shares,
        ).above_rivals(),
    ]
