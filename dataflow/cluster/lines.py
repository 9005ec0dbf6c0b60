"""Lines: a stretch of segments of which some may have to wait, without a thread that waits.

Where a segment would have to wait, for a token or for enough gradients, the line is left, and gone
on with by whoever makes that come: usually the thread that serves another task's message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.cluster.compiled_piece import CompiledPiece, current_step
from dataflow.cluster.pieces import run_in_thread, then_wake, try_woken, wake
from dataflow.cluster.stretches import Stretch
from dataflow.runtime.resources import Cancellation, Postponed, postponing

#: What follows a segment that has made more than this may take long.
_LIGHT_BYTES = 1 << 18


def is_line(piece: CompiledPiece, stretch: Stretch) -> bool:
    """Whether a stretch can run as a line: each of its segments can be tried, or does not block."""
    segments = piece.plan.segments
    return not piece.structured and all(
        piece.can_be_tried[n] or not segments[n].blocking for n in stretch.numbers
    )


class Line:
    """One run of a stretch. What it sends, `_end` sends.

    Invariants: a segment runs once, in its turn; `_end` or `_fail` is called once, or, after
    `cancel`, neither, and no segment begins.
    """

    __slots__ = (
        "_at",
        "_cancellation",
        "_condition",
        "_piece",
        "_read_at",
        "_slots",
        "_stopped",
        "_stretch",
        "_watcher",
    )

    def __init__(
        self, piece: CompiledPiece, stretch: Stretch, slots: list[Any], read_at: int
    ) -> None:
        self._piece = piece
        self._stretch = stretch
        self._slots = slots
        self._read_at = read_at
        self._at = 0
        self._stopped = False
        self._watcher: Callable[[], None] | None = None
        #: What it waits for.
        self._condition: Any = None
        #: Of the thread that waits, where there is one all the same.
        self._cancellation: Cancellation | None = None

    def _end(self, foreign: bool) -> None:
        """Every segment has run; ``foreign`` as for `_go_on`."""
        raise NotImplementedError

    def _fail(self, error: Exception) -> None:
        """A segment raised."""
        raise NotImplementedError

    def _hold(self) -> None:
        """The line may have to wait now."""

    def go(self) -> None:
        """Run from the beginning, on a thread that may take its time."""
        then_wake(self._go_on)

    def cancel(self) -> None:
        """Begin no further segment, and take nothing that is waited for."""
        self._stopped = True
        if self._condition is not None:
            self._condition.unwatch(self._watcher)
        if self._cancellation is not None:
            self._cancellation.cancel()

    def _go_on(self, foreign: bool = False) -> None:
        """Run until it ends or waits.

        On a ``foreign`` thread, one that serves another step, nothing is done that may take long.
        """
        piece, stretch, slots = self._piece, self._stretch, self._slots
        numbers = stretch.numbers
        try:
            while self._at < len(numbers):
                if self._stopped:
                    return
                number = numbers[self._at]
                if not piece.can_be_tried[number]:
                    piece.run_segment(number, slots, None)
                elif not self._try(number):
                    return
                self._at += 1
                if piece.updates[number]:
                    piece.session.load.updated(self._read_at)
                for slot in stretch.drops[self._at - 1]:
                    slots[slot] = None
                if foreign and piece.can_be_tried[number] and not self._goes_on_lightly(number):
                    run_in_thread(self.go)
                    return
        except Exception as error:
            if not self._stopped:
                self._stopped = True
                self._fail(error)
            return
        if not self._stopped:
            self._end(foreign)

    def _goes_on_lightly(self, number: int) -> bool:
        """Whether what follows a segment that has waited takes no time worth a thread."""
        piece, slots = self._piece, self._slots
        if self._at == len(self._stretch.numbers):
            return True
        num_bytes = sum(
            getattr(slots[slot], "nbytes", 0) or 0
            for slot in piece.plan.segments[number].output_slots
        )
        return num_bytes <= _LIGHT_BYTES and all(
            piece.is_light[n] for n in self._stretch.numbers[self._at :]
        )

    def _try(self, number: int) -> bool:
        """Run a segment that may have to wait; ``False``: the line goes on when it can."""
        try_woken()  # this thread may just have woken who brings what it waits for
        if self._watcher is None:
            self._watcher = self._wake  # one object: it is known by that
            self._hold()
        outer = postponing.callback
        postponing.callback = self._watcher
        try:
            self._piece.run_segment(number, self._slots, None)
        except Postponed as postponed:
            self._condition = postponed.condition
            if self._condition is None:
                run_in_thread(self._wait)
            elif self._stopped:
                self._condition.unwatch(self._watcher)
            return False
        finally:
            postponing.callback = outer
        return True

    def _wake(self) -> None:
        wake(self._try_again)

    def _try_again(self) -> None:
        then_wake(self._go_on, True)

    def _wait(self) -> None:
        """Run the segment on a thread of its own, which waits, and then what follows."""
        number = self._stretch.numbers[self._at]
        cancellation = self._cancellation = Cancellation()
        current_step.cancellation = cancellation
        try:
            if self._stopped:
                return
            then_wake(self._piece.run_segment, number, self._slots, None)
        except Exception as error:
            if not self._stopped:
                self._stopped = True
                self._fail(error)
            return
        finally:
            current_step.cancellation = None
        self._at += 1
        self.go()
