"""Lines: a stretch of segments of which some may have to wait, without a thread that waits.

Where a segment would have to wait, for a token or for enough gradients, the line is left, and gone
on with by whoever makes that come: usually the thread that serves another task's message.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from dataflow.cluster.compiled_piece import CompiledPiece, current_step
from dataflow.cluster.pieces import run_in_thread, then_wake, try_woken, wake
from dataflow.cluster.stretches import Stretch, runner
from dataflow.runtime.resources import Cancellation, Postponed, postponing

#: What follows a segment that has made more than this may take long.
_LIGHT_BYTES = 1 << 18


def is_line(piece: CompiledPiece, stretch: Stretch) -> bool:
    """Whether a stretch can run as a line: each of its segments can be tried, or does not block."""
    segments = piece.plan.segments
    return not piece.structured and all(
        piece.can_be_tried[n] or not segments[n].blocking for n in stretch.numbers
    )


class Wait(NamedTuple):
    """What a segment waits for that is given ``handle`` in a slot: trying is no use until `ready`."""

    slot: int
    handle: Any
    condition: Any
    ready: Callable[[], bool]


class Part:
    """One segment of a line that may have to wait, or all of them up to the next such one.

    ``run(slots, read_at)`` as of `runner`; ``made`` are the slots that it fills. ``rest_is_light``:
    whether what follows takes no longer than the bytes that it is given; ``None``: nothing follows.
    ``handle_slot``: of the only thing that says what the segment waits for; ``wait`` is the last.
    """

    __slots__ = ("handle_slot", "made", "may_wait", "rest_is_light", "run", "wait")

    def __init__(self, piece: CompiledPiece, stretch: Stretch, part: slice) -> None:
        members, rest = stretch.numbers[part], stretch.numbers[part.stop :]
        segments = piece.plan.segments
        self.run = runner(piece, stretch, part)
        self.may_wait = piece.can_be_tried[members[0]]
        self.made = [slot for n in members for slot in segments[n].output_slots]
        self.rest_is_light = all(piece.is_light[n] for n in rest) if rest else None
        inputs = segments[members[0]].input_slots
        self.handle_slot = inputs[0] if self.may_wait and len(inputs) == 1 else None
        self.wait: Wait | None = None


def parts_of(piece: CompiledPiece, stretch: Stretch) -> list[Part]:
    """The parts of a stretch that `is_line`, in order."""
    numbers = stretch.numbers
    parts, at = [], 0
    # Each segment that may wait is a group of its own; what lies between two is one.
    for _, group in itertools.groupby(numbers, lambda n: piece.can_be_tried[n] and (n,)):
        end = at + len(list(group))
        parts.append(Part(piece, stretch, slice(at, end)))
        at = end
    return parts


class Line:
    """One run of a stretch. What it sends, `_end` sends.

    Invariants: a part runs once, in its turn; `_end` or `_fail` is called once, or, after
    `cancel`, neither, and no part begins.
    """

    __slots__ = (
        "_at",
        "_cancellation",
        "_condition",
        "_parts",
        "_read_at",
        "_slots",
        "_stopped",
        "_watcher",
    )

    def __init__(self, parts: list[Part], slots: list[Any], read_at: int) -> None:
        self._parts = parts
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
        """Every part has run; ``foreign`` as for `_go_on`."""
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
        """Begin no further part, and take nothing that is waited for."""
        self._stopped = True
        if self._condition is not None:
            self._condition.unwatch(self._watcher)
        if self._cancellation is not None:
            self._cancellation.cancel()

    def _go_on(self, foreign: bool = False) -> None:
        """Run until it ends or waits.

        On a ``foreign`` thread, one that serves another step, nothing is done that may take long.
        """
        parts, at = self._parts, self._at
        try:
            while at < len(parts):
                if self._stopped:
                    return
                part = parts[at]
                if not part.may_wait:
                    part.run(self._slots, self._read_at)
                elif not self._try(part):
                    return
                at = self._at = at + 1
                if foreign and part.may_wait and part.rest_is_light is not None:
                    if not self._goes_on_lightly(part):
                        run_in_thread(self.go)
                        return
        except Exception as error:
            if not self._stopped:
                self._stopped = True
                self._fail(error)
            return
        if not self._stopped:
            self._end(foreign)

    def _goes_on_lightly(self, part: Part) -> bool:
        """Whether what follows a segment that has waited takes no time worth a thread."""
        num_bytes = 0
        for slot in part.made:
            num_bytes += getattr(self._slots[slot], "nbytes", 0) or 0
        return bool(part.rest_is_light) and num_bytes <= _LIGHT_BYTES

    def _try(self, part: Part) -> bool:
        """Run a segment that may have to wait; ``False``: the line goes on when it can."""
        try_woken()  # this thread may just have woken who brings what it waits for
        if self._watcher is None:
            self._watcher = self._wake  # one object: it is known by that
            self._hold()
        wait = part.wait
        if wait is not None and self._slots[wait.slot] is wait.handle:
            with wait.condition.lock:
                if not wait.ready():
                    wait.condition.watch(self._watcher, wait.ready)
                    self._waits_for(wait.condition)
                    return False
        outer = postponing.callback
        postponing.callback = self._watcher
        try:
            part.run(self._slots, self._read_at)
        except Postponed as postponed:
            condition = postponed.condition
            if condition is None:
                run_in_thread(self._wait)
                return False
            if part.handle_slot is not None:
                handle = self._slots[part.handle_slot]
                part.wait = Wait(part.handle_slot, handle, condition, postponed.ready)
            self._waits_for(condition)
            return False
        finally:
            postponing.callback = outer
        return True

    def _waits_for(self, condition: Any) -> None:
        self._condition = condition
        if self._stopped:
            condition.unwatch(self._watcher)

    def _wake(self) -> None:
        wake(self._try_again)

    def _try_again(self) -> None:
        then_wake(self._go_on, True)

    def _wait(self) -> None:
        """Run the segment on a thread of its own, which waits, and then what follows."""
        part = self._parts[self._at]
        cancellation = self._cancellation = Cancellation()
        current_step.cancellation = cancellation
        try:
            if self._stopped:
                return
            then_wake(part.run, self._slots, self._read_at)
        except Exception as error:
            if not self._stopped:
                self._stopped = True
                self._fail(error)
            return
        finally:
            current_step.cancellation = None
        self._at += 1
        self.go()
