"""Trees from files or text: Newick or NEXUS, plain or gzip."""

import gzip
import os
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from parsimon._options import check_choice, check_positive
from parsimon._validation import shorten
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.newick import parse_newick, without_comments

if TYPE_CHECKING:
    from parsimon.phylo.tree import Tree

_STATEMENT = re.compile(r"(?:'(?:[^']++|'')*+'|[^';]++)*+;")
_WORD = re.compile(r"'(?:[^']++|'')*+'|[^\s,]+")
_TREE_NAME = re.compile(r"\s*\*?\s*('(?:[^']++|'')*+'|[^\s=]+)\s*=")
# A tree of one node: a name and perhaps a length.
_ONE_NODE = re.compile(r"(?:'(?:[^']++|'')*+'|[^\s()\[\]',:;]++)\s*+(?::\s*+[^\s(),:;]++)?\s*+;")
_GZIP = b"\x1f\x8b"
_SHOWN = 30


def read_tree(
    source: "str | Path",
    *,
    which: int | str = 0,
    underscores: Literal["keep", "space"] = "keep",
    default_length: float | None = None,
) -> "Tree":
    """Read a tree from a file, or from text that begins with "(" or "#NEXUS".

    Parameters
    ----------
    source : str or Path
        A file in Newick or NEXUS format, gzip or not; or the text itself.
    which : int or str
        Which tree of several: by number, from 0, or in NEXUS by name.
    underscores : {"keep", "space"}
        The formats say that an underscore outside quotes is a space; most programs, and most
        tables, keep it.
    default_length : float, optional
        For branches without a length; without it they are an error.

    Returns
    -------
    Tree

    Examples
    --------
    >>> read_tree("((Homo_sapiens:6,Pan_paniscus:6):2,Gorilla_gorilla:8);")
    Tree(3 tips, 2 inner nodes, height 8)
    """
    check_choice("underscores", underscores, ["keep", "space"])
    if default_length is not None:
        default_length = check_positive("default_length", default_length, or_zero=True)
    text = _text(source).lstrip("\ufeff \t\r\n")
    if text[:6].upper() == "#NEXUS":
        chosen, translation = _nexus_tree(text[6:], which, underscores == "space")
    else:
        chosen, translation = _newick_tree(text, which), {}
    tree = parse_newick(chosen, underscores=underscores, default_length=default_length)
    if not translation:
        return tree
    from parsimon.phylo.tree import Tree

    return Tree(tree.parent, tree.length, tuple(translation.get(n, n) for n in tree.name))


def _text(source: "str | Path") -> str:
    if not isinstance(source, str | os.PathLike):
        raise InvalidInputError(
            f"A tree is read from a path or from text, got {type(source).__name__}."
        )
    if isinstance(source, str) and not source.strip():
        raise InvalidInputError("The text of the tree is empty.")
    if isinstance(source, str) and (
        source.lstrip()[:1] in {"(", "["} or source.lstrip()[:6].upper() == "#NEXUS"
    ):
        return source
    if isinstance(source, str) and source.rstrip().endswith(";"):
        return source  # a tree of one node
    try:
        content = Path(source).expanduser().read_bytes()
    # A home folder that nobody has, and a null in a name, are no errors of the system.
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise InvalidInputError(
            f"The tree file {str(source)!r} cannot be read: {reason}. "
            "Text must begin with ( or #NEXUS."
        ) from error
    try:
        return (gzip.decompress(content) if content[:2] == _GZIP else content).decode("utf-8-sig")
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"The tree file {str(source)!r} is not text: {error}. Text must be in UTF-8."
        ) from error


def _newick_tree(text: str, which: int | str) -> str:
    if isinstance(which, str):
        raise InvalidInputError("Newick trees have no names: choose one by number.")
    text = without_comments(text).lstrip()
    if text[:1] != "(" and not _ONE_NODE.match(text):
        seen = f"begins with {text[:_SHOWN]!r}" if text else "is empty"
        raise InvalidInputError(
            f"This is no tree: it {seen}. A Newick tree begins with ( and "
            "ends with a semicolon, a NEXUS file begins with #NEXUS."
        )
    if not which and text.count(";") == 1:
        return text  # the usual case, without a copy
    return _choose(_STATEMENT.findall(text) or [text], which)


def _nexus_tree(text: str, which: int | str, spaces: bool) -> tuple[str, dict[str, str]]:
    """Return the Newick text of the chosen tree, and what its labels stand for."""
    translation: dict[str, str] = {}
    trees: list[str] = []
    names: list[str] = []
    inside = False
    for statement in _STATEMENT.findall(without_comments(text)):
        words = statement.strip().rstrip(";").split(None, 1)
        command = words[0].upper() if words else ""
        rest = words[1] if len(words) > 1 else ""
        if command == "BEGIN":
            inside = rest.strip().upper() == "TREES"
        elif command in {"END", "ENDBLOCK"}:
            inside = False
        elif inside and command == "TRANSLATE":
            translation = _translation(rest, spaces)
        elif inside and command in {"TREE", "UTREE"} and (label := _TREE_NAME.match(rest)):
            names.append(_unquoted(label.group(1), spaces))
            trees.append(rest[label.end() :] + ";")
    if isinstance(which, str):
        if which not in names:
            raise InvalidInputError(
                f"The file has no tree {which!r}; it has {shorten(names) or 'none'}."
            )
        which = names.index(which)
    return _choose(trees, which), translation


def _choose(trees: list[str], which: int) -> str:
    if not 0 <= which < len(trees):
        how = "" if trees else " A NEXUS file has them in a TREES block: tree name = (A:1,B:1);"
        raise InvalidInputError(
            f"Tree {which} was asked for, but there are {len(trees)} trees.{how}"
        )
    return trees[which]


def _translation(rest: str, spaces: bool) -> dict[str, str]:
    words = _WORD.findall(rest)
    if len(words) % 2:
        raise InvalidInputError("The TRANSLATE table of the NEXUS file is not made of pairs.")
    return {
        _unquoted(key, False): _unquoted(label, spaces)
        for key, label in zip(words[::2], words[1::2], strict=True)
    }


def _unquoted(word: str, spaces: bool) -> str:
    if word[:1] == "'":
        return word[1:-1].replace("''", "'")
    return word.replace("_", " ") if spaces else word
