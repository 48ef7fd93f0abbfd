"""Fronts as JSON text: plain data only, so that reading one never runs code."""

import json
from typing import Any

import numpy as np

from parsimon.exceptions import InvalidInputError
from parsimon.pareto.directions import Directions
from parsimon.pareto.front import Front, objective_table, restore

_VERSION = 1


def front_to_json(front: Front, *, solutions: bool | None = None) -> str:
    """Return the text that `front_from_json` reads; see `Front.to_json`."""
    content: dict[str, Any] = {
        "parsimon": "front",
        "version": _VERSION,
        "objectives": [
            {"name": name, "direction": "maximise" if up else "minimise"}
            for name, up in zip(front.names, front.directions.maximise, strict=True)
        ],
        "rows": front.rows.tolist(),
        "values": front.values.tolist(),
    }
    if front.has_solutions and solutions is not False:
        try:
            content["solutions"] = [_plain(front.solution(i)) for i in range(len(front))]
        except (TypeError, ValueError) as error:
            if solutions:
                raise InvalidInputError(
                    f"The solutions are not plain data ({error}); write without them "
                    "(solutions=False) and save the models with skops."
                ) from error
    return json.dumps(content, allow_nan=False)


def front_from_json(text: str) -> Front:
    """Return the front that `front_to_json` wrote."""
    try:
        content = json.loads(text)
        if content["parsimon"] != "front" or content["version"] != _VERSION:
            raise InvalidInputError("another kind or version of file")
        names = [objective["name"] for objective in content["objectives"]]
        up = [o["name"] for o in content["objectives"] if o["direction"] == "maximise"]
        rows = np.array(content["rows"], dtype=np.intp)
        values = objective_table(content["values"], len(names))
        solutions = content.get("solutions")
        kept = None if solutions is None else dict(zip(rows.tolist(), solutions, strict=True))
        if len(rows) != len(values):
            raise InvalidInputError("rows and values differ in length")
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"This is not a front written by Front.to_json ({error})."
        ) from error
    by_row = None if kept is None else kept.__getitem__
    return restore(Directions.of(names, up), values, rows, by_row)


def _plain(solution: Any) -> Any:
    """Return a solution as JSON data; raise TypeError or ValueError if it is something else."""
    if isinstance(solution, (np.ndarray, np.generic)):
        solution = solution.tolist()
    json.dumps(solution, allow_nan=False)
    return solution
