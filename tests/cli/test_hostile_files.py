"""Files that were read wrongly without a word, or took all memory: refused or said, with a line."""

import gzip
import io
import pickle
import resource
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main, text_files
from parsimon.cli.series_files import read_archive
from parsimon.cli.tables import own_names, read_rows
from parsimon.exceptions import BadRowError, InvalidInputError
from parsimon.statistician import analyse_series
from parsimon.statistician.prepare.cells import parse_number

RNG = np.random.default_rng(0)
ROWS = [(f"{900 + 13 * k}", f"{k % 7}.5", f"{RNG.normal():.3f}") for k in range(30)]


def write(path, header, rows, mark=",", end=""):
    lines = [mark.join(header), *(mark.join(row) + end for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.parametrize(
    ("name", "mark"), [("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t"), ("t.txt", "|")]
)
@pytest.mark.parametrize("in_header", [False, True])
def test_separators_at_the_ends_of_rows_shift_nothing(tmp_path, capsys, name, mark, in_header):
    header = ["price", "size", "age", *([""] if in_header else [])]
    table = read_rows(write(tmp_path / name, header, ROWS, mark, end=mark))
    assert list(table) == ["price", "size", "age"]
    assert table["price"].tolist() == [float(row[0]) for row in ROWS]
    assert table["age"].tolist() == [float(row[2]) for row in ROWS]
    assert "One column has neither a name nor a value" in capsys.readouterr().err


def test_a_header_alone_that_ends_in_a_separator_loses_that_column(tmp_path, capsys):
    table = read_rows(write(tmp_path / "t.csv", ["a", "b", "c", ""], ROWS))
    assert list(table) == ["a", "b", "c"]
    assert "fewer cells" not in capsys.readouterr().err


def test_values_beyond_the_header_are_refused_with_their_line(tmp_path):
    rows = [*ROWS[:4], (*ROWS[4], "9"), *ROWS[5:]]
    path = write(tmp_path / "t.csv", ["price", "size", "age"], rows)
    with pytest.raises(InvalidInputError, match=r"Line 6 of .* has 4 cells, but line 1 names 3"):
        read_rows(path)
    path = write(tmp_path / "t.csv", ["price", "size", "age"], [(*row, "9") for row in ROWS])
    with pytest.raises(InvalidInputError, match=r"Line 2 .* 29 more rows.* Line 1 must name all"):
        read_rows(path)


def test_short_rows_are_listed(tmp_path, capsys):
    rows = [row[:2] if k in (4, 9) else row for k, row in enumerate(ROWS)]
    table = read_rows(write(tmp_path / "t.csv", ["price", "size", "age"], rows))
    assert np.flatnonzero(table["age"].isna()).tolist() == [4, 9]
    assert "2 rows have fewer cells than the header" in (said := capsys.readouterr().err)
    assert "lines 6, 11." in said


def test_a_header_wider_than_all_rows_is_refused(tmp_path):
    path = write(tmp_path / "t.csv", ["size", " in cm", "price", "age"], ROWS)
    with pytest.raises(InvalidInputError, match="names 4 columns, but no row has more than 3"):
        read_rows(path)


def test_names_of_rows_as_r_writes_them_are_left_out(tmp_path, capsys):
    (tmp_path / "t.csv").write_text('"a","b"\n"1",2,3\n"2",4,5\n')
    assert read_rows(tmp_path / "t.csv").to_dict("list") == {"a": [2, 4], "b": [3, 5]}
    assert "as R writes them" in capsys.readouterr().err


def test_columns_of_one_name_are_listed_under_names_of_their_own(tmp_path, capsys):
    table = read_rows(write(tmp_path / "t.csv", ["x", "x", "x.1"], ROWS))
    assert list(table) == ["x", "x.2", "x.1"]
    assert "x.2 (was “x”)" in capsys.readouterr().err
    frame = pd.DataFrame([[1, 2], [3, 4]])
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        frame.to_excel(book, index=False, header=["y", "y"])
    assert list(read_rows(tmp_path / "t.xlsx")) == ["y", "y.1"]
    assert len(set(own_names(["x"] * 20_000))) == 20_000


@pytest.mark.parametrize("header", [["x", "y", "y"], ["x", "y", "y.1"]])
def test_a_copy_of_the_target_is_no_feature(tmp_path, header):
    rows = [(size, price, price) for price, size, _ in ROWS]
    path = write(tmp_path / "t.csv", header, rows)
    options = ("--target", "y", "--family", "linear", "--outer", "0", "--jobs", "1")
    result = run("fit", path, *options, "--out", tmp_path / "m.skops")
    assert result.exit_code == 0
    assert "One column repeats the target and was left out: y.1 (equal to y)." in result.stderr
    only_x = write(tmp_path / "new.csv", ["x"], [(row[0],) for row in rows])
    assert run("predict", tmp_path / "m.skops", only_x).exit_code == 0


def test_two_targets_that_differ_are_refused(tmp_path):
    path = write(tmp_path / "t.csv", ["x", "y", "y"], ROWS)
    result = run("fit", path, "--target", "y", "--out", tmp_path / "m.skops")
    assert (result.exit_code, "two columns called 'y', and they differ" in result.stderr) == (1, 1)


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_commands_without_a_page_say_what_a_page_says(tmp_path, command):
    rows = [(*row, "€ 1", "same") for row in ROWS]
    rows = [(*row[:2], "1e300" if k == 3 else row[2], *row[3:]) for k, row in enumerate(rows)]
    rows = [(*row[:3], f"€ {k % 5}", row[4]) for k, row in enumerate(rows)]
    path = write(tmp_path / "t.csv", ["price", "size", "age", "paid", "kind"], rows)
    own = {"fit": ("--family", "linear", "--out", tmp_path / "m.skops", "--outer", "0")}
    rivals = ("--families", "none", "--rivals", "linear", "--outer", "2")
    result = run(command, path, "--target", "price", "--jobs", "1", *own.get(command, rivals))
    assert result.exit_code == 0
    for sentence in (
        "1 cell in age is infinite, or beyond 1e100, and was taken as missing.",
        "numbers that are written as text, such as “€ 0”, and was read as numbers: paid.",
        "One column holds one value only and was left out: kind (“same”).",
    ):
        assert sentence in result.stderr


@pytest.mark.parametrize("quoted", [(7,), (7, 12)])
def test_a_quotation_mark_without_a_partner_is_named_with_its_line(tmp_path, quoted):
    rows = [(*row[:2], ('"' if k in quoted else "") + "n") for k, row in enumerate(ROWS)]
    path = write(tmp_path / "t.csv", ["price", "size", "name"], rows)
    with pytest.raises(InvalidInputError, match=r"quotation mark in line 9 of .* has no partner"):
        read_rows(path)


def test_marks_that_pair_up_by_accident_shift_nothing(tmp_path):
    (tmp_path / "t.csv").write_text('a,b,c\n"open,level,">x\n1,2,3\n')
    with pytest.raises(InvalidInputError, match=r"quotation mark in line 2 .* no partner \(\"open"):
        read_rows(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text('a,b,c\n"Acme" Ltd,2,3\n')
    assert read_rows(tmp_path / "t.csv")["a"].tolist() == ["Acme Ltd"]


def test_cells_of_several_lines_and_marks_inside_of_cells_are_read(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"x\ny","say ""hi"""\n5" pipe,2\n')
    assert read_rows(tmp_path / "t.csv")["a"].tolist() == ["x\ny", '5" pipe']


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_utf_32_is_read(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("größe,age\n1.5,2\n".encode(encoding))
    assert read_rows(tmp_path / "t.csv").to_dict("list") == {"größe": [1.5], "age": [2]}


def test_comment_lines_are_named(tmp_path):
    path = write(tmp_path / "t.csv", ["# made by hand"], [("a", "b", "c"), *ROWS])
    with pytest.raises(InvalidInputError, match="Line 1 looks like a comment"):
        read_rows(path)
    path = write(tmp_path / "t.csv", ["a", "b", "c"], [*ROWS[:3], ("# later",), *ROWS[3:]])
    with pytest.raises(InvalidInputError, match=r"Line 5 of .* looks like a comment"):
        read_rows(path)
    path = write(tmp_path / "t.csv", ["a", "b", "c"], [*ROWS[:3], ("# x", "y", "z"), *ROWS[3:]])
    with pytest.raises(InvalidInputError, match=r"Line 5 of .* looks like a comment"):
        read_rows(path)


def test_a_comment_as_wide_as_the_header_is_no_header(tmp_path):
    path = write(tmp_path / "t.csv", ["# from lab 3", "Monday", "Ann"], [("a", "b", "c"), *ROWS])
    result = run("fit", path, "--target", "a", "--out", tmp_path / "m.skops")
    assert (result.exit_code, "Line 1 looks like a comment" in result.stderr) == (1, True)


def test_colours_and_names_that_begin_with_a_hash_are_cells(tmp_path):
    (tmp_path / "t.csv").write_text("#colour,b\n#00ff00,1\nred,2\n")
    assert read_rows(tmp_path / "t.csv")["#colour"].tolist() == ["#00ff00", "red"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("y\n1\n2\n3\n4\n5\n6\n", "nothing to predict it from"), ("y z\n1 2\n", "cut at commas")],
)
def test_one_column_gets_its_own_sentence(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text)
    result = run("fit", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "m.skops")
    assert (result.exit_code, message in result.stderr) == (1, True)


def test_a_stray_cell_of_a_workbook_takes_no_memory(tmp_path):
    book = openpyxl.Workbook()
    for row in (("a", "b"), (1, 2), (3, 4)):
        book.active.append(row)
    book.active["XFD1048576"] = 1
    book.save(tmp_path / "t.xlsx")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InvalidInputError, match="as far as XFD1048576, but only 7 of its"):
        read_rows(tmp_path / "t.xlsx")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_formulas_without_results_are_said(tmp_path, capsys):
    book = openpyxl.Workbook()
    for row in (("a", "b"), (1, "=A2+1"), (3, "=A3+1")):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert read_rows(tmp_path / "t.xlsx")["b"].isna().all()
    assert "2 formulas in b were never computed" in capsys.readouterr().err


def rewritten(path, part, change):
    """Write a workbook again with one part changed."""
    parts = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(parts, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == part else data)
    path.write_bytes(parts.getvalue())


@pytest.mark.parametrize("part", ["xl/styles.xml", "xl/worksheets/sheet1.xml"])
def test_a_workbook_that_is_nested_without_end_is_refused(tmp_path, part):
    pd.DataFrame({"a": [1, 2]}).to_excel(tmp_path / "t.xlsx", index=False)
    rewritten(tmp_path / "t.xlsx", part, lambda _: b"<a>" * 50_000 + b"</a>" * 50_000)
    with pytest.raises(InvalidInputError, match="nested more than 100 levels deep"):
        read_rows(tmp_path / "t.xlsx")


def test_a_small_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"0,0\n" * 1_000_000))
    monkeypatch.setattr(text_files, "memory_size", lambda: 8_000_000)
    with pytest.raises(InvalidInputError, match="unpacks to more than"):
        read_rows(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("cell", ["1" + " " * 60_000 + "x", "1" * 60_000, "€" + " " * 60_000])
def test_a_long_cell_is_read_in_time_that_grows_with_its_length(cell):
    spent = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    assert np.isnan(parse_number(cell)) or np.isinf(parse_number(cell))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - spent < 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@timeStamps true\n@data\n(0,1),(1,2):a\n", "Line 1 of .* time stamps"),
        ("@data\n1,2:a\n(0,1),(1,2):a\n", "Line 3 of .* time stamps"),
        ("@data\n1,2:a\n1,two:b\n", "Line 3 of .* holds 'two', where numbers must be"),
        ("@data\n1,2\n", "Line 2 of .* has no class"),
        ("@data\n" + "1," * 200_000 + "1:a\n", "Line 2 of .* has 200,001 values"),
        ("1,2:a\n", "must have a line @data"),
    ],
)
def test_a_ts_file_that_cannot_be_read_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "t.ts").write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        read_archive(tmp_path / "t.ts")


def test_missing_values_of_a_ts_file_stay_missing(tmp_path):
    (tmp_path / "t.ts").write_text("# about\n@data\n1,?,3:a\n4,5:b\n")
    frame = read_archive(tmp_path / "t.ts")
    assert frame.isna().sum().tolist() == [0, 0, 1, 1]


def test_a_date_that_does_not_exist_is_said(tmp_path):
    days = [f"2020-{1 + k // 28:02}-{1 + k % 28:02}" for k in range(30)]
    rows = [(*row[:2], "2020-13-45" if k == 12 else days[k]) for k, row in enumerate(ROWS)]
    path = write(tmp_path / "t.csv", ["price", "size", "day"], rows)
    options = ("--target", "price", "--family", "linear", "--outer", "0", "--jobs", "1")
    said = "1 cell could not be read and was taken as missing: day (such as “2020-13-45”)."
    assert said in run("fit", path, *options, "--out", tmp_path / "m.skops").stderr
    assert said in run("predict", tmp_path / "m.skops", path).stderr


@pytest.mark.parametrize("packed", [False, True])
def test_a_bad_time_is_named_with_its_line(tmp_path, packed):
    rows = [(str(k // 6), "x" if k == 8 else str(k % 6), "1", "ab"[k // 6 % 2]) for k in range(120)]
    path = write(tmp_path / "t.csv", ["id", "t", "v", "y"], rows)
    lines = path.read_text().splitlines()
    # An empty line, one of blanks, and a cell of two lines move the row from line 10 to 13.
    lines = ["", *lines[:2], "  ", '0,1,1,"a\n"', *lines[3:]]
    if packed:
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress("\r\n".join(lines).encode()))
    else:
        path.write_text("\n".join(lines))
    result = run("series", path, "--id", "id", "--time", "t", "--value", "v", "--target", "y")
    assert (result.exit_code, f"(first: line 13 of {path}, which holds 'x')" in result.stderr) == (
        1,
        True,
    )


def test_a_bad_time_of_a_workbook_or_a_frame_is_named_with_its_row(tmp_path):
    times = [str(k % 6) if k != 8 else "x" for k in range(120)]
    frame = pd.DataFrame({"id": np.arange(120) // 6, "t": times, "v": 1, "y": "a"})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    words = ("--id", "id", "--time", "t", "--value", "v", "--target", "y")
    result = run("series", tmp_path / "t.xlsx", *words)
    assert "data row 9, which holds 'x'" in result.stderr
    with pytest.raises(BadRowError, match="data row 9") as raised:
        analyse_series(frame, "y", id="id", time="t", value=("v",))
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_text_among_objectives_is_named_with_its_line(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n\n1,2\n3,low\n")
    said = run("front", tmp_path / "t.csv", "--maximise", "a", "--minimise", "b").stderr
    assert f"'low' in line 4 of {tmp_path / 't.csv'}" in said


def test_a_renamed_column_is_told_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k},{k % 3},{'ab'[k % 2]}" for k in range(12)]
    (tmp_path / "twice.csv").write_text("\n".join(["x,y,y", *lines]))
    words = "fit twice.csv --target y.1 --family linear --outer 0 --jobs 1"
    result = CliRunner().invoke(main, words.split())
    assert result.exit_code == 0, result.output
    assert result.output.count("One column has no name, or that of an earlier column") == 1
