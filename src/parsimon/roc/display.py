"""One picture of a classifier: curve, hull, the price of errors and the point to choose."""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parsimon._style import BLUE, GREEN, GREY, VERMILION, figure_style, new_axes
from parsimon._typing import Array
from parsimon.exceptions import InvalidInputError
from parsimon.roc.area import auc
from parsimon.roc.costs import OperatingPoint, cheapest_point, iso_performance_slope
from parsimon.roc.curve import RocPoints, roc_hull, roc_points
from parsimon.roc.intervals import AucInterval, RocBand, auc_interval, roc_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(repr=False, eq=False)
class RocDisplay:
    """A ROC curve with its hull, the iso-cost line that touches it, and the cheapest point.

    Follows scikit-learn's displays: build it with `from_predictions` or `from_estimator`, draw
    it (again) with `plot`.

    Parameters
    ----------
    points : RocPoints
        The curve.
    interval : AucInterval or None
        The AUC and its interval, for the legend.
    auc : float or None
        The AUC where there is no interval (weighted rows).
    band : RocBand or None
        Point-wise confidence band.
    chosen : OperatingPoint or None
        The cheapest point, which is always on the hull.
    slope : float or None
        Slope of the iso-cost lines.
    name : str or None
        Name of the classifier.
    pos_label : label or None
        The positive class.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_, hull_, iso_cost_, chosen_, annotation_, chance_, band_ : matplotlib artists
        What was drawn; None for parts that were not asked for.

    Examples
    --------
    >>> display = RocDisplay.from_predictions(
    ...     ["well", "well", "ill", "ill"], [0.1, 0.4, 0.35, 0.8], pos_label="ill", cost_fn=5)
    >>> print(display.sentence())
    Call "ill" what scores above 0.225: this finds 100% of them, with a false alarm for 50% of
    the others; expected cost 0.5.
    """

    points: RocPoints
    _: KW_ONLY
    interval: AucInterval | None = None
    auc: float | None = None
    band: RocBand | None = None
    chosen: OperatingPoint | None = None
    slope: float | None = None
    name: str | None = None
    pos_label: Any = None

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        pos_label: Any = None,
        sample_weight: Any = None,
        cost_fp: float | None = None,
        cost_fn: float | None = None,
        prevalence: float | None = None,
        confidence: float = 0.95,
        band: bool = False,
        name: str | None = None,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the curve of scores.

        Parameters
        ----------
        y_true, y_score, pos_label, sample_weight
            As in `roc_points`. With weights no interval is shown and no band can be drawn.
        cost_fp, cost_fn, prevalence : float, optional
            As in `expected_cost`. Giving any of them marks the cheapest point and draws the
            iso-cost line through it; a cost that is not given is 1.
        confidence : float, default=0.95
            Of the AUC's interval and of the band.
        band : bool, default=False
            Draw a point-wise confidence band (`roc_band`).
        name : str, optional
            Name of the classifier, for the legend.
        ax : Axes, optional
            Draw here; without it, on a new square figure.
        **plot_options
            Passed on to `plot`.
        """
        points = roc_points(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight)
        options = {"pos_label": pos_label, "confidence": confidence}
        if sample_weight is not None and band:
            raise InvalidInputError("A band cannot be drawn for weighted rows; leave one out.")
        chosen, slope = _choice(points, cost_fp, cost_fn, prevalence)
        display = cls(
            points,
            interval=auc_interval(y_true, y_score, **options) if sample_weight is None else None,
            auc=auc(y_true, y_score, pos_label=pos_label, sample_weight=sample_weight),
            band=roc_band(y_true, y_score, **options) if band else None,
            chosen=chosen,
            slope=slope,
            name=name,
            pos_label=pos_label,
        )
        return display.plot(ax, **plot_options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, pos_label: Any = None, **options: Any
    ) -> Self:
        """Draw the curve of a fitted classifier on the rows of X.

        Parameters
        ----------
        estimator : classifier
            Fitted, of two classes, with `predict_proba` or `decision_function`.
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        pos_label : label, optional
            The positive class; without it, the last of ``estimator.classes_``.
        **options
            As in `from_predictions`.
        """
        classes = list(estimator.classes_)
        label = classes[-1] if pos_label is None else pos_label
        if len(classes) != 2 or label not in classes:
            raise InvalidInputError(
                f"The classifier must know two classes, {label!r} one of them; it knows {classes}."
            )
        if hasattr(estimator, "predict_proba"):
            score = np.asarray(estimator.predict_proba(X))[:, classes.index(label)]
        else:
            score = np.asarray(estimator.decision_function(X))
            score = score if label == classes[1] else -score
        options.setdefault("name", type(estimator).__name__)
        return cls.from_predictions(y, score, pos_label=label, **options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        name: str | None = None,
        hull: bool = True,
        chance: bool = True,
        annotate: bool = True,
        color: str = BLUE,
    ) -> Self:
        """Draw everything that is known.

        Parameters
        ----------
        ax : Axes, optional
            Draw here; without it, on a new square figure.
        name : str, optional
            Name of the classifier, instead of the one given before.
        hull, chance, annotate : bool, default=True
            Draw the convex hull, the diagonal of chance, the words about the chosen point.
        color : color, default=blue
            Of the curve and its band.
        """
        with figure_style():
            self.ax_ = ax = new_axes(ax, figsize=(6.4, 6.4))
            self.figure_ = ax.figure
            fpr, tpr = _corners(self.points.fpr, self.points.tpr)
            label = self._label(self.name if name is None else name)
            (self.line_,) = ax.plot(fpr, tpr, color=color, label=label, zorder=3)
            self.hull_ = self._draw_hull() if hull else None
            self.iso_cost_, self.chosen_ = self._draw_choice()
            self.band_ = self._draw_band(color)
            self.chance_ = self._draw_chance() if chance else None
            self.annotation_ = self._draw_words() if annotate else None
            self._finish()
        return self

    def sentence(self) -> str:
        """Say in words what the chosen point means."""
        if self.chosen is None:
            raise InvalidInputError("No point was chosen: give cost_fp, cost_fn or prevalence.")
        what = "positive" if self.pos_label is None else f'"{self.pos_label}"'
        if np.isinf(self.chosen.threshold):
            rule = f"Call {'everything' if self.chosen.threshold < 0 else 'nothing'} {what}"
        else:
            rule = f"Call {what} what scores above {self.chosen.threshold:.3g}"
        return (
            f"{rule}: this finds {self.chosen.tpr:.0%} of them, with a false alarm for "
            f"{self.chosen.fpr:.0%} of the others; expected cost {self.chosen.cost:.3g}."
        )

    def _label(self, name: str | None) -> str:
        if self.interval is not None:
            text = f"AUC {self.interval}"
        else:
            text = "ROC curve" if self.auc is None else f"AUC {self.auc:.3f}"
        return text if name is None else f"{name}\n{text}"

    def _draw_chance(self) -> Any:
        style: dict[str, Any] = {"color": GREY, "linestyle": ":", "linewidth": 1.2}
        return self.ax_.plot([0, 1], [0, 1], label=self._once("Chance"), **style)[0]

    def _draw_band(self, color: str) -> Any:
        if self.band is None:
            return None
        label = self._once(f"{self.band.confidence:.0%} band at each point")
        return self.ax_.fill_between(
            *self.band[:3], color=color, alpha=0.2, linewidth=0, label=label
        )

    def _draw_hull(self) -> Any:
        corners = roc_hull(self.points.fpr, self.points.tpr)
        style: dict[str, Any] = {"color": GREEN, "linestyle": "--", "linewidth": 1.4}
        label = self._once("Convex hull")
        return self.ax_.plot(corners.fpr, corners.tpr, label=label, zorder=3.5, **style)[0]

    def _draw_choice(self) -> tuple[Any, Any]:
        if self.chosen is None or self.slope is None:
            return None, None
        x, y = _clipped_line(self.chosen, self.slope)
        style: dict[str, Any] = {"color": VERMILION, "zorder": 4.0}
        label = self._once("Equal cost")
        (line,) = self.ax_.plot(x, y, linestyle="-.", linewidth=1.4, label=label, **style)
        (point,) = self.ax_.plot(
            [self.chosen.fpr], [self.chosen.tpr], "o", markersize=9, clip_on=False, **style
        )
        return line, point

    def _draw_words(self) -> Any:
        chosen = self.chosen
        if chosen is None:
            return None
        if np.isinf(chosen.threshold):
            rule = "call everything positive" if chosen.threshold < 0 else "call nothing positive"
        else:
            rule = f"threshold {chosen.threshold:.3g}"
        text = (
            f"Cheapest: {rule}\nTPR {chosen.tpr:.2f}, FPR {chosen.fpr:.2f}\n"
            f"expected cost {chosen.cost:.3g}"
        )
        # Below the diagonal neither the hull nor the touching line can come.
        return self.ax_.annotate(
            text,
            (chosen.fpr, chosen.tpr),
            xytext=(0.985, 0.5),
            textcoords="axes fraction",
            ha="right",
            va="center",
            color=VERMILION,
            arrowprops={"arrowstyle": "-", "color": VERMILION, "linewidth": 0.8, "shrinkB": 6},
        )

    def _finish(self) -> None:
        suffix = "" if self.pos_label is None else f' of "{self.pos_label}"'
        self.ax_.set(
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            xlabel="False positive rate",
            ylabel=f"True positive rate{suffix}",
            aspect="equal",
        )
        self.ax_.legend(loc="lower right")

    def _once(self, label: str) -> str:
        """Return the label for the first artist of its kind; Matplotlib hides '_' labels."""
        return f"_{label}" if label in self.ax_.get_legend_handles_labels()[1] else label


def _choice(
    points: RocPoints, cost_fp: float | None, cost_fn: float | None, prevalence: float | None
) -> tuple[OperatingPoint | None, float | None]:
    if cost_fp is None and cost_fn is None and prevalence is None:
        return None, None
    prices: dict[str, Any] = {
        "cost_fp": 1.0 if cost_fp is None else cost_fp,
        "cost_fn": 1.0 if cost_fn is None else cost_fn,
        "prevalence": prevalence,
    }
    return cheapest_point(points, **prices), iso_performance_slope(**prices)


def _corners(fpr: Array, tpr: Array) -> tuple[Array, Array]:
    """Leave out points in the middle of a straight run: a long curve then makes a small file."""
    dx, dy = np.diff(fpr), np.diff(tpr)
    turns = np.concatenate(([True], dx[:-1] * dy[1:] != dx[1:] * dy[:-1], [True]))
    return fpr[turns], tpr[turns]


def _clipped_line(point: OperatingPoint, slope: float) -> tuple[list[float], list[float]]:
    """Return the ends of the line through `point` inside the unit square."""
    if np.isinf(slope):
        return [point.fpr, point.fpr], [0.0, 1.0]
    if slope == 0:
        return [0.0, 1.0], [point.tpr, point.tpr]
    x = [
        max(0.0, point.fpr - point.tpr / slope),
        min(1.0, point.fpr + (1 - point.tpr) / slope),
    ]
    return x, [point.tpr + slope * (end - point.fpr) for end in x]
