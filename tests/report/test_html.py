"""The page as text: escaping, policy, pictures, numbers for the script."""

import base64
import hashlib
import importlib.resources
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimon.exceptions import InvalidInputError
from parsimon.report.document import Cell, Document, Heading, Link, Paragraph, Reference, Table
from parsimon.report.figures import ClassRows, data_figure, posterior_2d, svg
from parsimon.report.findings import Interval, Picture, Roc
from parsimon.report.html import checked_svg, embedded, explorer_data, to_html
from parsimon.report.sections import write
from tests.report import samples
from tests.report.documents import document

WRITERS = (document, write)
SAMPLES = ("findings", "hostile", "no_structure", "fast", "three_classes", "regression")
EMPTY = {"br", "hr", "img", "input", "link", "meta"}


class Outline(HTMLParser):
    """Elements, text outside scripts and styles, and whether every element is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open, self.texts, self.data = [], [], [], ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open and self.elements[-1][1].get("id") == "studies":
            self.data += data
        elif not {"script", "style"} & set(self.open):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def page_of(found, writer=document):
    return to_html(writer(found), found)


def with_lead(*blocks):
    return Document("Title", "", facts=(), lead=blocks, sections=())


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_the_page_is_well_nested_with_unique_ids_and_no_dead_links_inside(sample, writer):
    outline = Outline(page_of(getattr(samples, sample)(), writer))
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in outline.elements:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, ids[0]) in ids
        address = attributes.get("href", "https://")
        assert address.startswith(("https://", "data:,")) or address[1:] in ids
    assert "src" not in {name for _, attributes in outline.elements for name in attributes}


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_page_is_one_small_file(sample):
    assert len(page_of(getattr(samples, sample)(), write).encode()) < 250_000


def test_every_kind_of_block_says_its_words():
    outline = Outline(page_of(samples.findings()))
    for words in (
        "See section 1 and Table 1.",
        "honest error 23.3\u202f% 20.7 to 25.9\u202f%".replace("\u202f", " "),
        "Note Something to know.",
        "Caution Something to beware of: plasma glucose",
        "two parsimon report pima --seed 0",
        "Figure 1 Caption of study-1-front.",
        "Figure 2 Caption of study-1-effect-1.",
        "Table 1 Each variable alone.",
        "The baseline knows no variable.",
        "error of five folds that guided the search",
        "1.1 plasma glucose",
        "See the paper.",
        "References He, Q. (2016). A report. A book",
    ):
        assert words in outline.text


def test_tables_have_captions_scopes_and_orders():
    outline = Outline(page_of(samples.findings()))
    cells = outline.all("th") + outline.all("td")
    orders = [cell["data-order"] for cell in cells if "data-order" in cell]
    assert orders[:4] == ["0.25", "87.4", "0.3371", "36.8"]
    sortable = [row for row in outline.all("tr") if row.get("class") == "emphasised"]
    assert len(sortable) == 1
    scopes = [cell.get("scope") for cell in outline.all("th")]
    assert set(scopes) == {"col", "row"}
    assert len(outline.all("caption")) == len(outline.all("table")) == 2


@pytest.mark.parametrize(
    ("order", "attribute"),
    [
        (None, None),
        (float("nan"), None),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (-1.5, "-1.5"),
    ],
)
def test_orders_are_what_the_script_can_read(order, attribute):
    cell = Cell("-", order=order)
    table = Table("t", "", (Heading("name"), Heading("x", numeric=True)), ((Cell("a"), cell),))
    outline = Outline(to_html(with_lead(table), samples.findings()))
    assert outline.all("td") == [
        {"class": "numeric"} | ({} if attribute is None else {"data-order": attribute})
    ]


@pytest.mark.parametrize("writer", WRITERS)
def test_what_came_from_a_table_is_text_and_nothing_else(writer):
    outline = Outline(page_of(samples.hostile(), writer))
    assert len(outline.all("script")) == 2
    assert samples.HOSTILE in outline.text
    assert "<b>yes</b>" in outline.text
    assert "x" * 90 in outline.text
    assert outline.all("script")[1] == {"type": "application/json", "id": "studies"}
    assert samples.HOSTILE in json.loads(outline.data)[0]["models"][1]["words"]


def test_the_policy_allows_only_the_script_of_the_page():
    page = page_of(samples.findings())
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL).group(1)
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert policy.split("; ")[:4] == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{hashed}'",
        "img-src data:",
    ]
    assert "innerHTML" not in script
    assert "<!--" not in script


def test_the_files_of_the_page_lie_in_the_package_and_are_short():
    folder = importlib.resources.files("parsimon.report.html")
    for name in ("page.js", "tables.js", "explorer.js", "charts.js", "numbers.js", "style.css"):
        assert 10 < len(folder.joinpath(name).read_text().splitlines()) <= 400


def test_characters_that_no_page_can_hold_are_replaced():
    page = to_html(with_lead(Paragraph(("a\x00b\x1bc\ud800d\x85e",))), samples.findings())
    assert "<p>a\ufffdb\ufffdc\ufffdd\ufffde</p>" in page
    page.encode("utf-8")


def test_a_mention_of_nothing_is_refused():
    with pytest.raises(InvalidInputError, match="mentions 'nowhere'"):
        to_html(with_lead(Paragraph((Reference("nowhere"),))), samples.findings())


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "file:///etc/passwd", "", "https://a b"]
)
def test_only_web_addresses_are_links(address):
    with pytest.raises(InvalidInputError, match="is not an http or https address"):
        to_html(with_lead(Paragraph((Link("here", address),))), samples.findings())


def drawing(inside, opening='<svg xmlns="http://www.w3.org/2000/svg">'):
    return Picture(name="drawn", svg=f"{opening}{inside}</svg>", caption="", title="")


@pytest.mark.parametrize(
    "inside",
    [
        '<path d="M0 0L1 1" style="fill:url(#a)"/><use href="#b"/>',
        '<image href="data:image/png;base64,AAAA"/>',
        "<text>a &lt;script&gt; is only text</text>",
    ],
)
def test_plain_drawings_are_let_in_unchanged(inside):
    assert checked_svg(drawing(inside)) == drawing(inside).svg


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("<script>alert(1)</script>", "element 'script'"),
        ("<style>p {}</style>", "element 'style'"),
        ("<foreignObject/>", "element 'foreignObject'"),
        ("<animate/>", "element 'animate'"),
        ('<a href="#x"/>', "element 'a'"),
        ('<p xmlns="http://www.w3.org/1999/xhtml"/>', "element"),
        ('<path onclick="alert(1)"/>', "attribute 'onclick'"),
        ('<path ONLOAD="alert(1)"/>', "attribute 'onload'"),
        ('<use href="https://example.org/a.svg#b"/>', "outside the page"),
        ('<image href="https://example.org/a.png"/>', "outside the page"),
        ('<image href="data:image/svg+xml;base64,AAAA"/>', "outside the page"),
        ('<use href="data:image/png;base64,AAAA"/>', "outside the page"),
        (
            '<use xmlns:l="http://www.w3.org/1999/xlink" l:href="javascript:alert(1)"/>',
            "outside the page",
        ),
        ('<path style="fill:url(https://example.org/a)"/>', "outside the page"),
        ("<!-- a comment -->", "comment or a declaration"),
        ("<text><![CDATA[<img>]]></text>", "comment or a declaration"),
        ("<g>", "not well-formed XML"),
    ],
)
def test_drawings_that_do_more_are_refused(inside, reason):
    with pytest.raises(InvalidInputError, match=f"The picture 'drawn' .*{re.escape(reason)}"):
        checked_svg(drawing(inside))


@pytest.mark.parametrize(
    "text", ["<svg></svg>", '<s:svg xmlns:s="http://www.w3.org/2000/svg"></s:svg>']
)
def test_a_drawing_must_be_svg_without_prefixes(text):
    with pytest.raises(InvalidInputError, match="does not begin with an svg element"):
        checked_svg(Picture(name="drawn", svg=text, caption="", title=""))


def test_figures_of_the_package_are_let_in():
    X = np.random.default_rng(0).normal(size=(30, 2))
    points = ClassRows(X, X[:, 0] > 0, names=("<b>", "年"))
    figures = [
        posterior_2d(lambda X: (X[:, 0], 1 + 0 * X[:, 0]), points)[0].figure,
        data_figure(points).figure,
    ]
    for figure in figures:
        text = svg(figure, title="<script>")
        assert checked_svg(Picture(name="a", svg=text, caption="", title="")) == text
    plt.close("all")


@given(
    st.recursive(
        st.none() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    )
)
def test_embedded_data_come_back_and_cannot_end_their_element(value):
    text = embedded(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_numbers_that_json_lacks_are_none():
    one = samples.study()
    bare = replace(one.front[0], error=float("nan"), log_loss=float("inf"), roc=None)
    data = explorer_data(replace(one, front=(bare,), front_variables=(), knee=0, chosen=0))
    assert data["models"][0]["error"] is data["models"][0]["log_loss"] is None
    assert data["variables"] == []
    json.dumps(data, allow_nan=False)


def test_models_of_both_fronts_are_told_once():
    one = samples.study()
    data = explorer_data(replace(one, front_variables=one.front[::2]))
    assert len(data["models"]) == 4
    assert (data["size"], data["variables"]) == ([0, 1, 2, 3], [0, 2])
    assert (data["knee"], data["chosen"]) == (1, 3)


def confusion(probabilities, labels, threshold):
    called = probabilities >= threshold
    return int(np.sum(called & labels)), int(np.sum(called & ~labels))


@pytest.mark.parametrize("n_rows", [40, 3000])
def test_packed_curves_count_rows_exactly_at_every_position_of_the_slider(n_rows, rng):
    probabilities = rng.beta(0.7, 0.9, n_rows)
    # Ties with positions of the slider, to which rounding must do no harm.
    probabilities[:20] = np.round(probabilities[:20], 2)
    labels = rng.random(n_rows) < probabilities
    distinct = np.unique(probabilities)[::-1]
    counts = np.array([confusion(probabilities, labels, each) for each in distinct])
    n_positive, n_negative = int(labels.sum()), int((~labels).sum())
    roc = Roc(
        fpr=(0.0, *(counts[:, 1] / n_negative)),
        tpr=(0.0, *(counts[:, 0] / n_positive)),
        thresholds=(float("inf"), *distinct),
        n_positive=n_positive,
        n_negative=n_negative,
        auc=Interval(estimate=0.8, low=0.7, high=0.9),
    )
    one = samples.study()
    model = replace(one.front[0], roc=roc)
    packed = explorer_data(replace(one, front=(model,), front_variables=(), knee=0, chosen=0))
    curve = packed["models"][0]["roc"]
    assert len(curve["true"]) <= 221
    for position in range(101):
        place = sum(step >= 100 * position for step in curve["thresholds"]) - 1
        assert (curve["true"][place], curve["false"][place]) == confusion(
            probabilities, labels, position / 100
        )
