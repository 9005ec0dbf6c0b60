"""Errors in a notebook without the engine's own frames.

The message of an error says what was wrong and where the node was built; of the stack, the
learner's own lines matter. `install` has IPython leave the frames of this package out of what it
shows, also in errors that led to others; ``%tb`` shows the last error with all of them, and
``DATAFLOW_TRACEBACKS=full`` in the environment leaves errors as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_GENERATED = "<dataflow "  # the plans that the engine compiles


def install() -> None:
    """Does so in the IPython that runs this, if one does, unless it shows errors its own way."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or shell.custom_exceptions or os.environ.get("DATAFLOW_TRACEBACKS") == "full":
        return
    shell.set_custom_exc((Exception, KeyboardInterrupt), _show)


def _show(
    shell: Any,
    kind: type[BaseException],
    error: BaseException,
    frames: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    kept = without_engine(frames)
    num_hidden, restore = _hide_in_chain(error)
    num_hidden += _length(frames) - _length(kept)
    try:
        shell.showtraceback((kind, error, kept), tb_offset=tb_offset, running_compiled_code=True)
    finally:
        restore()
    if not num_hidden:
        return
    sys.last_traceback = frames  # for %tb and %debug: all of them
    _tell(kind, error, frames, num_hidden)


def without_engine(frames: TracebackType | None) -> TracebackType | None:
    """The frames that are not this package's; those of functions that it called back are kept."""
    kept = [
        tb
        for tb in _each(frames)
        if not tb.tb_frame.f_code.co_filename.startswith((_PACKAGE, _GENERATED))
    ]
    result = None
    for tb in reversed(kept):
        result = TracebackType(result, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return result


def _hide_in_chain(error: BaseException) -> tuple[int, Callable[[], None]]:
    """Takes the engine's frames out of what led to an error; how many, and what puts them back.

    An error that was raised and handled inside of the engine is not shown at all: the one that it
    led to says the same, and which node it was.
    """
    changed: list[tuple[BaseException, BaseException | None, bool, Any]] = []
    num_hidden = 0
    one: BaseException | None = error
    while one is not None and all(one is not other for other, *_ in changed):
        changed.append((one, one.__cause__, one.__suppress_context__, one.__traceback__))
        before = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        if one is not error:
            num_hidden += _length(one.__traceback__)
            one.__traceback__ = without_engine(one.__traceback__)
            num_hidden -= _length(one.__traceback__)
        if before is not None and without_engine(before.__traceback__) is None:
            num_hidden += _length(before.__traceback__)
            one.__cause__ = None  # which suppresses the context too
            break
        one = before

    def restore() -> None:
        for one, cause, suppress, frames in changed:
            one.__cause__ = cause
            one.__suppress_context__ = suppress
            one.__traceback__ = frames

    return num_hidden, restore


def _each(frames: TracebackType | None) -> Iterator[TracebackType]:
    while frames is not None:
        yield frames
        frames = frames.tb_next


def _length(frames: TracebackType | None) -> int:
    return sum(1 for _ in _each(frames))


def _tell(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None, num_hidden: int
) -> None:
    import html
    import traceback

    from IPython.display import display

    words = f"{num_hidden} frames of the engine are left out: %tb shows them."
    if num_hidden == 1:
        words = "1 frame of the engine is left out: %tb shows it."
    text = "".join(traceback.format_exception(kind, error, frames))
    folded = (
        f"<details><summary>{html.escape(words)}</summary><pre>{html.escape(text)}</pre></details>"
    )
    display({"text/plain": words, "text/html": folded}, raw=True)  # type: ignore[no-untyped-call]
