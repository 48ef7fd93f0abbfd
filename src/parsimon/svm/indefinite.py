"""Kernels that are not positive semi-definite: their spectrum, how it looks, the usual repairs.

With a negative eigenvalue there is no feature space in which the margin is measured, and the dual
is no longer concave. `kernel_spectrum` shows by how much and its `plot` draws it; `repair_kernel`
gives the matrix with absolute eigenvalues ("flip"), the nearest matrix ("clip") or a raised
diagonal ("shift"), each with the linear map that new rows need so that training and prediction see
the same similarity. `training_matrix` does that where it was asked for and is needed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.linalg.lapack import dpotrf

from parsimon._checks import check_choice, check_count, check_positive, finite_matrix
from parsimon._style import BLUE, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array, Indices
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from parsimon.svm._gram import Gram

How = Literal["native", "clip", "flip", "shift"]
REPAIRS = ("native", "clip", "flip", "shift")
# Share of the largest eigenvalue below which a negative one is rounding.
TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class KernelSpectrum:
    """The eigenvalues of a symmetric matrix, and how far it is from positive semi-definite.

    eigenvalues (n,): Descending.
    n_negative: How many are below zero by more than rounding.
    negative_mass: Sum of their absolute values as a share of that of all.
    """

    eigenvalues: Array
    n_negative: int
    negative_mass: float

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue."""
        return float(self.eigenvalues[-1])

    @property
    def is_psd(self) -> bool:
        """Whether no eigenvalue is below zero by more than rounding."""
        return self.n_negative == 0

    def plot(self, ax: "Axes | None" = None, *, n_shown: int | None = 20) -> "Axes":
        """Draw the largest eigenvalues, all with None, the negative ones in another colour."""
        from matplotlib.ticker import MaxNLocator

        values = self.eigenvalues
        n_shown = (
            len(values) if n_shown is None else min(check_count("n_shown", n_shown), len(values))
        )
        largest = np.sort(np.argsort(-np.abs(values), kind="stable")[:n_shown])
        shown = values[largest]
        negative = largest >= len(values) - self.n_negative
        places = np.arange(1, n_shown + 1)
        with figure_style():
            ax = new_axes(ax)
            width = 0.8 if n_shown <= 60 else 1.0
            for mask, colour, label in (
                (~negative, BLUE, "positive or zero"),
                (negative, VERMILION, "negative"),
            ):
                if mask.any():
                    ax.bar(places[mask], shown[mask], width=width, color=colour, label=label)
            ax.axhline(0.0, color=GREY, linewidth=0.8)
            every = "Eigenvalues" if n_shown == len(values) else f"The {n_shown} largest in size"
            ax.set_xlabel(f"{every}, in descending order")
            ax.set_ylabel("Eigenvalue")
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
            ax.grid(visible=False, axis="x")
            ax.margins(y=0.1)
            ax.set_xlim(0.4, n_shown + 0.6)
            ax.set_title(_title(self), loc="left")
            if negative.any():
                ax.legend(loc="upper right")
                _mark_smallest(ax, n_shown, self.smallest)
        return ax


class Repair(NamedTuple):
    """A kernel matrix made positive semi-definite, or left as it is.

    train (n, n): The matrix to train on.
    spectrum: Of the matrix as it was.
    map (n, n): What similarities of new rows are multiplied with; None leaves them as they are.
    """

    train: Array
    spectrum: KernelSpectrum
    map: Array | None = None


def kernel_spectrum(K: Any, *, tol: float = TOLERANCE) -> KernelSpectrum:
    """Return the eigenvalues of a kernel matrix.

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric.
    tol : float
        Share of the largest absolute eigenvalue below which a negative one is rounding.

    Returns
    -------
    KernelSpectrum

    References
    ----------
    Mierswa (2009), definition 4.1 and figure 4.1; Ong, Mary, Canu and Smola (2004), "Learning with
    non-positive kernels", ICML 21.

    Examples
    --------
    >>> spectrum = kernel_spectrum([[0.0, 1.0], [1.0, 0.0]])
    >>> spectrum.eigenvalues, spectrum.n_negative, spectrum.negative_mass
    (array([ 1., -1.]), 1, 0.5)
    """
    matrix = check_square(K)
    share = check_positive("tol", tol, or_zero=True)
    return _measure(np.asarray(eigvalsh(matrix), dtype=np.float64), share)


def repair_kernel(K: Array, how: How, *, tol: float = TOLERANCE) -> Repair:
    """Return a kernel matrix without negative eigenvalues, and the map for new rows.

    Shapes: K (n, n).

    Wu, Chang and Zhang (2005), "An analysis of transformation on non-positive semidefinite
    similarity matrix for kernel machines"; Chen, Garcia, Gupta, Rahimi and Cazzanti (2009),
    "Similarity-based classification", JMLR 10:747-776, section 4.
    """
    check_choice("indefinite", how, REPAIRS)
    matrix = check_square(K)
    if how in ("native", "shift"):
        spectrum = kernel_spectrum(matrix, tol=tol)
        if how == "native" or spectrum.is_psd:
            return Repair(matrix, spectrum)
        return Repair(matrix - spectrum.smallest * np.eye(len(matrix)), spectrum)
    values, vectors = eigh(matrix)
    spectrum = _measure(values, tol)
    if spectrum.is_psd:
        return Repair(matrix, spectrum)
    factors = np.where(values > 0, 1.0, 0.0 if how == "clip" else -1.0)
    train = (vectors * (values * factors)) @ vectors.T
    return Repair(0.5 * (train + train.T), spectrum, (vectors * factors) @ vectors.T)


def check_square(K: Any) -> Array:
    """Return a finite, square, symmetric matrix."""
    matrix = finite_matrix(K, "K")
    if matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise InvalidInputError(f"K must be a square matrix, got shape {matrix.shape}.")
    asymmetry = float(np.abs(matrix - matrix.T).max())
    if asymmetry > 1e-8 * float(np.abs(matrix).max()):
        raise InvalidInputError(
            f"K must be symmetric, but K[i, j] and K[j, i] differ by up to {asymmetry:g}. "
            "Give (K + K.T) / 2 if that is what is meant."
        )
    return matrix


def _measure(ascending: Array, tol: float) -> KernelSpectrum:
    sizes = np.abs(ascending)
    negative = ascending < -tol * float(sizes.max(initial=0.0))
    total = float(sizes.sum())
    mass = float(sizes[negative].sum()) / total if total > 0 else 0.0
    return KernelSpectrum(ascending[::-1].copy(), int(np.count_nonzero(negative)), mass)


_DID = {
    "native": "it was used as it is, and the dual searched for its highest stationary point",
    "clip": "they were set to zero",
    "flip": "they were made positive",
    "shift": "the size of the smallest was added to the diagonal",
}


@dataclass(frozen=True, eq=False)
class Definiteness:
    """Whether a kernel matrix has negative eigenvalues, and what was done about them.

    gram: The matrix is computed from it when it is asked for again.
    spectrum: None where the matrix is positive semi-definite and nobody has asked for
        eigenvalues yet.
    repair: "none": there was nothing to repair.
    """

    gram: "Gram"
    spectrum: KernelSpectrum | None
    repair: str

    @cached_property
    def measured(self) -> KernelSpectrum:
        """The spectrum of the matrix as it was given."""
        return kernel_spectrum(self.gram.train) if self.spectrum is None else self.spectrum

    def sentence(self) -> str:
        """Return in words what was seen and done."""
        spectrum = self.measured
        if self.repair == "none":
            return (
                "The kernel matrix is positive semi-definite "
                f"(smallest eigenvalue {spectrum.smallest:.3g}); nothing was repaired."
            )
        return (
            f"The kernel matrix is indefinite: {spectrum.n_negative} of "
            f"{len(spectrum.eigenvalues)} eigenvalues are negative "
            f"({100 * spectrum.negative_mass:.2g} % of the mass, the smallest "
            f"{spectrum.smallest:.3g}); {_DID[self.repair]}."
        )


class TrainingMatrix(NamedTuple):
    """A kernel matrix to train on.

    matrix (n, n): Repaired if that was asked for.
    concave: Whether `matrix` has no negative eigenvalues.
    map (n, n): What similarities of new rows are multiplied with.
    """

    gram: "Gram"
    matrix: Array
    concave: bool
    map: Array | None
    definiteness: Definiteness

    def expansion(self, coefficients: Array) -> "tuple[Gram, Array, Indices]":
        """Return the rows that a prediction needs, with their coefficients and numbers.

        Shapes: coefficients (n, k).
        """
        mapped = coefficients if self.map is None else self.map @ coefficients
        used = np.flatnonzero(mapped.any(axis=1))
        return self.gram.subset(used), mapped[used], used


def training_matrix(gram: "Gram", how: How) -> TrainingMatrix:
    """Return the kernel matrix to train on; `how` says what to do with negative eigenvalues."""
    matrix = gram.train
    if gram.is_psd or _has_cholesky_factor(matrix):
        return TrainingMatrix(gram, matrix, True, None, Definiteness(gram, None, "none"))
    repair = repair_kernel(matrix, how)
    definite = repair.spectrum.is_psd
    seen = Definiteness(gram, repair.spectrum, "none" if definite else how)
    return TrainingMatrix(gram, repair.train, definite or how != "native", repair.map, seen)


def _has_cholesky_factor(matrix: Array) -> bool:
    """Return whether it is surely positive semi-definite, at a fifth of the spectrum's time."""
    largest = float(np.diagonal(matrix).max())
    if largest <= 0:
        return False
    raised = matrix + TOLERANCE * largest * np.eye(len(matrix))
    return bool(dpotrf(raised, lower=1, overwrite_a=1)[1] == 0)


def _mark_smallest(ax: "Axes", place: int, smallest: float) -> None:
    ax.annotate(
        f"{smallest:.2g}".replace("-", "\N{MINUS SIGN}"),
        (place, smallest),
        xytext=(0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        color=VERMILION,
    )


def _title(spectrum: KernelSpectrum) -> str:
    n = len(spectrum.eigenvalues)
    if spectrum.is_psd:
        return f"Positive semi-definite: {n} eigenvalues, none negative"
    return (
        f"{spectrum.n_negative} of {n} eigenvalues negative, "
        f"{100 * spectrum.negative_mass:.2g} % of the mass"
    )
