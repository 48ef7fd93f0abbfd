"""The Bayes point machine with scikit-learn's interface."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy.special import ndtr
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from parsimon._checks import is_precomputed as is_given_by_matrix
from parsimon._data import Rows, check_classes, merged_rows, row_weights, validate_data
from parsimon._typing import Array, Indices
from parsimon.bpm._features import (
    DesignAt,
    Features,
    GramFeatures,
    LinearFeatures,
    Standard,
    make_features,
)
from parsimon.bpm._label_terms import (
    GAUSSIAN,
    NOISES,
    LabelTerms,
    Noise,
    divide_by_sum,
    positive_share,
    probit_of_share,
)
from parsimon.bpm._options import (
    FewRows,
    OfLinear,
    check_machine,
    chosen_by_rows,
    is_linear,
    refuse_other_settings,
)
from parsimon.bpm._stream import Belief, Filter, going_on
from parsimon.bpm._weights import (
    LEAST,
    SEARCH_ROWS,
    GaussianWeights,
    PacBayesBounds,
    WeightPosterior,
    WeightPrior,
    fit_weights,
    least_margin,
    leave_one_out,
    pac_bayes_bounds,
    propagate,
    spaced_rows,
)
from parsimon.bpm.gamma_ep import RowRule, gamma_ep
from parsimon.exceptions import InvalidInputError
from parsimon.inference.posterior import Latent


class BayesPointClassifier(ClassifierMixin, FewRows):
    """Linear or kernel classifier that averages over all boundaries, by expectation propagation.

    The label is the sign of a latent function plus noise. The posterior of the function's weights
    is Gaussian: its mean is the Bayes point [1]_, its covariance says how sure it is. Columns are
    put in units of their own deviations and a constant is added, so that a raw table can be given.
    Linear models take O(n d^2) a pass and keep a matrix of d by d.

    Parameters
    ----------
    kernel : {"linear", "rbf", "laplacian", "poly", "precomputed"}, Kernel or function
        A kernel of parsimon or of scikit-learn sees the columns in their own units; names see
        standard ones. Kernels are used through at most 500 training rows as centres.
    inference : {"ep", "adf", "power"}
        Expectation propagation; assumed density filtering, one pass in the order of the rows,
        which is what `partial_fit` does; power EP, which takes out a `fraction` of a site.
    gamma : float
        -1 is EP. Other values are Fearn's bias [2]_, for study: they belong to no likelihood and
        behave like a fit without a prior. They take Gaussian noise, no wrong labels, no weights,
        and neither `partial_fit` nor `merge` goes on from them.
    fraction : float
        Of power EP: 1 is EP, towards 0 it becomes variational.
    noise : {"heavy", "gaussian"}
        Of the label. "gaussian" is the probit; "heavy" has twice the deviation in every fifth
        row, whose tails are nearly those of logistic regression.
    noise_sd : {"probable", "evidence", "loo"} or float
        Deviation of the noise where weights have the prior N(0, 1); the constant's is as wide as
        the noise. "evidence" is the one of greatest evidence; "probable" holds functions that vary
        much more than the noise to be improbable, which predicts better; "loo" has the least
        leave-one-out log loss, of at most 2,000 rows.
    prior : {"shared", "ard"}
        One variance for all weights, or one for each column (a width for each, with "rbf"), by
        evidence.
    label_noise : float or "learn"
        Probability that a label is wrong, inside the factor of each row. "learn" takes the most
        probable one if labels left out are better explained so than without, and than by a curved
        border; a stream cannot compare and counts on. Probabilities are then those of the right
        label.
    weights_for_repeats : bool
        Let m equal rows of one label count as one, the first; scores leave out all of them.
    width : {"evidence", "loo"}, float or None
        Lengthscale of "rbf" and "laplacian" in standard units. A `Kernel` has all its
        hyperparameters chosen by evidence, and keeps them with None.
    standardise : bool
        False takes the columns as they are.
    half_life : float, optional
        In `partial_fit` and "adf": rows after which a row counts half, in units and noise too.
    max_iter : int
        Passes for `gamma` other than -1.
    sparsify : {"alpha", "support"}, AlphaRows, SupportRows or None
        Fit again, with the same noise, to rows that push in gamma-EP, or to support vectors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_, intercept_ : ndarray of shape (k, d) and (k,)
        Posterior means in the columns' own units, for a linear kernel; k is 1 for two classes, and
        otherwise there is one function for each class against the rest.
    coef_covariance_ : ndarray of shape (k, d, d)
        Posterior covariances of the coefficients.
    degrees_of_freedom_ : float
        For a linear kernel: how many weights the rows determine, summed over functions.
    noise_sd_ : ndarray of shape (k,)
        As `noise_sd`; under "ard" that of the widest prior.
    relevance_ : ndarray of shape (k, d)
        With ``prior="ard"`` and a linear kernel: prior deviation of each weight in standard units.
    label_noise_ : ndarray of shape (k,)
    log_evidence_ : float
        Log probability of the labels, summed over functions; under "adf" that of each label
        before its row was used.
    loo_error_, loo_log_loss_ : float
        Of each training row without its own site; under "adf" before its row was used.
    kernel_ : Kernel, str or tuple of Kernel
    n_iter_ : int
        Steps of the sites.
    support_ : ndarray of shape (n_kept,), places of the rows that `sparsify` keeps for any class
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Herbrich, Graepel and Campbell (2001), J. Mach. Learn. Res. 1:245-279; Minka (2001), PhD
       thesis, MIT.
    .. [2] Fearn (2021), PhD thesis, University of Bristol.

    Examples
    --------
    >>> from parsimon.datasets import load
    >>> data = load("pima_cleaned")
    >>> model = BayesPointClassifier().fit(data.data, data.target)
    >>> round(model.log_evidence_, 1), round(model.loo_error_, 3)
    (-355.4, 0.228)
    >>> model.predict_proba(data.data[:1]).round(2)
    array([[0.32, 0.68]])
    """

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        inference: Literal["ep", "adf", "power"] = "ep",
        gamma: float = -1.0,
        fraction: float = 0.5,
        noise: Literal["heavy", "gaussian"] = "heavy",
        noise_sd: float | Literal["probable", "evidence", "loo"] = "probable",
        prior: Literal["shared", "ard"] = "shared",
        label_noise: float | Literal["learn"] = 0.0,
        weights_for_repeats: bool = False,
        width: float | Literal["evidence", "loo"] | None = "evidence",
        standardise: bool = True,
        half_life: float | None = None,
        max_iter: int = 100,
        sparsify: RowRule | Literal["alpha", "support"] | None = None,
    ) -> None:
        self.kernel = kernel
        self.inference = inference
        self.gamma = gamma
        self.fraction = fraction
        self.noise = noise
        self.noise_sd = noise_sd
        self.prior = prior
        self.label_noise = label_noise
        self.weights_for_repeats = weights_for_repeats
        self.width = width
        self.standardise = standardise
        self.half_life = half_life
        self.max_iter = max_iter
        if sparsify is not None:
            self.sparsify = sparsify

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the posterior of the weights.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows; for "precomputed" similarities, shape (n, n).
        y : array-like of shape (n,)
            Labels of any kind.
        sample_weight : array-like of shape (n,), optional
            How many times each row counts: integers equal repeated rows, zero leaves one out.

        Returns
        -------
        BayesPointClassifier
            Itself.
        """
        check_machine(self)
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = row_weights(sample_weight, len(X))
        check_classes(self.classes_, codes, weights)
        if self.gamma != -1 and sample_weight is not None:
            raise InvalidInputError("gamma other than -1 takes no sample_weight; repeat the rows.")
        if self.weights_for_repeats:
            weights = _once(X, codes, weights)
        if self.inference == "adf":
            belief = Belief.nothing(X.shape[1], len(self._positives()), self._prior())
            self._store_belief(self._filter().take(belief, X, codes, weights))
            return self
        is_apart = is_given_by_matrix(self) or self.gamma != -1
        rows = merged_rows(X, codes, weights, merge=not is_apart)
        signs = (np.where(rows.y == code, 1.0, -1.0) for code in self._positives())
        fits = [self._fit_function(rows, sign) for sign in signs]
        if not all(posterior.converged for *_, posterior in fits):
            warnings.warn(
                "Expectation propagation did not converge; give a larger noise_sd.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._store(fits, rows, codes, weights)
        return self

    @OfLinear
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Take in further rows, each once, in their order: assumed density filtering.

        How rows are cut into batches makes no difference but for rounding. After `fit` it goes on
        from the posterior, unless `gamma` is other than -1.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,)
        classes : array-like, optional
            All classes; needed at the first call unless its labels show them all.
        sample_weight : array-like of shape (m,), optional
            How many times each row counts, one after another; above 1,000 in as many parts. Units
            are taken anew by the number of rows, whatever their weights.

        Returns
        -------
        BayesPointClassifier
            Itself.
        """
        check_machine(self)
        is_new = not hasattr(self, "_belief")
        X, y = validate_data(self, X, y, dtype=np.float64, reset=is_new)
        check_classification_targets(y)
        if is_new:
            self.classes_ = np.unique(y if classes is None else classes)
            if len(self.classes_) < 2:
                raise InvalidInputError(
                    f"Two classes or more are needed, got {len(self.classes_)} class; name all "
                    "of them in `classes` at the first call."
                )
            nothing = Belief.nothing(X.shape[1], len(self._positives()), self._prior())
            self._belief: Belief | None = nothing
        codes = np.searchsorted(self.classes_, y)
        known = codes < len(self.classes_)
        known[known] = self.classes_[codes[known]] == y[known]
        if not known.all():
            raise InvalidInputError(
                f"The label {y[~known][0]!r} is not among the classes of the first call, "
                f"{self.classes_.tolist()}."
            )
        weights, belief = row_weights(sample_weight, len(X)), going_on(self._belief)
        self._store_belief(self._filter().take(belief, X, codes.astype(np.intp), weights))
        return self

    @OfLinear
    def merge(self, others: Sequence["BayesPointClassifier"]) -> "BayesPointClassifier":
        """Return one classifier from several that were fitted to parts of a table.

        Their posteriors are the prior times a Gaussian factor each; the factors are multiplied,
        whatever units each part had. The prior is that of all parts' columns, its variance by
        evidence unless it is given. The sites of a part knew nothing of the other parts, so that
        the result, its evidence too, is near the fit to the whole table, not equal to it.

        Parameters
        ----------
        others : sequence of BayesPointClassifier
            With the same columns, classes, noise and prior.

        Returns
        -------
        BayesPointClassifier
        """
        if isinstance(others, BayesPointClassifier):
            raise InvalidInputError("merge takes a list of classifiers; put it in brackets.")
        parts = [self, *others]
        for part in parts:
            check_is_fitted(part)
            refuse_other_settings(self, part)
        taken = self._filter()
        beliefs = [taken.settle(going_on(part._belief)) for part in parts]
        model: BayesPointClassifier = clone(self)
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        model._store_belief(taken.product(beliefs))
        return model

    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, shape (m,)."""
        probability = self.predict_proba(X)
        return self.classes_[np.argmax(probability, axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities in the order of `classes_`, shape (m, n_classes).

        Averaged over the weights in closed form; with three classes or more those of each class
        against the rest, divided by their sum.
        """
        return divide_by_sum([positive_share(part, self._noise()) for part in self._latents(X)])

    def decision_function(self, X: Any) -> Array:
        """Return the normal quantile of the probability of ``classes_[1]``, shape (m,).

        With three classes or more the log probabilities, shape (m, n_classes).
        """
        latents = self._latents(X)
        if len(latents) == 1:
            return probit_of_share(latents[0], self._noise())
        chances = divide_by_sum([positive_share(part, self._noise()) for part in latents])
        return np.log(np.maximum(chances, np.finfo(np.float64).tiny))

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
        """
        latents = self._latents(X)
        mean = np.column_stack([part.mean for part in latents])
        sd = np.sqrt(np.column_stack([part.variance for part in latents]))
        mean, sd = (mean[:, 0], sd[:, 0]) if len(latents) == 1 else (mean, sd)
        return (mean, sd) if return_std else mean

    def bounds(self, *, delta: float = 0.05) -> PacBayesBounds:
        """Return PAC-Bayes bounds of the error on new rows, as a diagnostic with words.

        For two classes and a batch fit; `pac_bayes_bounds` says what they assume of the prior.
        """
        check_is_fitted(self)
        if self._bounded is None or len(self._weights) > 1 or self.gamma != -1:
            raise InvalidInputError(
                "Bounds need a batch fit of two classes with gamma=-1; partial_fit and several "
                "classes have none."
            )
        margin, n, chosen = self._bounded
        return pac_bayes_bounds(
            self.log_evidence_,
            margin,
            n_rows=n,
            n_weights=len(self._weights[0].mean),
            delta=delta,
            chosen=chosen,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_given_by_matrix(self)
        return tags

    def _positives(self) -> Sequence[int]:
        """Return the code of the class that each function stands for."""
        return [1] if len(self.classes_) == 2 else range(len(self.classes_))

    def _noise(self) -> Noise:
        return GAUSSIAN if self.gamma != -1 else NOISES[self.noise]

    def _prior(self) -> WeightPrior:
        is_ard = self.prior == "ard" and is_linear(self)
        return WeightPrior(self.noise_sd, is_ard, self.label_noise)

    def _filter(self) -> Filter:
        return Filter(self._noise(), self._prior(), self.half_life, self.standardise)

    def _fit_function(
        self, rows: Rows, y: Array
    ) -> tuple[Features, DesignAt, LabelTerms, WeightPosterior]:
        """Return features, their design, terms and posterior of one function."""
        fraction = self.fraction if self.inference == "power" else 1.0
        terms = LabelTerms.of(y, rows.weights, fraction=fraction, noise=self._noise())
        features: Features
        if is_linear(self):
            raw = None if self.standardise else Standard.none(rows.X.shape[1])
            features = LinearFeatures(raw or Standard.of(rows.X, rows.weights))
            made = features.at(rows.X)
        elif is_given_by_matrix(self):
            features, made = GramFeatures.of(rows.given, rows.places)
        else:
            features, made = make_features(self, rows.X, terms, rows.weights)
        terms = LabelTerms(**vars(terms) | {"extra": made.extra})
        found = fit_weights(made.design, terms, self._prior())
        if self.label_noise == "learn" and found.flip > 0 and self._bends(rows, y, found.flip):
            found = fit_weights(made.design, terms, replace(self._prior(), label_noise=0.0))
        if (rule := self.rule_for_rows()) is not None:
            terms = terms.only(rule.kept(made.design, y, found.variances))
            found = propagate(made.design, found.variances, terms.flipped(found.flip))
        return features, made, terms.flipped(found.flip), found

    def _bends(self, rows: Rows, y: Array, flip: float) -> bool:
        """Return whether a curved border explains the labels better than a share of wrong ones.

        What a straight border gets wrong on one side looks like wrong labels. Both are judged by
        what they say of each label without its row.
        """
        if not is_linear(self):
            return False
        some = spaced_rows(y, SEARCH_ROWS)
        few = merged_rows(rows.X[some], y[some], rows.weights[some])
        straight = clone(self).set_params(label_noise=flip, sparsify=None)
        bent = clone(straight).set_params(label_noise=0.0, kernel="rbf", width="evidence")
        bent.set_params(prior="shared", noise_sd="probable")
        fits = [model._fit_function(few, few.y)[2:] for model in (straight, bent)]
        without, with_bends = (float(fit[0].weights @ leave_one_out(*fit)) for fit in fits)
        return with_bends > without

    def _store(
        self,
        fits: list[tuple[Features, DesignAt, LabelTerms, WeightPosterior]],
        rows: Rows,
        codes: Indices,
        sample_weight: Array,
    ) -> None:
        """Set the fitted attributes after a batch fit."""
        self._features = [features for features, *_ in fits]
        posteriors = [posterior for *_, posterior in fits]
        self._weights = [posterior.weights for posterior in posteriors]
        self.log_evidence_ = float(sum(posterior.log_evidence for posterior in posteriors))
        self.n_iter_ = max(1, *(posterior.n_iterations for posterior in posteriors))
        if self.rule_for_rows() is not None:
            kept = np.any([terms.used for _, _, terms, _ in fits], axis=0)
            self.support_ = np.flatnonzero((rows.which >= 0) & kept[np.maximum(rows.which, 0)])
        self.label_noise_ = np.array([posterior.flip for posterior in posteriors])
        held = [self._left_out(rows, made, found) for _, made, _, found in fits]
        if self.gamma != -1:
            held = [self._with_bias(place, *fits[place][1:], rows) for place in range(len(fits))]
        chances = divide_by_sum(held)
        used = rows.which >= 0
        own = chances[np.arange(len(codes)), codes][used]
        wrong = (np.argmax(chances, axis=1) != codes)[used]
        losses = -np.log(np.maximum(own, np.finfo(np.float64).tiny))
        self.loo_error_ = float(np.average(wrong, weights=sample_weight[used]))
        self.loo_log_loss_ = float(np.average(losses, weights=sample_weight[used]))
        self._bounded: tuple[float, int, list[str]] | None = (
            least_margin(fits[0][1].design, fits[0][2].y, self._weights[0].mean),
            int(used.sum()),
            chosen_by_rows(self, sample_weight),
        )
        variances = [posterior.variances for posterior in posteriors]
        if is_linear(self):
            loo = (self.loo_error_, self.loo_log_loss_)
            standard, design = self._features[0].standard, fits[0][1].design
            belief = Belief.of_fit(posteriors, design, standard, rows, sample_weight, loo)
            self._belief = belief if self.gamma == -1 else None
            self._store_coefficients(np.stack(variances))
        else:
            self.kernel_ = _kernels(self.kernel, self._features)
            self.noise_sd_ = np.array(
                [1.0 / np.sqrt(own[:-1].max(initial=LEAST)) for own in variances]
            )

    def _left_out(self, rows: Rows, made: DesignAt, found: WeightPosterior) -> Array:
        """Return each given row's chance of the positive class without its own site, (n,)."""
        which = np.maximum(rows.which, 0)
        sites = type(found.sites)(*(site[which] * rows.share for site in found.sites))
        marginal = Latent(*(part[which] for part in found.marginal))
        rest = 1.0 - marginal.variance * sites.precision
        mean = (marginal.mean - marginal.variance * sites.shift) / rest
        return positive_share(
            Latent(mean, marginal.variance / rest + made.extra[which]), self._noise()
        )

    def _with_bias(
        self, place: int, made: DesignAt, terms: LabelTerms, found: WeightPosterior, rows: Rows
    ) -> Array:
        """Replace a posterior by that of gamma-EP; return left-out chances of the given rows."""
        scaled, kept = made.design / np.sqrt(1.0 + made.extra)[:, None], terms.used
        biased = gamma_ep(
            scaled[kept],
            terms.y[kept],
            gamma=self.gamma,
            prior_variance=found.variances,
            max_passes=self.max_iter,
        )
        self._weights[place] = GaussianWeights.of(biased.mean, biased.covariance)
        self.log_evidence_ += biased.log_evidence - found.log_evidence
        self.n_iter_ = max(self.n_iter_, biased.n_passes)
        if not biased.converged:
            warnings.warn(
                f"gamma-EP did not settle in {biased.n_passes} passes, as it need not for a "
                "gamma other than -1; the last pass is kept.",
                ConvergenceWarning,
                stacklevel=4,
            )
        # Rows that are not kept have no site to leave out.
        held = positive_share(self._weights[place].latent(scaled, np.zeros(len(kept))), GAUSSIAN)
        held[kept] = ndtr(terms.y[kept] * biased.cavity_mean / np.sqrt(biased.cavity_variance))
        return held[np.maximum(rows.which, 0)]

    def _store_belief(self, belief: Belief) -> None:
        """Set the fitted attributes after a stream of rows."""
        self._belief = belief
        settled = self._filter().settle(belief)
        means, covariances = settled.posterior()
        self._weights = list(map(GaussianWeights.of, means, covariances))
        self._features = [LinearFeatures(settled.standard)] * len(self._weights)
        self._bounded = None
        self.label_noise_ = settled.flips(self._prior())
        self.log_evidence_ = float(settled.log_evidence.sum())
        total = max(float(settled.scores[0]), 1e-300)
        self.loo_error_ = float(settled.scores[1] / total)
        self.loo_log_loss_ = float(settled.scores[2] / total)
        self.n_iter_ = 1
        self._store_coefficients(settled.variance)

    def _store_coefficients(self, variances: Array) -> None:
        """Write the weights in the columns' own units; variances (k, p) are the prior's."""
        standard = self._features[0].standard
        means = np.stack([weights.mean for weights in self._weights])
        covariances = np.stack([weights.covariance for weights in self._weights])
        self.coef_ = means[:, :-1] / standard.unit
        self.intercept_ = means[:, -1] - self.coef_ @ standard.centre
        self.coef_covariance_ = covariances[:, :-1, :-1] / np.outer(standard.unit, standard.unit)
        self.noise_sd_ = 1.0 / np.sqrt(variances[:, :-1].max(axis=1))
        left = np.diagonal(covariances, axis1=1, axis2=2) / variances
        self.degrees_of_freedom_ = float(np.sum(1.0 - left))
        self.kernel_ = "linear"
        if self.prior == "ard":
            self.relevance_ = np.sqrt(variances[:, :-1])

    def _latents(self, X: Any) -> list[Latent]:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        shared: dict[int, DesignAt] = {}
        for features in self._features:
            shared.setdefault(id(features), features.at(X))
        return [
            weights.latent(*shared[id(features)])
            for features, weights in zip(self._features, self._weights, strict=True)
        ]


def _once(X: Array, codes: Indices, weights: Array) -> Array:
    """Return weights (n,) with which the first of equal rows stands for all, at their mean weight.

    Without the others a row is left out with all its copies.
    """
    rows = merged_rows(X, codes, weights)
    once = np.zeros(len(X))
    once[rows.places] = rows.weights / np.bincount(rows.which[rows.which >= 0])
    return once


def _kernels(spec: Any, features: Sequence[Features]) -> Any:
    """Return the kernel of each function, one alone if there is one."""
    found = tuple(getattr(own, "kernel", spec) for own in features)
    return found[0] if len(found) == 1 else found
