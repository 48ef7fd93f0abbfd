"""Newick text into trees and back; quotes, comments and any depth, without recursion.

Grammar: https://phylipweb.github.io/phylip/newicktree.html, with the quoting and the comments in
square brackets of NEXUS.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parsimon._options import check_choice
from parsimon.exceptions import InvalidInputError

if TYPE_CHECKING:
    from parsimon.phylo.tree import Tree

# Possessive, so that a quote that is never closed costs no more than one that is.
_TOKEN = re.compile(r"'(?:[^']++|'')*+'|[(),:;]|[^\s()\[\]',:;]+|\S")
_QUOTE_OR_BRACKET = re.compile(r"'(?:[^']++|'')*+'|[\[\]]")
# What may stand without quotes. Anything else is quoted, so that other programs agree.
_PLAIN = re.compile(r"[^\s()\[\]{}/\\,;:=*'\"`+<>~#]+")
_SHOWN = 30


def parse_newick(
    text: str, *, underscores: str = "keep", default_length: float | None = None
) -> "Tree":
    """Return the first tree in a Newick text."""
    tokens = _TOKEN.findall(without_comments(text))
    return _Builder(underscores == "space", default_length).build(tokens)


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

    def build(self, tokens: list[str]) -> "Tree":
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

    def _tree(self) -> "Tree":
        from parsimon.phylo.tree import Tree

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


def write_tree(tree: "Tree", path: "str | Path | None", form: str) -> str:
    """Return the text of a tree in the given form, and write it if there is a path."""
    check_choice("format", form, ["newick", "nexus"])
    text = newick(tree)
    if form == "nexus":
        text = f"#NEXUS\nBEGIN TREES;\n    TREE tree = [&R] {text}\nEND;\n"
    if path is not None:
        import gzip

        opened: Any = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "wt", encoding="utf-8", newline="") as file:
            file.write(text if text.endswith("\n") else text + "\n")
    return text


def newick(tree: "Tree") -> str:
    """Return the tree as Newick; the root's own length is written if it is not zero."""
    from parsimon.phylo.editing import children_lists

    children, pieces = children_lists(tree.parent), []
    # What is still to be written: nodes, and text between them.
    waiting: list[int | str] = [";", 0]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        below = children[item]
        after = _quoted(tree.name[item])
        if item or tree.length[0]:
            after += f":{_digits(float(tree.length[item]))}"
        waiting.append(after if not below else f"){after}")
        for rank, child in enumerate(reversed(below)):
            waiting.extend([",", child] if rank else [child])
        if below:
            pieces.append("(")
    return "".join(pieces)


def _quoted(label: str) -> str:
    if not label or _PLAIN.fullmatch(label):
        return label
    return "'" + label.replace("'", "''") + "'"


def _digits(length: float) -> str:
    return repr(int(length)) if length == int(length) and length < 1e15 else repr(length)
