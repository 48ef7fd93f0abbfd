"""What a killed analysis leaves behind is taken up only if it is whole and its own."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from parsimon.exceptions import CheckpointWarning, InvalidInputError
from parsimon.statistician.finished_work import FinishedWork, forget_work, work_key


@dataclass
class _Options:
    seed: int = 0
    n_jobs: int = 1
    rivals: Any = "all"


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (-1, 0), {"value": np.arange(3.0)})
    again = FinishedWork(tmp_path / "work", "key").read("search", [(-1, 0), (0, 0)])
    assert list(again) == [(-1, 0)]
    np.testing.assert_array_equal(again[-1, 0]["value"], [0.0, 1.0, 2.0])
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["search_-1_0.done"]


def test_a_first_value_stays(tmp_path: Path) -> None:
    assert FinishedWork(tmp_path / "work", "key").first("date", "Monday") == "Monday"
    assert FinishedWork(tmp_path / "work", "key").first("date", "Tuesday") == "Monday"
    assert FinishedWork().first("date", "Tuesday") == "Tuesday"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda content: content[:-1], "is damaged"),
        (lambda content: content[:-1] + b"!", "is damaged"),
        (lambda _: b"", "is not a file of finished work"),
        (lambda _: b"\xff\x00\n", "is not a file of finished work"),
        (lambda content: content.replace(b" key ", b" other "), "belongs to another table"),
    ],
)
def test_damaged_and_foreign_files_are_ignored(tmp_path: Path, change: Any, reason: str) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (0,), [1, 2, 3])
    path = tmp_path / "work" / "search_0.done"
    path.write_bytes(change(path.read_bytes()))
    with pytest.warns(CheckpointWarning, match=reason):
        assert kept.read("search", [(0,)]) == {}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner")
def test_pickles_that_others_could_have_written_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(InvalidInputError, match="Others may write to"):
        FinishedWork(tmp_path / "open", "key")
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (0,), 1)
    (tmp_path / "work" / "search_0.done").chmod(0o666)
    with pytest.warns(CheckpointWarning, match="belongs to another user"):
        assert kept.read("search", [(0,)]) == {}


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInputError, match="is a file"):
        FinishedWork(tmp_path / "file", "key")
    with pytest.raises(InvalidInputError, match="does not exist"):
        FinishedWork(tmp_path / "no" / "work", "key")


def test_only_its_own_files_are_removed(tmp_path: Path) -> None:
    kept = FinishedWork(tmp_path / "work", "key")
    kept.write("search", (-1, 0), 1)
    (tmp_path / "work" / ".search_0_0.done.17.part").write_text("")
    (tmp_path / "work" / "thesis.txt").write_text("")
    forget_work(tmp_path / "work")
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["thesis.txt"]
    (tmp_path / "work" / "thesis.txt").unlink()
    forget_work(tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_the_key_holds_what_results_depend_on() -> None:
    table = pd.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]})
    key = work_key(table, ("y", None, "auto"), _Options())
    assert work_key(table.copy(), ("y", None, "auto"), _Options(n_jobs=2)) == key
    own = [
        _Options(rivals=[LogisticRegression()]),
        _Options(rivals=[LogisticRegression(C=2.0)]),
    ]
    others = [
        work_key(table.assign(x=[1.0, 2.5]), ("y", None, "auto"), _Options()),
        work_key(table.assign(x=[1, 2]), ("y", None, "auto"), _Options()),
        work_key(table, ("x", None, "auto"), _Options()),
        work_key(table, ("y", None, "auto"), _Options(seed=1)),
        *(work_key(table, ("y", None, "auto"), options) for options in own),
    ]
    assert len({key, *others}) == 7
