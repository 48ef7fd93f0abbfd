"""`parsimon datasets`: what is listed, in words and as JSON."""

import gzip
import io
import json

import pytest
from click.testing import CliRunner
from rich.console import Console

from parsimon.cli import main
from parsimon.cli.datasets import _row, _table
from parsimon.datasets import load, names
from parsimon.datasets.catalogue import known


@pytest.fixture
def run(monkeypatch):
    monkeypatch.delenv("PARSIMON_DATA", raising=False)

    def invoke(*arguments, folder=None):
        if folder is not None:
            monkeypatch.setenv("PARSIMON_DATA", str(folder))
        return CliRunner().invoke(main, ["datasets", *arguments])

    return invoke


def lines_of(result):
    assert result.exit_code == 0, result.output
    return {line.split()[0]: line.split() for line in result.output.splitlines() if line.strip()}


def test_the_table_shows_rows_columns_classes_and_origin(run):
    lines = lines_of(run())
    assert lines["iris"][:5] == ["iris", "150", "4", "3", "bundled"]
    assert lines["pima_cleaned"][:5] == ["pima_cleaned", "724", "4", "2", "bundled"]
    assert lines["make_waveform"][:5] == ["make_waveform", "400", "21", "3", "generator"]
    assert lines["name"] == ["name", "rows", "columns", "classes", "from", "what"]


def test_without_a_folder_it_says_how_to_set_one(run):
    assert "export PARSIMON_DATA=" in run().output
    assert "mushroom" not in run().output


def test_files_of_the_folder_are_listed(run, tmp_path):
    (tmp_path / "mushroom.csv.gz").write_bytes(gzip.compress(b"a,target\n1,e\n"))
    (tmp_path / "my [bold]table.csv").write_text("a,target\n1,2\n")
    result = run(folder=tmp_path)
    assert lines_of(result)["mushroom"][:5] == ["mushroom", "8124", "22", "2", "PARSIMON_DATA"]
    # Brackets in a name are not taken for markup.
    assert "my [bold]table" in result.output
    assert f"PARSIMON_DATA is {tmp_path}" in result.output
    assert "export" not in result.output


def test_json_lists_all_that_loads_and_the_generators(run):
    rows = json.loads(run("--json").output)
    found = {row["name"] for row in rows if row["from"] == "bundled"}
    assert found == set(names())
    assert sum(row["from"] == "generator" for row in rows) == 12
    for row in rows:
        if row["from"] == "bundled":
            bunch = load(row["name"])
            assert (row["rows"], row["columns"]) == bunch.data.shape
            classes = bunch.target_names
            assert row["classes"] == (None if classes is None else len(classes))
            assert row["licence"]


def test_json_tells_numbers_from_classes_and_trees(run, data_folder):
    rows = {row["name"]: row for row in json.loads(run("--json", folder=data_folder).output)}
    assert (rows["tempura"]["target"], rows["tempura"]["classes"]) == ("number", None)
    assert (rows["mushroom"]["target"], rows["mushroom"]["classes"]) == ("classes", 2)
    assert (rows["gtdb_ar53"]["target"], rows["gtdb_ar53"]["kind"]) == (None, "tree")
    assert len(rows) == 128 + 12


def test_a_variable_that_names_no_folder_is_one_line_and_code_1(run, tmp_path):
    result = run(folder=tmp_path / "absent")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: PARSIMON_DATA is set to")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("width", "described"), [(70, False), (120, True)])
def test_a_narrow_terminal_loses_the_descriptions_first(width, described):
    rows = [_row(entry) for entry in known().values() if entry.where == "bundled"]
    console = Console(width=width, file=io.StringIO())
    console.print(_table(rows, width=width))
    printed = console.file.getvalue()
    assert ("what" in printed) == described
    assert "…" in printed if described else "…" not in printed
    for row in rows:
        assert f" {row['name']} " in printed


def test_help_names_the_variable_and_an_example(run):
    result = run("--help")
    assert result.exit_code == 0
    assert "PARSIMON_DATA=~/data parsimon datasets --json" in result.output
