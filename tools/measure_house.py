"""Measure how the source reads: files, names that recur, modules with one importer, lengths.

    python -m tools.measure_house [--root CHECKOUT] [--json FILE] [--names]

Everything is read from the syntax trees of ``src/parsimon``; nothing is imported. What
`tests/test_architecture.py` limits is counted by the functions of this file.
"""

import argparse
import ast
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "parsimon"

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Function = ast.FunctionDef | ast.AsyncFunctionDef
# The module of a definition and the definition, or the name that is assigned to.
Place = tuple[str, Definition | ast.Name]


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name (that of the package for an ``__init__``) and its text."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def is_package(self) -> bool:
        return self.path.stem == "__init__"

    @property
    def package(self) -> str:
        """The package that the module belongs to."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def n_lines(self) -> int:
        return len(self.text.splitlines())

    def functions(self) -> Iterator[Function]:
        """Yield every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def classes(self) -> Iterator[ast.ClassDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


def read_modules(root: Path = ROOT) -> dict[str, Module]:
    """Return the modules of the checkout at `root` by their dotted names."""
    source = Path(root) / "src"
    found = {}
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path, path.read_text(encoding="utf-8"))
    return found


# Names


def several(places: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that occur in two or more modules, with these."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, module in places:
        found[name].add(module)
    return {name: sorted(where) for name, where in sorted(found.items()) if len(where) > 1}


def recurring_classes(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return the class names that are defined in two or more modules."""
    return several((node.name, m.name) for m in modules.values() for node in m.classes())


def recurring_functions(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return the public names of functions that two or more modules define."""
    return several(
        (node.name, m.name)
        for m in modules.values()
        for node in m.tree.body
        if isinstance(node, Function) and not is_private(node.name)
    )


def recurring_modules(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return the file names that two or more modules have; ``__init__`` does not count."""
    return several((m.path.stem, m.name) for m in modules.values() if not m.is_package)


# Imports


@dataclass(frozen=True)
class Import:
    """One name that a module takes from another module of the package; empty for the whole."""

    importer: str
    module: str
    name: str
    line: int


def collects(package: Module) -> set[str]:
    """Return the names that a package takes from its modules."""
    return {
        alias.asname or alias.name
        for node in package.tree.body
        if isinstance(node, ast.ImportFrom) and node.module and node.module != package.name
        for alias in node.names
    }


def imports(modules: Mapping[str, Module]) -> Iterator[Import]:
    """Yield the imports of each module from the package, those inside functions too.

    A package may export a function that is called as its module is: then the function is meant.
    """
    collected = {name: collects(module) for name, module in modules.items() if module.is_package}
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    whole = f"{node.module}.{alias.name}"
                    is_module = whole in modules and alias.name not in collected.get(
                        node.module, ()
                    )
                    place = (whole, "") if is_module else (node.module, alias.name)
                    yield Import(module.name, *place, node.lineno)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(module.name, alias.name, "", node.lineno)


def importers(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return who imports each module; packages, which only collect names, are no importers."""
    found: dict[str, set[str]] = {name: set() for name in modules}
    for each in imports(modules):
        if each.module in found and not modules[each.importer].is_package:
            found[each.module].add(each.importer)
    return found


def lone_modules(modules: Mapping[str, Module]) -> dict[str, str]:
    """Return the modules with exactly one importer, and that one."""
    return {
        name: next(iter(users))
        for name, users in importers(modules).items()
        if len(users) == 1 and not modules[name].is_package
    }


# Privacy


def is_private(name: str) -> bool:
    """Tell whether a name begins with an underscore and is not one of Python's own."""
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def room(name: str) -> str:
    """Return the package of the first level that a module is in, such as ``parsimon.rvm``."""
    return ".".join(name.split(".")[:2])


def private_imports(modules: Mapping[str, Module]) -> list[str]:
    """Return the imports of a private module or name of another package of the first level."""
    return [
        f"{each.importer}:{each.line} takes {each.module}.{each.name}".rstrip(".")
        for each in imports(modules)
        if each.module in modules
        and room(each.module) != room(each.importer)
        # What lies beside the packages, such as `parsimon._checks`, is for all of them.
        and any(map(is_private, [*each.module.split(".")[2:], each.name]))
    ]


# NamedTuple's methods have an underscore and are public.
_PUBLIC_UNDERSCORES = {"_asdict", "_replace", "_fields", "_make"}


def private_reach(modules: Mapping[str, Module], *, across: bool = False) -> list[str]:
    """Return where a private attribute of an object is used that another module defines.

    With `across`, only those that no module of the same package of the first level defines.
    """
    found = []
    shared: dict[str, set[str]] = defaultdict(set)
    for module in modules.values():
        shared[room(module.name)] |= _private_definitions(module)
    for module in modules.values():
        own = shared[room(module.name)] if across else _private_definitions(module)
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Attribute) or not is_private(node.attr) or _is_own(node):
                continue
            if node.attr not in own | _PUBLIC_UNDERSCORES:
                found.append(f"{module.name}:{node.lineno} uses {ast.unparse(node)}")
    return found


def _is_own(node: ast.Attribute) -> bool:
    return ast.unparse(node.value) in ("self", "cls", "super()")


def _calls(node: ast.Call, owner: str, method: str) -> bool:
    called = node.func
    if not isinstance(called, ast.Attribute) or called.attr != method:
        return False
    return isinstance(called.value, ast.Name) and called.value.id == owner


def _private_definitions(module: Module) -> set[str]:
    """Return the private names that a module defines: methods, fields, attributes of self."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, Definition):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                found.add(node.attr)
        elif isinstance(node, ast.Call) and _calls(node, "object", "__setattr__"):
            # Frozen values set what they compute once.
            found.update(str(arg.value) for arg in node.args[1:2] if isinstance(arg, ast.Constant))
    return {name for name in found if is_private(name)}


# Lengths


# Files


_CREATORS = {
    "os": {"open", "fdopen", "replace", "rename", "renames", "link", "symlink", "mkfifo"},
    "shutil": {"copy", "copy2", "copyfile", "copyfileobj", "copytree", "move"},
    "tempfile": {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory"},
}
_WRITERS = {"write_text", "write_bytes", "tofile", "savetxt", *_CREATORS["tempfile"]}
# What writes to a file or a buffer that it is given must not be given a path.
_SAVERS = {"savefig", "savez", "savez_compressed", "to_csv", "to_parquet", "to_excel", "ZipFile"}
_HANDLES = {"file", "buffer"}
_WRITING_MODE = re.compile(r"[rbt]*[wax+][bt+]*")


def file_writers(modules: Mapping[str, Module]) -> list[str]:
    """Return the places that open, make or move a file other than through `_writing`."""
    return [
        f"{module.name}:{node.lineno} calls {ast.unparse(node.func)}"
        for module in modules.values()
        if module.path.stem != "_writing"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and _writes(node)
    ]


def _writes(call: ast.Call) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if isinstance(owner, ast.Name) and name in _CREATORS.get(owner.id, ()):
        return True
    given = [*call.args, *(one.value for one in call.keywords if one.arg == "mode")]
    modes = [one.value for one in given if isinstance(one, ast.Constant)]
    opens = any(isinstance(one, str) and _WRITING_MODE.fullmatch(one) for one in modes)
    if name in ("open", "ZipFile") and not opens:
        return False
    if name in _SAVERS and call.args:
        return getattr(call.args[0], "id", "") not in _HANDLES
    return name == "open" or name in _WRITERS


def docstring_lines(node: ast.AST) -> int:
    """Return the number of lines of the docstring of a definition or module."""
    body = getattr(node, "body", None)
    if not isinstance(body, list) or not body or not isinstance(body[0], ast.Expr):
        return 0
    value = body[0].value
    is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return (body[0].end_lineno or 0) - body[0].lineno + 1 if is_text else 0


def function_length(node: Function) -> int:
    """Return the number of lines of a function without decorators and docstring."""
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)


def long_functions(modules: Mapping[str, Module], limit: int) -> dict[str, int]:
    """Return the functions longer than `limit` lines, longest first."""
    found = {
        f"{module.name}.{node.name}:{node.lineno}": function_length(node)
        for module in modules.values()
        for node in module.functions()
    }
    return {k: n for k, n in sorted(found.items(), key=lambda item: -item[1]) if n > limit}


def wide_constructors(modules: Mapping[str, Module], limit: int) -> dict[str, int]:
    """Return the classes whose constructor takes more than `limit` parameters."""
    found = {
        f"{module.name}.{node.name}": len(method.args.args) + len(method.args.kwonlyargs) - 1
        for module in modules.values()
        for node in module.classes()
        for method in node.body
        if isinstance(method, Function) and method.name == "__init__"
    }
    return {name: count for name, count in sorted(found.items()) if count > limit}


def long_files(modules: Mapping[str, Module], limit: int) -> dict[str, int]:
    """Return the modules longer than `limit` lines, longest first."""
    found = sorted(modules.values(), key=lambda module: -module.n_lines)
    return {module.name: module.n_lines for module in found if module.n_lines > limit}


# Exports


def exports(modules: Mapping[str, Module]) -> dict[str, list[str]]:
    """Return what ``__all__`` of each public package lists."""
    found = {}
    for module in modules.values():
        is_public = not any(part.startswith("_") for part in module.name.split("."))
        for node in module.tree.body:
            if not (module.is_package and is_public and isinstance(node, ast.Assign)):
                continue
            if ast.unparse(node.targets[0]) == "__all__":
                found[module.name] = list(ast.literal_eval(node.value))
    return found


def resolve(modules: Mapping[str, Module], package: str, name: str) -> Place | None:
    """Return the module that defines an exported name and the definition; None for a module."""
    if f"{package}.{name}" in modules:
        return None
    for node in ast.walk(modules[package].tree):
        if isinstance(node, Definition) and node.name == name:
            return package, node
        if isinstance(node, ast.ImportFrom) and node.module and node.module in modules:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return resolve(modules, node.module, alias.name)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return package, node
    return None


def exported_definitions(modules: Mapping[str, Module]) -> dict[str, Place]:
    """Return where each exported name is defined."""
    found = {}
    for package, names in exports(modules).items():
        for name in names:
            place = resolve(modules, package, name)
            if place is not None:
                found[f"{package}.{name}"] = place
    return found


def undocumented(modules: Mapping[str, Module]) -> list[str]:
    """Return the exported functions and classes that have no docstring."""
    return [
        name
        for name, (_, node) in exported_definitions(modules).items()
        if isinstance(node, Definition) and not ast.get_docstring(node)
    ]


def count_docstrings(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return the docstring lines of exported names with their methods, of modules, of the rest."""
    exported = {(module, node.lineno) for module, node in exported_definitions(modules).values()}
    counted = {"exported": 0, "internal": 0, "module": 0}

    def visit(module: Module, node: ast.AST, is_exported: bool) -> None:
        for child in ast.iter_child_nodes(node):
            own = is_exported
            if isinstance(child, Definition):
                is_public = not is_private(child.name)
                own = is_public and (is_exported or (module.name, child.lineno) in exported)
                counted["exported" if own else "internal"] += docstring_lines(child)
            visit(module, child, own)

    for module in modules.values():
        counted["module"] += docstring_lines(module.tree)
        visit(module, module.tree, is_exported=False)
    return counted


def code_lines(module: Module) -> int:
    """Return the number of lines that are neither empty, nor comments, nor docstrings."""
    lines = module.text.splitlines()
    texts = sum(
        sum(bool(line.strip()) for line in lines[node.body[0].lineno - 1 : node.body[0].end_lineno])
        for node in ast.walk(module.tree)
        if isinstance(node, Definition | ast.Module) and docstring_lines(node)
    )
    written = sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)
    return written - texts


def lines_by_package(modules: Mapping[str, Module]) -> dict[str, int]:
    """Return the code lines of each package of the first level, most first."""
    found: dict[str, int] = defaultdict(int)
    for module in modules.values():
        found[room(module.name)] += code_lines(module)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def measure(modules: Mapping[str, Module]) -> dict[str, float | str]:
    """Return the figures of the house."""
    lengths = sorted(function_length(node) for m in modules.values() for node in m.functions())
    docstrings = count_docstrings(modules)
    longest_file = max(modules.values(), key=lambda module: module.n_lines)
    ((longest, n_longest), *_) = long_functions(modules, 0).items()
    return {
        "files": len(modules),
        "code lines": sum(map(code_lines, modules.values())),
        "docstring lines, exported": docstrings["exported"],
        "docstring lines, internal": docstrings["internal"],
        "docstring lines, modules": docstrings["module"],
        "class names in two or more modules": len(recurring_classes(modules)),
        "public functions in two or more modules": len(recurring_functions(modules)),
        "modules whose file name recurs": sum(map(len, recurring_modules(modules).values())),
        "modules with exactly one importer": len(lone_modules(modules)),
        "longest file, lines": longest_file.n_lines,
        "longest file": longest_file.name,
        "longest function, lines": n_longest,
        "longest function": longest,
        "constructors above 14 parameters": len(wide_constructors(modules, 14)),
        "functions": len(lengths),
        "function length, median": statistics.median(lengths),
        "function length, 90 %": lengths[int(0.9 * len(lengths))],
        "exports": sum(map(len, exports(modules).values())),
        "private attributes used elsewhere": len(private_reach(modules)),
        "private imports from other packages": len(private_imports(modules)),
    }


# Packages and modules of the first level that are printed have so many code lines.
_PRINTED = 100

LISTS: dict[str, Callable[[Mapping[str, Module]], object]] = {
    "Recurring classes": recurring_classes,
    "Recurring functions": recurring_functions,
    "Recurring modules": recurring_modules,
    "One importer": lone_modules,
    "Private attributes": private_reach,
    "Private imports": private_imports,
}


def main() -> None:
    """Print the figures of a checkout, as a table and perhaps as JSON."""
    parser = argparse.ArgumentParser(description="Measure how the source reads.")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to measure")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--names", action="store_true", help="list the names behind the figures")
    options = parser.parse_args()
    modules = read_modules(options.root)
    figures = measure(modules)
    figures |= {
        f"code lines of {name}": count
        for name, count in lines_by_package(modules).items()
        if count >= _PRINTED
    }
    for name, value in figures.items():
        print(f"{name:38} {value:>8,}" if isinstance(value, int) else f"{name:38} {value:>8}")
    if options.names:
        for title, listed in LISTS.items():
            print(f"\n{title}\n{json.dumps(listed(modules), indent=1)}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
