"""Kept results belong to all the code that they ran with."""

import shutil
from pathlib import Path

import pytest
from benchmarks.reproduce import _clark_jobs, _resume
from benchmarks.reproduce._resume import code_version, own_modules

import parsimon


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put a copy of the package in its place, for the digest alone."""
    here = Path(parsimon.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "*.csv", "*.gz")
    copy = shutil.copytree(here, tmp_path / "parsimon", ignore=ignored)
    monkeypatch.setattr(_resume.parsimon, "__file__", str(copy / "__init__.py"))
    return copy


def version():
    return code_version(_clark_jobs.work)


@pytest.mark.parametrize(
    "name", ["_data.py", "evaluation/honest.py", "linalg.py", "optimise.py", "svm/_dual.py"]
)
def test_a_change_anywhere_in_the_package_counts(package, name):
    before = version()
    assert version() == before
    (package / name).write_text((package / name).read_text() + "# changed\n")
    assert version() != before


def test_a_file_under_another_name_counts(package):
    before = version()
    (package / "linalg.py").rename(package / "algebra.py")
    assert version() != before


def test_the_benchmarks_own_modules_count():
    names = set(own_modules("benchmarks.reproduce.clark_3"))
    own = {"_clark_data", "_clark_jobs", "_clark_tables", "_clark_widths", "_resume", "clark_3"}
    assert {f"benchmarks.reproduce.{name}" for name in own} <= names
    assert "benchmarks.rows" in names
    assert not any(name.startswith("benchmarks.peers") for name in names)


def test_other_files_count(tmp_path):
    file = tmp_path / "more.txt"
    file.write_text("1")
    before = code_version(_clark_jobs.work, [file])
    file.write_text("2")
    assert code_version(_clark_jobs.work, [file]) != before
