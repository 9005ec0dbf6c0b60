"""Lines of text files that know where they stand, for the errors of what reads them later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dataflow.formats.object_arrays import object_array


class TextLine(bytes):
    """A line without its end. It goes through shuffling and batching as any string does."""

    #: The file, and the number of the line, counted from 1.
    path: str
    number: int


def text_lines(path: str, lines: Iterable[bytes], first: int = 1) -> Iterator[TextLine]:
    """The lines of a file without their ends; ``first`` is the number of the first one."""
    for number, line in enumerate(lines, first):
        yield located(line.rstrip(b"\n").removesuffix(b"\r"), path, number)


def located(line: bytes, path: str, number: int) -> TextLine:
    """A line that knows where it stands."""
    made = TextLine(line)
    made.path, made.number = path, number
    return made


def without_places(strings: Any) -> Any:
    """An object array for users: its lines as plain ``bytes``, which NumPy knows."""
    items = strings.ravel().tolist()
    if TextLine not in set(map(type, items)):
        return strings
    return object_array(
        [bytes(item) if type(item) is TextLine else item for item in items], strings.shape
    )


def place_of(record: bytes) -> str:
    """ " (line 3 of data.csv)" for a line of a file, nothing for other strings."""
    if isinstance(record, TextLine):
        return f" (line {record.number} of {record.path})"
    return ""
