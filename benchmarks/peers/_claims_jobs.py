"""Run methods on tables, on two processes; keep every result, and go on after a stop.

The result of one method on one table is one file, ``METHOD/TABLE.json``. It is good for as long as
the source that it rests on is: for a peer the tables, the file that calls it and the version of
its package; for us the tables and our package. So a change of ours runs no peer again.
"""

import ast
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import parsimon
from benchmarks.peers import _claims_ebm, _claims_forests, _claims_l1, _claims_ours, _claims_truths
from benchmarks.peers._claims_statements import Statement
from benchmarks.peers._claims_truths import TableSettings, simulate
from benchmarks.reproduce._resume import finished
from parsimon._progress import Progress

N_PROCESSES = 2
# Claims come from these packages and the modules beside them alone: the families of models are
# asked afterwards, and a test holds that claims do not depend on their search.
OURS = {"structures", "statistician"}


@dataclass(frozen=True)
class Method:
    """A way to state things about a table, and the source that its results rest on."""

    state: Callable[..., list[Statement]]
    module: Any
    packages: tuple[str, ...] = ()
    is_ours: bool = False


METHODS = {
    "ours": Method(_claims_ours.state, _claims_ours, is_ours=True),
    "L1": Method(_claims_l1.state, _claims_l1, ("scikit-learn",)),
    "Boruta": Method(_claims_forests.state_boruta, _claims_forests, ("Boruta", "scikit-learn")),
    "forest tests": Method(_claims_forests.state_tests, _claims_forests, ("scikit-learn",)),
    "EBM": Method(_claims_ebm.state, _claims_ebm, ("interpret-core",)),
}


@dataclass(frozen=True)
class Result:
    """What a method stated about a table, and the processor time that it took."""

    statements: tuple[Statement, ...]
    seconds: float


@dataclass(frozen=True)
class _Job:
    settings: TableSettings
    method: str
    quick: bool


Results = dict[tuple[TableSettings, str], Result]


def run_methods(
    tables: Sequence[TableSettings],
    methods: Sequence[str],
    *,
    folder: Path | None,
    quick: bool = False,
    n_processes: int = N_PROCESSES,
) -> Results:
    """Return the result of each method on each table; with a folder they are kept there."""
    versions = {method: code_version(METHODS[method]) for method in methods}
    jobs = [_Job(settings, method, quick) for settings in tables for method in methods]
    found: Results = {}
    waiting = []
    for job in jobs:
        known = None if folder is None else _read(_file(folder, job), versions[job.method])
        if known is None:
            waiting.append(job)
        else:
            found[job.settings, job.method] = known
    with Progress("Claims", total=len(jobs), verbose=True) as progress:
        progress.update(len(found), note=f"{len(found)} known" if found else "")
        for job, result in finished(waiting, _work, n_processes):
            found[job.settings, job.method] = result
            if folder is not None:
                _write(_file(folder, job), versions[job.method], result)
            progress.update(len(found), note=f"{job.method}: {_name(job.settings)}")
    return found


def code_version(method: Method) -> str:
    """Return a digest of the source that the results of a method rest on, but for comments."""
    files = [Path(_claims_truths.__file__), Path(method.module.__file__)]
    if method.is_ours:
        package = Path(parsimon.__file__).parent
        files += [
            file
            for file in sorted(package.rglob("*.py"))
            if file.parent == package or file.relative_to(package).parts[0] in OURS
        ]
    digest = hashlib.sha256()
    for file in files:
        digest.update(ast.unparse(ast.parse(file.read_text(encoding="utf-8"))).encode())
    for package_name in method.packages:
        digest.update(f"{package_name} {version(package_name)}".encode())
    return digest.hexdigest()[:16]


def _work(job: _Job) -> Result:
    table = simulate(job.settings)
    start = time.process_time()
    statements = METHODS[job.method].state(table, quick=job.quick)
    return Result(tuple(statements), time.process_time() - start)


def _name(settings: TableSettings) -> str:
    size = f"{settings.n_rows} x {settings.n_columns}"
    return f"{settings.kind}, {size}, {settings.replicate}"


def _file(folder: Path, job: _Job) -> Path:
    return folder / _plain(job.method) / f"{_plain(_name(job.settings))}.json"


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())


def _read(file: Path, code: str) -> Result | None:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    if kept["code"] != code:
        return None
    return Result(tuple(map(Statement.from_json, kept["statements"])), kept["seconds"])


def _write(file: Path, code: str, result: Result) -> None:
    """Write a result whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "code": code,
        "seconds": round(result.seconds, 2),
        "statements": [statement.to_json() for statement in result.statements],
    }
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(kept), encoding="utf-8")
    part.replace(file)
