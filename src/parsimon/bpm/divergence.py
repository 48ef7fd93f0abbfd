"""Several kernels become one: the mixture nearest to the kernel that the labels would be.

`DivergenceMKL` turns rows into one kernel matrix for any machine with ``kernel="precomputed"``;
the mathematics is `parsimon.inference.least_divergence`.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted
from sklearn.utils.validation import validate_data as scikit_validate_data

from parsimon._checks import check_choice, check_count, check_positive, did_you_mean, finite_matrix
from parsimon._data import check_classes, validate_data
from parsimon._typing import AnyArray, Array, Indices
from parsimon.exceptions import InvalidInputError
from parsimon.inference import KernelWeights, least_divergence
from parsimon.kernels import FunctionKernel, Kernel, Spectrum, from_sklearn
from parsimon.kernels.adapters import as_kernel

# Least ridge, as a share of the mean of the kernel's diagonal: what the published method leaves
# open, and what keeps a matrix of low rank positive definite when the ridge is learnt.
LEAST_RIDGE = 1e-3
# Widths of the kernels of "rbf" when none are named, as factors of scikit-learn's "scale".
_DEFAULT_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(frozen=True, eq=False)
class LookedUp:
    """Similarities of all rows known beforehand; a row says by its number which it is.

    matrix (n_all, n_all): Symmetric.
    """

    matrix: Array

    def gram(self, X: AnyArray, Y: AnyArray) -> Array:
        """Return the similarities of the rows with these numbers; X (n, 1), Y (m, 1)."""
        return self.matrix[np.ix_(self._numbers(X), self._numbers(Y))]

    def _numbers(self, X: AnyArray) -> Indices:
        if X.shape[1] != 1:
            raise InvalidInputError(
                f"A matrix of similarities is looked up by one column of row numbers, got "
                f"{X.shape[1]} columns; name the one: (matrix, column)."
            )
        numbers = X[:, 0].astype(np.intp)
        if (numbers != X[:, 0]).any() or not 0 <= numbers.min() <= numbers.max() < len(self.matrix):
            raise InvalidInputError(
                f"Row numbers of a matrix of similarities must be whole and from 0 to "
                f"{len(self.matrix) - 1}, got {X[:, 0].min()} to {X[:, 0].max()}."
            )
        return numbers


@dataclass(frozen=True, eq=False)
class ColumnKernel:
    """A kernel on some of the columns, by the name it is reported under.

    columns: None means all.
    """

    name: str
    kernel: Kernel | Spectrum | LookedUp
    columns: tuple[int, ...] | None

    def gram(self, X: AnyArray, Y: AnyArray) -> Array:
        """Return similarities of rows of the whole table; X (n, d), Y (m, d) -> (n, m)."""
        return self.kernel.gram(self._taken(X), self._taken(Y))

    def _taken(self, X: AnyArray) -> AnyArray:
        taken = X if self.columns is None else X[:, self.columns]
        if isinstance(self.kernel, Spectrum) or X.dtype != object:
            return taken
        return finite_matrix(taken, f"The columns of kernel {self.name!r}")


class DivergenceMKL(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Mix several kernels into the one nearest to the labels, and return its matrix.

    Kernels, or groups of columns with a kernel each, get weights that are not negative and sum to
    one. Two zero-mean Gaussians, one with the covariance :math:`yy^T` that labels of -1 and 1 would
    have and one with the mixture, are brought as near as they come by Kullback and Leibler's
    divergence [1]_. The optimum comes with a certificate, `gap_`.

    It is a transformer: ``make_pipeline(DivergenceMKL(kernels), SVC(kernel="precomputed"))`` learns
    weights and machine inside each fold. `BayesPointClassifier`, `GPClassifier`, `GPRegressor`,
    `RVC`, `EvolutionarySVC` and scikit-learn's machines take its matrix.

    Parameters
    ----------
    kernels : list, mapping, "precomputed" or None
        One entry for each kernel: the kernel, or a pair of the kernel and the columns that it sees
        (places, or names of a data frame); with a mapping, keys are the names that are reported. A
        kernel is one of ours, `Spectrum` for columns of strings, one of scikit-learn's, a name
        ("rbf", "linear", "poly", "laplacian"; the scale is SVC's ``gamma="scale"``), a function, or
        a square matrix of the similarities of all rows, which is looked up by a column of row
        numbers. "precomputed" takes all matrices as X, shape (p, n, n) in `fit`. None is a line and
        five widths of "rbf".
    divergence : {"labels_to_kernel", "kernel_to_labels"}
        Which Gaussian the expectation is taken under. The first is MKLdiv-dc of [2]_: tr(K_y inv K)
        + log|K|, which is twice the negative log evidence of a Gaussian process on the labels; it
        is not convex. The second is MKLdiv-conv: tr(K inv K_y) - log|K|, which is convex, and tends
        to one kernel.
    ridge : float or "learn"
        Added to the diagonal, as a share of its mean. "learn" gives the identity a weight of its
        own beside the kernels (at least 0.001): noise in the labels, which otherwise a rough kernel
        is taken for.
    normalise : bool
        Divide each kernel by the mean of its diagonal, so that weights can be compared.
    max_iter : int
        Of the optimiser, for each start.
    tol : float
        The gap to reach, as a share of the objective.

    Attributes
    ----------
    weights_ : ndarray of shape (p,)
        Of the normalised kernels; they sum to one.
    kernel_names_ : list of str
    scales_ : ndarray of shape (p,)
        What each kernel is multiplied with before its weight.
    ridge_ : float
        As a share of the mixture's mean diagonal; not part of the matrix that is returned.
    objective_ : float
        Divergence for each row, less a constant.
    gradient_ : ndarray of shape (p,)
        Of the objective: equal and least for all kernels with weight.
    gap_ : float
        ``weights @ gradient - min(gradient)``, which is zero where the conditions of Karush, Kuhn
        and Tucker hold; for "kernel_to_labels" the objective is within this of the least.
    n_iter_ : int
    classes_ : ndarray of shape (n_classes,)
        None for a target of numbers.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    References
    ----------
    .. [1] Ying, Huang and Campbell, "Enhanced protein fold recognition through a novel data
       integration approach", BMC Bioinformatics 10 (2009).
    .. [2] Fearn (2021), PhD thesis, University of Bristol, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> X, y = make_classification(100, 4, n_informative=2, n_redundant=0, shuffle=False,
    ...                            random_state=0)
    >>> groups = {"signal": ("rbf", [0, 1]), "noise": ("rbf", [2, 3])}
    >>> mixed = DivergenceMKL(groups).fit(X, y)
    >>> dict(zip(mixed.kernel_names_, mixed.weights_.round(2).tolist()))
    {'signal': 0.99, 'noise': 0.01}
    >>> mixed.transform(X[:3]).shape, mixed.gap_ < 1e-5
    ((3, 100), True)
    >>> machine = make_pipeline(DivergenceMKL(groups), SVC(kernel="precomputed")).fit(X, y)
    >>> machine.score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        kernels: Any = None,
        *,
        divergence: Literal["labels_to_kernel", "kernel_to_labels"] = "labels_to_kernel",
        ridge: float | Literal["learn"] = "learn",
        normalise: bool = True,
        max_iter: int = 300,
        tol: float = 1e-5,
    ) -> None:
        self.kernels = kernels
        self.divergence = divergence
        self.ridge = ridge
        self.normalise = normalise
        self.max_iter = max_iter
        self.tol = tol

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.three_d_array = self._is_precomputed
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : array-like of shape (n, d), or (p, n, n) for ``kernels="precomputed"``
        y : array-like of shape (n,)
            Labels of any kind (with three classes or more, the mean of one against the rest), or
            numbers, if some are not whole.

        Returns
        -------
        DivergenceMKL
            Itself.
        """
        self._fit_matrix(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> Array:
        """Find the weights, and return the mixed matrix of the training rows, shape (n, n)."""
        return self._fit_matrix(X, y)

    def transform(self, X: Any) -> Array:
        """Return the mixed similarities of rows with the training rows, shape (m, n).

        Parameters
        ----------
        X : array-like of shape (m, d), or (p, m, n) for ``kernels="precomputed"``

        Returns
        -------
        ndarray of shape (m, n)
        """
        check_is_fitted(self)
        factors = self.weights_ * self.scales_
        if self._is_precomputed:
            return np.tensordot(factors, self._stack(X, self._n_features_out), axes=1)
        rows = self._table(X, reset=False)
        total = np.zeros((len(rows), len(self._rows)))
        for factor, part in zip(factors, self._parts, strict=True):
            if factor > 0:
                total += factor * part.gram(rows, self._rows)
        return total

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    def _fit_matrix(self, X: Any, y: Any) -> Array:
        self._check_options()
        grams, targets = self._grams_and_targets(X, y)
        n_rows = len(targets)
        diagonals = np.trace(grams, axis1=1, axis2=2) / n_rows
        usable = self.normalise & (diagonals > 0)
        self.scales_ = np.where(usable, 1.0 / np.where(usable, diagonals, 1.0), 1.0)
        grams *= self.scales_[:, None, None]
        size = float(np.mean(diagonals * self.scales_)) or 1.0
        is_learnt = self.ridge == "learn"
        found = least_divergence(
            np.concatenate([grams, size * np.eye(n_rows)[None]]) if is_learnt else grams,
            targets,
            ridge=(LEAST_RIDGE if is_learnt else float(self.ridge)) * size,
            divergence=self.divergence,
            max_iterations=self.max_iter,
            tolerance=self.tol,
        )
        self._store(found, is_learnt)
        return np.tensordot(self.weights_, grams, axes=1)

    def _store(self, found: KernelWeights, is_learnt: bool) -> None:
        """Keep the weights of the kernels, of sum one, and their certificate."""
        whole = found.weights[: len(self.scales_)]
        share = float(whole.sum())
        # All weight on the identity: no kernel says anything, and none is preferred.
        self.weights_ = whole / share if share > 0 else np.full(len(whole), 1.0 / len(whole))
        self.ridge_ = (
            float(self.ridge)
            if not is_learnt
            else ((LEAST_RIDGE + found.weights[-1]) / share if share > 0 else np.inf)
        )
        self.objective_, self.gap_ = found.objective, found.gap
        self.gradient_ = found.gradient[: len(whole)]
        self.n_iter_ = found.n_iterations
        if found.gap > self.tol * max(1.0, abs(found.objective)):
            warnings.warn(
                f"The weights of the kernels are not at their optimum: the gap is {found.gap:.2g} "
                f"after {found.n_iterations} iterations; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _check_options(self) -> None:
        check_choice("divergence", self.divergence, ["labels_to_kernel", "kernel_to_labels"])
        if not (isinstance(self.ridge, str) and self.ridge == "learn"):
            check_positive("ridge", self.ridge)
        check_choice("normalise", self.normalise, [True, False])
        check_count("max_iter", self.max_iter)
        check_positive("tol", self.tol)

    def _grams_and_targets(self, X: Any, y: Any) -> tuple[Array, Array]:
        """Return the kernels' matrices, (p, n, n), and the target's columns, (n, c)."""
        if self._is_precomputed:
            grams = self._stack(X, None)
            self.n_features_in_ = self._n_features_out = grams.shape[1]
            self.kernel_names_ = [f"matrix {place + 1}" for place in range(len(grams))]
            return grams, self._targets(np.asarray(y), grams.shape[1])
        if y is None:
            raise InvalidInputError(
                "requires y to be passed, but the target y is None: weights of kernels are learnt "
                "from labels."
            )
        if self.kernels is not None and not self.kernels:
            raise InvalidInputError("kernels holds no kernel; give at least one.")
        self._rows, y = self._table(X, y, reset=True)
        self._n_features_out = len(self._rows)
        self._parts = self._column_kernels()
        self.kernel_names_ = [part.name for part in self._parts]
        grams = np.stack(
            [_check_gram(part.name, part.gram(self._rows, self._rows)) for part in self._parts]
        )
        return grams, self._targets(y, len(self._rows))

    def _table(self, X: Any, *y: Any, reset: bool) -> Any:
        options: dict[str, Any] = {"reset": reset} | ({"ensure_min_samples": 2} if reset else {})
        if any(isinstance(spec, Spectrum) for _, spec, _ in self._entries()):
            return scikit_validate_data(self, X, *y, dtype=object, **options)
        return validate_data(self, X, *y, dtype=np.float64, **options)

    def _stack(self, X: Any, n_columns: int | None) -> Array:
        """Return matrices of similarities as one array, shape (p, m, n), a copy."""
        try:
            grams = np.array(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"Matrices of similarities must be numbers, all of one shape; got {error}."
            ) from error
        if grams.ndim != 3 or not np.isfinite(grams).all():
            raise InvalidInputError(
                'kernels="precomputed" takes finite matrices of shape (kernels, rows, training '
                f"rows), got shape {grams.shape}."
            )
        if n_columns is None:
            for place, gram in enumerate(grams):
                _check_gram(f"matrix {place + 1}", gram)
        elif (len(grams), grams.shape[2]) != (len(self.weights_), n_columns):
            raise InvalidInputError(
                f"{len(self.weights_)} matrices of similarities with {n_columns} training rows "
                f"are needed, got shape {grams.shape}."
            )
        return grams

    def _targets(self, y: AnyArray, n_rows: int) -> Array:
        """Return labels as columns of -1 and 1, or numbers as one standard column."""
        if len(y) != n_rows:
            raise InvalidInputError(f"There are {n_rows} rows but {len(y)} labels.")
        if type_of_target(y) == "continuous":
            self.classes_ = None
            return np.asarray((y - y.mean()) / y.std())[:, None]
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        check_classes(self.classes_, codes)
        kinds = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        return np.column_stack([np.where(codes == kind, 1.0, -1.0) for kind in kinds])

    def _entries(self) -> list[tuple[str, Any, Any]]:
        """Return the name, kernel and columns of each entry, as they were given."""
        if self.kernels is None:
            return []
        named = isinstance(self.kernels, Mapping)
        given = self.kernels.items() if named else enumerate(self.kernels)
        found = []
        for key, entry in given:
            is_pair = isinstance(entry, tuple) and len(entry) == 2
            spec, columns = entry if is_pair else (entry, None)
            name = str(key) if named else _name_entry(spec, columns)
            found.append((name, spec, columns))
        return found

    def _column_kernels(self) -> list[ColumnKernel]:
        if self.kernels is None:
            return _default_kernels(self._rows)
        names = getattr(self, "feature_names_in_", None)
        found = []
        for name, spec, columns in self._entries():
            places = _places(columns, names, self.n_features_in_)
            found.append(ColumnKernel(name, self._kernel(name, spec, places), places))
        return found

    def _kernel(
        self, name: str, spec: Any, columns: tuple[int, ...] | None
    ) -> Kernel | Spectrum | LookedUp:
        """Return the kernel that one entry means."""
        if isinstance(spec, str):
            own = self._rows if columns is None else self._rows[:, columns]
            return as_kernel(spec, gamma="scale", X=finite_matrix(own, name))
        if isinstance(spec, Kernel):
            if not spec.is_psd:
                raise InvalidInputError(
                    f"Kernel {name!r} is not positive semi-definite, so it is no covariance; "
                    "leave it out."
                )
            return spec
        if isinstance(spec, Spectrum):
            return spec
        if callable(spec):
            from sklearn.gaussian_process.kernels import Kernel as ScikitKernel

            return from_sklearn(spec) if isinstance(spec, ScikitKernel) else FunctionKernel(spec)
        matrix = finite_matrix(spec, f"Kernel {name!r}")
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(
                f"Kernel {name!r} is a matrix of shape {matrix.shape}; give the similarities of "
                "all rows with all rows, which is square."
            )
        return LookedUp(matrix)


def _default_kernels(X: Array) -> list[ColumnKernel]:
    """Return a line, and squared exponentials of several widths, of all columns; X (n, d)."""
    middle: Any = as_kernel("rbf", gamma="scale", X=X)
    radial = [
        ColumnKernel(f"rbf × {factor:g}", middle.replaced(lengthscale=width), None)
        for factor in _DEFAULT_FACTORS
        for width in [middle.lengthscale / np.sqrt(factor)]
    ]
    return [ColumnKernel("linear", as_kernel("linear"), None), *radial]


def _name_entry(spec: Any, columns: Any) -> str:
    """Return the name that an entry without one is reported under."""
    is_matrix = hasattr(spec, "shape") or isinstance(spec, list)
    what = "matrix" if is_matrix else getattr(spec, "__name__", str(spec))
    return what if columns is None else f"{what} of {np.atleast_1d(columns).tolist()}"


def _places(columns: Any, names: Any, n_columns: int) -> tuple[int, ...] | None:
    """Return the places of columns given by place or by name."""
    if columns is None:
        return None
    if isinstance(columns, slice):
        return tuple(range(n_columns)[columns])
    asked = [columns] if isinstance(columns, str) or np.ndim(columns) == 0 else list(columns)
    known = [] if names is None else [str(name) for name in names]
    places = []
    for column in asked:
        if isinstance(column, str):
            if column not in known:
                raise InvalidInputError(
                    f"There is no column {column!r}.{did_you_mean(column, known)}"
                )
            places.append(known.index(column))
        elif 0 <= column < n_columns:
            places.append(int(column))
        else:
            raise InvalidInputError(
                f"A kernel asks for column {column}, but X has {n_columns} columns (counted from "
                "0)."
            )
    return tuple(places)


def _check_gram(name: str, gram: Array) -> Array:
    """Refuse a matrix of training rows that is not square, symmetric and finite."""
    is_square = gram.ndim == 2 and gram.shape[0] == gram.shape[1]
    size = float(np.abs(gram).max(initial=0.0))
    if not is_square or not np.allclose(gram, gram.T, rtol=0, atol=1e-8 * size):
        raise InvalidInputError(
            f"Kernel {name!r} gives a matrix of shape {gram.shape} that is not square and "
            "symmetric for the training rows, so it is no kernel."
        )
    return gram
