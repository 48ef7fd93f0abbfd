"""Relevance vector classification with scikit-learn's interface."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import check_choice
from parsimon._data import Rows, check_classes, class_weights, row_weights, validate_data
from parsimon._parallel import one_thread
from parsimon._random import Seed
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference.sparse_bayes import SparseBayes
from parsimon.inference.sparse_bayes.softmax import SparseSoftmax, softmax_given
from parsimon.rvm._automatic import automatic_names
from parsimon.rvm._calibration import CalibratedClasses, Calibration, choose_classes
from parsimon.rvm._classes import (
    ClassModel,
    checked_cutoff,
    class_model,
    class_targets,
    fit_classes,
    flat,
)
from parsimon.rvm._dictionary import BasisFunctions
from parsimon.rvm._machine import (
    far_column,
    posterior_given,
    printed_complexity,
    shared_columns,
)
from parsimon.rvm._setup import (
    Dictionary,
    RelevanceEstimator,
    check_machine_options,
    make_dictionary,
    prepare_rows,
    rough_options,
    sparse_options,
    warn_of_cut_fits,
)


class RVC(ClassifierMixin, RelevanceEstimator):
    """Relevance vector machine for classification.

    The latent function is a weighted sum of basis functions, one for each training row unless
    said otherwise, and the weight of each has a prior precision of its own. Maximising the
    evidence sends most precisions to infinity, so that few functions remain: their rows are the
    relevance vectors [1]_ [2]_. Any function of two rows will do as a kernel; it need not be
    positive semi-definite.

    Parameters
    ----------
    kernel : str, Kernel, MultiResolution, callable, object with ``basis(X, centres)`` or None
        None is "rbf" if `gamma` is given; otherwise "features", "rbf" or "laplacian" is chosen,
        whichever predicts held-out rows best. "rbf", "linear", "poly", "sigmoid" and "laplacian"
        mean what they mean in SVC.
        "features" chooses among the columns of X themselves. "precomputed" takes a square matrix
        of similarities in `fit` and similarities with the training rows, shape (m, n), in
        `predict`. A callable ``k(X, Z)`` returns similarities, shape (n, m); the method
        ``basis(X, centres)`` of any object returns basis functions, shape (n, M).
    gamma : float, "scale", "auto", "evidence", "inputs" or None
        Width of the named kernels, as in SVC; "evidence" chooses it, or the free hyperparameters
        of a `Kernel` or the width of a `MultiResolution`, by maximum evidence. None, the default,
        scales the columns and chooses between them, a width and a constant on held-out rows
        (see Notes); for "poly" and "sigmoid", of degree 3 and coef0 0, it is "scale".
        "inputs" chooses a width for each input by evidence, for "rbf", "laplacian" and kernels
        with lengthscales.
    algorithm : {"fast", "em", "variational"}
        Sequential: one function enters, changes or leaves at a time [2]_. "em" begins with all
        functions and updates all precisions at once [1]_, "variational" also integrates over
        the precisions; both are slower by far.
    smoothness : {"bic", "aic", "ric"}, float or None
        What a degree of freedom costs [3]_, which gives sparser models where functions are narrow:
        half the logarithm of the number of rows, 1, that logarithm, or a number. None has no
        preference among precisions. Not for "variational".
    multi_class : {"one_vs_rest", "multinomial"}, optional
        With three classes or more: one function for each class, fitted alone (at once on the
        workers of a `joblib.parallel_config`), whose probabilities are divided by their sum, or
        one model with the softmax likelihood, by the sequential algorithm. By default the latter
        where the width is chosen on held-out rows, the former otherwise.
    centres : array of shape (c, d), int or None
        Where the functions sit: at these points, at so many training rows spread over the
        table, or at all of them. For tables too large for a square matrix give a number.
    bias : bool
        Let a constant be among the functions.
    class_weight : dict, "balanced" or None
        Weights of the classes, multiplied with `sample_weight`.
    cutoff : float or array of shape (n_classes,)
        For two classes, ``classes_[1]`` is predicted where `decision_function` is greater; for
        more, these are subtracted from it before the greatest is taken.
    response : {"averaged", "plug_in"}
        Probabilities and `decision_function` average over the uncertainty of the latent value
        (moderated output), or come from its mean alone, which is more extreme.
    far_variance : bool
        Let the variance grow away from the training rows, where that of localised functions
        would vanish and make the model overconfident [4]_.
    max_iter : int
        Steps of the algorithm.
    time_limit : float, optional
        Seconds for the whole fit; the best so far is kept.
    random_state : int, Generator, SeedSequence, RandomState or None
        Chooses centres, and rows for the choice of a width on large tables.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    relevance_ : ndarray of shape (n_relevant,)
        Training rows of the functions in the model (of any class), ascending; for "features" the
        columns, for given `centres` their numbers. A row is there once for each function: several
        times if a dictionary has several at a row.
    relevance_vectors_ : ndarray of shape (n_relevant, d)
        Those rows; no rows for "features", "precomputed" and objects with a ``basis``.
    coef_ : ndarray of shape (n_relevant,)
        Weights of the functions; for "features" of shape (d,), zero if not chosen. With three
        classes or more a row for each class: (n_classes, n_relevant) or (n_classes, d).
    intercept_ : float, or ndarray of shape (n_classes,)
        Weight of the bias, zero if it was left out.
    alpha_ : ndarray of the shape of `coef_`
        Prior precisions, infinite where the function is not in the model of that class.
    bias_alpha_ : float, or ndarray of shape (n_classes,)
        That of the bias.
    log_evidence_ : float
        Log marginal likelihood, by Laplace's method (a lower bound for "variational"); summed
        over classes under "one_vs_rest".
    complexity_ : float
        Sum over all weights of 1 / (1 + alpha), the bias included (Clark 2011, eq 3.18).
    degrees_of_freedom_ : float
        Sum over all weights of how far the data determine them, 1 - alpha * variance.
    input_relevance_ : ndarray of shape (d,)
        With ``gamma="inputs"``: how strongly each input matters in the kernel, in units of
        its standard deviation; zero for one that does not.
    basis_ : BasisFunctions
        The functions in the model, a column of ones first if the bias is.
    kernel_ : Kernel, MultiResolution, callable or object
        What the functions come from, widths as chosen; the name for "features" and
        "precomputed".
    calibration_ : Calibration or None
        With ``gamma=None``: the `slope` and `shift` that log odds (log probabilities under
        "multinomial") went through, and the share of their variance, `trust`, that they were
        averaged over; a slope of zero is a constant.
    candidates_ : tuple of (str, float, float)
        With ``gamma=None``: kernel, width and mean loss on held-out rows of all that was compared,
        the constant first. Widths count standard deviations of the columns, times the root of
        their number for "rbf" and times their number for "laplacian"; "features" have none, and
        "rbf unscaled" has one deviation, the root mean square, for all columns.
    converged_ : bool
        Whether the last fit, at the final widths, went to its end.
    n_iter_ : int
        Steps, the most over the classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    **Without a width.** The evidence is a likelihood maximised over a precision for each function,
    and prefers functions so narrow that they overfit, on pure noise as well. With ``gamma=None``
    the columns are therefore divided by their standard deviations; they themselves, and functions
    of any width, are compared by the log loss of five folds that took no part in a fit, from wide
    to narrow for as long as it falls; last, functions of the columns as they are. Up to 200 rows
    are dealt out to folds three times to decide between what one deal cannot tell apart. Where the
    best is not better than the class frequencies by a standard error of the difference, the model
    is a constant. The held-out scores then give a slope and a shift for each class that calibrate
    `decision_function` and `predict_proba`; `latent` is not calibrated. The last fit stops where
    those of the folds do, at a `tol` of 0.1 or more, since the calibration is of such fits. All
    this costs 10 to 60 fits at one width, on at most 1,000 rows. With any `gamma` there is one fit,
    of the columns as they are, and no calibration.

    **Far from the data.** A sum of few localised functions can say little away from their
    centres: all functions of the prior vanish there, and so does the plain variance. With
    ``far_variance=True`` the variance grows to that of one more function of the size of the
    fitted one; the mean still returns to the constant part. Functions
    that do not fade ("linear", "features", `Multiquadric`) extrapolate, and their own variance
    grows with them.

    **Separable classes.** The evidence then rises as long as weights grow, and precisions end at a
    bound, where averaged probabilities are less extreme than plugged-in ones by far.

    References
    ----------
    .. [1] Tipping (2001), "Sparse Bayesian learning and the relevance vector machine", JMLR 1.
    .. [2] Tipping and Faul (2003), "Fast marginal likelihood maximisation for sparse Bayesian
       models", AISTATS 9.
    .. [3] Schmolck and Everson (2007), "Smooth relevance vector machine", Machine Learning 68.
    .. [4] Rasmussen and Quiñonero-Candela (2005), "Healing the relevance vector machine through
       augmentation", ICML 22.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> data = load("ripley")
    >>> train, test = slice(0, 250), slice(250, None)
    >>> model = RVC(gamma=4.0).fit(data.data[train], data.target[train])
    >>> len(model.relevance_) < 10, model.score(data.data[test], data.target[test]) > 0.89
    (True, True)
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        gamma: float | str | None = None,
        algorithm: Literal["fast", "em", "variational"] = "fast",
        smoothness: float | Literal["bic", "aic", "ric"] | None = None,
        multi_class: Literal["one_vs_rest", "multinomial"] | None = None,
        centres: Any = None,
        bias: bool = True,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        cutoff: Any = 0.0,
        response: Literal["averaged", "plug_in"] = "averaged",
        far_variance: bool = True,
        max_iter: int = 5000,
        time_limit: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.algorithm = algorithm
        self.smoothness = smoothness
        self.multi_class = multi_class
        self.centres = centres
        self.bias = bias
        self.class_weight = class_weight
        self.cutoff = cutoff
        self.response = response
        self.far_variance = far_variance
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the functions and fit their weights.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Square, of similarities, for ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts: integers equal repeated rows, zero leaves one out.

        Returns
        -------
        RVC
            Itself.
        """
        check_machine_options(self)
        check_choice("response", self.response, ["averaged", "plug_in"])
        if self.multi_class is not None:
            check_choice("multi_class", self.multi_class, ["one_vs_rest", "multinomial"])
        if self.multi_class == "multinomial" and not self._can_be_joint():
            raise InvalidInputError(
                'multi_class="multinomial" is fitted by algorithm="fast" with smoothness=None '
                f"alone; got {self.algorithm!r} and {self.smoothness!r}."
            )
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        labels, codes = np.unique(y, return_inverse=True)
        weights = row_weights(sample_weight, len(X))
        importance = class_weights(self.class_weight, labels, codes, weights)
        weights = weights * importance
        check_classes(labels, codes, weights)
        rows = prepare_rows(self, X, codes.astype(np.float64), weights)
        # A label without weight is as if it had never been there.
        present, own_codes = np.unique(rows.y.astype(np.intp), return_inverse=True)
        self.classes_ = labels[present]
        checked_cutoff(self.cutoff, len(present))
        # The matrices are small: more threads would take longer, and change the last digits.
        with one_thread():
            fits = self._fit_rows(rows, own_codes, importance[rows.places], deadline)
        warn_of_cut_fits(fits)
        return self

    def predict(self, X: Any) -> Any:
        """Return the class of each row, shape (m,)."""
        X, design = self._at(X)
        cutoff = checked_cutoff(self.cutoff, len(self.classes_))
        if self.calibration_ is None and len(self.classes_) == 2 and not cutoff.any():
            # The mean has the sign of any average, and costs the functions in the model alone.
            return self.classes_[(self._model.mean(design)[:, 0] > 0.0).astype(np.intp)]
        decision = self._model.decision(X, design, plug_in=self.response == "plug_in")
        if len(self.classes_) == 2:
            return self.classes_[(decision[:, 0] > cutoff).astype(np.intp)]
        return self.classes_[np.argmax(decision - cutoff, axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, n_classes)."""
        return self._model_of().probability(*self._at(X), plug_in=self.response == "plug_in")

    def decision_function(self, X: Any) -> Array:
        """Return what grows with the probability of a class.

        For two classes, shape (m,), the log odds of ``classes_[1]``; for more, shape
        (m, n_classes): the log odds of each class against the rest, or the log probability
        under "multinomial". Under ``response="plug_in"`` the log odds are the latent mean;
        otherwise they are those of the averaged probability, and `latent` has the mean.
        """
        decision = self._model_of().decision(*self._at(X), plug_in=self.response == "plug_in")
        return flat(decision)

    def latent(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the latent function at new rows.

        Parameters
        ----------
        X : array-like of shape (m, d)
        return_std : bool
            Return the standard deviations as well.

        Returns
        -------
        mean, sd : ndarray of shape (m,) or (m, n_classes)
            Two classes share one latent function.
        """
        X, design = self._at(X)
        mean = self._model.mean(design)
        if not return_std:
            return flat(mean)
        return flat(mean), flat(np.sqrt(self._model.variance(X, design)))

    def _fit_rows(
        self, rows: Rows, codes: Indices, importance: Array, deadline: float | None
    ) -> list[SparseBayes | SparseSoftmax]:
        n_classes, joint, calibration = len(self.classes_), self._is_joint(), None
        algorithm, options = self.algorithm, sparse_options(self)
        if automatic_names(self):
            rough = rough_options(self)
            fit = partial(fit_classes, algorithm="fast", joint=joint, options=rough)
            made, calibration, self.candidates_ = choose_classes(
                self, fit, rows, codes, n_classes, importance=importance, deadline=deadline
            )
            joint = joint and made.basis.functions.n_columns > 0
            if calibration is not None:
                # A fit to the end has other scores, where classes can be told apart greater by far.
                algorithm, options = "fast", options | {"tol": rough["tol"]}
        else:
            made = self._make_dictionary(rows, codes, deadline)
        fits = fit_classes(
            made,
            codes,
            n_classes,
            algorithm=algorithm,
            joint=joint,
            options=options,
            row_weights=rows.weights,
            deadline=deadline,
        )
        self._store(made.basis, fits, (rows.X, made.design, rows.weights), calibration)
        return fits

    def _is_joint(self) -> bool:
        """Whether several classes share one likelihood."""
        if self.multi_class is not None:
            return self.multi_class == "multinomial"
        return bool(automatic_names(self)) and self._can_be_joint()

    def _can_be_joint(self) -> bool:
        return self.algorithm == "fast" and self.smoothness is None

    def _make_dictionary(self, rows: Rows, codes: Indices, deadline: float | None) -> Dictionary:
        made = make_dictionary(
            self,
            rows,
            class_targets(codes, len(self.classes_)),
            task="classification",
            deadline=deadline,
            options=sparse_options(self),
        )
        if made.widths is not None and made.widths.input_relevance is not None:
            self.input_relevance_ = made.widths.input_relevance
        return made

    def _store(
        self,
        basis: BasisFunctions,
        fits: Sequence[SparseBayes | SparseSoftmax],
        rows: tuple[Array, Array, Array],
        calibration: Calibration | None = None,
    ) -> None:
        """Set the fitted attributes; `rows` are training rows, their design and their weights."""
        X, design, weights = rows
        shared = shared_columns(basis, [fit.active for fit in fits])
        # A constant is as sure of itself everywhere.
        is_far = self.far_variance and basis.functions.n_columns > 0
        self._model: ClassModel | CalibratedClasses = class_model(
            fits,
            shared,
            len(self.classes_),
            column=far_column(basis) if is_far else None,
            X=X,
            design=design,
            row_weights=weights,
        )
        self.calibration_ = calibration
        if calibration is not None:
            self._model = CalibratedClasses(self._model, calibration)
        n_columns = shared.basis.n_columns
        alpha = self._model.precisions(n_columns)
        self._show(shared.basis, self._model.weights(n_columns), alpha)
        self.log_evidence_ = float(sum(fit.log_evidence for fit in fits))
        self.complexity_ = printed_complexity(alpha)
        self.degrees_of_freedom_ = float(sum(fit.well_determined.sum() for fit in fits))
        self.n_iter_ = max(fit.n_iter for fit in fits)
        self.converged_ = all(fit.converged for fit in fits)

    def _model_of(self) -> ClassModel | CalibratedClasses:
        check_is_fitted(self)
        return self._model


def classifier_given(
    options: RVC,
    basis: BasisFunctions,
    X: Array,
    codes: Indices,
    classes: AnyArray,
    alpha: Array,
    *,
    cutoff: Any = 0.0,
    sample_weight: Any = None,
    feature_names: Any = None,
    largest_score: float = 30.0,
) -> RVC:
    """Return a fitted classifier whose precisions are given.

    For two classes the weights are the mode by iteratively reweighted least squares, and their
    covariance is Laplace's; for more, those of the softmax likelihood with precisions that all
    classes share. The result is an ordinary `RVC`: it predicts, can be saved, and `clone` makes
    an unfitted one with the options, which `fit` would fit by evidence.

    Shapes: X (n, d), codes (n,), classes (n_classes,), alpha (M,), cutoff (n_classes,),
        sample_weight (n,), feature_names (d,).
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if alpha.shape != (basis.n_columns,) or np.isnan(alpha).any() or (alpha < 0).any():
        raise InvalidInputError(
            f"alpha must be one precision, not negative, for each of {basis.n_columns} columns; "
            f"got shape {alpha.shape}."
        )
    X, codes, classes = np.asarray(X, dtype=np.float64), np.asarray(codes), np.asarray(classes)
    checked_cutoff(cutoff, len(classes))
    weights = row_weights(sample_weight, len(X))
    design = basis.design(X)
    model: RVC = clone(options).set_params(cutoff=cutoff, response="plug_in")
    model.classes_, model.n_features_in_ = classes, X.shape[1]
    if feature_names is not None:
        model.feature_names_in_ = np.asarray(feature_names, dtype=object)
    posterior: SparseBayes | SparseSoftmax
    if len(classes) == 2:
        posterior = posterior_given(
            design,
            codes.astype(np.float64),
            alpha,
            row_weights=weights,
            largest_score=largest_score,
        )
    else:
        posterior = _softmax_given(design, codes, len(classes), alpha, weights)
    model._store(basis, [posterior], (X, design, weights))
    return model


def _softmax_given(
    design: Array, codes: Indices, n_classes: int, alpha: Array, weights: Array
) -> SparseSoftmax:
    """Return the posterior of the columns in the model, counted in the whole dictionary."""
    active = np.flatnonzero(np.isfinite(alpha))
    result = softmax_given(
        design[:, active], codes.astype(np.intp), n_classes, alpha[active], row_weights=weights
    )
    pairs = np.column_stack([result.pairs[:, 0], active[result.pairs[:, 1]]])
    return SparseSoftmax(**vars(result) | {"pairs": pairs})
