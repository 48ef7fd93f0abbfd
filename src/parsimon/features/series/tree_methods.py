"""The elementary methods of method trees: what each does to the last axis of an array.

A `Method` is a value: a name, what kind it is, its options with their defaults, the function of
arrays behind it, how it is said, and how its work grows with the length of a series. `METHODS` is
the catalogue, after Mierswa (2009), section 7.2. All functions take values of shape (m, L) with
L >= 1, and the positions of the values on their axis, (L,): shares of the series for time, cycles a
step for frequency. A result that would be empty is a single 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.fft import dct, irfft, next_fast_len, rfft
from scipy.signal import find_peaks, lfilter

from parsimon._typing import Array, Indices

Kind = Literal["transformation", "function", "windowing"]
# What divides by a spread, or takes a logarithm, is kept from nothing by so much.
_LITTLE = 1e-9


@dataclass(frozen=True)
class Method:
    """One elementary method.

    name: As trees print it.
    kind: A transformation makes a series of a series, a function a number; windowing applies the
        steps inside to each window.
    apply: (values (m, L), positions (L,), *options) -> (values (m, M), positions (M,)) for a
        transformation, and (m,) for a function. None for windowing.
    options: Names and defaults.
    words: What a function is called: "the mean".
    growth: Its work for L values as the power p of L^p, or "log" for L log L.
    length: How many values it makes of L.
    """

    name: str
    kind: Kind
    apply: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    words: str = ""
    growth: float | Literal["log"] = 1.0
    length: Callable[..., int] | None = None

    def __hash__(self) -> int:
        return hash(self.name)


def steps_of(share: float, length: int) -> int:
    """Return how many steps a share of a series is, at least one."""
    return max(1, min(round(share * length), length - 1))


def bounds_of(begin: float, end: float, length: int) -> tuple[int, int]:
    """Return the first place of an interval and the one behind its last; it is never empty."""
    first = min(int(begin * length + 0.5), length - 1)
    return first, min(max(int(end * length + 0.5), first + 1), length)


def _nothing(m: int) -> tuple[Array, Array]:
    return np.zeros((m, 1)), np.zeros(1)


# Basis transformations


def _frequencies(length: int) -> Array:
    return np.arange(1, length // 2 + 1) / length


def _spectrum(values: Array, _positions: Array) -> tuple[Array, Array]:
    length = values.shape[1]
    if length < 2:
        return _nothing(len(values))
    # Twice over the length: a sine of amplitude 1 has 1 at its frequency. The last one of an even
    # length has no partner of negative frequency, and counts once.
    sizes = np.abs(rfft(values, axis=1))[:, 1:] * (2.0 / length)
    if length % 2 == 0:
        sizes[:, -1] /= 2.0
    return sizes, _frequencies(length)


def _phase(values: Array, _positions: Array) -> tuple[Array, Array]:
    length = values.shape[1]
    if length < 2:
        return _nothing(len(values))
    return np.angle(rfft(values, axis=1))[:, 1:], _frequencies(length)


def _correlation(values: Array, _positions: Array) -> tuple[Array, Array]:
    m, length = values.shape
    most = length // 2
    if most < 1:
        return _nothing(m)
    centred = values - values.mean(axis=1, keepdims=True)
    size = next_fast_len(length + most, real=True)
    products = irfft(np.abs(rfft(centred, size, axis=1)) ** 2, size, axis=1)
    whole = products[:, :1]
    small = _LITTLE * (np.abs(values).max(axis=1, keepdims=True) ** 2 * length + _LITTLE)
    found = products[:, 1 : most + 1] / np.where(whole > small, whole, np.inf)
    return found, np.arange(1, most + 1) / length


def _difference(values: Array, positions: Array, lag: float) -> tuple[Array, Array]:
    m, length = values.shape
    if length < 2:
        return _nothing(m)
    step = steps_of(lag, length)
    return values[:, step:] - values[:, :-step], positions[:-step]


def _bend(values: Array, positions: Array, lag: float) -> tuple[Array, Array]:
    m, length = values.shape
    if length < 3:
        return _nothing(m)
    step = min(steps_of(lag, length), (length - 1) // 2)
    middle = values[:, step:-step]
    return 2.0 * middle - values[:, : -2 * step] - values[:, 2 * step :], positions[step:-step]


def _cumulative(values: Array, positions: Array) -> tuple[Array, Array]:
    return np.cumsum(values - values.mean(axis=1, keepdims=True), axis=1), positions


def _haar(values: Array, positions: Array, level: int) -> tuple[Array, Array]:
    for now in range(1, level + 1):
        half = values.shape[1] // 2
        if half < 1:
            return _nothing(len(values))
        even, odd = values[:, : 2 * half : 2], values[:, 1 : 2 * half : 2]
        positions = positions[: 2 * half : 2]
        sign = -1.0 if now == level else 1.0
        values = (even + sign * odd) / np.sqrt(2.0)
    return values, positions


def _angles(values: Array, positions: Array, lag: float) -> tuple[Array, Array]:
    step = steps_of(lag, values.shape[1])
    if values.shape[1] < 2 + step:
        return _nothing(len(values))
    # The points (v_i, v_{i+d}) of the phase space, one array a coordinate.
    x, y = values[:, :-step], values[:, step:]
    turn = np.arctan2(
        x[:, :-1] * y[:, 1:] - y[:, :-1] * x[:, 1:], x[:, :-1] * x[:, 1:] + y[:, :-1] * y[:, 1:]
    )
    return np.abs(turn), positions[: turn.shape[1]]


def _distances(values: Array, positions: Array, lag: float) -> tuple[Array, Array]:
    step = steps_of(lag, values.shape[1])
    if values.shape[1] < 2 + step:
        return _nothing(len(values))
    x, y = values[:, :-step], values[:, step:]
    found = np.hypot(np.diff(x, axis=1), np.diff(y, axis=1))
    return found, positions[: found.shape[1]]


def _cosine(values: Array, _positions: Array) -> tuple[Array, Array]:
    length = values.shape[1]
    return dct(values, axis=1, norm="ortho"), np.arange(length) / (2.0 * length)


# Filters and weights


def _moving(values: Array, positions: Array, share: float) -> tuple[Array, Array]:
    width = max(1, min(round(share * values.shape[1]), values.shape[1]))
    sums = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    found = (sums[:, width:] - sums[:, :-width]) / width
    first = (width - 1) // 2
    return found, positions[first : first + found.shape[1]]


def _smooth(values: Array, positions: Array, factor: float) -> tuple[Array, Array]:
    start = (1.0 - factor) * values[:, :1]
    return lfilter([factor], [1.0, factor - 1.0], values, axis=1, zi=start)[0], positions


def _band(values: Array, positions: Array, low: float, high: float) -> tuple[Array, Array]:
    length = values.shape[1]
    frequency = np.arange(length // 2 + 1) / length
    kept = (frequency >= low) & (frequency <= high)
    return irfft(rfft(values, axis=1) * kept, length, axis=1), positions


def _trim(values: Array, positions: Array, share: float) -> tuple[Array, Array]:
    low, high = np.quantile(values, [share, 1.0 - share], axis=1, keepdims=True)
    return np.clip(values, low, high), positions


def window_weights(shape: str, length: int) -> Array:
    """Return the weights of a window (Def. 7.7), shape (length,)."""
    share = np.arange(length) / length
    turn = 2 * np.pi * share
    weights: dict[str, Array] = {
        "bartlett": 1.0 - np.abs(2.0 * share - 1.0),
        "hanning": 0.5 - 0.5 * np.cos(turn),
        "hamming": 0.54 - 0.46 * np.cos(turn),
        "blackman": 0.42 - 0.5 * np.cos(turn) + 0.08 * np.cos(2 * turn),
        "blackman_harris": 0.35875
        - 0.48829 * np.cos(turn)
        + 0.14128 * np.cos(2 * turn)
        - 0.01168 * np.cos(3 * turn),
        "linear": (np.arange(length) + 1.0) / length,
        "exponential": np.exp(share - 1.0),
    }
    return weights[shape]


def _weight(values: Array, positions: Array, shape: str) -> tuple[Array, Array]:
    return values * window_weights(shape, values.shape[1]), positions


def _standardise(values: Array, positions: Array) -> tuple[Array, Array]:
    mean, spread = values.mean(axis=1, keepdims=True), values.std(axis=1, keepdims=True)
    little = _LITTLE * (1.0 + np.abs(mean))
    return (values - mean) / np.where(spread > little, spread, np.inf), positions


def _logarithm(values: Array, positions: Array) -> tuple[Array, Array]:
    return np.log(np.abs(values) + 1e-6), positions


_SCALES: dict[str, Callable[[Array], Array]] = {
    "mel": lambda hertz: 1127.01048 * np.log1p(hertz / 700.0),
    "bark": lambda hertz: 26.81 * hertz / (1960.0 + hertz) - 0.53,
    "erb": lambda hertz: 21.4 * np.log10(1.0 + 0.00437 * hertz),
}


def _bands(
    values: Array, positions: Array, scale: str, count: int, rate: float
) -> tuple[Array, Array]:
    """Sum values over triangles that are equally spaced on a scale of hearing."""
    heard = _SCALES[scale](positions * rate)
    edges = np.linspace(heard[0], heard[-1] + _LITTLE, count + 2)
    rise = (heard - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    fall = (edges[2:, None] - heard) / (edges[2:] - edges[1:-1])[:, None]
    weights = np.clip(np.minimum(rise, fall), 0.0, None)
    return values @ weights.T, np.arange(count) / count


def _interval(values: Array, positions: Array, begin: float, end: float) -> tuple[Array, Array]:
    first, last = bounds_of(begin, end, values.shape[1])
    return values[:, first:last], positions[first:last]


def _mismatch(values: Array, positions: Array, shape: tuple[float, ...]) -> tuple[Array, Array]:
    """Return the root mean squared distance of each stretch from a shape, level aside."""
    wanted = np.array(shape)
    length = min(len(wanted), values.shape[1])
    wanted = wanted[:length] - wanted[:length].mean()
    count = values.shape[1] - length + 1
    inside = np.lib.stride_tricks.sliding_window_view(values, length, axis=1)
    mean = inside.mean(axis=2)
    square = np.einsum("mkw,mkw->mk", inside, inside) / length - mean**2
    found = square + (wanted @ wanted) / length - 2.0 * (inside @ wanted) / length
    return np.sqrt(np.maximum(found, 0.0)), positions[:count]


# Functions


def _moment(values: Array, power: int) -> Array:
    centred = values - values.mean(axis=1, keepdims=True)
    spread = values.std(axis=1)
    small = spread <= _LITTLE * (1.0 + np.abs(values).max(axis=1))
    return (centred**power).mean(axis=1) / np.where(small, np.inf, spread) ** power


def _quantile_range(values: Array, _positions: Array) -> Array:
    low, high = np.quantile(values, [0.25, 0.75], axis=1)
    return high - low


def _gradient(values: Array, _positions: Array) -> Array:
    """Return the slope of the regression line, a step on the axis being one value."""
    steps = np.arange(values.shape[1]) - (values.shape[1] - 1) / 2.0
    return values @ (steps / max(steps @ steps, 1.0))


def _flatness(values: Array, _positions: Array) -> Array:
    """Return the geometric mean of the magnitudes over their mean."""
    size = np.abs(values) + _LITTLE
    return np.exp(np.log(size).mean(axis=1)) / size.mean(axis=1)


def _crest(values: Array, _positions: Array) -> Array:
    high = np.abs(values).max(axis=1)
    return high / (np.sqrt((values**2).mean(axis=1)) + _LITTLE)


def _crossings(values: Array, _positions: Array) -> Array:
    sign = values > 0
    return (sign[:, 1:] != sign[:, :-1]).sum(axis=1) / values.shape[1]


def _first_crossing(values: Array, positions: Array) -> Array:
    """Return the position of the first change of sign; the last position without one."""
    changes = (values[:, 1:] > 0) != (values[:, :-1] > 0)
    changes = np.column_stack((changes, np.ones(len(values), dtype=bool)))
    return positions[changes.argmax(axis=1)]


def highest_peaks(row: Array, count: int) -> tuple[Indices, Array, Array]:
    """Return places, heights and widths of the highest peaks of a series (Def. 7.13), (k,) each.

    A peak is higher than what is before it and what follows, so that neither end of a series is
    one; of equal values it is the middle. Its width reaches to where the series has fallen below
    half its height above the lowest value.
    """
    places = find_peaks(row)[0]
    places = places[np.argsort(-row[places], kind="stable")][:count]
    level = (row[places] + row.min()) / 2.0
    widths = [_width(row, int(place), half) for place, half in zip(places, level, strict=True)]
    return places, row[places], np.array(widths, dtype=float)


def _width(row: Array, place: int, level: float) -> int:
    below = row < level
    left = np.flatnonzero(below[:place])
    right = np.flatnonzero(below[place:])
    begin = int(left[-1]) + 1 if len(left) else 0
    end = place + int(right[0]) if len(right) else len(row)
    return end - begin


def _peak(values: Array, positions: Array, rank: int, what: str) -> Array:
    found = np.zeros(len(values))
    for at, row in enumerate(values):
        places, heights, widths = highest_peaks(row, rank)
        if len(places) >= rank:
            figure = {"height": heights, "width": widths / len(row), "place": positions[places]}
            found[at] = figure[what][rank - 1]
    return found


def _beats(values: Array, _positions: Array, rate: float, least: float, most: float) -> Array:
    """Return the beats a minute whose shift by a bar of four brings the series closest to itself.

    The shift for l beats a minute is T * rate * 60 / l with T = 4 (Mierswa, 2009, p. 149).
    """
    length = values.shape[1]
    tempi = np.arange(least, most + 0.5)
    shifts = np.round(4.0 * rate * 60.0 / tempi).astype(int)
    fits = (shifts >= 1) & (shifts <= length // 2)
    if not fits.any():
        return np.zeros(len(values))
    tempi, shifts = tempi[fits], shifts[fits]
    gaps = [np.abs(values[:, s:] - values[:, :-s]).mean(axis=1) for s in shifts]
    return tempi[np.argmin(gaps, axis=0)]


def _half(length: int) -> int:
    return max(1, length // 2)


def _interval_length(length: int, begin: float, end: float) -> int:
    first, last = bounds_of(begin, end, length)
    return last - first


def _transformation(
    name: str, apply: Any, growth: Any = 1.0, length: Any = None, **options: Any
) -> Method:
    return Method(name, "transformation", apply, options, "", growth, length)


def _shorter(times: int) -> Callable[[int, float], int]:
    return lambda n, lag: max(1, n - times * steps_of(lag, n))


_TRANSFORMATIONS = [
    _transformation("spectrum", _spectrum, "log", _half),
    _transformation("phase", _phase, "log", _half),
    _transformation("correlation", _correlation, "log", _half),
    _transformation("difference", _difference, 1.0, _shorter(1), lag=0.0),
    _transformation("bend", _bend, 1.0, _shorter(2), lag=0.0),
    _transformation("cumulative", _cumulative),
    _transformation("haar", _haar, 1.0, lambda n, level: max(1, n >> level), level=1),
    _transformation("angles", _angles, lag=0.0),
    _transformation("distances", _distances, lag=0.0),
    _transformation("cosine", _cosine, "log"),
    _transformation("moving_average", _moving, share=0.05),
    _transformation("exponential_smoothing", _smooth, factor=0.5),
    _transformation("band", _band, "log", low=0.0, high=0.25),
    _transformation("trim", _trim, "log", share=0.05),
    _transformation("weights", _weight, shape="hanning"),
    _transformation("standardise", _standardise),
    _transformation("absolute", lambda values, at: (np.abs(values), at)),
    _transformation("logarithm", _logarithm),
    _transformation(
        "bands", _bands, 1.0, lambda _, *options: options[1], scale="mel", count=20, rate=22050.0
    ),
    _transformation("interval", _interval, 1.0, _interval_length, begin=0.0, end=1.0),
    _transformation(
        "mismatch",
        _mismatch,
        2.0,
        lambda n, shape: max(1, n - len(shape) + 1),
        shape=(0.0, 1.0, 0.0),
    ),
    _transformation("channel", None, number=0),
]
# What functions are called, and what they are of values (m, L) and positions (L,).
_FUNCTIONS: dict[str, tuple[str, Callable[..., Array]]] = {
    "mean": ("the mean", lambda v, _: v.mean(axis=1)),
    "deviation": ("the spread", lambda v, _: v.std(axis=1)),
    "variance": ("the variance", lambda v, _: v.var(axis=1)),
    "skewness": ("the skewness", lambda v, _: _moment(v, 3)),
    "kurtosis": ("the kurtosis", lambda v, _: _moment(v, 4)),
    "median": ("the median", lambda v, _: np.median(v, axis=1)),
    "quartile_range": ("the range between the quartiles", _quantile_range),
    "minimum": ("the lowest value", lambda v, _: v.min(axis=1)),
    "maximum": ("the highest value", lambda v, _: v.max(axis=1)),
    "range": ("the range", lambda v, _: np.ptp(v, axis=1)),
    "place_of_minimum": ("the place of the lowest value", lambda v, at: at[v.argmin(axis=1)]),
    "place_of_maximum": ("the place of the highest value", lambda v, at: at[v.argmax(axis=1)]),
    "gradient": ("the slope", _gradient),
    "flatness": ("the flatness", _flatness),
    "crest": ("the crest factor", _crest),
    "crossings": ("the share of sign changes", _crossings),
    "first_crossing": ("the place of the first sign change", _first_crossing),
    "above": ("the share above 0", lambda v, _: (v > 0).mean(axis=1)),
    "volume": ("the volume (root mean square)", lambda v, _: np.sqrt((v**2).mean(axis=1))),
    "length": ("the number of values", lambda v, _: np.full(len(v), float(v.shape[1]))),
    "path": ("the sum of absolute steps", lambda v, _: np.abs(np.diff(v, axis=1)).sum(axis=1)),
    "first": ("the first value", lambda v, _: v[:, 0]),
    "last": ("the last value", lambda v, _: v[:, -1]),
    "peak": ("", _peak),
    "item": ("", lambda v, _, place: v[:, min(place, v.shape[1] - 1)]),
    "beats": ("the beats a minute", _beats),
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "peak": {"rank": 1, "what": "height"},
    "item": {"place": 0},
    "beats": {"rate": 100.0, "least": 20.0, "most": 300.0},
}
_WINDOWING = [
    Method("windows", "windowing", None, {"share": 0.1, "overlap": 1.0}),
    Method("segments", "windowing", None, {"by": "direction", "count": 2}),
]
METHODS = {method.name: method for method in [*_TRANSFORMATIONS, *_WINDOWING]} | {
    name: Method(name, "function", apply, _OPTIONS.get(name, {}), words)
    for name, (words, apply) in _FUNCTIONS.items()
}
"""Every elementary method by name."""
