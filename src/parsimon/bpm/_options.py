"""Options of the Bayes point machine: which are allowed, and which of them the rows choose."""

from collections.abc import Callable
from numbers import Real
from types import MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from parsimon._checks import check_choice, check_count, check_positive, check_probability
from parsimon._checks import is_precomputed as is_given_by_matrix
from parsimon._typing import Array
from parsimon.bpm._label_terms import NOISES
from parsimon.bpm.gamma_ep import AlphaRows, RowRule, SupportRows
from parsimon.exceptions import InvalidInputError

# The widest and the narrowest noise in units of weights that numbers carry.
NOISE_LIMITS = (1e-6, 1e6)
_NAMED_RULES: dict[str, RowRule] = {"alpha": AlphaRows(), "support": SupportRows()}


def is_linear(estimator: Any) -> bool:
    """Return whether a classifier's columns are its features."""
    return isinstance(estimator.kernel, str) and estimator.kernel == "linear"


class OfLinear:
    """A method that only the linear kernel has; others say why they have not."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        if not is_linear(model):
            raise AttributeError(
                f'{self.method.__name__} needs kernel="linear"; for a kernel give the linear '
                "classifier features of it, for instance by scikit-learn's Nystroem."
            )
        return MethodType(self.method, model)


def check_machine(options: Any) -> None:
    """Refuse options that a Bayes point machine cannot take, each in a sentence."""
    check_choice("inference", options.inference, ["ep", "adf", "power"])
    check_choice("noise", options.noise, list(NOISES))
    check_choice("prior", options.prior, ["shared", "ard"])
    check_count("max_iter", options.max_iter)
    if isinstance(options.noise_sd, str):
        check_choice("noise_sd", options.noise_sd, ["probable", "evidence", "loo"])
    else:
        low, high = NOISE_LIMITS
        if not low <= check_positive("noise_sd", options.noise_sd) <= high:
            raise InvalidInputError(
                f"noise_sd must be between {low:g} and {high:g}, got {options.noise_sd!r}."
            )
    if isinstance(options.width, str):
        check_choice("width", options.width, ["evidence", "loo"])
    if (
        options.label_noise != "learn"
        and check_probability("label_noise", options.label_noise) >= 0.5
    ):
        raise InvalidInputError(f"label_noise must be below 0.5, got {options.label_noise!r}.")
    if not 0 < check_positive("fraction", options.fraction) <= 1:
        raise InvalidInputError(f"fraction must be at most 1, got {options.fraction!r}.")
    if options.half_life is not None:
        check_positive("half_life", options.half_life)
    options.rule_for_rows()
    if options.inference == "adf" and not is_linear(options):
        raise InvalidInputError('inference="adf" needs kernel="linear".')
    if not isinstance(options.gamma, Real) or not np.isfinite(float(options.gamma)):
        raise InvalidInputError(f"gamma must be a finite number, got {options.gamma!r}.")
    has_more = options.label_noise != 0 or options.weights_for_repeats
    if options.gamma != -1 and (options.inference != "ep" or has_more):
        raise InvalidInputError(
            'gamma other than -1 needs inference="ep", label_noise=0 and weights_for_repeats=False.'
        )


def chosen_by_rows(options: Any, sample_weight: Array) -> list[str]:
    """Return what the training rows chose, against the conditions of a bound, in words."""
    is_named = isinstance(options.kernel, str)
    has_width = options.kernel in ("rbf", "laplacian") if is_named else options.width is not None
    by_rows = {
        "the noise": isinstance(options.noise_sd, str),
        "the share of wrong labels": options.label_noise == "learn",
        "relevances": options.prior == "ard",
        "the width": has_width and not isinstance(options.width, int | float),
        "units of columns": options.standardise and is_named and not is_given_by_matrix(options),
        "rows to keep": options.rule_for_rows() is not None,
        "their weights": options.weights_for_repeats
        or not np.isin(sample_weight, (0.0, 1.0)).all(),
    }
    return [words for words, is_so in by_rows.items() if is_so]


class FewRows(BaseEstimator):
    """The option `sparsify` of a classifier, which is no attribute while it is None.

    scikit-learn takes an attribute of that name for the method of its own linear models.
    """

    inference: str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name, `sparsify` among them."""
        whole = object.__new__(type(self))
        whole.__dict__.update({"sparsify": None} | vars(self))
        return BaseEstimator.get_params(whole, deep)

    def rule_for_rows(self) -> RowRule | None:
        """Return which rows are kept; None keeps all."""
        spec = getattr(self, "sparsify", None)
        return None if spec is None else row_rule(spec, self.inference)


def row_rule(spec: Any, inference: str = "ep") -> RowRule:
    """Return the rule that a name or a rule means, refused where rows come one by one."""
    if inference == "adf":
        raise InvalidInputError('sparsify needs all rows at once; leave out inference="adf".')
    if isinstance(spec, AlphaRows | SupportRows):
        return spec
    if isinstance(spec, str) and spec in _NAMED_RULES:
        return _NAMED_RULES[spec]
    raise InvalidInputError(
        f'sparsify must be None, "alpha", "support", AlphaRows(...) or SupportRows(...), '
        f"got {spec!r}."
    )


# What a site of a row stands for depends on these, and the prior that all parts share.
_MEANING = (
    *("label_noise", "noise", "noise_sd", "prior", "half_life", "standardise"),
    "weights_for_repeats",
)


def refuse_other_settings(first: Any, part: Any) -> None:
    """Refuse a part of a table that was fitted to another question than the first."""
    if not is_linear(part):
        raise InvalidInputError('merge needs kernel="linear" in all parts.')
    if not np.array_equal(part.classes_, first.classes_):
        raise InvalidInputError(
            f"Classes differ: {first.classes_.tolist()} and {part.classes_.tolist()}."
        )
    for name in _MEANING:
        own, theirs = getattr(first, name), getattr(part, name)
        if not np.array_equal(own, theirs):
            raise InvalidInputError(
                f"One part has {name}={own!r} and another {name}={theirs!r}; fit all parts with "
                "the same."
            )
