import pytest

from parsimon import _compiled
from parsimon.phylo import _passes as passes


@pytest.fixture(params=["compiled", "levels", "loops"])
def way(request, monkeypatch):
    """Run a test with each of the three ways over a tree."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(_compiled, "numba_is_installed", lambda: request.param == "compiled")
    monkeypatch.setattr(passes, "_NARROW", 0 if request.param == "levels" else 10**9)
    return request.param
