import gzip
import os
import subprocess
import sys

import pandas as pd
import pytest
from click.testing import CliRunner

from parsimon.cli import main
from parsimon.cli.tables import column, read_rows
from parsimon.exceptions import InvalidInputError, MissingDependencyError


@pytest.mark.parametrize(
    ("name", "mark"), [("rows.csv", ";"), ("rows.csv", "\t"), ("rows.tsv", ","), ("rows.txt", ";")]
)
def test_a_table_with_another_separator_than_its_name_says_is_read(tmp_path, name, mark):
    path = tmp_path / name
    path.write_text(mark.join(["size of leaf", "class"]) + "\n" + mark.join(["1.5", "a"]) + "\n")
    table = read_rows(path)
    assert table.to_dict("list") == {"size of leaf": [1.5], "class": ["a"]}


def test_a_single_column_stays_one(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("size\n1\n2\n")
    assert read_rows(path)["size"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", ""),
        ("utf-16-le", ""),
        ("utf-16-be", ""),
        ("cp1252", "is not UTF-8 text; it is read as Windows-1252."),
        ("latin-1", "is not UTF-8 text; it is read as "),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_are_recognised(tmp_path, capsys, encoding, note, packed):
    text = "größe,naïveté\n1.5,ça\n2.5,où\n"
    if encoding == "latin-1":
        # A byte that Windows-1252 does not have.
        text += "3.5,\x81\n"
    data = text.encode(encoding)
    path = tmp_path / ("rows.csv.gz" if packed else "rows.csv")
    path.write_bytes(gzip.compress(data) if packed else data)
    table = read_rows(path)
    assert list(table) == ["größe", "naïveté"]
    assert table["naïveté"].tolist()[:2] == ["ça", "où"]
    said = capsys.readouterr().err
    assert note in said
    assert bool(said) == bool(note)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_decimal_commas_are_read_where_nothing_else_can_be_meant(tmp_path, mark):
    path = tmp_path / "rows.csv"
    rows = [["size", "price", "name"], ["1,5", "1,200", "a,b"], ["22,75", "3,400", "c"]]
    path.write_text("\n".join(mark.join(row) for row in rows))
    table = read_rows(path)
    assert table["size"].tolist() == [1.5, 22.75]
    assert table["price"].tolist() == ["1,200", "3,400"]
    assert table["name"].tolist() == ["a,b", "c"]


def test_rows_with_different_numbers_of_decimal_commas_are_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a;b;c\n1;2;3\n1,5;2,5;3,5\n")
    assert read_rows(path)["b"].tolist() == [2, 2.5]


def test_quoted_commas_do_not_cut_a_header(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('"a, b, and c";d\n1;2\n')
    assert list(read_rows(path)) == ["a, b, and c", "d"]


def test_excel_is_read_from_the_first_sheet(tmp_path, capsys):
    path = tmp_path / "rows.xlsx"
    frame = pd.DataFrame({"größe": [1.5, 2.5], "day": pd.to_datetime(["2024-01-02", "2024-02-03"])})
    with pd.ExcelWriter(path) as book:
        frame.to_excel(book, sheet_name="rows", index=False)
        frame.to_excel(book, sheet_name="more", index=False)
    pd.testing.assert_frame_equal(read_rows(path), frame, check_dtype=False)
    assert "Of the 2 sheets" in capsys.readouterr().err


def test_excel_without_openpyxl_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "rows.xlsx"
    path.write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match="pip install openpyxl"):
        read_rows(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("rows.xls", b"\xd0\xcf\x11\xe0", "save it as .xlsx or as CSV"),
        ("rows.xlsx", b"PK\x03\x04 broken", "cannot be read"),
        ("rows.csv.gz", b"no gzip", "cannot be read"),
        ("rows.parquet", b"nothing", "cannot be read"),
        ("rows.csv", b"", "is empty"),
        ("rows.csv", b"a,b\n", "has no rows"),
        ("rows.csv", b"\x00\x00\x00", "The table"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=message) as error:
        read_rows(path)
    assert "\n" not in str(error.value)


def test_a_mistyped_column_is_guessed():
    table = pd.DataFrame({"Outcome": [1], "age": [2]})
    with pytest.raises(InvalidInputError, match="Did you mean 'Outcome'"):
        column(table, "outcom")


def test_a_mistyped_data_set_and_command_are_guessed():
    assert "Did you mean" in CliRunner().invoke(main, ["report", "pimaa"]).stderr
    result = CliRunner().invoke(main, ["raport"])
    assert result.exit_code == 2
    assert "Did you mean 'report'?" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell):
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0
    assert f"_PARSIMON_COMPLETE={shell}_complete" in result.stdout


def test_bash_completes_commands_options_and_names():
    def completed(*words):
        asked = {"_PARSIMON_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(words)}
        asked["COMP_CWORD"] = str(len(words) - 1)
        run = subprocess.run(
            [sys.executable, "-c", "from parsimon.cli import main; main(prog_name='parsimon')"],
            env={**os.environ, **asked},
            capture_output=True,
            text=True,
            check=False,
        )
        return run.stdout.split()

    assert "plain,predict" in completed("parsimon", "pre")
    assert "plain,--threshold" in completed("parsimon", "predict", "--thr")
    assert "plain,pima" in completed("parsimon", "report", "pim")
