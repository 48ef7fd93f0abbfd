"""Trees from files or text: Newick or NEXUS, plain or gzip; and back.

Newick has quotes, comments and any depth, read without recursion. Grammar:
https://phylipweb.github.io/phylip/newicktree.html, with the quoting and the comments in square
brackets of NEXUS.
"""

import gzip
import os
import re
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np

from parsimon._checks import check_choice, check_positive, shorten
from parsimon.exceptions import InvalidInputError
from parsimon.phylo.tree import Tree, children_lists

# Possessive, so that a quote that is never closed costs no more than one that is.
_TOKEN = re.compile(r"'(?:[^']++|'')*+'|[(),:;]|[^\s()\[\]',:;]+|\S")
_QUOTE_OR_BRACKET = re.compile(r"'(?:[^']++|'')*+'|[\[\]]")
# What may stand without quotes. Anything else is quoted, so that other programs agree.
_PLAIN = re.compile(r"[^\s()\[\]{}/\\,;:=*'\"`+<>~#]+")


def without_comments(text: str) -> str:
    """Return text without what is in square brackets outside quotes; brackets may nest."""
    if "[" not in text:
        return text
    kept, depth, start = [], 0, 0
    for found in _QUOTE_OR_BRACKET.finditer(text):
        if found.group() == "[":
            if depth == 0:
                kept.append(text[start : found.start()])
            depth += 1
        elif found.group() == "]" and depth:
            depth -= 1
            start = found.end()
    if depth:
        raise InvalidInputError("A comment in the tree file is opened with [ and never closed.")
    return "".join([*kept, text[start:]])


class _Builder:
    """Turns tokens into arrays; `above` is the node whose children are being read."""

    def __init__(self, spaces: bool, default_length: float | None) -> None:
        self._spaces, self._default = spaces, default_length
        self._parent: list[int] = [-1]
        self._length: list[float | None] = [None]
        self._name: list[str] = [""]

    def build(self, tokens: list[str]) -> Tree:
        node, above, position = 0, -1, 0
        expect_length = named = closed = False
        while position < len(tokens):
            token = tokens[position]
            position += 1
            if expect_length:
                self._length[node] = _number(token)
                expect_length = False
            elif token == "(":
                if named or closed or self._length[node] is not None:
                    raise _unexpected(token, tokens, position)
                above = node
                node = self._add(above)
            elif token == "," and above >= 0:
                node, named, closed = self._add(above), False, False
            elif token == ")" and above >= 0:
                node, above = above, self._parent[above]
                named, closed = False, True
            elif token == ":" and self._length[node] is None:
                expect_length = True
            elif token == ";" and above < 0 and node == 0:
                return self._tree()
            elif token in "(),:;" or named or self._length[node] is not None:
                raise _unexpected(token, tokens, position)
            else:
                self._name[node], named = self._label(token), True
        raise InvalidInputError(
            "The tree ends too early: "
            + ("a bracket is not closed." if above >= 0 else "the last semicolon is missing.")
        )

    def _add(self, above: int) -> int:
        self._parent.append(above)
        self._length.append(None)
        self._name.append("")
        return len(self._parent) - 1

    def _label(self, token: str) -> str:
        if token[0] == "'":
            if len(token) < 2:
                raise InvalidInputError("A quote in the tree is opened and never closed.")
            return token[1:-1].replace("''", "'")
        return token.replace("_", " ") if self._spaces else token

    def _tree(self) -> Tree:
        self._length[0] = 0.0 if self._length[0] is None else self._length[0]
        missing = sum(value is None for value in self._length)
        if missing and self._default is None:
            raise InvalidInputError(
                f"{missing} of {len(self._length) - 1} branches have no length. Give "
                "default_length=1.0 (--default-length 1), for example, to set them."
            )
        lengths = [self._default if value is None else value for value in self._length]
        return Tree(np.array(self._parent), np.array(lengths, dtype=float), tuple(self._name))


def _number(token: str) -> float:
    try:
        return float(token)
    except ValueError:
        raise InvalidInputError(f"A branch length must be a number, got {token!r}.") from None


def _unexpected(token: str, tokens: list[str], position: int) -> InvalidInputError:
    before = "".join(tokens[max(position - 6, 0) : position - 1])[-_SHOWN:]
    return InvalidInputError(
        f"The tree cannot be read: {token[:_SHOWN]!r} is not expected after {before!r}. Labels "
        "with spaces or punctuation must be in single quotes."
    )


def write_tree(tree: Tree, path: "str | Path | None", form: str) -> str:
    """Return the text of a tree in the given form, and write it if there is a path."""
    check_choice("format", form, ["newick", "nexus"])
    text = newick(tree)
    if form == "nexus":
        text = f"#NEXUS\nBEGIN TREES;\n    TREE tree = [&R] {text}\nEND;\n"
    if path is not None:
        opened: Any = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8", newline="") as file:
            file.write(text if text.endswith("\n") else text + "\n")
    return text


def newick(tree: Tree) -> str:
    """Return the tree as Newick; the root's own length is written if it is not zero."""
    children, pieces = children_lists(tree.parent), []
    # What is still to be written: nodes, and text between them.
    waiting: list[int | str] = [";", 0]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        below = children[item]
        after = _quote(tree.name[item])
        if item or tree.length[0]:
            after += f":{_digits(float(tree.length[item]))}"
        waiting.append(after if not below else f"){after}")
        for rank, child in enumerate(reversed(below)):
            waiting.extend([",", child] if rank else [child])
        if below:
            pieces.append("(")
    return "".join(pieces)


def _quote(label: str) -> str:
    if not label or _PLAIN.fullmatch(label):
        return label
    return "'" + label.replace("'", "''") + "'"


def _digits(length: float) -> str:
    return repr(int(length)) if length == int(length) and length < 1e15 else repr(length)


_STATEMENT = re.compile(r"(?:'(?:[^']++|'')*+'|[^';]++)*+;")
_WORD = re.compile(r"'(?:[^']++|'')*+'|[^\s,]+")
_TREE_NAME = re.compile(r"\s*+\*?\s*+('(?:[^']++|'')*+'|[^\s=]++)\s*+=")
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
) -> Tree:
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
    text, spaces = _text(source).lstrip("\ufeff \t\r\n"), underscores == "space"
    if text[:6].upper() == "#NEXUS":
        chosen, translation = _nexus_tree(text[6:], which, spaces)
    else:
        chosen, translation = _newick_tree(text, which), {}
    tree = _Builder(spaces, default_length).build(_TOKEN.findall(without_comments(chosen)))
    if not translation:
        return tree
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
            names.append(_unquote(label.group(1), spaces))
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
        _unquote(key, False): _unquote(label, spaces)
        for key, label in zip(words[::2], words[1::2], strict=True)
    }


def _unquote(word: str, spaces: bool) -> str:
    if word[:1] == "'":
        return word[1:-1].replace("''", "'")
    return word.replace("_", " ") if spaces else word
