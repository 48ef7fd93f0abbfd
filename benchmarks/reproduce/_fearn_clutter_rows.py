"""What samples of the clutter problem show, as rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.reproduce._fearn_clutter import (
    ADF,
    AT_ONE,
    BY_LOO,
    DESIGNS,
    EP,
    EXACT,
    GAMMA,
    LOW,
    MULTIPLIED,
    PRINTED,
    RESTRICTED,
    TABLES,
    THETA,
    UNDAMPED,
    Design,
    Generator,
    Samples,
    fit,
    rows_of,
)
from benchmarks.rivals import CONSTANT
from benchmarks.rows import Row
from parsimon._typing import Array
from parsimon.evaluation import mann_whitney, wilcoxon_signed_rank

Found = Mapping[Samples, Mapping[str, list[dict[str, float]]]]
LITERAL_ON_SUM, OURS_ON_MIXTURE = "as printed, weighted sum", "corrected, mixture"
N_PRINTED = 50
# A mean agrees with the printed one within so many standard errors of the difference.
ERRORS = 2.0
# Nats between corrected evidence and quadrature at 200 rows: the greatest that is allowed.
ALLOWED = 1e-3
# What the mean of a fit may move by, if the mean of the prior moves by 5, which should be nothing.
UNMOVED = 1e-4
SIGNIFICANT = 0.01
# How many times nearer to the printed figures the reading taken is than the next.
NEARER = 2.0


def cell(
    found: Found, design: Design, n: int, weight: float, method: str, quantity: str = "mean"
) -> Array:
    """Return a quantity of all samples of a cell, in the order of the samples."""
    blocks = sorted(
        (job.first, job) for job in found if (job.design, job.n, job.weight) == (design, n, weight)
    )
    return np.array([one[quantity] for _, job in blocks for one in found[job].get(method, ())])


def cells(found: Found, design: Design) -> list[tuple[int, float]]:
    """Return rows and weights that were sampled."""
    return sorted({(job.n, job.weight) for job in found if job.design == design})


def _text(values: Array) -> str:
    return f"{values.mean():.3g}+-{values.std(ddof=1):.3g}"


def table_rows(found: Found) -> list[Row]:
    """Return every printed figure beside the source's form and beside ours."""
    made = []
    for name, table in TABLES.items():
        for place, weight in enumerate(table.weights):
            if (table.n, weight) not in cells(found, "mixture"):
                continue
            for method, figures in table.figures.items():
                printed = figures[place]
                forms: list[tuple[str, Design, str]] = [
                    (LITERAL_ON_SUM, "weighted_sum", method),
                    (OURS_ON_MIXTURE, "mixture", method),
                ]
                if name == "3.2" and method == GAMMA:
                    forms.insert(1, (f"{LITERAL_ON_SUM}, gamma 1", "weighted_sum", AT_ONE))
                for words, design, key in forms:
                    means = cell(found, design, table.n, weight, key)
                    settled = cell(found, design, table.n, weight, key, "converged").mean()
                    note = f"{_text(means)} (printed {printed.mean:g}+-{printed.deviation:g})"
                    if method in (GAMMA, MULTIPLIED):
                        gammas = cell(found, design, table.n, weight, key, "gamma")
                        note += f"; gamma {gammas.mean():.2f} (printed {table.gammas[place]:g}), "
                        note += f"median size {np.median(np.abs(gammas)):.2f}"
                    note += f"; settled {settled:.0%}; median {np.median(means):.2f}"
                    made.append(
                        Row(
                            f"Table {name}, n {table.n}, w {weight}",
                            f"{method}: mean; printed ({words})",
                            float(means.mean()),
                            printed.mean,
                            note=note,
                        )
                    )
    return made


def generator_rows(readings: Mapping[Generator, Mapping[str, Any]]) -> list[Row]:
    """Return whether ADF and EP of table 3.3 are those of the weighted sum, and what of others."""
    found = {job: _distance(answer) for job, answer in readings.items()}
    summed = next(
        job
        for job in found
        if (job.design, job.generated, job.fitted) == ("weighted_sum", 100, 100)
    )
    made = _agreement_rows(readings[summed])
    others = {str(job): distance for job, distance in found.items() if job is not summed}
    nearest = min(others.values())
    for job, distance in sorted(found.items(), key=lambda pair: pair[1]):
        if job is summed:
            continue
        shown = ", ".join(_text(np.array(sample)) for sample in readings[job][EP])
        made.append(
            Row(
                "Which generator, table 3.3",
                f"means and sds of ADF and EP, rms in standard errors: {summed}; {job}",
                found[summed],
                distance,
                bar=NEARER if distance == nearest else None,
                note=f"EP there {shown}; {job.n_samples} samples",
                rivals=others if distance == nearest else {},
            )
        )
    return made


def _agreement_rows(answer: Mapping[str, Any]) -> list[Row]:
    made = []
    for method in (ADF, EP):
        for weight, sample, printed in zip(
            LOW, answer[method], TABLES["3.3"].figures[method], strict=True
        ):
            means = np.array(sample)
            error = np.hypot(
                means.std(ddof=1) / np.sqrt(len(means)), printed.deviation / np.sqrt(N_PRINTED)
            )
            tables = "Tables 3.2 and 3.3" if weight == 0.2 else "Table 3.3"
            made.append(
                Row(
                    f"{tables}, n 200, w {weight}",
                    f"{method}, weighted sum: mean less printed; peer: {ERRORS:g} standard errors",
                    abs(float(means.mean()) - printed.mean),
                    ERRORS * float(error),
                    bar=1.0,
                    note=f"{_text(means)}, printed {printed.mean:g}+-{printed.deviation:g}",
                    rivals={
                        "constant: the true mean": abs(THETA - printed.mean),
                        "mean of the rows": abs(THETA * (1 - weight) - printed.mean),
                    },
                ).without_empty_bar()
            )
    return made


def _distance(answer: Mapping[str, Any]) -> float:
    """Return the root mean square of differences of means and of log deviations, in errors."""
    scores = []
    for method in (ADF, EP):
        for sample, printed in zip(answer[method], TABLES["3.3"].figures[method], strict=True):
            n, deviation = len(sample), float(np.std(sample, ddof=1))
            error = np.hypot(deviation / np.sqrt(n), printed.deviation / np.sqrt(N_PRINTED))
            scores.append((float(np.mean(sample)) - printed.mean) / error)
            of_log = np.sqrt(0.5 / (n - 1) + 0.5 / (N_PRINTED - 1))
            scores.append(np.log(deviation / printed.deviation) / of_log)
    return float(np.sqrt(np.mean(np.square(scores))))


def evidence_rows(found: Found) -> list[Row]:
    """Return corrected and printed evidence beside quadrature, for expectation propagation."""
    made = []
    for n, weight in cells(found, "mixture"):

        def evidence(method: str, n: int = n, weight: float = weight) -> Array:
            return cell(found, "mixture", n, weight, method, "evidence")

        exact, settled = evidence(EXACT), cell(found, "mixture", n, weight, EP, "converged") > 0
        ours = np.abs(evidence(EP) - exact)[settled]
        printed, restricted = evidence(PRINTED) - exact, evidence(RESTRICTED)
        usable = printed[np.isfinite(printed)]
        note = f"median {np.median(ours):.1g} of {settled.sum()} that settled; printed, nothing "
        note += "restricted: "
        note += f"{np.median(usable):+.1f} in the median of {len(usable)}" if len(usable) else "NaN"
        note += f"; printed, restricted: above 1 in {np.sum(restricted > 0)} of {len(restricted)}, "
        note += f"median log {np.median(restricted):.2g}"
        gated = n == 200 and weight <= max(LOW)
        made.append(
            Row(
                f"Log evidence, n {n}, w {weight}",
                "corrected less quadrature, greatest"
                + ("; peer: allowed" if gated else "; peer: printed, median"),
                float(ours.max()),
                ALLOWED if gated else float(np.median(np.abs(restricted - exact))),
                bar=1.0 if gated else None,
                note=note,
                rivals={
                    CONSTANT: float(np.abs(exact).min()),
                    "as printed": float(np.median(np.abs(restricted - exact))),
                },
            )
        )
    return made


def gamma_rows(found: Found) -> list[Row]:
    """Return what the evidence of a gamma of 1 is, beside the true one and the greatest possible.

    No density of n rows in one column is above that of rows which all lie on the mean.
    """
    made = []
    for n, weight in cells(found, "mixture"):
        exact = cell(found, "mixture", n, weight, EXACT, "evidence")
        claimed = cell(found, "mixture", n, weight, AT_ONE, "evidence")
        settled = cell(found, "mixture", n, weight, AT_ONE, "converged")
        top = n * np.log(((1 - weight) + weight / np.sqrt(10.0)) / np.sqrt(2.0 * np.pi))
        made.append(
            Row(
                f"Gamma 1, mixture, n {n}, w {weight}",
                "corrected log evidence less the exact one, greatest; peer: EP's",
                float(np.max(claimed - exact)),
                float(np.max(np.abs(cell(found, "mixture", n, weight, EP, "evidence") - exact))),
                note=f"least {np.min(claimed - exact):.2g}; above every possible density "
                f"(log {top:.0f}) in {np.sum(claimed > top)} of {len(claimed)}, above 1 in "
                f"{np.sum(claimed > 0)}; settled {settled.mean():.0%}",
            )
        )
    return made


def p_value_rows(found: Found) -> list[Row]:
    """Return p-values of distances from theta, paired and unpaired, as the source tests them."""
    made = []
    for name, table in TABLES.items():
        for weight in table.weights:
            if (table.n, weight) not in cells(found, "mixture"):
                continue
            method = MULTIPLIED if name == "3.3" else GAMMA
            for words, design in zip((LITERAL_ON_SUM, OURS_ON_MIXTURE), DESIGNS, strict=True):
                theirs, first = (
                    np.abs(cell(found, design, table.n, weight, one) - THETA)
                    for one in (method, ADF)
                )
                paired, unpaired = wilcoxon_signed_rank(theirs, first), mann_whitney(theirs, first)
                better = float(np.median(theirs - first))
                made.append(
                    Row(
                        f"Table {name}, n {table.n}, w {weight}",
                        f"p of |mean - 2|, {method} against ADF: paired; unpaired ({words})",
                        paired.p_value,
                        unpaired.p_value,
                        note=f"median difference of distances {better:+.3f}; at 1 % paired "
                        f"{_verdict(paired.p_value)}, unpaired {_verdict(unpaired.p_value)}",
                    )
                )
    return made


def _verdict(p: float) -> str:
    return "significant" if p < SIGNIFICANT else "not significant"


def accuracy_rows(found: Found) -> list[Row]:
    """Return distances from the exact mean and from theta, and how often passes settle."""
    made = []
    for n, weight in cells(found, "mixture"):

        def mean(method: str, n: int = n, weight: float = weight) -> Array:
            return cell(found, "mixture", n, weight, method)

        def settled(method: str, n: int = n, weight: float = weight) -> Array:
            return cell(found, "mixture", n, weight, method, "converged")

        exact = mean(EXACT)
        deviation = np.sqrt(cell(found, "mixture", n, weight, EXACT, "variance"))
        apart = {
            method: float(np.mean(np.abs(mean(method) - exact) / deviation))
            for method in (EP, ADF, GAMMA, BY_LOO, AT_ONE, RESTRICTED)
        }
        errors = {
            method: float(np.sqrt(np.mean((mean(method) - THETA) ** 2)))
            for method in (EXACT, EP, ADF, GAMMA, BY_LOO, RESTRICTED)
        }
        newton = cell(found, "mixture", n, weight, EP, "newton") > 0
        case = f"Mixture, n {n}, w {weight}"
        made += [
            Row(
                case,
                "|mean - exact mean| in exact deviations, mean: EP; ADF",
                apart[EP],
                apart[ADF],
                bar=1.0,
                rivals={
                    "constant: the prior's mean": float(np.mean(np.abs(exact) / deviation)),
                    "guess: the mean of another sample": float(
                        np.mean(np.abs(np.roll(exact, 1) - exact) / deviation)
                    ),
                    ADF: apart[ADF],
                },
                note=", ".join(f"{name} {apart[name]:.2g}" for name in (GAMMA, BY_LOO, AT_ONE))
                + f", {RESTRICTED} {apart[RESTRICTED]:.2g}",
            ).above_rivals(),
            Row(
                case,
                "root mean square of mean - theta: EP; exact posterior mean",
                errors[EP],
                errors[EXACT],
                note=", ".join(f"{name} {errors[name]:.3g}" for name in (ADF, GAMMA, BY_LOO))
                + f", {RESTRICTED} {errors[RESTRICTED]:.3g}",
            ),
            Row(
                case,
                "% of samples at which EP settles; nothing damped",
                100.0 * float(settled(EP).mean()),
                100.0 * float(settled(UNDAMPED).mean()),
                higher_is_better=True,
                note=f"by Newton's method in {newton.sum()} of {len(newton)}",
            ),
        ]
    return made


def demonstration_rows(*, quick: bool) -> list[Row]:
    """Return figure 3.1, orders of rows as in figure 3.4, and the prior that drops out."""
    made = []
    for variance, printed in ((1.0, 1.13), (10.0, 2.06), (100.0, 2.24)):
        model = fit(np.array([[2.267]]), 0.0, prior_variance=variance)
        canonical = model.site_shifts_[0, 0] / model.site_precisions_[0]
        made.append(
            Row(
                f"Figure 3.1, variance before {variance:g}",
                "mean of the factor that is 'reused'; printed",
                float(model.mean_[0]),
                printed,
                note=f"canonical {canonical:.3f}, printed 2.27; the row is inferred to be 2.267",
            )
        )
    return [*made, _order_row(5 if quick else 20), *_prior_rows()]


def _order_row(n_samples: int) -> Row:
    """Return how far five orders of the same rows lie apart, after one pass and at the end."""
    spreads: dict[str, list[float]] = {"adf": [], "ep": []}
    for number in range(n_samples):
        X = rows_of("mixture", 20, 0.5, number)
        for inference, spread in spreads.items():
            means = [
                fit(X, 0.5, inference=inference, order="random", random_state=seed).mean_[0]
                for seed in range(5)
            ]
            spread.append(float(np.ptp(means)))
    return Row(
        "Orders, as in figure 3.4",
        "range of the mean over five orders, median: EP; ADF",
        float(np.median(spreads["ep"])),
        float(np.median(spreads["adf"])),
        note=f"greatest {np.max(spreads['ep']):.2g} and {np.max(spreads['adf']):.2g}; "
        f"{n_samples} samples of 20 rows, half of them clutter",
    )


def _prior_rows() -> list[Row]:
    """Return how far the mean moves if that of the prior, of variance 1, moves by 5."""
    X = rows_of("mixture", 20, 0.2, 0)

    def moved(gamma: float) -> float:
        ends = [
            fit(X, 0.2, gamma=gamma, prior_mean=mean, prior_variance=1.0, tol=1e-8, max_iter=2000)
            for mean in (0.0, 5.0)
        ]
        return abs(float(ends[1].mean_[0] - ends[0].mean_[0]))

    made = []
    for gamma in (-0.5, 0.0, 0.3):
        made.append(
            Row(
                f"The prior drops out, gamma {gamma:g}",
                "how far the mean moves with the prior's; peer: allowed",
                moved(gamma),
                UNMOVED,
                note=f"EP moves by {moved(-1.0):.3f}",
            )
        )
    return made
