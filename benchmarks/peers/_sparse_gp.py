"""The sparse Gaussian-process classifier on a large table: time, memory and accuracy on one core.

Each fit runs in a process of its own with one thread, so that its peak memory is its own.
"""

import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.rivals import CONSTANT, GUESS, LOGISTIC
from benchmarks.rows import Row

MOST_SECONDS = 300.0
MOST_MEGABYTES = 1000.0
# A support vector machine's time grows with the square of the rows or more.
SVC_ROWS = 10_000

_FIT = """
import json, resource, sys, time
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

name, n, n_used = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X, y = make_classification(n + 20_000, 10, n_informative=6, flip_y=0.1, random_state=0)
X_test, y_test, X, y = X[n:], y[n:], X[:n_used], y[:n_used]
if name == "sparse":
    from parsimon.gp.sparse import SparseGPClassifier
    model = SparseGPClassifier(random_state=0)
elif name == "logistic":
    from sklearn.linear_model import LogisticRegression
    model = make_pipeline(StandardScaler(), LogisticRegression())
else:
    from sklearn.svm import SVC
    model = make_pipeline(StandardScaler(), SVC())
start = time.perf_counter()
model.fit(X, y)
seconds = time.perf_counter() - start
answer = {"seconds": seconds, "accuracy": accuracy_score(y_test, model.predict(X_test))}
if hasattr(model, "predict_proba"):
    answer["log_loss"] = log_loss(y_test, model.predict_proba(X_test))
# Linux counts in kilobytes, macOS in bytes.
unit = 2**20 if sys.platform == "darwin" else 2**10
answer["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
answer["reason"] = getattr(model, "stopped_by_", "")
print(json.dumps(answer))
"""


def sparse_rows(quick: bool) -> list[Row]:
    """Fit 100,000 rows of 10 columns (quick: 5,000) and compare with two of scikit-learn's."""
    n = 5_000 if quick else 100_000
    ours = _measure("sparse", n, n)
    logistic = _measure("logistic", n, n)
    machine = _measure("svc", n, min(n, SVC_ROWS))
    case = f"SparseGPClassifier, {n:,} rows x 10 columns, one thread"
    svc = f"SVC on {min(n, SVC_ROWS):,} of the rows"
    return [
        Row(case, "seconds; peer: the bar", ours["seconds"], MOST_SECONDS, bar=1.0),
        Row(
            case,
            "peak megabytes, data and imports included; peer: the bar",
            ours["megabytes"],
            MOST_MEGABYTES,
            bar=1.0,
            note=f"stopped: {ours['reason']}",
        ),
        Row(
            case,
            "test accuracy; peer: LogisticRegression",
            ours["accuracy"],
            logistic["accuracy"],
            higher_is_better=True,
            bar=1.0,
            # The classes are even; the peer must miss as well.
            rivals={CONSTANT: 0.5, GUESS: 0.5, LOGISTIC: logistic["accuracy"]},
        ).above_rivals(),
        Row(
            case, "test log loss; peer: LogisticRegression", ours["log_loss"], logistic["log_loss"]
        ),
        Row(
            case,
            f"test accuracy; peer: {svc}",
            ours["accuracy"],
            machine["accuracy"],
            higher_is_better=True,
            note=f"SVC took {machine['seconds']:.1f} s",
        ),
    ]


def _measure(name: str, n: int, n_used: int) -> dict[str, Any]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", _FIT, name, str(n), str(n_used)],
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
