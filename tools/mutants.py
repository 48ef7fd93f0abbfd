"""Mutants of the source, made by the operators of mutmut: each a file with one small change.

What no test can see is left out: annotations and their names, docstrings, texts of errors and
warnings, `__all__`, what only a type checker reads, decorators, `strict=` of a `zip`, what a
terminal shows while work goes on, and on how many processes and in whose memory it does.
"""

import operator
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from tools.scratch_source import ROOT

_ERROR_ENDINGS = ("Error", "Warning")
_UNSEEN_CALLS = ("warn", "cast", "TypeVar", "NewType", "Progress")
# Arguments that only guard, show or hasten: without them the same values come out, by promise.
_UNSEEN_KEYWORDS = ("strict", "stacklevel", "verbose", "n_jobs", "overwrite_a", "clean")
# Arguments of LAPACK that are 0 or not: any other number says the same.
_FLAGS = ("lower", "trans")


@dataclass(frozen=True, eq=False)
class Mutant:
    """A file, the node that is changed and what it becomes, with the lines that it stands on."""

    file: str
    module: cst.Module
    old: cst.CSTNode
    new: cst.CSTNode
    lines: range

    @property
    def text(self) -> str:
        """The whole file with the change."""
        changed = self.module.deep_replace(self.old, self.new)
        return changed.code if isinstance(changed, cst.Module) else ""

    @property
    def words(self) -> str:
        """Where it is, what stood there and what stands there now, on one line."""
        old, new = self.module.code_for_node(self.old), self.module.code_for_node(self.new)
        return f"{self.file}:{self.lines.start}: {_around(old, new)} -> {_around(new, old)}"


def sample_mutants(packages: Sequence[str], n: int, seed: int) -> list[Mutant]:
    """Return n mutants of some packages, drawn without replacement: the first ones are a sample."""
    found = [mutant for path in source_files(packages) for mutant in mutants_of(path)]
    return random.Random(seed).sample(found, min(n, len(found)))


def source_files(packages: Sequence[str], root: Path = ROOT) -> list[Path]:
    """Return the modules of packages, subpackages too."""
    return [
        path
        for package in packages
        for path in sorted((root / "src" / "parsimon" / package).rglob("*.py"))
    ]


def mutants_of(path: Path, root: Path = ROOT) -> list[Mutant]:
    """Return every mutant of a file."""
    module = cst.parse_module(path.read_text(encoding="utf-8"))
    places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    file = path.relative_to(root).as_posix()
    return [
        Mutant(file, module, old, new, _lines_of(places[old]))
        for old in _seen(module)
        if old in places
        for new in _changes(old)
    ]


def _lines_of(place: CodeRange) -> range:
    return range(place.start.line, place.end.line + 1)


def _changes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for kind, changed in mutation_operators:
        if isinstance(node, kind):
            yield from (new for new in changed(node) if not _only_guards(node, new))


def _only_guards(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    """Whether a call has lost nothing but an argument that guards."""
    if not isinstance(old, cst.Call) or not isinstance(new, cst.Call) or new.func is not old.func:
        return False
    kept, left = ([arg for arg in one.args if not _is_unseen(arg)] for one in (old, new))
    return len(kept) == len(left) and all(map(operator.is_, kept, left))


def _seen(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the nodes whose change a test could see."""
    if _is_unseen(node):
        return
    yield node
    for child in node.children:
        if not _is_only_a_name(node, child) and not _is_flag(child):
            yield from _seen(child)


def _is_only_a_name(node: cst.CSTNode, child: cst.CSTNode) -> bool:
    """Whether a text names a value in the error of a check, or the axes of a sum of products."""
    is_one = isinstance(node, cst.Call) and _called(node).startswith(("check_", "einsum"))
    return is_one and isinstance(child, cst.Arg) and isinstance(child.value, cst.SimpleString)


def _is_flag(node: cst.CSTNode) -> bool:
    match node:
        case cst.Arg(keyword=cst.Name(value=name), value=cst.Integer(value="1")):
            return name in _FLAGS
        case _:
            return False


def _is_unseen(node: cst.CSTNode) -> bool:
    match node:
        case cst.Annotation() | cst.Raise() | cst.Assert() | cst.Decorator() | cst.Import():
            return True
        case cst.ImportFrom() | cst.TypeAlias() | cst.Expr(value=cst.BaseString()):
            return True
        case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name(value="TypeAlias"))):
            return True
        case cst.If(test=cst.Name(value="TYPE_CHECKING")):
            return True
        case cst.Call():
            return _called(node).endswith(_ERROR_ENDINGS) or _called(node) in _UNSEEN_CALLS
        case cst.Arg(keyword=cst.Name(value=name)) | cst.Param(name=cst.Name(value=name)):
            return name in _UNSEEN_KEYWORDS
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return name == "__all__" or _names_a_type(name, node.value)
        case _:
            return False


def _called(call: cst.Call) -> str:
    function = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return function.value if isinstance(function, cst.Name) else ""


def _names_a_type(name: str, value: cst.BaseExpression) -> bool:
    """Whether an assignment gives a name to an annotation, such as `Scoring = str | None`."""
    return name.lstrip("_")[:1].isupper() and not name.isupper() and not isinstance(value, cst.Call)


def _around(text: str, other: str, margin: int = 20, most: int = 90) -> str:
    """Return the part in which a text differs from another, with a little of what is around."""
    same = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0)
    return " ".join(text[max(0, same - margin) :].split())[:most]
