"""Where benchmark data are found."""

import os
from pathlib import Path


def point_to_data() -> None:
    """Take the data folder beside the repository where PARSIMON_DATA does not name one."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    if default.is_dir():
        os.environ.setdefault("PARSIMON_DATA", str(default))
