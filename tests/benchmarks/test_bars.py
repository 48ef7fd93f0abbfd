"""No row of any benchmark promises something that nobody must miss: read from the code itself.

Whole runs take hours, quick ones a minute each; what a call of `Row` is given stands in its text.
"""

import ast
from pathlib import Path

import pytest
from benchmarks.rows import SPENT, Row

import benchmarks

FOLDER = Path(benchmarks.__file__).parent
FIELDS = tuple(Row.__dataclass_fields__)
FILES = sorted(FOLDER.rglob("*.py"))


def given(call, field):
    """Return what a call is given for a field, None if it is given nothing or None."""
    found = {word.arg: word.value for word in call.keywords}.get(field)
    place = FIELDS.index(field)
    if found is None and not any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
        found = call.args[place] if place < len(call.args) else None
    return None if isinstance(found, ast.Constant) and found.value is None else found


def opening(node):
    """Return the text with which a literal, or a text with figures in it, begins."""
    if isinstance(node, ast.JoinedStr):
        return opening(node.values[0])
    return node.value if isinstance(node, ast.Constant) else None


def is_spent(call, code):
    """Return whether the metric is of time or memory; a name is looked up where it is set."""
    metric = given(call, "metric")
    if isinstance(metric, ast.Name):
        metric = last_value(metric.id, code, call.lineno)
    return str(opening(metric)).startswith(SPENT)


def last_value(name, code, line):
    """Return what a name was set to last before a line, alone or as one of several."""
    found = {}
    for node in ast.walk(code):
        if isinstance(node, ast.Assign) and node.lineno <= line:
            (target,) = node.targets
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=True)
            for one, value in pairs:
                if isinstance(one, ast.Name) and one.id == name:
                    found[node.lineno] = value
    return found[max(found)] if found else None


def bars_alone(source):
    """Return the lines of rows that have a bar on more than a price, and no rivals."""
    code = ast.parse(source)
    calls = [node for node in ast.walk(code) if isinstance(node, ast.Call)]
    rows = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Row"]
    return [
        call.lineno
        for call in rows
        if given(call, "bar") is not None
        and given(call, "rivals") is None
        and not is_spent(call, code)
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_bar_names_who_must_miss_it(file):
    assert bars_alone(file.read_text()) == []


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        ('Row("c", "accuracy", 1.0, 0.9, True, bar=0.9)', [1]),
        ('Row("c", "accuracy", 1.0, 0.9, True, 0.9)', [1]),
        ('Row("c", f"accuracy of {name}", 1.0, 0.9, bar=one if two else None)', [1]),
        ('Row("c", "accuracy", 1.0, 0.9, True, None)', []),
        ('Row("c", "accuracy", 1.0, 0.9, rivals={"guess": 0.5}, bar=1.0)', []),
        ('Row("c", "accuracy", 1.0, 0.9, True, 0.9, "", {"guess": 0.5})', []),
        ('Row("c", "seconds; peer", 1.0, 2.0, bar=1.0)', []),
        ('m = f"seconds; {peer}"\nRow("c", m, 1.0, 2.0, bar=1.0)', []),
        ('m, bar = "seconds", 2.0\nRow("c", m, 1.0, 2.0, bar=bar)', []),
        ('m = "seconds"\nm = "accuracy"\nRow("c", m, 1.0, 2.0, bar=1.0)', [3]),
    ],
)
def test_a_bar_alone_is_found(row, lines):
    assert bars_alone(row) == lines
