"""Regular expressions by an automaton, in time proportional to pattern times text.

All ways to match are followed at once, in their order of preference, one character at a time
(K. Thompson, "Regular expression search algorithm", 1968; the captures after R. Pike, as R. Cox tells
it in "Regular expression matching: the virtual machine approach", 2009).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from dataflow.kernels.regex_syntax import (
    Chars,
    Choice,
    Group,
    Node,
    Pattern,
    PatternError,
    Position,
    Repeat,
    Sequence,
    shortest,
)

#: Steps of a program; RE2's limit in memory comes to about as many.
_MAX_STEPS = 50_000

_CHARS, _SPLIT, _SAVE, _POSITION, _MATCH = range(5)

_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


class Automaton:
    """A pattern as a program of steps, each with the steps that may follow."""

    def __init__(self, pattern: Pattern) -> None:
        self.num_groups = pattern.num_groups
        # (what, argument, next step): for _SPLIT the steps in order of preference.
        self._steps: list[tuple[int, Any, Any]] = [(_MATCH, None, None)]
        body = self._add(pattern.tree, self._step(_SAVE, 1, 0))
        self._start = self._step(_SAVE, 0, body)

    def _step(self, what: int, argument: Any, following: Any) -> int:
        if len(self._steps) >= _MAX_STEPS:
            raise PatternError("pattern too large - compile failed")
        self._steps.append((what, argument, following))
        return len(self._steps) - 1

    def _add(self, node: Node, then: int) -> int:
        """Adds the steps of ``node``, after which comes ``then``; where they begin."""
        if isinstance(node, Chars):
            return self._step(_CHARS, _Members(node), then)
        if isinstance(node, Position):
            return self._step(_POSITION, node.kind, then)
        if isinstance(node, Group):
            body = self._add(node.body, self._step(_SAVE, 2 * node.number + 1, then))
            return self._step(_SAVE, 2 * node.number, body)
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self._add(part, then)
            return then
        if isinstance(node, Choice):
            return self._step(_SPLIT, None, [self._add(option, then) for option in node.options])
        return self._repeat(node, then)

    def _repeat(self, node: Repeat, then: int) -> int:
        body, least, most, greedy = node
        start = then
        if most is None:
            split = self._step(_SPLIT, None, [])
            start = self._add(body, split)
            self._steps[split][2].extend([start, then] if greedy else [then, start])
            if least == 0 and shortest(body):
                start = split  # one step both enters and repeats
            elif least == 0:
                start = self._either(start, then, greedy)
            copies = max(least - 1, 0)
        else:
            for _ in range(most - least):
                start = self._either(self._add(body, start), then, greedy)
            copies = least
        for _ in range(copies):
            start = self._add(body, start)
        return start

    def _either(self, one: int, other: int, greedy: bool) -> int:
        return self._step(_SPLIT, None, [one, other] if greedy else [other, one])

    def search(self, text: str, start: int, whole: bool = False) -> list[tuple[int, int]] | None:
        """The first match from ``start`` on: where each group begins and ends, else -1.

        ``whole``: of the whole text from ``start`` to its end, in any of the ways.
        """
        steps = self._steps
        blank = (-1,) * (2 * self.num_groups + 2)
        threads: list[tuple[int, tuple[int, ...]]] = []
        found: tuple[int, ...] | None = None
        length = len(text)
        for at in range(start, length + 1):
            if found is None and (at == start or not whole):
                # Later starts come after all threads that are under way.
                threads.append((self._start, blank))
            elif not threads:
                break
            ready = self._follow(threads, text, at)
            char = text[at] if at < length else ""
            threads = []
            for step, saved in ready:
                what, members, following = steps[step]
                if what == _MATCH:
                    if whole and at < length:
                        continue
                    found = saved
                    break  # the rest is less preferred
                if char and members[char]:
                    threads.append((following, saved))
        return None if found is None else list(zip(found[::2], found[1::2], strict=True))

    def _follow(
        self, threads: list[tuple[int, tuple[int, ...]]], text: str, at: int
    ) -> list[tuple[int, tuple[int, ...]]]:
        """The steps that need a character, or have matched, which ``threads`` reach without one."""
        steps = self._steps
        seen: set[int] = set()
        ready: list[tuple[int, tuple[int, ...]]] = []
        for thread in threads:
            stack = [thread]
            while stack:
                step, saved = stack.pop()
                if step in seen:
                    continue
                seen.add(step)
                what, argument, following = steps[step]
                if what <= _CHARS or what == _MATCH:
                    ready.append((step, saved))
                elif what == _SPLIT:
                    stack.extend([(s, saved) for s in reversed(following)])
                elif what == _SAVE:
                    stack.append((following, (*saved[:argument], at, *saved[argument + 1 :])))
                elif holds(argument, text, at):
                    stack.append((following, saved))
        return ready


class _Members(dict[str, bool]):
    """Whether a character is one of a class; each is looked up once."""

    def __init__(self, chars: Chars) -> None:
        self._starts = [low for low, _ in chars.ranges]
        self._ends = [high for _, high in chars.ranges]

    def __missing__(self, char: str) -> bool:
        code = ord(char)
        i = bisect_right(self._starts, code) - 1
        self[char] = inside = i >= 0 and code <= self._ends[i]
        return inside


def holds(kind: str, text: str, at: int) -> bool:
    """Whether the empty match of `Position` ``kind`` is at ``at``."""
    if kind == "A":
        return at == 0
    if kind == "z":
        return at == len(text)
    if kind == "^":
        return at == 0 or text[at - 1] == "\n"
    if kind == "$":
        return at == len(text) or text[at] == "\n"
    before = at > 0 and text[at - 1] in _WORD
    after = at < len(text) and text[at] in _WORD
    return (before != after) == (kind == "b")
