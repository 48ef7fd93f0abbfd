"""Figures of examples are closed after each test; no settings of the user are read or made."""

import os
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True, scope="session")
def _own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        yield
