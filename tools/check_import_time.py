"""Fail if importing parsimon takes 0.3 s longer than importing scikit-learn, or loads too much.

Each import is timed in fresh interpreters, in processor time, and the best of three counts.

    python tools/check_import_time.py
"""

import subprocess
import sys
from collections.abc import Sequence

LIMIT = 0.3
LATE = ("matplotlib", "jinja2", "rich", "click", "numba", "pandas")
PACKAGES = (
    "pareto",
    "kernels",
    "inference",
    "gp",
    "roc",
    "evaluation",
    "datasets",
    "report",
    "statistician",
)

TIMER = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"


def seconds(imports: Sequence[str]) -> list[float]:
    """Return the best time of each import in three fresh interpreters.

    The imports take turns, so that a slow spell of the machine hits all of them.
    """
    times: list[list[float]] = [[] for _ in imports]
    for _ in range(3):
        for modules, spent in zip(imports, times, strict=True):
            command = [sys.executable, "-c", TIMER.format(modules)]
            run = subprocess.run(command, capture_output=True, check=True, text=True)
            spent.append(float(run.stdout))
    return [min(spent) for spent in times]


def loaded(modules: str) -> set[str]:
    """Return which of the late packages importing `modules` loads."""
    probe = f"import sys, {modules}; print(*[m for m in {LATE!r} if m in sys.modules])"
    command = [sys.executable, "-c", probe]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


def main() -> None:
    """Measure, print, and exit with 1 if a limit is broken."""
    # scikit-learn's model_selection is what every user of it loads; it brings pandas and rich.
    base = "sklearn.model_selection"
    whole = f"{base}, " + ", ".join(f"parsimon.{name}" for name in PACKAGES)
    before, after, everything = seconds([base, f"{base}, parsimon", whole])
    print(
        f"scikit-learn {before:.2f} s, with parsimon {after:.2f} s, "
        f"with all its packages {everything:.2f} s"
    )
    too_early = sorted(loaded(whole) - loaded(base))
    if too_early:
        sys.exit(f"Importing parsimon loads {', '.join(too_early)}; import them where used.")
    if after - before > LIMIT:
        sys.exit(f"Importing parsimon takes {after - before:.2f} s more than scikit-learn.")


if __name__ == "__main__":
    main()
