"""Trees print, parse, compute and cost as the source says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import get_window

from parsimon.exceptions import InvalidInputError
from parsimon.features.series import (
    MethodTree,
    SeriesTable,
    looked_at,
    parse_tree,
    plot_tree,
    step,
    tree_cost,
    tree_values,
    tree_words,
)
from parsimon.features.series.tree_methods import METHODS, highest_peaks, window_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 60)).cumsum(axis=1)
X.flags.writeable = False

FUNCTIONS = [name for name, method in METHODS.items() if method.kind == "function"]
TRANSFORMATIONS = [
    name
    for name, method in METHODS.items()
    if method.kind == "transformation" and name not in ("channel", "mismatch")
]
shares = st.sampled_from([0.05, 0.1, 0.25, 0.5])
plain = st.sampled_from(TRANSFORMATIONS).map(step) | st.builds(
    lambda a, b: step("interval", min(a, b), max(a, b) + 0.3), shares, shares
)
ends = st.sampled_from(FUNCTIONS).map(step)
chains = st.builds(lambda a, b: [*a, b], st.lists(plain, max_size=3), ends)
windows = st.builds(
    lambda share, overlap, inside: step("windows", share, overlap, inside=inside),
    shares,
    st.sampled_from([1, 2]),
    chains,
) | chains.map(lambda inside: step("segments", inside=inside))
trees = st.builds(
    lambda a, b, c: MethodTree([*a, *b, c]),
    st.lists(plain, max_size=2),
    st.lists(windows, max_size=1),
    ends,
)


def value(text, row):
    return tree_values([parse_tree(text)], np.asarray(row, dtype=float)[None])[0, 0]


@given(trees)
def test_a_tree_is_read_as_it_is_written(tree):
    assert parse_tree(str(tree)) == tree
    assert tree.words().startswith(("the ", "value "))


@given(st.lists(trees, min_size=2, max_size=8))
def test_a_tree_alone_has_the_bits_it_has_in_a_population(population):
    together = tree_values(population, X)
    assert np.isfinite(together).all()
    for column, tree in zip(together.T, population, strict=True):
        assert np.array_equal(column, tree_values([tree], X)[:, 0])


def test_spectrum_is_that_of_numpy():
    row = X[0]
    expected = 2 / len(row) * np.abs(np.fft.rfft(row))[1:]
    expected[-1] /= 2
    for place in (0, 3, 29):
        assert value(f"spectrum > item({place})", row) == pytest.approx(expected[place])
        angle = np.angle(np.fft.rfft(row))[1 + place]
        assert value(f"phase > item({place})", row) == pytest.approx(angle)
    wave = np.sin(2 * np.pi * 7 * np.arange(60) / 60)
    assert value("spectrum > place_of_maximum", wave) == pytest.approx(7 / 60)
    assert value("spectrum > maximum", wave) == pytest.approx(1.0)


@pytest.mark.parametrize("length", [2, 3, 8, 9])
def test_the_powers_of_a_spectrum_add_up_to_the_variance(length):
    row = RNG.normal(size=length)
    sizes = np.array([value(f"spectrum > item({k})", row) for k in range(length // 2)])
    # A wave of amplitude a has the variance a^2 / 2, and one that turns at every step a^2.
    shares = np.full(length // 2, 0.5)
    if length % 2 == 0:
        shares[-1] = 1.0
        assert value("spectrum > last", np.cos(np.pi * np.arange(length))) == pytest.approx(1.0)
    assert shares @ sizes**2 == pytest.approx(row.var())


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("bartlett", "bartlett"),
        ("hanning", "hann"),
        ("hamming", "hamming"),
        ("blackman", "blackman"),
        ("blackman_harris", "blackmanharris"),
    ],
)
def test_windows_have_the_names_of_scipy(shape, name):
    for length in (7, 8):
        np.testing.assert_allclose(
            window_weights(shape, length), get_window(name, length, fftbins=True), atol=1e-12
        )
    assert np.isfinite(value(f"weights({shape}) > mean", X[0]))


def test_correlation_is_that_of_numpy():
    row = X[1]
    centred = row - row.mean()
    for lag in (1, 5, 30):
        expected = centred[lag:] @ centred[:-lag] / (centred @ centred)
        assert value(f"correlation > item({lag - 1})", row) == pytest.approx(expected)
    wave = np.sin(2 * np.pi * np.arange(60) / 12)
    assert value("correlation > place_of_maximum", wave) == pytest.approx(1 / 60, abs=0.001)
    assert value("correlation > interval(0.2, 1) > place_of_maximum", wave) == pytest.approx(0.2)


def test_filters_and_weights_by_hand():
    row = [1.0, 3.0, 2.0, 6.0]
    assert value("moving_average(0.5) > item(1)", row) == 2.5
    assert value("moving_average(0.5) > length", row) == 3
    assert value("exponential_smoothing(0.5) > last", row) == 1 / 8 + 3 / 8 + 2 / 4 + 6 / 2
    assert value("difference > maximum", row) == 4
    assert value("bend > item(0)", row) == 3
    assert value("haar > first", row) == pytest.approx(-2 / np.sqrt(2))
    assert value("trim(0.25) > maximum", row) == pytest.approx(np.quantile(row, 0.75))
    np.testing.assert_allclose(window_weights("hanning", 4), [0, 0.5, 1, 0.5])
    np.testing.assert_allclose(window_weights("hamming", 2), [0.08, 1.0])
    slow, fast = np.sin(2 * np.pi * np.outer([3, 20], np.arange(60)) / 60)
    assert value("band(0, 0.2) > volume", slow + fast) == pytest.approx(np.sqrt(0.5))
    assert value("band(0.2, 0.5) > volume", slow + fast) == pytest.approx(np.sqrt(0.5))


def test_phase_space_of_a_circle_has_equal_angles():
    wave = np.sin(2 * np.pi * np.arange(61) / 20)
    assert value("angles(0.082) > deviation", wave) == pytest.approx(0, abs=1e-9)
    assert value("angles(0.082) > mean", wave) == pytest.approx(2 * np.pi / 20)
    assert value("distances(0.082) > mean", wave) == pytest.approx(2 * np.sin(np.pi / 20))


def test_functions_by_hand():
    row = [1.0, -1.0, 2.0, 2.0]
    expected = {
        "mean": 1.0,
        "median": 1.5,
        "range": 3.0,
        "variance": 1.5,
        "place_of_minimum": 0.25,
        "crossings": 0.5,
        "first_crossing": 0.0,
        "volume": np.sqrt(2.5),
        "length": 4,
        "path": 5,
        "above": 0.75,
        "gradient": np.polyfit(range(4), row, 1)[0],
        "crest": 2 / np.sqrt(2.5),
        "flatness": 4**0.25 / 1.5,
    }
    for name, number in expected.items():
        assert value(name, row) == pytest.approx(number, rel=1e-6), name


def enumerated_peaks(row):
    """Return the middles of all runs of equal values that stand above both neighbours."""
    found, begin = [], 0
    for end in range(1, len(row) + 1):
        if end < len(row) and row[end] == row[begin]:
            continue
        is_inside = begin > 0 and end < len(row)
        if is_inside and row[begin - 1] < row[begin] > row[end]:
            found.append((begin + end - 1) // 2)
        begin = end
    return found


def test_peaks_are_inside_a_series():
    for row in [*RNG.normal(size=(5, 40)), *RNG.integers(0, 4, size=(40, 9)).astype(float)]:
        places, heights, _ = highest_peaks(row, 50)
        assert sorted(places.tolist()) == enumerated_peaks(row)
        assert heights.tolist() == sorted(row[places], reverse=True)
    for falling in ([9.0, 1.0, 5.0, 0.0], [0.0, 5.0, 1.0, 9.0]):
        assert value("peak(1, height)", falling) == 5.0
        assert value("peak(2, height)", falling) == 0.0
    assert value("peak(1, width)", [0, 0, 4, 3, 1, 0]) == pytest.approx(2 / 6)


def test_windows_are_those_of_the_definition():
    row = np.arange(10.0)
    starts = [0, 2, 4, 6]
    expected = np.std([row[s : s + 4].sum() / 4 for s in starts])
    assert value("windows(0.4, 2){mean} > deviation", row) == pytest.approx(expected)
    assert value("windows(0.4, 2){mean} > length", row) == 4
    assert value("windows(0.5){standardise} > volume", row) == pytest.approx(1.0)
    assert value("windows(0.5){windows(0.4){maximum} > mean} > last", row) == (6 + 8) / 2


def test_adaptive_windows_follow_rises_and_levels():
    row = [0.0, 1, 2, 3, 2, 1, 2, 3, 4, 5]
    assert value("segments{length} > maximum", row) == 4
    assert value("segments{length} > length", row) == 3
    jumps = [0.0, 0, 0, 5, 5, 0, 0, 5]
    assert value("segments(level, 2){length} > length", jumps) == 4
    assert value("segments(level, 2){mean} > maximum", jumps) == 5


def test_beats_are_found_in_a_drum():
    rate, tempo = 50.0, 100
    drum = np.zeros(3000)
    drum[:: int(rate * 60 / tempo)] = 1.0
    drum[:: 4 * int(rate * 60 / tempo)] = 3.0
    assert value("beats(50, 90, 170)", drum) == tempo


def test_composites_can_be_written():
    cepstral = (
        "windows(0.5, 2){weights(hamming) > spectrum > bands(mel, 8) > logarithm > cosine"
        " > item(2)} > mean"
    )
    for text in (cepstral, "spectrum > logarithm > spectrum > peak(1, place)"):
        assert np.isfinite(tree_values([parse_tree(text)], X)).all()
    peaks = "windows(0.1, 2){spectrum > place_of_maximum} > mean"
    assert parse_tree(peaks).words() == (
        "the mean of the strongest frequency in windows of a tenth of the series"
        " that overlap 2-fold"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("meen", "no method 'meen'"),
        ("difference", "end it with a function"),
        ("mean > mean", "end it with a function"),
        ("windows > mean", "needs steps in braces"),
        ("mean{maximum}", "takes no steps"),
        ("interval(2, 3) > mean", "between 0 and 1"),
        ("weights(round) > mean", "must be one of"),
        ("difference > channel(1) > mean", "first step"),
        ("mean ?", "cannot be read"),
        ("mean mean", "'mean' cannot be read"),
        ("mean > (mean, mean)", "no step of a tree"),
        ("difference(1j) > mean", "no step of a tree"),
        ("difference(" + "-" * 5000 + "1) > mean", "cannot be read"),
        ("windows(0.1, 2){standardise} > mean", "end it with a function"),
    ],
)
def test_what_is_no_tree_is_refused(text, message):
    with pytest.raises(InvalidInputError, match=message):
        parse_tree(text)


def test_unequal_lengths_gaps_and_channels():
    import pandas as pd

    ragged = [[1.0, 2, 3, 4], [5.0, np.nan, 7], [1.0, 1.0, np.nan, np.nan]]
    found = tree_values([parse_tree("mean"), parse_tree("length")], ragged)
    np.testing.assert_allclose(found, [[2.5, 4], [6, 3], [1, 2]])
    for at, row in enumerate(ragged):
        alone = tree_values([parse_tree("difference > mean")], [row])
        assert alone[0, 0] == tree_values([parse_tree("difference > mean")], ragged)[at, 0]
    cube = RNG.normal(size=(4, 2, 9))
    np.testing.assert_allclose(
        tree_values([parse_tree("channel(1) > mean")], cube)[:, 0], cube[:, 1].mean(axis=1)
    )
    long = pd.DataFrame(
        {
            "id": ["b", "b", "a", "a", "a"],
            "time": [2, 1, 1, 2, 3],
            "value": [3.0, 1.0, 4.0, 5.0, 9.0],
        }
    )
    table = SeriesTable(long)
    assert table.ids == ["b", "a"]
    assert tree_values([parse_tree("last")], table)[:, 0].tolist() == [3.0, 9.0]
    with pytest.raises(InvalidInputError, match="without any value"):
        SeriesTable([[np.nan, np.nan]])
    with pytest.raises(InvalidInputError, match="needs channel 3"):
        tree_values([parse_tree("channel(3) > mean")], cube)


def test_a_tree_costs_the_operations_of_its_steps():
    assert tree_cost(parse_tree("spectrum > mean"), 64) == 64 * 6 + 32
    assert tree_cost(parse_tree("windows(0.1, 2){mean} > mean"), 100) == 19 * 10 + 19


def test_places_are_told():
    assert looked_at(parse_tree("interval(0.5, 1) > interval(0, 0.5) > mean")) == (0.5, 0.75)
    assert looked_at(parse_tree("spectrum > interval(0.5, 1) > mean")) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "n_panels"),
    [
        ("mean", 1),
        ("channel(1) > difference(0.1) > interval(0.25, 0.75) > gradient", 3),
        ("exponential_smoothing > windows(0.2){spectrum > place_of_maximum} > mean", 5),
        ("segments{length} > maximum", 3),
        ("windows(0.25, 1){difference} > deviation", 2),
    ],
)
def test_a_tree_is_drawn_step_by_step_and_ends_with_its_value(text, n_panels, rng):
    tree, series = parse_tree(text), rng.normal(size=(2, 60))
    panels = plot_tree(tree, series).figure.axes
    assert len(panels) == n_panels
    value = tree_values([tree], series[None])[0, 0]
    titles = "\n".join(panel.get_title(loc="left") for panel in panels)
    assert f"{value:.3g}" in titles


def test_the_window_that_is_drawn_is_one_of_the_series(rng):
    series = rng.normal(size=60)
    tree = parse_tree("windows(0.2, 2){mean} > maximum")
    first, made, inside = plot_tree(tree, series).figure.axes
    window = inside.lines[0].get_ydata()
    places = [at for at in range(49) if np.array_equal(series[at : at + 12], window)]
    assert len(places) == 1
    assert made.lines[0].get_ydata()[places[0] // 6] == pytest.approx(window.mean())
    assert first.patches[0].get_x() == pytest.approx(places[0] / 60)


def test_long_frames_may_lie_in_any_order(rng):
    values = {("b", 0): [1.0, 2.0, 3.0], ("a", 0): [4.0, 5.0], ("b", 1): [6.0, 7.0, 8.0]}
    values["a", 1] = [9.0, 10.0]
    rows = [
        {"id": one, "channel": channel, "time": f"2020-01-0{at + 1}", "value": value}
        for (one, channel), series in values.items()
        for at, value in enumerate(series)
    ]
    frame = pd.DataFrame(rows)
    shuffled = frame.iloc[[0, *(1 + rng.permutation(len(frame) - 1))]]
    table = SeriesTable(shuffled)
    assert (table.ids, table.n_channels) == (["b", "a"], 2)
    trees = [parse_tree("channel(1) > first"), parse_tree("last"), parse_tree("length")]
    np.testing.assert_array_equal(tree_values(trees, table), [[6, 3, 3], [9, 5, 2]])


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [("time", None, "'time' is empty in row 1"), ("time", "late", "mixes texts and numbers")],
)
def test_rows_of_long_frames_have_an_id_and_a_time(column, value, message):
    frame = pd.DataFrame({"id": [1, 1], "time": [0, 1], "value": [1.0, 2.0]}).astype(object)
    frame.loc[1, column] = value
    with pytest.raises(InvalidInputError, match=message):
        SeriesTable(frame)


@pytest.mark.parametrize(
    "text",
    [
        "interval(0.25, 0.5) > volume",
        "difference > interval(0.1, 0.3) > volume",
        "difference(0.1) > interval(0.25, 0.5) > volume",
        "bend(0.05) > interval(0.5, 1) > volume",
        "interval(0.2, 0.8) > difference(0.1) > interval(0.5, 1) > volume",
    ],
)
def test_only_the_place_that_is_looked_at_changes_a_feature(text):
    tree, length = parse_tree(text), X.shape[1]
    begin, end = (round(length * share) for share in looked_at(tree, length))
    before = tree_values([tree], X)
    for place in range(length):
        changed = X.copy()
        changed[:, place] += 1.0
        is_same = np.array_equal(tree_values([tree], changed), before)
        assert is_same == (not begin <= place < end)


def test_channels_are_called_by_their_names():
    tree = parse_tree("channel(1) > difference > mean")
    assert tree_words(tree) == "the mean of the steps of channel 1"
    assert tree_words(tree, ["warmth", "rain"]) == "the mean of the steps of rain"


@pytest.mark.parametrize(
    "text",
    [
        "windows{" * 900 + "mean" + "}" * 900,
        "mean(" + "[" * 5000,
        "[" * 10**5,
    ],
    ids=["text", "a list in text", "open lists"],
)
def test_what_is_nested_too_deep_is_refused_in_a_sentence(text):
    with pytest.raises(InvalidInputError, match=r"nested \d+ levels deep, and 100 are read"):
        parse_tree(text)
