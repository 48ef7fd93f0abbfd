import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from parsimon.exceptions import CheckpointError, CheckpointWarning, InvalidInputError
from parsimon.pareto import _checkpoint as checkpoint_module
from parsimon.pareto._checkpoint import (
    Checkpoint,
    check_settings,
    describe_option,
    read_checkpoint,
    write_checkpoint,
)
from parsimon.pareto.variation import BitFlip


def test_arrays_and_header_come_back_bit_by_bit(tmp_path):
    arrays = {
        "x": np.array([[0.1, np.nan, -0.0, np.inf]]),
        "flags": np.array([True, False]),
        "keys": np.array([2**64 - 1], dtype=np.uint64),
        "scalar": np.asarray(3),
    }
    header = {"big": 2**127 + 1, "text": "é", "number": 0.1}
    write_checkpoint(tmp_path / "a.npz", header, arrays)
    found, back = read_checkpoint(tmp_path / "a.npz")
    assert found == header
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        assert back[name].tobytes() == array.tobytes()


def test_the_file_has_exactly_the_name_that_is_given(tmp_path):
    write_checkpoint(tmp_path / "run.state", {}, {"x": np.ones(1)})
    assert [path.name for path in tmp_path.iterdir()] == ["run.state"]


@pytest.mark.parametrize("step", ["savez", "fsync", "replace"])
@pytest.mark.parametrize(
    ("error", "seen"),
    [(OSError("disk full"), CheckpointWarning), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, step, error, seen
):
    path = tmp_path / "a.npz"
    write_checkpoint(path, {"n": 1}, {"x": np.zeros(3)})
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(np if step == "savez" else os, step, fail)
    # Warnings are errors here; a search goes on after one.
    with pytest.raises(seen):
        write_checkpoint(path, {"n": 2}, {"x": np.ones(3)})
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["a.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"hello", b"\x93NUMPY"])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"a\.npz is not a checkpoint of a search; remove it"):
        read_checkpoint(path)


def test_a_cut_off_file_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_checkpoint(path, {}, {"x": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(CheckpointError, match="is not a checkpoint of a search"):
        read_checkpoint(path)


def test_archives_of_something_else_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(2))
    with pytest.raises(CheckpointError, match="is not a checkpoint of a search"):
        read_checkpoint(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", header=np.array(["not json"]))
    with pytest.raises(CheckpointError, match="is not a checkpoint of a search"):
        read_checkpoint(tmp_path / "b.npz")


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return Path.touch, (tmp_path / "sprung",)

    path = tmp_path / "a.npz"
    np.savez(path, header=np.array([Trap()], dtype=object))
    with pytest.raises(CheckpointError, match="is not a checkpoint of a search"):
        read_checkpoint(path)
    assert not (tmp_path / "sprung").exists()


def test_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "FORMAT", "parsimon search 0")
    write_checkpoint(tmp_path / "a.npz", {}, {})
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="has the format 'parsimon search 0'"):
        read_checkpoint(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "wanted", [{"a": "1", "b": "3"}, {"a": "1"}, {"a": "1", "b": "2", "c": "4"}]
)
def test_differing_settings_are_named(wanted):
    stored = {"a": "1", "b": "2"}
    check_settings("a.npz", stored, dict(stored))
    with pytest.raises(CheckpointError, match=r"a\.npz was written with [bc] = "):
        check_settings("a.npz", stored, wanted)


@pytest.mark.parametrize(
    ("n_iter", "seconds", "due"),
    [(10, 0.0, True), (15, 0.0, False), (15, 5.0, True), (15, 4.9, False)],
)
def test_it_is_due_by_generations_or_by_time(n_iter, seconds, due):
    assert Checkpoint("a.npz", every=10, seconds=5).is_due(n_iter, seconds) is due
    never = Checkpoint("a.npz", every=None, seconds=None)
    assert not never.is_due(n_iter, seconds)


def test_descriptions_do_not_hold_addresses():
    def evaluate(x):
        return x

    assert describe_option(evaluate).endswith(
        "test_descriptions_do_not_hold_addresses.<locals>.evaluate"
    )
    assert describe_option(partial(evaluate, 1)) == "functools.partial"
    assert describe_option(BitFlip(rate=0.5)) == "BitFlip(rate=0.5)"
    assert " at 0x" not in describe_option(Checkpoint("a", label=str(object)))
    assert describe_option(("a", 1)) == "('a', 1)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every must be an integer of at least 1"),
        ({"seconds": -1}, "seconds must be zero or a positive number"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        Checkpoint("a.npz", **options)
