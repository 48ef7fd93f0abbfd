"""From the options of `ParetoSVC` to a search: checks, the rows held out, the call."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from parsimon._options import check_choice, check_count, check_positive, check_seconds
from parsimon._random import Seed, seed_sequence
from parsimon._typing import Indices
from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.pareto import SearchResult
from parsimon.pareto.choice import unit_scaled
from parsimon.svm.front.choice import Figures
from parsimon.svm.front.found import Holdout
from parsimon.svm.front.losses import Training
from parsimon.svm.front.machine import Basis, FrontSVC
from parsimon.svm.front.path import exact_path, nu_prices
from parsimon.svm.front.primal import evolve
from parsimon.svm.front.printed import PRINTED_GENERATIONS, PRINTED_POPULATION, evolve_printed
from parsimon.svm.front.rows import FrontRows, loss_weights, stratified_holdout
from parsimon.svm.indefinite import REPAIRS

# Generations if the user says nothing; why "primal" needs few is told in `ParetoSVC`.
GENERATIONS = {"primal": 10, "dual": 300}


def check_search_options(options: Any) -> None:
    """Refuse options of `ParetoSVC` that cannot be used."""
    check_choice("objectives", options.objectives, ("primal", "dual", "exact"))
    check_choice("path", options.path, ("C", "nu"))
    check_choice("preset", options.preset, ("printed", None))
    check_choice("indefinite", options.indefinite, REPAIRS)
    check_choice("balance", options.balance, (True, False))
    check_choice("refit", options.refit, (True, False))
    check_count("n_points", options.n_points, least=2)
    check_count("n_seeds", options.n_seeds, least=2)
    check_positive("tol", options.tol)
    check_seconds("time_limit", options.time_limit)
    fraction = options.validation_fraction
    if not isinstance(fraction, Real) or not 0 <= float(fraction) < 1:
        raise InvalidInputError(
            f"validation_fraction must be a share from 0 up to but not 1, got {fraction!r}."
        )
    if options.max_iter is not None:
        check_count("max_iter", options.max_iter, least=0)
    C_bounds(options)
    _check_combinations(options)


def C_bounds(options: Any) -> tuple[float, float]:
    """Return least and greatest price as floats."""
    try:
        least, most = (check_positive("C_range", C) for C in options.C_range)
    except TypeError as error:
        raise InvalidInputError(f"C_range must be two numbers, got {options.C_range!r}.") from error
    except ValueError as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"C_range must be two numbers, got {options.C_range!r}.") from error
    if not least < most:
        raise InvalidInputError(f"C_range must increase, got {options.C_range!r}.")
    return least, most


def _check_combinations(options: Any) -> None:
    if options.objectives != "dual" and (options.preset is not None or options.balance):
        raise InvalidInputError(
            f'preset and balance belong to objectives="dual", got {options.objectives!r}.'
        )
    if options.objectives != "exact" and options.path != "C":
        raise InvalidInputError(f'path="nu" needs objectives="exact", got {options.objectives!r}.')
    if options.objectives == "exact" and (options.checkpoint or options.stall):
        raise InvalidInputError(
            'checkpoint and stall are for evolution; objectives="exact" solves n_points '
            "machines, within time_limit if there is one."
        )


def template_of(options: Any) -> FrontSVC:
    """Return an unfitted classifier with the options that both have."""
    return FrontSVC(
        kernel=options.kernel,
        gamma=options.gamma,
        degree=options.degree,
        coef0=options.coef0,
        indefinite=options.indefinite,
        class_weight=options.class_weight,
        tol=options.tol,
    )


def split_rows(options: Any, rows: FrontRows, X_val: Any) -> tuple[Seed, Indices, Indices]:
    """Return the seed of the search, the rows to train on and those to hold out."""
    root = seed_sequence(options.random_state)
    search, split = (
        np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, number))
        for number in range(2)
    )
    fraction = float(options.validation_fraction) if X_val is None else 0.0
    chosen, held = stratified_holdout(rows.codes, fraction, np.random.default_rng(split))
    return search, chosen, held


def holdout_of(
    options: Any, basis: Basis, held: FrontRows, X_val: Any, y_val: Any
) -> Holdout | None:
    """Return the rows to choose by: given ones, or those held out, or none."""
    if (X_val is None) != (y_val is None):
        raise InvalidInputError("X_val and y_val belong together; give both, or neither.")
    if X_val is None:
        if not len(held.places):
            return None
        rows, codes, counts = basis.X[held.places], held.codes, held.counts
    else:
        rows, labels = validate_data(options, X_val, y_val, dtype=np.float64, reset=False)
        unknown = np.setdiff1d(labels, options.classes_)
        if len(unknown):
            raise InvalidInputError(
                f"y_val has labels that y has not: {shorten(unknown.tolist())}."
            )
        codes, counts = np.searchsorted(options.classes_, labels), np.ones(len(labels))
    # Weights of classes are those that the training rows lead to.
    trained = loss_weights(basis.rows, options.class_weight, basis.classes) / basis.rows.counts
    share = np.array([trained[basis.rows.codes == code][0] for code in (0, 1)])
    return Holdout(
        basis.gram.between(rows),
        np.where(codes == 1, 1.0, -1.0),
        counts * share[codes],
        float(counts.sum()),
    )


def search_for(
    options: Any, training: Training, seed: Seed, deadline: float | None
) -> SearchResult:
    """Run the search that the options of a `ParetoSVC` ask for."""
    seen: dict[str, Any] = {"callback": options.callback, "verbose": options.verbose}
    if options.objectives == "exact":
        bounds, n = C_bounds(options), options.n_points
        if options.path == "nu":
            C = nu_prices(training, bounds, n, tolerance=options.tol)
        else:
            C = np.geomspace(*bounds, n)
        return exact_path(training, C, tolerance=options.tol, deadline=deadline, **seen)
    common: dict[str, Any] = {
        "n_points": options.n_points,
        "max_iter": _generations(options),
        "deadline": deadline,
        "stall": options.stall,
        "checkpoint": options.checkpoint,
        "random_state": seed,
        **seen,
    }
    if options.objectives == "primal":
        return evolve(
            training,
            C_range=C_bounds(options),
            n_seeds=options.n_seeds,
            tolerance=options.tol,
            **common,
        )
    common["balance"] = options.balance
    if options.preset == "printed":
        common |= {
            "n_points": PRINTED_POPULATION,
            "balance": True,
            "normalise_crowding": False,
        }
    return evolve_printed(training, **common)


def _generations(options: Any) -> int:
    if options.max_iter is not None:
        return int(options.max_iter)
    if options.preset == "printed":
        return PRINTED_GENERATIONS
    return GENERATIONS[options.objectives]


def walk_places(figures: Figures, k: int) -> Indices:
    """Return the places of `k` machines along a front, from the widest margin to the narrowest.

    They are evenly spaced along the curve of hinge loss against the logarithm of the margin term,
    both scaled to [0, 1]. The constant classifier, which has no such logarithm, is one step
    before the others. A front of fewer machines gives fewer.
    """
    terms = figures.columns["margin_term"]
    order = np.argsort(terms, kind="stable")
    positive = order[terms[order] > 0]
    if k == 1 or not len(positive):
        return order[:1]
    curve = unit_scaled(
        np.column_stack([np.log(terms[positive]), figures.columns["hinge_loss"][positive]])
    )
    lengths = np.append(0.0, np.hypot(*np.diff(curve, axis=0).T).cumsum())
    has_constant = len(positive) < len(order)
    steps = np.linspace(0.0, 1.0, k)[1 if has_constant else 0 :] * lengths[-1]
    nearest = np.unique(np.abs(lengths - steps[:, None]).argmin(axis=1))
    return np.append(order[:1], positive[nearest]) if has_constant else positive[nearest]
