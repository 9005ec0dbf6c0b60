"""RE2's syntax for regular expressions (https://github.com/google/re2/wiki/Syntax), read into a tree.

It is TensorFlow's syntax: no backreferences and no lookaround, so a match takes time in proportion
to the text. ``\\d``, ``\\s``, ``\\w`` and ``\\b`` mean ASCII, ``^`` and ``$`` the ends of the whole text
(of a line with ``(?m)``). Not read here: ``\\C`` (one byte) and scripts such as ``\\p{Greek}``, which
the package google-re2 knows.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NamedTuple

from dataflow.kernels.regex_classes import (
    PERL,
    POSIX,
    Ranges,
    any_case,
    category,
    complement,
    ranges_of,
)

_ESCAPED = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_MAX_REPEAT = 1000
_MAX_NESTING = 60


class PatternError(ValueError):
    """The pattern is no regular expression of RE2's; the text is RE2's."""


class UnknownHereError(PatternError):
    """RE2 may know it, this reader does not."""


class Chars(NamedTuple):
    """One character of these ranges."""

    ranges: Ranges


class Position(NamedTuple):
    """An empty match: "A" and "z" the ends of the text, "^" and "$" of a line, "b" and "B" words'."""

    kind: str


class Group(NamedTuple):
    """What group ``number`` captures."""

    number: int
    body: Node


class Sequence(NamedTuple):
    """One after the other."""

    parts: tuple[Node, ...]


class Choice(NamedTuple):
    """The first that lets the whole match."""

    options: tuple[Node, ...]


class Repeat(NamedTuple):
    """``body`` from ``least`` to ``most`` times (`None`: any number)."""

    body: Node
    least: int
    most: int | None
    greedy: bool


Node = Chars | Position | Group | Sequence | Choice | Repeat


@dataclass(frozen=True)
class Pattern:
    """A pattern that was read: its tree and how many groups it captures."""

    tree: Node
    num_groups: int


class _Flags(NamedTuple):
    any_case: bool = False
    lines: bool = False
    dot_is_newline_too: bool = False
    lazy: bool = False


def parse(pattern: str) -> Pattern:
    """Reads ``pattern``; raises `PatternError` in RE2's words."""
    return _Parser(pattern).parse()


class _Open:
    """A group, or the whole pattern, that is being read."""

    def __init__(self, number: int | None, flags: _Flags) -> None:
        self.number = number
        self.flags_outside = flags
        self.options: list[Node] = []
        self.parts: list[Node] = []
        #: Where in the pattern the last repetition began; it must not be repeated again.
        self.repeated_from: int | None = None

    def close_option(self) -> None:
        parts = self.parts
        self.options.append(parts[0] if len(parts) == 1 else Sequence(tuple(parts)))
        self.parts = []
        self.repeated_from = None

    def node(self) -> Node:
        self.close_option()
        options = self.options
        if len(options) == 1:
            return options[0]
        if all(type(o) is Chars for o in options):
            return Chars(ranges_of(r for o in options for r in o.ranges))  # type: ignore[union-attr]
        return Choice(tuple(options))


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = _Flags()
        self.num_groups = 0

    def parse(self) -> Pattern:
        text = self.text
        stack = [_Open(None, self.flags)]
        while self.at < len(text):
            self._one(stack, text[self.at])
        if len(stack) > 1:
            raise PatternError(f"missing ): {text}")
        tree = stack[0].node()
        self._check_repeats(tree)
        return Pattern(tree, self.num_groups)

    def _one(self, stack: list[_Open], char: str) -> None:
        """Reads one element of the pattern, which begins with ``char``."""
        level, start, text = stack[-1], self.at, self.text
        if char in "*+?" or (char == "{" and self._counts() is not None):
            self._repeat(level, start, char)
            return
        level.repeated_from = None
        if char == "(":
            self._open(stack)
            return
        self.at += 1
        if char == ")":
            if len(stack) == 1:
                raise PatternError(f"unexpected ): {text}")
            stack.pop()
            node = level.node()
            self.flags = level.flags_outside
            stack[-1].parts.append(Group(level.number, node) if level.number else node)
        elif char == "|":
            level.close_option()
        elif char == "^":
            level.parts.append(Position("^" if self.flags.lines else "A"))
        elif char == "$":
            level.parts.append(Position("$" if self.flags.lines else "z"))
        elif char == ".":
            newline = () if self.flags.dot_is_newline_too else ((10, 10),)
            level.parts.append(Chars(complement(newline)))
        elif char == "[":
            self.at = start
            level.parts.append(Chars(self._class()))
        elif char == "\\":
            self.at = start
            self._escape(level)
        else:
            level.parts.append(self._literal(ord(char)))

    def _literal(self, code: int) -> Chars:
        ranges: Ranges = ((code, code),)
        return Chars(any_case(ranges) if self.flags.any_case else ranges)

    # ---- repetition --------------------------------------------------------------------

    def _counts(self) -> tuple[int, int | None, int] | None:
        """``{2}``, ``{2,}`` and ``{2,5}``: least, most, and where it ends; else ``None``: a brace."""
        end = self.text.find("}", self.at)
        least, comma, most = self.text[self.at + 1 : end].partition(",")
        if end < 0 or not (least.isascii() and least.isdecimal()):
            return None
        if most and not (most.isascii() and most.isdecimal()):
            return None
        if any(len(number) > 1 and number[0] == "0" for number in (least, most)):
            return None
        if len(least) > 9 or len(most) > 9:
            raise PatternError(f"invalid repetition size: {self.text[self.at : end + 1]}")
        return int(least), (int(most) if most else None) if comma else int(least), end + 1

    def _repeat(self, level: _Open, start: int, char: str) -> None:
        least, most, self.at = {
            "*": lambda: (0, None, start + 1),
            "+": lambda: (1, None, start + 1),
            "?": lambda: (0, 1, start + 1),
            "{": self._counts,
        }[char]()  # type: ignore[misc]
        greedy = not self.flags.lazy
        if self.text.startswith("?", self.at):
            self.at += 1
            greedy = not greedy
        here = self.text[start : self.at]
        if level.repeated_from is not None:
            before = self.text[level.repeated_from : self.at]
            raise PatternError(f"bad repetition operator: {before}")
        if not level.parts:
            raise PatternError(f"no argument for repetition operator: {here}")
        if max(least, most or 0) > _MAX_REPEAT or (most is not None and most < least):
            raise PatternError(f"invalid repetition size: {here}")
        level.parts[-1] = Repeat(level.parts[-1], least, most, greedy)
        level.repeated_from = start

    def _check_repeats(self, node: Node, allowed: int = _MAX_REPEAT) -> None:
        """Counts that multiply to more than 1000 would make the pattern too large."""
        if isinstance(node, Repeat):
            times = node.least if node.most is None else node.most
            if (node.least, node.most) not in ((0, None), (1, None), (0, 1)) and times:
                allowed //= times
                if not allowed:
                    raise PatternError(f"invalid repetition size: {{{times}}}")
        for child in children(node):
            self._check_repeats(child, allowed)

    # ---- groups ------------------------------------------------------------------------

    def _open(self, stack: list[_Open]) -> None:
        if len(stack) > _MAX_NESTING:
            raise UnknownHereError(f"more than {_MAX_NESTING} groups in one another")
        text, start = self.text, self.at
        if not text.startswith("(?", start):
            self.at += 1
            self.num_groups += 1
            stack.append(_Open(self.num_groups, self.flags))
            return
        for opening in ("(?P<", "(?<"):
            if text.startswith(opening, start) and text[start + 3 : start + 4] not in ("=", "!"):
                self._named(stack, start, start + len(opening))
                return
        flags, sign, seen = self.flags._asdict(), True, False
        for at in range(start + 2, len(text)):
            char = text[at]
            if char in "imsU":
                flags[_Flags._fields["imsU".index(char)]] = sign
                seen = True
            elif char == "-" and sign:
                sign, seen = False, False
            elif char in ":)" and (sign or seen):
                self.at = at + 1
                if char == ":":
                    stack.append(_Open(None, self.flags))
                self.flags = _Flags(**flags)
                return
            else:
                raise PatternError(f"invalid perl operator: {text[start : at + 1]}")
        raise PatternError(f"invalid perl operator: {text[start:]}")

    def _named(self, stack: list[_Open], start: int, name_start: int) -> None:
        end = self.text.find(">", name_start)
        if end < 0:
            raise PatternError(f"invalid named capture group: {self.text[start:]}")
        name = self.text[name_start:end]
        if not name or not all(c.isalnum() or c == "_" for c in name):
            raise PatternError(f"invalid named capture group: {self.text[start : end + 1]}")
        self.at = end + 1
        self.num_groups += 1
        stack.append(_Open(self.num_groups, self.flags))

    # ---- escapes and classes -----------------------------------------------------------

    def _escape(self, level: _Open) -> None:
        text = self.text
        char = text[self.at + 1 : self.at + 2]
        if (char and char in "Az") or char in ("b", "B"):
            self.at += 2
            level.parts.append(Position(char))
        elif char == "Q":
            end = text.find("\\E", self.at + 2)
            quoted = text[self.at + 2 : end if end >= 0 else len(text)]
            level.parts += [self._literal(ord(c)) for c in quoted]
            self.at = end + 2 if end >= 0 else len(text)
        elif char == "C":
            raise UnknownHereError("\\C, one byte")
        else:
            ranges = self._shorthand()
            if ranges is None:
                level.parts.append(self._literal(self._code()))
            else:
                level.parts.append(Chars(ranges))

    def _shorthand(self) -> Ranges | None:
        r"""``\d``, ``\W``, ``\pL``, ``\P{Lu}``: the class that stands here, if one does."""
        text, start = self.text, self.at
        char = text[start + 1 : start + 2]
        if char.lower() in PERL:
            self.at += 2
            ranges = PERL[char.lower()]
            negated = char.isupper()
        elif char in ("p", "P"):
            end = text.find("}", start) if text[start + 2 : start + 3] == "{" else start + 2
            if end < 0 or end >= len(text):
                raise PatternError(f"invalid character class range: {text[start:]}")
            name = text[start + 2 : end + 1].strip("{}")
            negated = (char == "P") != name.startswith("^")
            name = name.removeprefix("^")
            self.at = end + 1
            found = category(name)
            if found is None:
                raise UnknownHereError(f"invalid character class range: {text[start : self.at]}")
            ranges = found
        else:
            return None
        if self.flags.any_case:
            ranges = any_case(ranges)
        return complement(ranges) if negated else ranges

    def _code(self) -> int:
        """The code point of an escape such as ``\\n``, ``\\x41`` or ``\\.``."""
        text, start = self.text, self.at
        char = text[start + 1 : start + 2]
        self.at += 2
        if not char:
            raise PatternError("trailing \\")
        if char in _ESCAPED:
            return _ESCAPED[char]
        if char in "01234567":
            digits = char
            while len(digits) < 3 and text[self.at : self.at + 1] in tuple("01234567"):
                digits += text[self.at]
                self.at += 1
            if char == "0" or len(digits) > 1:
                return int(digits, 8)
        elif char == "x":
            if text[self.at : self.at + 1] == "{":
                end = text.find("}", self.at)
                digits, stop = text[self.at + 1 : end], end + 1
            else:
                digits, stop = text[self.at : self.at + 2], self.at + 2
                if len(digits) < 2:
                    digits = ""
            if digits and all(c in "0123456789abcdefABCDEF" for c in digits) and stop > 0:
                if int(digits, 16) <= sys.maxunicode:
                    self.at = stop
                    return int(digits, 16)
        elif ord(char) < 128 and not char.isalnum() and char != "_":
            return ord(char)
        raise PatternError(f"invalid escape sequence: {text[start : start + 2]}")

    def _class(self) -> Ranges:
        """``[...]``."""
        text, start = self.text, self.at
        self.at += 1
        negated = text.startswith("^", self.at)
        self.at += negated
        pairs: list[tuple[int, int]] = []
        first = True
        while first or not text.startswith("]", self.at):
            first = False
            if self.at >= len(text):
                raise PatternError(f"missing ]: {text[start:]}")
            found = self._posix()
            if found is None and text[self.at] == "\\":
                found = self._shorthand()
            if found is not None:
                pairs += found
                continue
            low_at = self.at
            low = high = self._member(start)
            if text.startswith("-", self.at) and text[self.at + 1 : self.at + 2] not in ("", "]"):
                self.at += 1
                high = self._member(start)
                if high < low:
                    found_text = text[low_at : self.at]
                    raise PatternError(f"invalid character class range: {found_text}")
            pair: Ranges = ((low, high),)
            pairs += any_case(pair) if self.flags.any_case else pair
        self.at += 1
        ranges = ranges_of(pairs)
        return complement(ranges) if negated else ranges

    def _member(self, start: int) -> int:
        if self.at >= len(self.text):
            raise PatternError(f"missing ]: {self.text[start:]}")
        if self.text[self.at] == "\\":
            return self._code()
        self.at += 1
        return ord(self.text[self.at - 1])

    def _posix(self) -> Ranges | None:
        """``[:alpha:]`` and ``[:^alpha:]`` inside of brackets."""
        text, start = self.text, self.at
        end = text.find(":]", start + 2) if text.startswith("[:", start) else -1
        if end < 0:
            return None
        name = text[start + 2 : end]
        ranges = POSIX.get(name.removeprefix("^"))
        if ranges is None:
            raise PatternError(f"invalid character class range: {text[start : end + 2]}")
        self.at = end + 2
        if self.flags.any_case:
            ranges = any_case(ranges)
        return complement(ranges) if name.startswith("^") else ranges


def children(node: Node) -> tuple[Node, ...]:
    """What a node is made of."""
    if isinstance(node, (Group, Repeat)):
        return (node.body,)
    if isinstance(node, Sequence):
        return node.parts
    return node.options if isinstance(node, Choice) else ()


def shortest(node: Node) -> int:
    """How many characters a match has at least."""
    if isinstance(node, Chars):
        return 1
    if isinstance(node, Position):
        return 0
    if isinstance(node, Group):
        return shortest(node.body)
    if isinstance(node, Sequence):
        return sum(map(shortest, node.parts))
    if isinstance(node, Choice):
        return min(map(shortest, node.options))
    return node.least * shortest(node.body) if node.least else 0
