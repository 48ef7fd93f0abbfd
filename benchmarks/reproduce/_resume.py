"""Run many independent jobs on two processes, keep every result, and go on after a stop.

Each finished job is one line of JSON in a file of the results folder: the folder that the
environment variable PARSIMON_RESULTS names, else ``.benchmarks`` where the command runs. A line
belongs to a job's settings and to the source code they ran with, so that a change of either runs
the job again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import parsimon
from parsimon._progress import Progress

FOLDER = ".benchmarks"
N_PROCESSES = 2


def run_all(
    jobs: Sequence[Any],
    work: Callable[[Any], Mapping[str, Any]],
    *,
    title: str,
    file_name: str | None,
    code: Sequence[Path] = (),
) -> dict[Any, dict[str, Any]]:
    """Return the result of every job; jobs are frozen dataclasses of plain values.

    With `file_name` results are kept there and those already there are not computed again;
    without one everything runs. `code` are the files, besides the package, that results rest on.
    """
    file = None if file_name is None else results_folder() / file_name
    version = code_version(code)
    known = {} if file is None else stored(file, version)
    found = {job: known[key(job)] for job in jobs if key(job) in known}
    waiting = [job for job in jobs if job not in found]
    with Progress(title, total=len(jobs), verbose=True) as progress:
        progress.update(len(found), note=f"{len(found)} known" if found else "")
        for job, result in _finished(waiting, work):
            found[job] = result
            if file is not None:
                _append(file, {"key": key(job), "code": version, "result": result})
            progress.update(len(found), note=str(job))
    return found


def results_folder() -> Path:
    """Return the folder of kept results, made if it is not there."""
    folder = Path(os.environ.get("PARSIMON_RESULTS", FOLDER))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key(job: Any) -> str:
    """Return a job's settings as text."""
    return json.dumps(asdict(job), sort_keys=True)


def code_version(more: Sequence[Path] = ()) -> str:
    """Return a digest of the package's source and of other files."""
    package = Path(parsimon.__file__).parent
    parts = ("inference", "kernels", "pareto", "roc", "rvm")
    own = (file for part in parts for file in (package / part).rglob("*.py"))
    digest = hashlib.sha256()
    for file in [*sorted(own), *sorted(more)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def stored(file: Path, version: str) -> dict[str, dict[str, Any]]:
    """Return the results of this version by key; a line cut short by a stop is passed over."""
    found = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if entry["code"] == version:
            found[entry["key"]] = entry["result"]
    return found


def _append(file: Path, entry: Mapping[str, Any]) -> None:
    with file.open("a+b") as lines:
        lines.seek(0, os.SEEK_END)
        if lines.tell() > 0:
            lines.seek(-1, os.SEEK_END)
            if lines.read(1) != b"\n":
                lines.write(b"\n")
        lines.write(json.dumps(entry).encode() + b"\n")


def _finished(
    jobs: Sequence[Hashable], work: Callable[[Any], Mapping[str, Any]]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield jobs with their results as they finish, each on one thread."""
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(
            n_jobs=N_PROCESSES,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=2 * N_PROCESSES,
        )
        yield from pool(delayed(_with_job)(work, job) for job in jobs)


def _with_job(work: Callable[[Any], Mapping[str, Any]], job: Any) -> tuple[Any, dict[str, Any]]:
    return job, dict(work(job))
