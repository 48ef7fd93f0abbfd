"""Drawings for paper: their size, their font, and letters that can be read on white."""

import matplotlib.pyplot as plt
import pytest

from parsimon.report.document import Cell, Heading, Table
from parsimon.report.figures import search_tree, svg
from parsimon.report.figures.search_figures import SearchNode
from parsimon.report.typst import drawing_on_paper, fitting

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200"'


@pytest.mark.parametrize(
    ("size", "points"),
    [
        ("", (300, 150)),
        ('width="400"', (300, 150)),
        ('width="72pt"', (72, 36)),
        ('width="1in" height="1in"', (72, 72)),
        ('height="100px"', (150, 75)),
        ('width="100%"', (300, 150)),
    ],
)
def test_sizes_are_read_in_points(size, points):
    paper = drawing_on_paper(f"{HEAD} {size}/>")
    assert (paper.width, paper.height) == pytest.approx(points)
    assert f'width="{points[0]}pt"' in paper.svg


def test_a_figure_keeps_its_size_and_has_one_font():
    text = svg(search_tree([SearchNode("root")]).figure)
    plt.close("all")
    paper = drawing_on_paper(text)
    assert f'width="{paper.width:g}pt"' in paper.svg
    assert "Verdana" in text
    assert "Verdana" not in paper.svg
    assert paper.svg.count("font-family") == 1
    assert 'font-family="DejaVu Sans"' in paper.svg
    assert "font-family:" not in paper.svg


def test_grey_letters_become_dark_and_grey_lines_stay():
    paper = drawing_on_paper(
        f'{HEAD}><text style="font:11px;fill:#7f7f7f">a</text><text fill="#7F7F7F">b</text>'
        '<text style="fill: #0072b2">c</text><path style="stroke:#7f7f7f;fill:#7f7f7f"/></svg>'
    )
    assert "fill:#404040" in paper.svg
    assert 'fill="#404040"' in paper.svg
    assert "#0072b2" in paper.svg
    assert "stroke:#7f7f7f;fill:#7f7f7f" in paper.svg


def table(columns, rows=1, words="12.34", numeric=True):
    headings = tuple(Heading("of all rows", numeric=numeric) for _ in range(columns))
    return Table(
        "t", "", headings, tuple(tuple(Cell(words) for _ in headings) for _ in range(rows))
    )


def test_headings_are_broken_before_letters_become_small():
    assert fitting(table(2), 453).headings[0] == ("of all rows",)
    assert fitting(table(9), 453).headings[0] == ("of", "all", "rows")
    assert fitting(table(9), 453).letters == 9.0
    assert [fitting(table(n), 453).letters for n in (13, 14, 15, 40)] == [9.0, 8.5, 8.0, 7.0]


def test_headings_of_text_stay_whole():
    assert fitting(table(9, numeric=False), 453).headings[0] == ("of all rows",)


def test_only_long_tables_are_parted():
    assert not fitting(table(1, rows=25), 453).breaks
    assert fitting(table(1, rows=26), 453).breaks
    assert fitting(table(1, rows=9, words="a long text " * 8), 453).breaks


def test_a_table_without_rows_or_titles_is_set():
    empty = Table("t", "", (Heading("", numeric=True),), ())
    assert fitting(empty, 1.0).headings == (("",),)
