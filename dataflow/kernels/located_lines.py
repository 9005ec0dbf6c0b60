"""Lines of text files that know where they stand, for the errors of what reads them later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


class TextLine(bytes):
    """A line without its end. It goes through shuffling and batching as any string does."""

    #: The file, and the number of the line, counted from 1.
    path: str
    number: int


def text_lines(path: str, lines: Iterable[bytes]) -> Iterator[TextLine]:
    """The lines of an open file."""
    for number, line in enumerate(lines, 1):
        made = TextLine(line.rstrip(b"\n").removesuffix(b"\r"))
        made.path, made.number = path, number
        yield made


def without_places(strings: Any) -> Any:
    """An object array for users: its lines as plain ``bytes``, which NumPy knows."""
    items = strings.ravel().tolist()
    if not any(type(item) is TextLine for item in items):
        return strings
    plain = np.empty(len(items), object)
    plain[:] = [bytes(item) if type(item) is TextLine else item for item in items]
    return plain.reshape(strings.shape)


def place_of(record: bytes) -> str:
    """ " (line 3 of data.csv)" for a line of a file, nothing for other strings."""
    if isinstance(record, TextLine):
        return f" (line {record.number} of {record.path})"
    return ""
