"""Whether chains agree: split R-hat and the effective number of samples."""

from typing import Any

import numpy as np

from parsimon._typing import Array, Mask
from parsimon.exceptions import InvalidInputError


def r_hat(values: Any) -> Array:
    """Return the split R-hat of Gelman and Rubin: about 1 where chains agree.

    Each chain is cut into halves, so that one that drifts disagrees with itself.

    Parameters
    ----------
    values : array-like of shape (n_chains, n_samples) or (n_chains, n_samples, k)
        What was recorded, for k quantities at once.

    Returns
    -------
    ndarray of shape () or (k,)
        1 where nothing varies at all, infinite where chains stand still at different values.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, section 11.4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = rng.normal(size=(4, 1000))
    >>> bool(r_hat(same) < 1.01), bool(r_hat(same + np.arange(4)[:, None]) > 1.5)
    (True, True)
    """
    halves = _halves(_check_chains(values))
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    total = (n - 1) / n * within + between
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Array = np.sqrt(total / within)
    return np.where(total > 0, found, 1.0)


def effective_sample_size(values: Any) -> Array:
    """Return how many independent samples would tell as much as these.

    Autocorrelations are summed in pairs while they are positive and falling (Geyer 1992), over
    halves of chains, so that chains that disagree count as few.

    Parameters
    ----------
    values : array-like of shape (n_chains, n_samples) or (n_chains, n_samples, k)
        What was recorded.

    Returns
    -------
    ndarray of shape () or (k,)
        At most n_chains times n_samples; that number where nothing varies.

    References
    ----------
    Vehtari et al. (2021), Bayesian Analysis 16:667-718.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(effective_sample_size(rng.normal(size=(4, 500))) > 1500)
    True
    """
    table = _check_chains(values)
    halves = _halves(table)
    m, n = halves.shape[:2]
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    power = np.abs(np.fft.rfft(centred, n=size, axis=1)) ** 2
    covariance = np.fft.irfft(power, n=size, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = (n - 1) / n * within + halves.mean(axis=1).var(axis=0, ddof=1)
    varies = total > 0
    rho = 1.0 - (within - covariance) / np.where(varies, total, 1.0)
    rho[0] = 1.0
    pairs = rho[0 : n - n % 2 : 2] + rho[1 : n - n % 2 : 2]
    # The first pair always counts; the sum ends before the first pair that is not positive.
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    positive[0] = True
    falling = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2.0 * falling.sum(axis=0) - 1.0, 1.0 / np.log10(max(10, m * n)))
    size_of: Array = np.minimum(m * n / time, m * n)
    return np.where(varies, size_of, float(m * n))


def agreement(errors: Array, votes: Mask) -> tuple[dict[str, float], dict[str, float]]:
    """Return R-hat and effective samples of what chains can agree on: "error" and "votes".

    Parameters themselves may say the same in many ways, as the hidden units of a network in
    another order do; errors and labels do not. Of the votes it is the worst row, among those whose
    average is neither below 0.05 nor above 0.95. NaN for fewer than four samples.

    Shapes: errors (n_chains, n_steps), votes (n_chains, n_kept, n).
    """
    names = ("error", "votes")
    if votes.shape[1] < 4 or errors.shape[1] < 4:
        return dict.fromkeys(names, float("nan")), dict.fromkeys(names, float("nan"))
    share = votes.mean(axis=(0, 1))
    undecided = votes[:, :, (share >= 0.05) & (share <= 0.95)].astype(np.float64)
    most = float(votes.shape[0] * votes.shape[1])
    agreed = float(r_hat(errors)), float(r_hat(undecided).max(initial=1.0))
    effective = (
        float(effective_sample_size(errors)),
        float(effective_sample_size(undecided).min(initial=most)),
    )
    return dict(zip(names, agreed, strict=True)), dict(zip(names, effective, strict=True))


def _check_chains(values: Any) -> Array:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim not in (2, 3) or table.shape[1] < 4 or not np.isfinite(table).all():
        raise InvalidInputError(
            f"Chains are finite numbers of shape (n_chains, n_samples) or (n_chains, n_samples, k) "
            f"with four samples or more, got shape {table.shape}."
        )
    return table


def _halves(table: Array) -> Array:
    """Return the first and second halves as chains of their own, the middle of an odd one left."""
    half = table.shape[1] // 2
    return np.concatenate([table[:, :half], table[:, -half:]])
