"""Classes of characters for `dataflow.kernels.regex_syntax`: ranges of code points.

Sources: RE2's syntax page for the names, Python's `unicodedata` for categories and cases.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterable

#: Sorted, disjoint ranges of code points, both ends included.
Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
#: Bytes that are no UTF-8 are decoded to surrogates, which no class holds, as in RE2.
EVERYTHING: Ranges = ((0, 0xD7FF), (0xE000, _LAST))


def ranges_of(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """The union of ``pairs``, without surrogates."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pairs):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return _intersection(tuple(merged), EVERYTHING)


def _intersection(one: Ranges, other: Ranges) -> Ranges:
    both = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple(sorted((low, high) for low, high in both if low <= high))


def complement(ranges: Ranges) -> Ranges:
    """All other characters."""
    gaps, start = [], 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        gaps.append((start, _LAST))
    return _intersection(tuple(gaps), EVERYTHING)


_DIGITS: Ranges = ((48, 57),)
_SPACES: Ranges = ((9, 10), (12, 13), (32, 32))
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
PERL = {"d": _DIGITS, "s": _SPACES, "w": _WORD}
POSIX: dict[str, Ranges] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": _DIGITS,
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": _WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}


@functools.cache
def _categories() -> dict[str, list[tuple[int, int]]]:
    """The ranges of each of Unicode's general categories, such as "Lu"."""
    found: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for name, members in itertools.groupby(map(unicodedata.category, map(chr, range(_LAST + 1)))):
        end = start + sum(1 for _ in members)
        found.setdefault(name, []).append((start, end - 1))
        start = end
    return found


@functools.cache
def category(name: str) -> Ranges | None:
    """The code points of a general category such as "Lu" or "L"; ``None`` if there is none."""
    if name == "Any":
        return EVERYTHING
    if not (1 <= len(name) <= 2 and name[0] in "CLMNPSZ"):
        return None
    return ranges_of(r for n, rs in _categories().items() if n.startswith(name) for r in rs) or None


@functools.cache
def _other_cases() -> dict[int, tuple[int, ...]]:
    """For each letter with other cases, all letters that are one when case is ignored."""
    together: dict[int, set[int]] = {}
    for code in range(0x1E944):
        letter = chr(code)
        for other in (letter.lower(), letter.upper()):
            # Unicode's simple folding leaves the Turkish dotless i alone.
            if other != letter and len(other) == 1 and code != 0x131:
                both = together.get(code, {code}) | together.get(ord(other), {ord(other)})
                for member in both:
                    together[member] = both
    return {code: tuple(sorted(all_of_it)) for code, all_of_it in together.items()}


def any_case(ranges: Ranges) -> Ranges:
    """With the other cases of every letter."""
    if ranges == EVERYTHING:
        return ranges
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return ranges_of((c, c) for c in _other_cases().get(ranges[0][0], ranges[0][:1]))
    more = [
        (other, other)
        for code, others in _other_cases().items()
        if any(low <= code <= high for low, high in ranges)
        for other in others
    ]
    return ranges_of([*ranges, *more]) if more else ranges
