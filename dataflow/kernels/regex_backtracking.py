"""A regular expression for Python's `re`, and how many steps that takes at most.

`re` tries one way after the other. Where a pattern's form bounds the number of ways, it is the quickest.
"""

from __future__ import annotations

import sys

from dataflow.kernels.regex_syntax import (
    Chars,
    Choice,
    Group,
    Node,
    Position,
    Sequence,
    shortest,
)

_PYTHON = {
    "A": r"\A",
    "z": r"\Z",
    "^": "(?m:^)",
    "$": "(?m:$)",
    "b": r"(?a:\b)",
    "B": r"(?a:(?!\b))",
}


def as_python(node: Node, last: int) -> str:
    """The pattern of Python's `re` that means the same for text of code points up to ``last``."""
    if isinstance(node, Chars):
        inside = [(low, min(high, last)) for low, high in node.ranges if low <= last]
        return "[" + "".join(map(_python_range, inside)) + "]" if inside else "(?!)"
    if isinstance(node, Position):
        return _PYTHON[node.kind]
    if isinstance(node, Group):
        return f"({as_python(node.body, last)})"
    if isinstance(node, Sequence):
        return "".join(as_python(part, last) for part in node.parts)
    if isinstance(node, Choice):
        return "(?:" + "|".join(as_python(option, last) for option in node.options) + ")"
    most = "" if node.most is None else node.most
    return f"(?:{as_python(node.body, last)}){{{node.least},{most}}}" + "?" * (not node.greedy)


def _python_range(pair: tuple[int, int]) -> str:
    low, high = (f"\\U{c:08x}" if pair[1] > 255 else f"\\x{c:02x}" for c in pair)
    return low if low == high else f"{low}-{high}"


def most_steps(node: Node, length: int, whole: bool) -> int:
    """How many steps backtracking takes at most for a text of ``length`` characters.

    A search that is not for the ``whole`` text starts at each character, and what it finds it does
    not look at again: repetition at the very end costs nothing but what is matched.
    """
    steps, _ = _steps_and_ways(node, length, at_end=not whole)
    return steps if whole else (length + 1) * steps


def _steps_and_ways(node: Node, length: int, at_end: bool) -> tuple[int, int]:
    """Steps at most, and in how many ways the node can match from one place."""
    if isinstance(node, (Chars, Position)):
        return 1, 1
    if isinstance(node, Group):
        return _steps_and_ways(node.body, length, at_end)
    if isinstance(node, Sequence):
        steps, ways = 1, 1
        for i, part in enumerate(node.parts):
            more, times = _steps_and_ways(part, length, at_end and i == len(node.parts) - 1)
            steps = min(steps + ways * more, sys.maxsize)
            ways = min(ways * times, sys.maxsize)
        return steps, ways
    if isinstance(node, Choice):
        pairs = [_steps_and_ways(option, length, at_end) for option in node.options]
        return sum(s for s, _ in pairs), sum(w for _, w in pairs)
    if not shortest(node.body):
        return sys.maxsize, sys.maxsize  # the two engines do not agree on repeated empty matches
    steps, ways = _steps_and_ways(node.body, length, False)
    most = length if node.most is None else min(node.most, length)
    if ways > 1 and most > 1:
        # Different ways in each round: they multiply.
        total = ways**most if most < 64 else sys.maxsize
        return min(total * steps * most, sys.maxsize), min(total * most, sys.maxsize)
    if at_end and ways == 1 and node.greedy and isinstance(node.body, Chars):
        return node.least + 1, 1
    return (most + 1) * (steps + 1), max(most - node.least, 0) * ways + 1
