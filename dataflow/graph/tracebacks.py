"""Where a node was made: the user's frames, taken cheaply when the node is built."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MAX_FRAMES = 3

#: For each code object seen, by its id: is it the engine's own, and which notebook cell does it
#: come from? (The hash of a code object takes longer the longer the code is.)
_internal: dict[int, bool] = {}
_cells: dict[int, int | None] = {}
#: They stay, so that no id is given to another.
_codes: list[CodeType] = []

#: Code and position in its bytecode, in turn, innermost first. The position is had at once; the line
#: would be looked for from the start of the code, for each node. A negative position is the line
#: itself. (One flat tuple, which holds nothing that the collector of cycles follows.)
RawFrames = tuple[Any, ...]
#: Stands for the frames as they are when they are looked at: eager code fails where it is.
LIVE: RawFrames = ("live", 0)


class Frame(NamedTuple):
    """One frame of the user's code."""

    filename: str
    lineno: int
    name: str
    cell: int | None

    def __str__(self) -> str:
        if self.cell is not None:
            notebook = notebook_name()
            where = f"{notebook}, cell {self.cell}" if notebook else f"cell {self.cell}"
            return f"{where}, line {self.lineno}"
        return f"{os.path.relpath(self.filename) if _is_below(self.filename) else self.filename}, line {self.lineno}"


def _is_below(filename: str) -> bool:
    try:
        return os.path.abspath(filename).startswith(os.getcwd() + os.sep)
    except OSError:
        return False


def notebook_name() -> str | None:
    """File name of the notebook that runs this kernel, where Jupyter tells it."""
    session = os.environ.get("JPY_SESSION_NAME", "")
    return os.path.basename(session) if session.endswith(".ipynb") else None


def _cell_number(code: CodeType) -> int | None:
    filename = code.co_filename
    if "ipykernel_" not in filename and not filename.startswith("<ipython-input"):
        return None
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # The compiler's own table: while a cell runs, `execution_count` is that of the next one in
    # newer IPythons.
    table = getattr(getattr(shell, "compile", None), "_filename_map", {})
    number = table.get(filename, getattr(shell, "execution_count", None))
    return number if isinstance(number, int) else None


def _classify(code: CodeType) -> bool:
    filename = code.co_filename
    internal = filename.startswith(_PACKAGE) or filename.endswith("contextlib.py")
    _codes.append(code)
    _internal[id(code)] = internal
    if not internal:
        _cells[id(code)] = _cell_number(code)
    return internal


def capture() -> RawFrames:
    """The innermost frames that are not the engine's own, innermost first."""
    return _captured(sys._getframe(2))


def _captured(frame: Any) -> RawFrames:
    known = _internal
    while frame is not None:
        code = frame.f_code
        internal = known.get(id(code))
        if internal is None:
            internal = _classify(code)
        if not internal:
            break
        frame = frame.f_back
    frames: list[Any] = []
    while frame is not None and len(frames) < 2 * _MAX_FRAMES:
        code = frame.f_code
        if id(code) not in known:
            _classify(code)
        frames += (code, frame.f_lasti)
        frame = frame.f_back
    return tuple(frames)


def _pairs(raw: RawFrames) -> list[tuple[CodeType, int]]:
    return list(zip(raw[::2], raw[1::2], strict=True))


#: Lines by the identity of the code, which is kept with them: equal code may have other lines.
_lines: dict[tuple[int, int], tuple[CodeType, int]] = {}
_MOST_LINES = 4096


def _line_of(code: CodeType, position: int) -> int:
    if position < 0:
        return -position
    known = _lines.get((id(code), position))
    if known is not None:
        return known[1]
    found = code.co_firstlineno
    for start, end, line in code.co_lines():
        if start <= position < end and line is not None:
            found = line
            break
    if len(_lines) >= _MOST_LINES:
        _lines.clear()
    _lines[id(code), position] = code, found
    return found


def frames_of(raw: RawFrames) -> list[Frame]:
    """The captured frames in readable form, outermost first as in a Python traceback."""
    if raw is LIVE:
        raw = _captured(sys._getframe(1))
    return [
        Frame(code.co_filename, _line_of(code, position), code.co_name, _cells.get(id(code)))
        for code, position in reversed(_pairs(raw))
        if not _internal.get(id(code), False)
    ]


def innermost(raw: RawFrames) -> Frame | None:
    """The innermost frame of the user's code, in readable form; None if there is none."""
    if raw is LIVE:
        raw = _captured(sys._getframe(1))
    for i in range(0, len(raw), 2):
        code, position = raw[i], raw[i + 1]
        if not _internal.get(id(code), False):
            cell = _cells.get(id(code))
            return Frame(code.co_filename, _line_of(code, position), code.co_name, cell)
    return None


def where(raw: RawFrames) -> str:
    """``03_mnist.ipynb, cell 4, line 7``: the innermost frame of the user's code."""
    frame = innermost(raw)
    return "an unknown place" if frame is None else str(frame)
