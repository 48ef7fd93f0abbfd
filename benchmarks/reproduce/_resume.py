"""Run many independent jobs on two processes, keep every result, and go on after a stop.

Each finished job is one line of JSON in a file of the results folder: the folder that the
environment variable PARSIMON_RESULTS names, else ``.benchmarks`` where the command runs. A line
belongs to a job's settings and to the source code they ran with, so that a change of either runs
the job again.
"""

import ast
import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, TypeVar

import parsimon
from parsimon._progress import Progress

FOLDER = ".benchmarks"
N_PROCESSES = 2
J = TypeVar("J")
T = TypeVar("T")


def run_all(
    jobs: Sequence[Any],
    work: Callable[[Any], Mapping[str, Any]],
    *,
    title: str,
    file_name: str | None,
    code: Sequence[Path] = (),
    n_processes: int = N_PROCESSES,
    version: str | None = None,
) -> dict[Any, dict[str, Any]]:
    """Return the result of every job; jobs are frozen dataclasses of plain values.

    With `file_name` results are kept there and those already there are not computed again;
    without one everything runs. `code` are files that results rest on, besides the package and
    the modules of ``benchmarks`` that `work` needs; a `version` stands instead of all of these,
    for work that does not touch the package.
    """
    file = None if file_name is None else results_folder() / file_name
    version = version or code_version(work, code)
    known = {} if file is None else stored(file, version)
    found = {job: known[key(job)] for job in jobs if key(job) in known}
    waiting = [job for job in jobs if job not in found]
    with Progress(title, total=len(jobs), verbose=True) as progress:
        progress.update(len(found), note=f"{len(found)} known" if found else "")
        for job, answer in finished(waiting, work, n_processes):
            found[job] = result = dict(answer)
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


def code_version(work: Callable[..., Any], more: Sequence[Path] = ()) -> str:
    """Return a digest of the whole package, of the benchmark's own modules and of other files.

    The benchmark's own modules are that of `work` and all of ``benchmarks`` that it imports.
    """
    package = Path(parsimon.__file__).parent
    names = {file: str(file.relative_to(package)) for file in package.rglob("*") if _counts(file)}
    names |= {file: name for name, file in own_modules(work.__module__).items()}
    names |= {file: file.name for file in more if file not in names}
    digest = hashlib.sha256()
    for file, name in sorted(names.items(), key=lambda pair: pair[1]):
        content = file.read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def own_modules(name: str) -> dict[str, Path]:
    """Return the files of a module and of all modules of ``benchmarks`` that it needs, by name."""
    found: dict[str, Path] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        spec = None if module in found else _spec(module)
        if spec is None or spec.origin is None:
            continue
        found[module] = Path(spec.origin)
        for node in ast.walk(ast.parse(found[module].read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                imported = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            elif isinstance(node, ast.Import):
                imported = [one.name for one in node.names]
            else:
                continue
            waiting += [one for one in imported if one.split(".")[0] == "benchmarks"]
    return found


def _spec(module: str) -> ModuleSpec | None:
    """Return where a module is; None for a name that is something in one."""
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None


def _counts(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


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


def finished(
    jobs: Sequence[J], work: Callable[[J], T], n_processes: int = N_PROCESSES
) -> Iterator[tuple[J, T]]:
    """Yield jobs with their results as they finish, each on one thread."""
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        pool = Parallel(
            n_jobs=n_processes,
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=2 * n_processes,
        )
        yield from pool(delayed(_with_job)(work, job) for job in jobs)


def _with_job(work: Callable[[J], T], job: J) -> tuple[J, T]:
    return job, work(job)
