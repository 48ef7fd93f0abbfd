"""A document as Markdown: structure, tables, and nothing of a table that is interpreted."""

import re

import pytest

from parsimon.report.document import (
    Bullets,
    Cell,
    Code,
    Document,
    Explorer,
    Figure,
    Heading,
    KeyFigure,
    KeyFigures,
    Link,
    Note,
    Paragraph,
    Reference,
    Section,
    Strong,
    Table,
)
from parsimon.report.markdown import code, escaped, to_markdown
from parsimon.report.sections import write
from tests.report import samples


def page(*blocks, **changes) -> str:
    made = {"title": "T", "subtitle": "", "facts": (), "lead": blocks, "sections": (), **changes}
    return to_markdown(Document(**made))


def paragraph(*parts) -> Paragraph:
    return Paragraph(parts)


def table(**changes) -> Table:
    made = {
        "anchor": "table-a",
        "caption": "Caption.",
        "headings": (Heading("Name"), Heading("Size", numeric=True)),
        "rows": ((Cell("a|b"), Cell("1", strong=True)), (Cell("x", code=True), Cell("–"))),
        **changes,
    }
    return Table(**made)


def test_inline_parts():
    text = page(
        table(),
        paragraph("See ", Reference("table-a"), ", ", Strong("b*"), ", ", Code("a`b"), " and "),
        paragraph(Link("a [page]", "https://x.org/a b>c")),
    )
    assert r"See Table 1, **b\***, `` a`b `` and " in text
    assert r"[a \[page\]](<https://x.org/a%20b%3Ec>)" in text


def test_blocks():
    text = page(
        Bullets((paragraph("one"), paragraph("2. two"))),
        Note("caution", paragraph("Beware.")),
        Note("note", paragraph("Know.")),
        KeyFigures((KeyFigure("21.8 %", "error", "19 to 24 %"), KeyFigure("3", "variables"))),
    )
    assert "- one\n- 2\\. two" in text
    assert "> **Caution.** Beware.\n\n> **Note.** Know." in text
    assert "- **21.8 %** error (19 to 24 %)\n- **3** variables" in text


def test_tables():
    text = page(table(note="1) Note.", emphasised=(1,)))
    assert (
        "**Table 1.** Caption.\n\n"
        "| Name | Size |\n| --- | ---: |\n| a\\|b | **1** |\n| *`x`* | *–* |\n\n"
        "1\\) Note.\n"
    ) in text


def test_pipes_in_code_stay_in_their_cell():
    text = page(table(rows=((Cell("a|b", code=True), Cell("1")),)))
    assert "| `a\\|b` | 1 |" in text


def test_pictures_are_captions_or_links():
    figure = Figure("figure-x", samples.picture("x y"))
    document = Document("T", "", (), (figure, Explorer(0, None)), ())
    assert to_markdown(document) == "# T\n\n**Figure 1.** Caption of x y.\n"
    assert to_markdown(document, "pictures/") == (
        "# T\n\n![Title of x y](<pictures/x%20y.svg>)\n\n**Figure 1.** Caption of x y.\n"
    )
    fallback = Document("T", "", (), (Explorer(0, figure),), ())
    assert "**Figure 1.**" in to_markdown(fallback)


def test_headings_are_numbered_and_no_deeper_than_six():
    section = Section("s", "deep")
    for depth in range(6):
        section = Section(f"s{depth}", f"level {depth}", (), (section,))
    text = page(sections=(section,))
    assert "## 1. level 5" in text
    assert "###### 1.1.1.1.1. level 1" in text
    assert "###### 1.1.1.1.1.1.1. deep" in text


def test_front_page_and_references():
    text = page(
        subtitle="sub", facts=(("Rows", "5"),), references=(("He 2016", "He, Q. (2016). Title."),)
    )
    assert text.startswith("# T\n\n*sub*\n\n## About this run\n\n- **Rows**: 5\n")
    assert text.endswith("## References\n\n- He, Q. (2016). Title.\n")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1. a", r"1\. a"),
        ("12) a", r"12\) a"),
        ("- a", r"\- a"),
        ("+ a", r"\+ a"),
        ("-1 is", "-1 is"),
        ("3.5 is", "3.5 is"),
        ("=", r"\="),
    ],
)
def test_the_beginning_of_a_paragraph_is_text(text, written):
    assert page(paragraph(text)) == f"# T\n\n{written}\n"


def test_line_breaks_become_spaces():
    assert escaped("a\n# b") == r"a \# b"
    assert code("a\nb") == "`a b`"


def test_hostile_names_are_only_text():
    text = to_markdown(write(samples.hostile()))
    bare = re.sub(r"(`+).*?\1", "", text)
    assert "<script" not in bare.replace(r"\<", "")
    assert not re.search(r"(?<!\\)<", bare)
    assert r"\<script\>alert(1)\</script\> " in text
    assert "年龄" in text
    assert "возраст" in text


@pytest.mark.parametrize("name", ["findings", "hostile", "three_classes", "regression"])
def test_lines_of_a_table_have_equally_many_cells(name):
    width = None
    for line in to_markdown(write(getattr(samples, name)())).split("\n"):
        if not line.startswith("|"):
            width = None
            continue
        cells = len(re.findall(r"(?<!\\)\|", line))
        assert width in (None, cells), line
        width = cells


def test_every_figure_and_table_has_its_number():
    text = to_markdown(write(samples.findings()))
    assert [int(n) for n in re.findall(r"\*\*Table (\d+)\.\*\*", text)] == list(range(1, 5))
    assert [int(n) for n in re.findall(r"\*\*Figure (\d+)\.\*\*", text)] == list(range(1, 8))
