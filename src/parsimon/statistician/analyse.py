"""`analyse`: give it a table, get everything that a report says."""

import os
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

from parsimon.exceptions import InvalidInputError
from parsimon.statistician._table_kind import TableKind
from parsimon.statistician._walk import analyse_kind
from parsimon.statistician.analysis import Analysis
from parsimon.statistician.chosen_columns import Columns, choose_columns, list_features
from parsimon.statistician.families.kernel_search import Choice, Guide, as_base
from parsimon.statistician.families.registered import Rivals, as_families
from parsimon.statistician.prepare.frames import as_frame, find_column

if TYPE_CHECKING:
    from parsimon.phylo import Tree

# Options that species with a tree share with tables.
_OF_SPECIES = frozenset(
    {"target", "name", "outer", "seed", "n_jobs", "time_limit", "fast", "verbose", "command"}
    | {"checkpoint", "rivals"}
)


def analyse(
    table: Any,
    target: str,
    *,
    tree: "Tree | str | os.PathLike[str] | None" = None,
    keep: Columns = (),
    drop: Columns = (),
    name: str = "table",
    positive: str | None = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    depth: int | None = None,
    beam: int = 2,
    base: str | Sequence[str] = ("se",),
    guide: Guide = "cv_logloss",
    choose: Choice = "supported",
    outer: int | None = None,
    seed: int = 0,
    n_jobs: int | None = -1,
    time_limit: float | None = None,
    fast: bool = False,
    verbose: bool = False,
    command: str = "",
    families: str | Sequence[str] = "all",
    rivals: Rivals = "all",
    checkpoint: str | os.PathLike[str] | None = None,
) -> Analysis | Any:
    """Search a table for what predicts a column, and collect everything worth saying.

    Cells become numbers (what was done is among the findings). Structures say which variables
    matter, alone and together; all models answer on the same outer folds, each of which begins
    from the cells again, and the simplest that is probably not much worse than the best is
    recommended. With more than two classes each is asked for against the rest.

    Parameters
    ----------
    table : DataFrame of pandas or polars
        One row for each case. Empty cells, text, truth values and dates are welcome.
    target : str
        Column to predict: classes or numbers.
    tree : Tree, str or Path, optional
        Rows are related species of this tree, or of a file in Newick or NEXUS format, and the
        target is a trait: see `analyse_traits`, which takes further options and whose analysis is
        returned. Options of other models do not go with it.
    keep, drop : str or sequence of str, optional
        Only these columns, and all but these: names, patterns such as "dose_*", numbers from 1 on
        and ranges such as "3-7". The target stays.
    name : str, default "table"
        What the report calls the table.
    positive : str, optional
        The class to ask for. By default each of several; of two, one that is called like "yes",
        the greater number, or the rarer one.
    task : {"auto", "classification", "regression"}
        What the target is; "auto" takes text, truth values and up to ten whole numbers for
        classes.
    depth : int, optional
        Most base kernels in a structure that the search over kernels grows: 4 by default, 2 where
        it sees more than 10,000 cells, 1 for several classes. What the rows support may have more.
    beam : int, default 2
        Structures of each size that are grown further.
    base : str or sequence of str, default ("se",)
        Base kernels: "se" (smooth), "lin" (linear), "per" (periodic), "matern", "rq".
    guide : {"cv_error", "cv_logloss", "loo_logloss", "nlml", "bic"}
        What the search minimises.
    choose : {"supported", "one_se", "least_error"}
        Which structure becomes the model: that of all that is more probable than not, the simplest
        within one standard error of the least guide, or the one with the least guide. The claims
        are the same.
    outer : int, optional
        Outer folds, by default 5, or 3 of 20,000 rows or more; 0 for none, and then there is no
        honest error.
    seed : int, default 0
        The same seed gives the same findings, whatever `n_jobs`.
    n_jobs : int, default -1
        Processes, as in joblib; -1 for all processors.
    time_limit : float, optional
        Seconds for everything; what was found by then is reported.
    fast : bool, default False
        A search for at most two base kernels that no outer folds repeat, no test of interactions,
        and a comparison of plain models alone; the report says so.
    verbose : bool, default False
        Show progress.
    command : str, default ""
        The command that makes this report, to be printed in it.
    families : "all", "none" or sequence of {"gp", "rvm", "bpm", "plain-gp", "svm", "formula"}
        Our models; "gp" is the search over kernels, which has a section of its own.
    rivals : "all", "none", or sequence of estimators, (name, estimator) and names
        Models of others that join: "linear", "tree", "forest", "boosting", or your own. They get
        numbers and class codes from 0 on.
    checkpoint : str or Path, optional
        A folder of your own that keeps what is finished: if the run is killed, the same call goes
        on from there to the same findings. One of its files that is damaged, is not
        signed with your key or belongs to another table or other options is ignored with a
        `CheckpointWarning`.

    Returns
    -------
    Analysis
        With a tree a `TraitAnalysis`.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> table = load("ripley").frame
    >>> analysis = analyse(table, "class", depth=2, fast=True, n_jobs=1)
    >>> for claim in analysis.claims:
    ...     print(claim.words, claim.certain)
    x1 matters True
    x2 matters True
    class follows x1 in a curve True
    class follows x2 along a line True
    """
    kind = TableKind(
        target=target,
        positive=positive,
        task=task,
        name=name,
        depth=depth,
        beam=beam,
        base=as_base(base),
        guide=guide,
        choose=choose,
        outer=outer,
        seed=seed,
        n_jobs=n_jobs,
        time_limit=time_limit,
        fast=fast,
        verbose=verbose,
        command=command,
        families=as_families(families),
        rivals=rivals,
        checkpoint=checkpoint,
    )
    if tree is not None:
        return _analyse_species(kind, table, tree, keep, drop)
    frame = as_frame(table)
    needed = [str(find_column(frame, target)[0].name)]
    frame, left_out = choose_columns(frame, keep, drop, needed=needed)
    return analyse_kind(kind, frame, left_out)


def _analyse_species(
    kind: TableKind,
    table: Any,
    tree: "Tree | str | os.PathLike[str]",
    keep: Columns,
    drop: Columns,
) -> Any:
    """Analyse a trait, or say which options do not go with a tree."""
    from parsimon.statistician import analyse_traits

    for option in fields(kind):
        if option.name not in _OF_SPECIES and getattr(kind, option.name) != option.default:
            raise InvalidInputError(f"{option.name} does not go with a tree; leave it out.")
    names = [str(name) for name in as_frame(table).columns]
    features, dropped = list_features(names, keep, drop)
    return analyse_traits(
        table,
        tree,
        kind.target,
        features=features,
        drop=dropped,
        folds=kind.outer,
        **{name: getattr(kind, name) for name in _OF_SPECIES - {"target", "outer"}},
    )
