import re
import warnings
from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from parsimon.exceptions import InvalidInputError
from parsimon.report.figures import (
    ClassRows,
    RowBar,
    data_figure,
    label,
    posterior_1d,
    posterior_2d,
    row_bars,
    search_tree,
    svg,
)
from parsimon.report.figures import (
    svg_text as page,
)
from parsimon.report.figures.points import number_label, percent_label
from parsimon.report.figures.search_figures import SearchNode
from parsimon.report.figures.svg_text import caption, compact, simplified
from parsimon.report.figures.three_columns import isosurface_3d

HOSTILE = [
    "<script>alert(1)</script>",
    "$x_1$",
    r"\$\frac{1}{0}$",
    "two\nlines\ttab",
    "温度 Ωμέγα نص",
    "&amp; \"quoted\" 'name'",
    "null\x00bell\x07\uffff",
    "long " * 60,
    "",
    "%s {0} {name}",
]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def linear(X):
    return X[:, 0] - X[:, 0].mean(), 1 + 0 * X[:, 0]


def table(n_rows=50, n_columns=2, **options):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return ClassRows(X, X[:, 0] > 0, **options)


def ids(text):
    return re.findall(r'\bid="([^"]+)"', text)


def words(text):
    return [
        "".join(element.itertext())
        for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_svg_is_one_element_of_text_without_rules_for_the_page():
    text = svg(posterior_2d(linear, table())[0].figure)
    assert text.startswith("<svg")
    assert text.endswith("</svg>")
    for unwanted in ("<?xml", "<!DOCTYPE", "<style", "<metadata", "<script"):
        assert unwanted not in text
    assert "x1" in words(text)
    assert "DejaVu Sans" in text
    assert "sans-serif" in text


def small_tree():
    return search_tree([SearchNode("root"), SearchNode("leaf", parent=0)])


def test_the_same_figure_gives_the_same_bytes():
    def draw():
        return svg(posterior_2d(linear, table(), confidence=True, n_grid=31)[0].figure, salt="a")

    assert draw() == draw()
    figure = small_tree().figure
    assert svg(figure) == svg(figure)


def test_identifiers_differ_between_figures_and_every_reference_resolves():
    axes = posterior_1d(linear, table(n_columns=1))
    first, second = svg(axes.figure, salt="one"), svg(axes.figure, salt="two")
    assert ids(first)
    assert not set(ids(first)) & set(ids(second))
    for text in (first, second):
        assert len(ids(text)) == len(set(ids(text)))
        used = re.findall(r"url\(#([^)]+)\)", text) + re.findall(r'href="#([^"]+)"', text)
        assert set(used) == set(ids(text))


@pytest.mark.parametrize("salt", ["", "1st", "a b", 'a"><script>'])
def test_salt_must_be_a_name(salt):
    with pytest.raises(InvalidInputError, match="salt must be letters"):
        svg(small_tree().figure, salt=salt)


def test_a_title_is_escaped_and_comes_first():
    text = svg(small_tree().figure, title="a < b & c\x00")
    root = ElementTree.fromstring(text)
    assert root[0].tag.endswith("title")
    assert root[0].text == "a < b & c"
    assert "<title" not in svg(small_tree().figure)


def test_typical_figures_are_small_and_many_marks_become_pixels():
    few = svg(posterior_1d(linear, table(700, 1)).figure)
    assert len(few) < 60_000
    assert "<image" not in few
    many = svg(posterior_1d(linear, table(20_000, 1)).figure)
    assert "<image" in many
    assert len(many) < 150_000
    assert len(svg(posterior_2d(linear, table(300))[0].figure)) < 60_000


def test_marks_stand_in_the_text_once_for_each_row():
    text = svg(data_figure(table(123)).figure)
    marks = {
        name: 1 + len(re.findall(r"-?[\d.]+", steps)) // 2
        for steps, name in re.findall(r'd="M[\d.]+ [\d.]+l([^"]*)" style="[^"]*url\(#([^)]+)', text)
    }
    points = table(123)
    assert sorted(marks.values()) == sorted(int((points.y == k).sum()) for k in (0, 1))


def places(path):
    """Follow a path of relative steps."""
    start, steps = re.fullmatch(r"M([^l]+)l(.*)", path).groups()
    numbers = np.array(re.findall(r"-?[\d.]+", steps), dtype=float).reshape(-1, 2)
    return np.cumsum(np.vstack([np.array(start.split(), dtype=float), numbers]), axis=0)


def test_joined_marks_stay_where_they_were_and_keep_their_look():
    figure, ax = plt.subplots()
    ax.plot(
        [0.1, 0.5, 0.5, 0.9, 0.2, 0.3, 0.7], [0.2, 0.4, 0.4, 0.6, 0.9, 0.1, 0.5], "o", alpha=0.4
    )
    ax.axis("off")
    before = ElementTree.fromstring(page._save(figure))
    marks = [
        (float(element.get("x")), float(element.get("y")))
        for element in before.iter(f"{{{page._SVG}}}use")
    ]
    root = ElementTree.fromstring(svg(figure))
    marker = root.find(f".//{{{page._SVG}}}marker")
    path = next(e for e in root.iter() if f"url(#{marker.get('id')})" in e.get("style", ""))
    # Equal rows stay two marks, since their opacity adds up.
    found = places(path.get("d"))
    assert len(found) == len(marks) == 7
    np.testing.assert_allclose(found, sorted(marks), atol=0.051)
    assert "fill-opacity:0.4" in marker.get("style").replace(" ", "")
    assert "stroke:none" in path.get("style")


@given(st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=2, max_size=40))
def test_compact_paths_end_where_the_line_ends(corners):
    given_path = "M " + " L ".join(f"{x:.2f} {y:.2f}" for x, y in corners)
    found = places(compact(given_path))
    first, last = np.array(corners[0]), np.array(corners[-1])
    assert np.abs(found[0] - first).max() < 0.06
    assert np.abs(found[-1] - last).max() < 0.06


def test_pieces_of_a_compact_path_begin_anew_and_close():
    assert compact("M 1 2 L 3 2 z M 5 5 L 5 6") == "M1 2l2 0zM5 5l0 1"
    # A dot drawn by a round cap has no length.
    assert compact("M 1 1 L 1 1") == "M1 1l0 0"


def test_pixels_get_a_palette_and_stay_transparent():
    points = table(40, 3)
    text = svg(isosurface_3d(linear, points, n_grid=12).figure)
    image = Image.open(BytesIO(b64decode(re.search(r'base64,([^"]+)"', text).group(1))))
    assert image.mode == "P"
    assert image.convert("RGBA").getpixel((0, 0))[3] == 0
    assert len(text) < 90_000


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_drawn_and_never_interpreted(name):
    points = table(20, 2, names=[name, "plain"], class_names=["negative", name])
    nodes = [SearchNode(name, error=0.5), SearchNode("b", 0, 0.2, best=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for axes in (
            posterior_1d(linear, points, column=0, title=name),
            posterior_2d(linear, points, title=name, n_grid=15)[0],
            search_tree(nodes, title=name),
        ):
            text = svg(axes.figure)
            shown = words(text)
            clean = label(name, 18).replace(r"\$", "$")
            assert any(clean in one for one in shown) or len(name) > 18
            assert "<script" not in text
            assert r"\$" not in text or "\\" in name
            assert max(map(len, shown)) < 110
            assert not {"\x00", "\x07", "\n"} & set("".join(shown))


def test_a_class_that_begins_with_an_underscore_is_still_named():
    ax = data_figure(table(20, 2, class_names=["_no", "yes"]))
    assert [text.get_text().strip()[:3] for text in ax.get_legend().get_texts()] == ["_no", "yes"]


def test_captions_are_plain_text_with_names_as_given():
    points = table(20, 2, names=["$cost$", "b"])
    assert "along $cost$." in caption(posterior_1d(linear, points, column=0))
    assert "as in a typical row" in caption(posterior_1d(linear, points, column=0)).lower()


def test_hostile_names_survive_in_space():
    points = table(20, 3, names=["$a$", "<b>", "c\nd"])
    shown = words(svg(isosurface_3d(linear, points, n_grid=5).figure))
    assert {"$a$", "<b>", "c d"} <= set(shown)


@settings(max_examples=50)
@given(st.text(max_size=80), st.integers(5, 40))
def test_labels_are_printable_bounded_and_keep_both_ends(text, most):
    made = label(text, most)
    plain = made.replace(r"\$", "$")
    assert len(plain) <= most + 1
    assert plain.isprintable()
    assert not re.search(r"(?<!\\)\$", made)
    clean = "".join(c for c in " ".join(text.split()) if c.isprintable())
    if len(clean) <= most:
        assert plain == clean
    else:
        assert clean.startswith(plain.split("…")[0][:2])
        assert plain[-1] == clean[-1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-1.5, "−1.5"), (123456.0, "123,456"), (1e12, "1e+12"), (0.00012345, "0.0001234")],
)
def test_numbers_are_short(value, text):
    assert number_label(value) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (0.0004, "< 0.1 %"), (0.5, "50.0 %"), (0.99951, "> 99.9 %"), (1, "100 %")],
)
def test_percentages_do_not_pretend_certainty(share, text):
    assert percent_label(share) == text


@given(
    st.lists(
        st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=4, max_size=60, unique=True
    ),
    st.floats(0.02, 2.0),
)
def test_simplified_lines_stay_within_the_tolerance(corners, tol):
    corners = np.round(corners, 2)
    path = "M " + " L ".join(f"{x:g} {y:g}" for x, y in corners)
    made = simplified(path, tol)
    kept = np.array([[float(n) for n in part.split()] for part in made[2:].split(" L ")])
    np.testing.assert_allclose(kept[[0, -1]], corners[[0, -1]])
    assert len(kept) <= len(corners)
    for corner in corners:
        start, along = kept[:-1], np.diff(kept, axis=0)
        length = np.maximum((along**2).sum(1), 1e-12)
        share = np.clip(((corner - start) * along).sum(1) / length, 0, 1)
        gaps = np.linalg.norm(start + share[:, None] * along - corner, axis=1)
        assert gaps.min() <= tol + 1e-9


def test_simplified_keeps_several_parts_and_closing():
    path = "M 0 0 L 1 0 L 2 0 L 2 2 z M 5 5 L 6 6 L 7 7 L 8 8"
    assert simplified(path) == "M 0 0 L 2 0 L 2 2 z M 5 5 L 8 8"


def test_figures_have_a_transparent_background():
    for axes in (posterior_1d(linear, table(n_columns=1)), small_tree()):
        assert axes.figure.get_facecolor()[3] == 0
        assert axes.get_facecolor()[3] == 0


def test_bars_of_a_row_speak_for_and_against():
    bars = [
        RowBar("typical row", -1.2, plain=True),
        RowBar("$dose$ = 3", 0.8),
        RowBar("age", -2000),
    ]
    ax = row_bars(bars, reach=2000, ends=("against", "for"))
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "typical row",
        r"\$dose\$ = 3",
        "age",
    ]
    assert [text.get_text() for text in ax.texts] == ["−1.20", "+0.80", "−2,000"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["against", "for"]
    widths = [patch.get_width() for patch in ax.patches]
    assert widths == [-1.2, 0.8, -2000]
    assert len({patch.get_facecolor() for patch in ax.patches}) == 3
    low, high = ax.get_xlim()
    assert low < -2000
    assert high == -low
