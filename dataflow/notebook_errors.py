"""Errors without the engine's own frames, in a notebook and in a terminal.

The message of an error says what was wrong and where the node was built; of the stack, the
learner's own lines matter. `install` has IPython, or Python itself, leave the frames of this package
out of what it shows, also in errors that led to others, and draw the node whose shapes or dtypes do
not fit. ``%tb`` shows the last error of a notebook with all of its frames, and
``DATAFLOW_TRACEBACKS=full`` in the environment leaves errors as they are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dataflow.error_picture import in_ascii, picture_svg, picture_text
from dataflow.notebook_advice import advice, tell

if TYPE_CHECKING:
    from dataflow.errors import FailedNode

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_GENERATED = "<dataflow "  # the plans that the engine compiles
#: Packages whose functions are the engine's, those that Python itself writes (of dataclasses) too.
_OURS = ("dataflow", "dataflow_widgets", "dataflow_datasets")


def install() -> None:
    """Does so in the IPython that runs this, or else in Python, unless errors are shown another way."""
    if os.environ.get("DATAFLOW_TRACEBACKS") == "full":
        return
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        if sys.excepthook is sys.__excepthook__:
            sys.excepthook = _print
    elif not shell.custom_exceptions:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _show)


def _print(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
    """What `sys.excepthook` does, for an error that came through the engine."""
    kept = without_engine(frames)
    num_hidden, restore = _hide_in_chain(error)
    num_hidden += _length(frames) - _length(kept)
    if not num_hidden:
        restore()
        sys.__excepthook__(kind, error, frames)
        return
    import traceback

    try:
        text = "".join(traceback.format_exception(kind, error, kept))
        message = "".join(traceback.format_exception_only(kind, error))
    finally:
        restore()
    # The message stays last, where everybody looks for it.
    note = f"  {_left_out(num_hidden, 'DATAFLOW_TRACEBACKS=full')}\n"
    text = text.removesuffix(message) + note + message
    if failed := _failed_node(error):
        drawn = picture_text(failed) + "\n"
        has_lines = (sys.stderr.encoding or "").lower().startswith("utf")
        text += drawn if has_lines else in_ascii(drawn)
    print(text, end="", file=sys.stderr)


def _failed_node(error: BaseException) -> FailedNode | None:
    found: FailedNode | None = getattr(error, "failed_node", None)
    return found


def _left_out(num_hidden: int, how: str) -> str:
    if num_hidden == 1:
        return f"1 frame of the engine is left out: {how} shows it."
    return f"{num_hidden} frames of the engine are left out: {how} shows them."


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
        # Of a cell that is no Python nothing ran: its frames are IPython's own, and it leaves those out.
        ran = not (isinstance(error, SyntaxError) and _are_of_ipython(kept))
        shell.showtraceback((kind, error, kept), tb_offset=tb_offset, running_compiled_code=ran)
    finally:
        restore()
    if not num_hidden:  # the engine's own errors say it themselves
        if told := advice(error, kept):
            tell(told)
        return
    sys.last_traceback = frames  # for %tb and %debug: all of them
    _tell(kind, error, frames, num_hidden)


def without_engine(frames: TracebackType | None) -> TracebackType | None:
    """The frames that are not this package's; those of functions that it called back are kept."""
    kept = [
        tb
        for tb in _each(frames)
        if not tb.tb_frame.f_code.co_filename.startswith((_PACKAGE, _GENERATED))
        and _package_of(tb) not in _OURS
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


def _are_of_ipython(frames: TracebackType | None) -> bool:
    return all(_package_of(tb) == "IPython" for tb in _each(frames))


def _package_of(tb: TracebackType) -> str:
    return str(tb.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


def _length(frames: TracebackType | None) -> int:
    return sum(1 for _ in _each(frames))


def _tell(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None, num_hidden: int
) -> None:
    import html
    import traceback

    from IPython.display import display

    words = _left_out(num_hidden, "%tb")
    text = "".join(traceback.format_exception(kind, error, frames))
    folded = (
        f"<details><summary>{html.escape(words)}</summary><pre>{html.escape(text)}</pre></details>"
    )
    if failed := _failed_node(error):
        words = f"{picture_text(failed)}\n{words}"
        folded = picture_svg(failed) + folded
    display({"text/plain": words, "text/html": folded}, raw=True)  # type: ignore[no-untyped-call]
