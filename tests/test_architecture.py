"""The house stays in order: names, sizes and doors, counted by `python -m tools.measure_house`.

A limit that is broken says what to rename, join or open; the lists here stay as short as they are.
"""

import re

import pytest
from tools import measure_house as house

MODULES = house.read_modules()
PACKAGES = sorted(
    name.removeprefix("parsimon.")
    for name, module in MODULES.items()
    if module.is_package and name.count(".") == 1
)
CODE = re.compile(r"```.*?```|`[^`\n]+`", flags=re.DOTALL)

# Uses of private attributes that have a reason, by module and attribute.
ALLOWED_REACH = {
    # Matplotlib has no other way to set the panes and ticks of a drawing in three dimensions.
    ("parsimon.kernels.plot", "_axinfo"),
    # The one way from outside to what the package's own fitted estimators keep.
    ("parsimon.gp._estimator", "_posterior"),
    ("parsimon.gp._estimator", "_centre"),
    ("parsimon.gp._estimator", "_unit"),
    # Nothing else says in which part of a workbook a sheet lies.
    ("parsimon.cli.tables", "_worksheet_path"),
    # Compiled code reads past what is too short here, so that it is checked under these names.
    *(
        ("parsimon.statistician._loaded_models", name)
        for name in [
            "_n_support",
            "_sparse",
            "_fit_X",
            "_y",
            "_tree",
            "_dual_coef_",
            "_intercept_",
            "_probA",
            "_probB",
        ]
    ),
}


def listed(found):
    """Return what was found, one a line, so that nothing of it is cut off."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found, start=1)
    return "\n" + "\n".join(f"{key}: {value}" for key, value in pairs)


def not_allowed(uses):
    """Return the uses of private attributes without those that have a reason."""
    return [
        use for use in uses if (use.partition(":")[0], use.rpartition(".")[2]) not in ALLOWED_REACH
    ]


def test_a_class_name_means_one_thing():
    found = house.recurring_classes(MODULES)
    assert len(found) <= 5, listed(found)


def test_a_file_name_says_which_file():
    found = house.recurring_modules(MODULES)
    assert sum(map(len, found.values())) <= 40, listed(found)


def test_a_module_with_one_importer_is_part_of_it():
    found = house.lone_modules(MODULES)
    assert len(found) <= 25, listed(found)


def test_no_private_name_is_imported_from_another_package():
    found = house.private_imports(MODULES)
    assert not found, listed(found)


def test_no_private_attribute_of_another_package_is_used():
    found = not_allowed(house.private_reach(MODULES, across=True))
    assert not found, listed(found)


@pytest.fixture(scope="module")
def reach():
    return house.private_reach(MODULES)


def test_no_private_attribute_of_another_module_is_used(reach):
    found = not_allowed(reach)
    assert not found, listed(found)


def test_every_allowed_reach_is_still_needed(reach):
    assert len(reach) - len(not_allowed(reach)) >= len(ALLOWED_REACH)


def test_one_module_writes_files():
    found = house.file_writers(MODULES)
    assert not found, listed(found)


def test_one_module_unpickles_and_only_what_it_has_signed():
    called = re.compile(r"pickle\.loads?\(|joblib\.load|allow_pickle=True|Unpickler|read_pickle")
    found = {name: called.findall(module.text) for name, module in MODULES.items()}
    assert {name: calls for name, calls in found.items() if calls} == {
        "parsimon.statistician.finished_work": ["pickle.loads("]
    }


def test_files_are_at_most_600_lines_long():
    assert house.long_files(MODULES, 600) == {}


def test_functions_are_at_most_60_lines_long():
    assert house.long_functions(MODULES, 60) == {}


def test_every_public_name_has_a_docstring():
    assert house.undocumented(MODULES) == []
    assert [
        module.name for module in MODULES.values() if not house.docstring_lines(module.tree)
    ] == []


def test_every_exported_name_exists():
    for package, names in house.exports(MODULES).items():
        missing = [
            name
            for name in names
            if f"{package}.{name}" not in MODULES and not house.resolve(MODULES, package, name)
        ]
        assert not missing, (package, missing)


def test_no_file_name_says_nothing():
    empty = {"core", "utils", "util", "helpers", "helper", "common", "misc"}
    assert [m.name for m in MODULES.values() if m.path.stem.strip("_") in empty] == []


@pytest.mark.parametrize("page", ["index.md", "explanation/design.md"])
def test_the_documentation_knows_every_package(page):
    code = CODE.findall((house.ROOT / "docs" / page).read_text(encoding="utf-8"))
    # The command is described by what is typed, not by its package.
    asked = [name for name in PACKAGES if name != "cli"]
    assert [name for name in asked if not any(re.search(rf"\b{name}\b", c) for c in code)] == []


def test_the_counters_see_what_they_count(tmp_path):
    files = {
        "__init__": '"""The top."""\n',
        "a/__init__": 'from parsimon.a._one import Thing, make\n__all__ = ["Thing", "make"]\n',
        "a/_one": "class Thing:\n    def __init__(self):\n        self._x = 1\n\ndef make(): ...\n",
        "a/two": "from parsimon.a._one import Thing\n\ndef peek(thing): return thing._x\n",
        "b/__init__": "__all__ = []\n",
        "c/wide": "class Broad:\n    def __init__(self, a, b, *, c): ...\n\ndef make(): ...\n",
        "b/two": "def late():\n from parsimon.a import _one\n return _one\n\nclass Thing: ...\n",
        "b/three": "import parsimon.a.two\nfrom parsimon.b.two import late\n\nlate()._y\n",
    }
    for name, text in files.items():
        path = tmp_path / "src" / "parsimon" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = house.read_modules(tmp_path)
    assert house.recurring_classes(found) == {"Thing": ["parsimon.a._one", "parsimon.b.two"]}
    assert house.recurring_modules(found) == {"two": ["parsimon.a.two", "parsimon.b.two"]}
    assert house.lone_modules(found) == dict.fromkeys(
        ["parsimon.a.two", "parsimon.b.two"], "parsimon.b.three"
    )
    assert house.private_imports(found) == ["parsimon.b.two:2 takes parsimon.a._one"]
    assert house.private_reach(found, across=True) == ["parsimon.b.three:4 uses late()._y"]
    assert house.private_reach(found)[0] == "parsimon.a.two:3 uses thing._x"
    assert house.recurring_functions(found) == {"make": ["parsimon.a._one", "parsimon.c.wide"]}
    assert house.wide_constructors(found, 2) == {"parsimon.c.wide.Broad": 3}
    assert house.lines_by_package(found)["parsimon.c"] == 3
    assert house.undocumented(found) == ["parsimon.a.Thing", "parsimon.a.make"]
    assert (house.long_files(found, 4), house.long_functions(found, 2)) == (
        {"parsimon.a._one": 5, "parsimon.b.two": 5},
        {"parsimon.b.two.late:1": 3},
    )


WRITING = """
p.open("w")
open(p, mode="a")
os.replace(p, p)
p.write_text("")
q.to_csv(p)
np.savez(place, x=x)
ZipFile(p, "w")
"""
READING = """
p.open("rb")
text.replace("w", "a")
q.to_csv(file)
q.to_csv(index=False)
np.savez(buffer, x=x)
ZipFile(p)
"""


@pytest.mark.parametrize(("text", "n_found"), [(WRITING, 7), (READING, 0)])
def test_the_counter_of_writers_sees_them(text, n_found, tmp_path):
    path = tmp_path / "src" / "parsimon" / "files.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert len(house.file_writers(house.read_modules(tmp_path))) == n_found
