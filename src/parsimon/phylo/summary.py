"""The table of a fitted regression, as R prints it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parsimon._typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from parsimon.phylo.pgls import PGLS

_LEAKS = "Random folds leak through the tree: judge predictions of new clades with CladeKFold."


@dataclass(frozen=True, eq=False)
class Summary:
    """What a regression found; its text is in R's form.

    Shapes: estimates, standard_errors, t_values, p_values (p,).

    names: Of the coefficients.
    intervals (p, 2): At 95 %.
    lines: What is printed above and below the table.
    """

    names: tuple[str, ...]
    estimates: Array
    standard_errors: Array
    t_values: Array
    p_values: Array
    intervals: Array
    above: tuple[str, ...]
    below: tuple[str, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of coefficients as a data frame."""
        import pandas as pd

        return pd.DataFrame(
            {
                "estimate": self.estimates,
                "standard error": self.standard_errors,
                "t": self.t_values,
                "p": self.p_values,
                "lower": self.intervals[:, 0],
                "upper": self.intervals[:, 1],
            },
            index=list(self.names),
        )

    def __str__(self) -> str:
        heads = ("", "Estimate", "Std. Error", "t value", "Pr(>|t|)", "2.5 %", "97.5 %")
        rows = [
            (
                name,
                *(f"{value:.5g}" for value in numbers[:2]),
                f"{numbers[2]:.3f}",
                f"{numbers[3]:.3g}" if numbers[3] >= 1e-16 else "<1e-16",
                *(f"{value:.5g}" for value in numbers[4:]),
            )
            for name, *numbers in zip(
                self.names,
                self.estimates,
                self.standard_errors,
                self.t_values,
                self.p_values,
                *self.intervals.T,
                strict=True,
            )
        ]
        widths = [max(len(row[j]) for row in [heads, *rows]) for j in range(len(heads))]
        table = [
            "  ".join(
                [
                    row[0].ljust(widths[0]),
                    *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in [heads, *rows]
        ]
        return "\n".join([*self.above, "", *table, "", *self.below])


def summarise(model: "PGLS") -> Summary:
    """Return the summary of a fitted `PGLS`."""
    names = getattr(model, "feature_names_in_", None)
    labels = [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names)
    if model.fit_intercept:
        labels = ["(Intercept)", *labels]
    return Summary(
        tuple(str(label) for label in labels),
        model._fit.coef,
        model.standard_errors_,
        model.t_values_,
        model.p_values_,
        model.confidence_intervals(),
        _above(model),
        _below(model),
    )


# Parameters that change nothing are not worth a line; lambda always is.
_PLAIN = {"lambda": None, "kappa": 1.0, "delta": 1.0, "alpha": 0.0}


def _above(model: "PGLS") -> tuple[str, ...]:
    if model.tree is None:
        return (f"Least squares without a tree, {model._fit.n} rows",)
    lines = [f"Phylogenetic generalised least squares by {model.method}, {model._fit.n} tips"]
    for name in ("lambda", "kappa", "delta", "alpha"):
        value: Any = getattr(model, f"{name}_")
        if name in model.estimated_:
            low, high = model.profile(name, n_points=3).interval
            lines.append(f"{name} {value:.4g}, estimated; 95 % interval {low:.4g} to {high:.4g}")
        elif value != _PLAIN[name]:
            lines.append(f"{name} {value:.4g}, given")
    return tuple(lines)


def _below(model: "PGLS") -> tuple[str, ...]:
    fit = model._fit
    lines = [
        f"Residual standard error {fit.variance**0.5:.5g} on {fit.n - fit.rank} degrees of freedom",
        f"R-squared {model.r_squared_:.4f}",
        f"Log-likelihood {model.log_likelihood_:.4f} ({model.method}), "
        f"AIC {model.aic_:.3f}, BIC {model.bic_:.3f}",
    ]
    if fit.rank < len(fit.coef):
        lines.append(
            f"Only {fit.rank} of {len(fit.coef)} columns are independent: single coefficients and "
            "their errors are not determined."
        )
    if model.tree is not None:
        lines.append(_LEAKS)
    return tuple(lines)
