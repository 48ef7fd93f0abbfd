"""Expectation propagation for the Bayes point, one row after another, with Fearn's bias gamma.

Each row's probit term is replaced by a Gaussian site. When the row is visited again its site is
taken out first, and the mean of what is left is moved by gamma times the row's last push, `alpha`.
At gamma = -1 that is expectation propagation; other values belong to no likelihood (see
docs/explanation/bayes-point-machines.md) and are here for study. `gamma_ep` keeps a covariance of
weights, `kernel_gamma_ep` one of latent values; at gamma = -1 they agree. `AlphaRows` and
`SupportRows` say on which rows alone a boundary can be fitted again.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular

from parsimon._checks import check_count, check_positive, finite_matrix, finite_vector
from parsimon._compiled import compiled
from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError
from parsimon.inference.likelihoods import checked_signs
from parsimon.linalg import jittered_cholesky

# Where latent means have gone beyond this, the passes have left every sensible posterior.
_FAR = 1e6
# Changes of rank one that are made together.
_WAITING = 32
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class GammaPosterior:
    """What `gamma_ep` and `kernel_gamma_ep` return.

    Attributes
    ----------
    mean : ndarray of shape (p,) or (n,)
        Of the weights, or of the latent values at the rows.
    covariance : ndarray of shape (p, p) or (n, n)
    alpha : ndarray of shape (n,)
        How hard each row pushed the mean at its last visit; not negative.
    precision, shift : ndarray of shape (n,)
        Of the rows' sites, for latent values times the label.
    cavity_mean, cavity_variance : ndarray of shape (n,)
        Of the latent value times the label, without the row's own site, at its last visit; the
        variance has the noise in it.
    log_evidence : float
        Corrected form (Fearn 2021, eq 4.26 onwards, has the wrong means); a log probability at
        gamma = -1 only.
    n_passes : int
    converged : bool
    """

    mean: Array
    covariance: Array
    alpha: Array
    precision: Array
    shift: Array
    cavity_mean: Array
    cavity_variance: Array
    log_evidence: float
    n_passes: int
    converged: bool

    @property
    def loo_error(self) -> float:
        """Share of rows that are misclassified without their own site."""
        return float(np.mean(self.cavity_mean <= 0))


def gamma_ep(
    design: Array,
    y: Array,
    *,
    gamma: float = -1.0,
    noise_sd: float = 1.0,
    prior_variance: Array | None = None,
    max_passes: int = 100,
    tol: float = 1e-4,
) -> GammaPosterior:
    """Run gamma-EP on weights: O(n p^2) a pass, and nothing larger than n by p is kept.

    Parameters
    ----------
    design : ndarray of shape (n, p)
        Columns, a constant among them if one is wanted.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    gamma : float
        -1 is expectation propagation, 0 leaves the bias out.
    noise_sd : float
        Standard deviation of the noise that the label sees; zero is a step.
    prior_variance : ndarray of shape (p,), optional
        Of the weights; ones if not given.
    max_passes : int
        One pass is assumed density filtering, whatever gamma.
    tol : float
        Stop when no row's mean, nor its site's precision in units of the cavity, changes by more.

    Returns
    -------
    GammaPosterior

    References
    ----------
    Fearn (2021), PhD thesis, University of Bristol, chapter 4; Minka (2001), PhD thesis, MIT.

    Examples
    --------
    >>> design = np.array([[1.0, -2.0], [1.0, -1.0], [1.0, 1.0], [1.0, 3.0]])
    >>> found = gamma_ep(design, np.array([-1.0, -1.0, 1.0, 1.0]))
    >>> found.mean.round(2), round(found.log_evidence, 3), found.loo_error
    (array([-0.03,  1.19]), -1.692, 0.0)
    """
    signs, gamma, noise = _check_options(y, gamma, noise_sd, max_passes)
    design = finite_matrix(design, "design")
    if len(design) != len(signs):
        raise InvalidInputError(f"There are {len(design)} rows of design but {len(signs)} labels.")
    design = np.ascontiguousarray(signs[:, None] * design)
    prior = np.ones(design.shape[1])
    if prior_variance is not None:
        prior = finite_vector(prior_variance, "prior_variance")
        if prior.shape != (design.shape[1],) or not (prior > 0).all():
            raise InvalidInputError(
                f"prior_variance must be {design.shape[1]} positive numbers, one for each column."
            )
    sites = np.zeros((5, len(signs)))
    mean = np.zeros(design.shape[1])
    covariance: Any = np.diag(prior)
    logs = np.zeros(len(signs))
    n_passes, converged = 0, False
    precision: Any = np.diag(1.0 / prior)
    while n_passes < max_passes and not converged and np.abs(mean).max() < _FAR:
        before = mean.copy(), sites.copy(), logs.copy()
        change = _weights_pass(design, mean, covariance, sites, logs, gamma, noise)
        # Thousands of changes of rank one leave rounding behind.
        with np.errstate(over="ignore", invalid="ignore"):
            fresh = (design * sites[0][:, None]).T @ design
        if not (np.isfinite(fresh).all() and np.isfinite(mean).all()):
            # Rows that no step explains push for ever.
            mean, sites, logs = before
            break
        precision = fresh + np.diag(1.0 / prior)
        covariance = np.linalg.inv(precision)
        n_passes, converged = n_passes + 1, change < tol
    covariance = np.linalg.inv(precision)
    inner = 0.5 * float(mean @ precision @ mean)
    inner -= 0.5 * (float(np.linalg.slogdet(precision)[1]) + float(np.log(prior).sum()))
    return _posterior(mean, covariance, sites, inner, (gamma, noise), (n_passes, converged), logs)


def kernel_gamma_ep(
    gram: Array,
    y: Array,
    *,
    gamma: float = -1.0,
    noise_sd: float = 1.0,
    max_passes: int = 100,
    tol: float = 1e-4,
) -> GammaPosterior:
    """Run gamma-EP on latent values whose prior covariance is given: O(n^3) a pass.

    The noise is part of the latent values, as in the source: `mean` and `covariance` are those of
    the noisy latent values times the labels.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Positive semi-definite.
    y : ndarray of shape (n,)
        Labels -1 and 1.
    gamma, noise_sd, max_passes, tol
        As in `gamma_ep`.

    Returns
    -------
    GammaPosterior
        The latent mean at new rows is ``K(X_star, X) @ kernel_weights(found, y)``.

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 1.0, 3.0])
    >>> found = kernel_gamma_ep(1.0 + np.outer(x, x), np.array([-1.0, -1.0, 1.0, 1.0]))
    >>> round(found.log_evidence, 3)
    -1.692
    """
    signs, gamma, noise = _check_options(y, gamma, noise_sd, max_passes)
    gram = finite_matrix(gram, "gram")
    if gram.shape != (len(signs), len(signs)):
        raise InvalidInputError(f"gram must be square for {len(signs)} rows, got {gram.shape}.")
    gram = gram * np.outer(signs, signs)
    gram[np.diag_indices_from(gram)] += noise
    sites, logs = np.zeros((5, len(signs))), np.zeros(len(signs))
    covariance, mean = gram.copy(), np.zeros(len(signs))
    n_passes, converged = 0, False
    while n_passes < max_passes and not converged and np.abs(mean).max() < _FAR:
        change = _latent_pass(covariance, mean, sites, logs, gamma)
        root = np.sqrt(sites[0])
        lower = jittered_cholesky(np.eye(len(root)) + gram * np.outer(root, root)).lower
        half = solve_triangular(lower, root[:, None] * gram, lower=True)
        covariance = gram - half.T @ half
        n_passes, converged = n_passes + 1, change < tol
    shift = sites[1] * sites[0] - gamma * sites[2]
    inner = 0.5 * float(shift @ covariance @ shift) - float(np.sum(np.log(np.diagonal(lower))))
    return _posterior(mean, covariance, sites, inner, (gamma, 0.0), (n_passes, converged), logs)


def kernel_weights(found: GammaPosterior, y: Array) -> Array:
    """Return b with latent mean ``K(X_star, X) @ b`` from `kernel_gamma_ep`, shape (n,)."""
    return np.asarray(y) * (found.shift - found.precision * found.mean)


@dataclass(frozen=True)
class AlphaRows:
    """Keep the rows that push the boundary of a gamma-EP with gamma above zero [1]_.

    With gamma > 0 a row that is classified with room to spare pushes less from pass to pass; rows
    whose `alpha`, in units of the label's noise, is above the threshold stay.

    Parameters
    ----------
    threshold : float
        0.001 is "gamma-EP1" of the source, 0.0001 its "gamma-EP2".
    gamma : float
        Above zero; the greater, the fewer rows, and the less the passes settle.
    max_passes : int

    References
    ----------
    .. [1] Fearn (2021), PhD thesis, University of Bristol, section 4.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=100)
    >>> y = np.where(x + 0.2 * rng.normal(size=100) > 0, 1.0, -1.0)
    >>> kept = AlphaRows().kept(np.column_stack([x, np.ones(100)]), y, np.array([25.0, 25.0]))
    >>> bool(np.abs(x[kept]).max() < np.abs(x).max()), int(kept.sum()) < 100
    (True, True)
    """

    threshold: float = 1e-3
    gamma: float = 0.5
    max_passes: int = 100

    def kept(self, design: Array, y: Array, variances: Array) -> Mask:
        """Return which rows stay; design (n, p), y (n,) of -1 and 1, prior variances (p,)."""
        check_positive("threshold", self.threshold)
        check_positive("gamma", self.gamma)
        found = gamma_ep(
            design, y, gamma=self.gamma, prior_variance=variances, max_passes=self.max_passes
        )
        return _with_both_classes(found.alpha > self.threshold, found.alpha, y)


@dataclass(frozen=True)
class SupportRows:
    """Keep the support vectors of a support vector machine: an idea of Minka's [1]_.

    Parameters
    ----------
    C : float
        Cost of its errors.
    nu : float, optional
        Instead of C, the least share of support vectors.

    References
    ----------
    .. [1] Minka (2001), PhD thesis, MIT; tested by Fearn (2021), section 4.1.

    Examples
    --------
    >>> x = np.linspace(-2, 2, 40)
    >>> y = np.sign(x)
    >>> SupportRows().kept(np.column_stack([x, np.ones(40)]), y, np.array([25.0, 1.0])).sum() < 40
    np.True_
    """

    C: float = 1.0
    nu: float | None = None

    def kept(self, design: Array, y: Array, variances: Array) -> Mask:
        """Return which rows stay; design (n, p), y (n,) of -1 and 1, prior variances (p,)."""
        from sklearn.svm import SVC, NuSVC

        machine = SVC(kernel="linear", C=check_positive("C", self.C))
        if self.nu is not None:
            machine = NuSVC(kernel="linear", nu=check_positive("nu", self.nu))
        machine.fit(design * np.sqrt(variances), y)
        kept = np.zeros(len(y), dtype=bool)
        kept[machine.support_] = True
        return kept


RowRule: TypeAlias = AlphaRows | SupportRows


def _with_both_classes(kept: Mask, push: Array, y: Array) -> Mask:
    """Return the rows that are kept, with the hardest pushing one of a class that has none."""
    kept = kept.copy()
    for label in (-1.0, 1.0):
        own = np.flatnonzero(y == label)
        if len(own) and not kept[own].any():
            kept[own[np.argmax(push[own])]] = True
    return kept


def _check_options(
    y: Array, gamma: float, noise_sd: float, max_passes: int
) -> tuple[Array, float, float]:
    """Return signs, gamma and the variance of the noise."""
    check_count("max_passes", max_passes, least=1)
    if not np.isfinite(gamma):
        raise InvalidInputError(f"gamma must be a finite number, got {gamma!r}.")
    return checked_signs(y), float(gamma), check_positive("noise_sd", noise_sd, or_zero=True) ** 2


def _posterior(
    mean: Array,
    covariance: Array,
    sites: Array,
    inner: float,
    options: tuple[float, float],
    ending: tuple[int, bool],
    logs: Array,
) -> GammaPosterior:
    """Put the evidence together: Fearn (2021) eq 4.26, with the sites' own means.

    Written without dividing by a site's precision, which may be zero.
    """
    gamma, noise = options
    precision, latent, alpha, cavity_mean, cavity_variance = sites
    with np.errstate(over="ignore", invalid="ignore"):
        shift = latent * precision - gamma * alpha
        spread = cavity_variance - noise
        push = alpha * (spread * precision - gamma)
        stretch = 1.0 + spread * precision
        own = (alpha * spread - latent) * (push + shift) / 2 - push**2 * spread / (2 * stretch)
        log_evidence = inner + float(np.sum(logs + 0.5 * np.log(stretch) + own))
    return GammaPosterior(
        mean,
        covariance,
        alpha.copy(),
        precision.copy(),
        shift,
        cavity_mean.copy(),
        cavity_variance.copy(),
        log_evidence,
        *ending,
    )


@compiled
def _hazard(z: float) -> float:
    """Return the normal density over the distribution function."""
    if z < -35.0:
        return -z - 1.0 / z + 2.0 / z**3
    return math.exp(-0.5 * z * z) / (_ROOT_2_PI * 0.5 * math.erfc(-z / _ROOT_2))


@compiled
def _log_normal(z: float) -> float:
    """Return the logarithm of the normal distribution function."""
    if z < -35.0:
        return -0.5 * z * z - math.log(-z * _ROOT_2_PI) - 1.0 / (z * z)
    return math.log(0.5 * math.erfc(-z / _ROOT_2))


@compiled
def _weights_pass(
    design: Array,
    mean: Array,
    covariance: Array,
    sites: Array,
    logs: Array,
    gamma: float,
    noise: float,
) -> float:
    """Visit all rows once, changing mean, covariance, sites and logs; return the largest change.

    Rows of `design` are multiplied by their labels. Rows of `sites`: precision, latent mean after
    the visit, alpha, cavity mean, cavity variance with noise.
    """
    precisions, latents, alphas, cavity_means, cavity_variances = sites
    largest = 0.0
    for row in range(len(design)):
        x = design[row]
        column = covariance @ x
        variance, latent = x @ column, x @ mean
        precision = precisions[row]
        rest = 1.0 - precision * variance
        if rest < 1e-10:
            continue
        spread = variance / rest
        move = precision * (latent - latents[row]) + gamma * alphas[row]
        hole, total = latent + spread * move, spread + noise
        if not total > 0.0:
            continue
        root = math.sqrt(total)
        alpha = _hazard(hole / root) / root
        curvature = alpha * (hole / total + alpha)
        mean += column * ((move + alpha) / rest)
        covariance += np.outer(column * (precision / rest - curvature / (rest * rest)), column)
        fresh = curvature / max(1.0 - curvature * spread, 1e-12)
        after = hole + spread * alpha
        largest = max(largest, abs(after - latents[row]), abs(fresh - precision) * spread)
        precisions[row], latents[row], alphas[row] = fresh, after, alpha
        cavity_means[row], cavity_variances[row] = hole, total
        logs[row] = _log_normal(hole / root)
    return largest


@compiled
def _latent_pass(covariance: Array, mean: Array, sites: Array, logs: Array, gamma: float) -> float:
    """Do what `_weights_pass` does with latent values, whose noise is in their covariance.

    Changes of rank one wait in `columns` until there are enough for one product of matrices; the
    covariance is to be made anew after the pass.
    """
    precisions, latents, alphas, cavity_means, cavity_variances = sites
    shift = latents * precisions - gamma * alphas
    mean[:] = covariance @ shift
    columns, shrinks = np.empty((_WAITING, len(mean))), np.empty(_WAITING)
    waiting, largest = 0, 0.0
    for row in range(len(mean)):
        column = covariance[row].copy()
        if waiting:
            column -= (shrinks[:waiting] * columns[:waiting, row]) @ columns[:waiting]
        rest = 1.0 - precisions[row] * column[row]
        if rest < 1e-10:
            continue
        spread = column[row] / rest
        if not spread > 0.0:
            continue
        move = precisions[row] * (mean[row] - latents[row]) + gamma * alphas[row]
        hole, root = mean[row] + spread * move, math.sqrt(spread)
        alpha = _hazard(hole / root) / root
        after = hole + spread * alpha
        fresh = alpha * after / (spread * max(1.0 - alpha * after, 1e-12))
        more, push = fresh - precisions[row], after * fresh - gamma * alpha
        shrink = more / (1.0 + more * column[row])
        # What covariance @ shift becomes: both change by their own row only.
        moved = (push - shift[row]) * (1.0 - shrink * column[row]) - shrink * mean[row]
        mean += moved * column
        shift[row] = push
        columns[waiting], shrinks[waiting] = column, shrink
        waiting += 1
        if waiting == _WAITING:
            covariance -= columns.T @ (shrinks.reshape(-1, 1) * columns)
            waiting = 0
        largest = max(largest, abs(after - latents[row]), abs(more) * spread)
        precisions[row], latents[row], alphas[row] = fresh, after, alpha
        cavity_means[row], cavity_variances[row] = hole, spread
        logs[row] = _log_normal(hole / root)
    return largest
