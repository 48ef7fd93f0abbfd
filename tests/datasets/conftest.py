"""The environment decides what can be loaded: each test says which folder it has, if any."""

import pytest


@pytest.fixture(autouse=True)
def _no_folder(monkeypatch):
    monkeypatch.delenv("PARSIMON_DATA", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that PARSIMON_DATA names."""
    monkeypatch.setenv("PARSIMON_DATA", str(tmp_path))
    return tmp_path
