"""The report as typst and as PDF: nothing of a table runs, everything is set, bytes repeat."""

import json
import re
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimon.exceptions import MissingDependencyError
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
from parsimon.report.findings import Picture
from parsimon.report.typst import fitting, text, to_pdf, to_typst
from tests.report.samples import HOSTILE, picture

typst = pytest.importorskip("typst")


def paragraph(*parts):
    return Paragraph(parts)


def small_table(words="plain", **options):
    return Table(
        anchor="table-1",
        caption=f"Caption {words}.",
        headings=(Heading(words), Heading("error", numeric=True)),
        rows=((Cell(words, code=True), Cell("1.00", strong=True)), (Cell("b"), Cell("2.00"))),
        **options,
    )


def wide_table(columns):
    headings = tuple(Heading("rank of column", numeric=True) for _ in range(columns))
    return Table("wide", "Wide.", headings, (tuple(Cell("12.34") for _ in headings),))


def sized(name, width, height=200):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}pt" height="{height}pt"><path d="M0 0L9 9"/></svg>'  # noqa: E501
    return Figure(name, Picture(name=name, svg=svg, caption=f"Caption of {name}.", title=name))


def everything(words="plain"):
    """Return a document with every kind of block, the words in each of their places."""
    blocks = (
        paragraph(words, Strong(words), Code(words), Link(words, "https://example.org/?a=1#b")),
        paragraph("See ", Reference("figure-1"), ", ", Reference("table-1"), Reference("inner")),
        Bullets((paragraph(words), paragraph("second"))),
        Note("note", paragraph(words)),
        Note("caution", paragraph(words)),
        KeyFigures((KeyFigure(words, words, words), KeyFigure("2", "two"))),
        small_table(words, emphasised=(0,), note=words),
        Figure("figure-1", replace(picture("one"), caption=words, title=words)),
        Explorer(study=0, fallback=Figure("figure-2", picture("two"))),
        Explorer(study=0, fallback=None),
    )
    return Document(
        title=words,
        subtitle=words,
        facts=((words, words),),
        lead=blocks[:1],
        sections=(
            Section("outer", words, blocks[1:], (Section("inner", words, (paragraph("x"),)),)),
        ),
        references=((words, "https://example.org/paper"), (words, "")),
    )


def body_of(document):
    """Return what follows the template."""
    return to_typst(document).split("#show: report.with(")[1]


def test_every_kind_of_block_is_set():
    body = body_of(everything())
    for call in ("facts(", "para(", "list(", "note(", "key-figures(", "table-block(", "section("):
        assert f"#{call}" in body
    assert "#side-by-side(" in body
    assert 'drawing("figure-1.svg", ' in body
    assert 'drawing("figure-2.svg", ' in body
    assert "#references(" in body


@pytest.mark.parametrize(
    "words", [HOSTILE, '"); #panic("ran"); ("', "\\", '\\"', "]#panic()[", "$"]
)
def test_nothing_that_comes_from_a_table_runs(words, tmp_path):
    to_pdf(everything(words), tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    # Outside of strings there is nothing but our own calls.
    bare = re.sub(r'"(\\.|[^"\\])*"', "", body_of(everything(words)))
    assert bare == re.sub(r'"(\\.|[^"\\])*"', "", body_of(everything()))


@settings(max_examples=25)
@given(st.text(max_size=20))
def test_typst_reads_back_the_characters_that_were_written(words):
    shown = json.loads(
        typst.query(f"#metadata({text(words)})<it>".encode(), "<it>", field="value", one=True)
    )
    expected = re.sub(r"[\t-\r\x1c-\x1f\x85]", " ", words)
    assert shown == re.sub(r"[\x00-\x1f\x7f-\x9f]", "", expected)


def test_halves_of_letters_and_control_characters_are_left_out():
    assert text("a\x00b\ud800c\nd") == '"abc d"'


def test_long_words_may_be_broken():
    assert text("x" * 24) == '"' + "x" * 24 + '"'
    assert text("x" * 30) == '"' + "\u200b".join(["x" * 12, "x" * 12, "x" * 6]) + '"'
    assert text("a_rather_long_name_of_a_column") == (
        '"a_\u200brather_\u200blong_\u200bname_\u200bof_\u200ba_\u200bcolumn"'
    )


def test_references_say_the_numbers_of_the_document():
    body = body_of(everything())
    assert 'mention("figure-1", "Figure 1")' in body
    assert 'mention("table-1", "Table 1")' in body
    assert 'mention("inner", "section 1.1")' in body


def test_an_unknown_reference_is_text():
    document = Document("t", "", (), (paragraph(Reference("absent")),), ())
    assert '#para("absent")' in body_of(document)


def test_an_anchor_that_occurs_twice_is_set(tmp_path):
    sections = (Section("same", "One"), Section("same", "Two"), Section("", "Three"))
    document = Document("t", "", (), (paragraph(Reference("same")),), sections)
    to_pdf(document, tmp_path / "report.pdf")
    assert body_of(document).count('"same"') == 2
    assert '"same+"' in body_of(document)


def test_links_lead_only_to_the_web():
    words = (Link("good", "https://a.org"), Link("bad", "file:///etc/passwd"))
    body = body_of(Document("t", "", (), (paragraph(*words),), ()))
    assert 'away("https://a.org", "good")' in body
    assert "passwd" not in body


def test_works_are_set_in_full():
    works = (("Cox 1958", "Cox, D. R. (1958)."), ("Minka", "https://a.org"), ("He 2016", ""))
    body = body_of(Document("t", "", (), (), (), references=works))
    assert (
        '#references("Cox, D. R. (1958).", [#"Minka" #away("https://a.org", "https://a.org")], '
        '"He 2016")'
    ) in body


def test_cells_rows_and_columns_keep_their_marks():
    body = body_of(Document("t", "", (), (small_table(emphasised=(1,), note="n"),), ()))
    assert "(left, right, )" in body
    assert 'cell("plain", mono: true), cell("1.00", bold: true)' in body
    assert 'cell("b", italic: true), cell("2.00", italic: true)' in body


@pytest.mark.parametrize("columns", [2, 11, 24])
def test_tables_of_any_width_are_set(columns, tmp_path):
    document = Document("t", "", (), (wide_table(columns),), ())
    assert f"{fitting(wide_table(columns), 453).letters:g}pt, false" in body_of(document)
    assert '("rank", "of", "column",)' in body_of(document) or columns == 2
    to_pdf(document, tmp_path / "report.pdf")


def test_a_long_table_may_be_broken_over_pages():
    long = replace(wide_table(2), rows=wide_table(2).rows * 40)
    assert "9pt, true" in body_of(Document("t", "", (), (long,), ()))


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (3, 3), (4, 4), (5, 4), (6, 3)])
def test_key_figures_share_the_width(n, columns):
    block = KeyFigures(tuple(KeyFigure(str(k), "label") for k in range(n)))
    assert f"#key-figures({columns}, " in body_of(Document("t", "", (), (block,), ()))


def test_two_small_figures_stand_side_by_side():
    blocks = (sized("a", 330), sized("b", 330), sized("c", 330))
    body = body_of(Document("t", "", (), blocks, ()))
    assert body.count("#side-by-side(") == 1
    assert body.count("#figure-block(") == 1
    for number in (1, 2, 3):
        assert f'drawing("figure-{number}.svg", 231.0pt' in body, "the last is no larger"


def test_three_narrow_figures_share_a_line():
    blocks = tuple(sized(name, 260, 100) for name in "abcd")
    body = body_of(Document("t", "", (), blocks, ()))
    assert body.count("#side-by-side(") == 1
    assert body.count("#figure-block(") == 1
    assert 'drawing("figure-3.svg", 149.0pt' in body


def test_wide_and_parted_figures_stand_alone():
    wide = body_of(Document("t", "", (), (sized("a", 330), sized("b", 500)), ()))
    parted = (sized("a", 330), paragraph("between"), sized("b", 330))
    for body in (wide, body_of(Document("t", "", (), parted, ()))):
        assert "#side-by-side(" not in body
        assert body.count("#figure-block(") == 2


def test_a_figure_is_never_wider_or_taller_than_the_page():
    body = body_of(Document("t", "", (), (sized("a", 2000), sized("b", 100, 2000)), ()))
    assert 'drawing("figure-1.svg", 481.0pt' in body
    assert 'drawing("figure-2.svg", 28.0pt' in body


@pytest.mark.parametrize(("height", "width"), [(150, 320), (200, 280), (500, 192)])
def test_tall_figures_are_set_smaller_while_they_can_be_read(height, width):
    body = body_of(Document("t", "", (), (sized("a", 400, height),), ()))
    assert f'drawing("figure-1.svg", {width:.1f}pt' in body


def test_the_properties_name_title_author_and_date(tmp_path):
    document = Document("Pima & more", "", (), (), ())
    to_pdf(document, tmp_path / "report.pdf", date="2026-01-31")
    data = (tmp_path / "report.pdf").read_bytes().decode("latin-1")
    assert "Pima &amp; more" in data
    assert re.search(r"<rdf:li>Parsimon \d", data)
    assert "2026-01-31" in data


def test_the_same_report_gives_the_same_bytes(tmp_path):
    for name in ("a.pdf", "b.pdf"):
        to_pdf(everything(), tmp_path / name)
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pdf", "b.pdf"]


def test_the_letters_of_figures_are_found(tmp_path):
    to_pdf(Document("t", "", (), (Figure("f", picture("one")),), ()), tmp_path / "report.pdf")
    assert b"DejaVuSans" in (tmp_path / "report.pdf").read_bytes()


def test_a_failure_leaves_the_old_file(tmp_path):
    place = tmp_path / "report.pdf"
    place.write_bytes(b"old")
    broken = Figure("f", replace(picture("one"), svg="<svg"))
    with pytest.raises(SyntaxError, match="token"):
        to_pdf(Document("t", "", (), (broken,), ()), place)
    assert place.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.pdf"]


def test_without_typst_it_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'parsimon\[pdf\]'"):
        to_pdf(everything(), tmp_path / "report.pdf")
