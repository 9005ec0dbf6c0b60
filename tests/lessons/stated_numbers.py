"""Numbers in a lesson's prose, compared with the lesson's run.

An author marks a number with the Python expression that it states, in a comment that no reader sees:
``354 <!-- is len(X_all) --> of the patients``. A claim in words is marked by a condition:
``the first is better <!-- holds first > second -->``. Expressions are evaluated right after the code cell
that follows the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import nbformat.v4 as v4

_MARK = re.compile(r"(\S*?)[*`]*\s*<!--\s*(is|holds)\s+(.+?)\s*-->", flags=re.S)
_HOLDS = "holds"
_MIME_TYPE = "application/json"
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]


class Stated(NamedTuple):
    """A number as a text says it, and the expression whose value it has to be; or "holds", and a
    condition."""

    text: str
    expression: str


def stated_in(source: str) -> list[Stated]:
    """The marked numbers and claims of a Markdown cell; ValueError for a comment that is no mark."""
    found = [
        Stated(_HOLDS if m[2] == _HOLDS else m[1].lstrip("*`(=~"), " ".join(m[3].split()))
        for m in _MARK.finditer(source)
    ]
    if len(found) != source.count("<!--"):
        raise ValueError(
            "a comment that marks no number; write 12 <!-- is expression --> or "
            f"<!-- holds condition -->: {source}"
        )
    return found


def with_probes(cells: list[Any]) -> Iterator[Any]:
    """The cells, and after the code cell that follows marked numbers one that prints their values."""
    waiting: list[Stated] = []
    for cell in cells:
        yield cell
        if cell.cell_type == "markdown":
            waiting += stated_in(cell.source)
        elif waiting and cell.cell_type == "code" and cell.source.strip():
            yield _probe(waiting)
            waiting = []
    if waiting:
        raise ValueError(f"no code cell follows the numbers {[s.text for s in waiting]}")


def _probe(stated: Sequence[Stated]) -> Any:
    values = ", ".join(
        f"float(bool({s.expression}))" if s.text == _HOLDS else f"float({s.expression})"
        for s in stated
    )
    source = published(f"[{values}]")
    return v4.new_code_cell(source, metadata={"stated": [list(s) for s in stated]})


def published(expression: str) -> str:
    """Code that hands the value of ``expression`` to `found`.

    As an output of its own, since the threads of a training print into whichever cell runs.
    """
    return (
        "import IPython.display as _display; "
        f'_display.display({{"{_MIME_TYPE}": {{"found": {expression}}}}}, raw=True)'
    )


def found(cell: Any) -> Any:
    """The value that a cell of `published` gave when it ran."""
    (value,) = [o["data"][_MIME_TYPE] for o in cell.outputs if _MIME_TYPE in o.get("data", {})]
    return value["found"]


def printed(cell: Any) -> str:
    """What a cell printed; a busy kernel sends a line in pieces."""
    return "".join(o["text"] for o in cell.outputs if o.get("name") == "stdout")


def disagreements(cell: Any) -> list[str]:
    """What a probe that ran says against the text, as sentences."""
    values = found(cell)
    stated = [Stated(*fields) for fields in cell.metadata["stated"]]
    return [
        f"the text claims what does not hold: {s.expression}"
        if s.text == _HOLDS
        else f"the text says {s.text}, and {s.expression} is {value:.10g}"
        for s, value in zip(stated, values, strict=True)
        if not agrees(s.text, value)
    ]


def agrees(text: str, value: float) -> bool:
    """Whether ``value`` is what ``text`` says, to the digits that it says it with."""
    if text == _HOLDS:
        return value == 1.0
    if text.lower() in _WORDS:
        return value == _WORDS.index(text.lower())
    try:
        number = Decimal(text.rstrip("%").replace(",", ""))
    except InvalidOperation:
        return False
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        return False
    if text.endswith("%"):
        value *= 100
    return abs(value - float(number)) <= 0.5 * 10.0**exponent * (1 + 1e-9)
