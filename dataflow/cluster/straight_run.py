"""A step's piece whose messages come together, on the task that serves it: no turns, one answer.

Such a piece reads (`begin`, at the end of the step before), is sent what a worker has made of that,
and answers once: with what it fetches, and with the next reads. If it has to wait before its end,
for a token, that is its last segment, and it is tried again when there is news. `PieceRun` does the
same for any piece and in any order of messages; it does the steps that are not of this kind, and
those that were not begun ahead.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.cluster.channel import Link
from dataflow.cluster.compiled_piece import CompiledPiece
from dataflow.cluster.messages import Kind, ProtocolError
from dataflow.cluster.pieces import check_alive, run_in_thread, then_wake, wake
from dataflow.cluster.remote_errors import describe_error
from dataflow.cluster.step_flags import AHEAD, LAST
from dataflow.cluster.stretches import first_stretch, next_stretch, run_stretch, take_in
from dataflow.errors import UnavailableError
from dataflow.runtime.resources import Postponed, postponing

if TYPE_CHECKING:
    from dataflow.cluster.worker_service import Registered, WorkerService

#: Segments that may wait for something to be there; they can be called again when it is.
_TAKES = re.compile(r"^QueueDequeue|AccumulatorTakeGradient$")
#: An answer in a frame of up to this size finds room in the socket, whoever's thread sends it.
_SMALL_BYTES = 1 << 14


class Course:
    """The way of a piece that has no turns: what it reads, and what it does with the answer."""

    def __init__(self, piece: CompiledPiece, home: str) -> None:
        plan = piece.plan
        self.piece = piece
        self.reads = first_stretch(piece)
        self.read_slots = [slot for _, _, slots in self.reads.sends for slot in slots]
        self.rest = next_stretch(piece, self.reads, range(len(plan.channels)))
        self.in_slots = [slot for slots, _ in plan.channels for slot in slots]
        blocking = [n for n in self.rest.numbers if plan.segments[n].blocking]
        #: The segment that may have to wait, if there is one: the last.
        self.waits = blocking[0] if blocking else None
        last = self.rest.numbers[-1:]
        sends = plan.segments[last[0]].transfers if last else []
        self.channel = sends[0][1] if sends else None
        self.out_slots = [*(sends[0][2] if sends else ()), *plan.fetch_slots]
        self.is_straight = (
            not any(self.rest.pending)
            and bool(last)
            and blocking in ([], last)
            and all(piece.can_be_tried[n] for n in blocking)
            and not any(
                plan.segments[n].blocking
                != any(_TAKES.search(op.type) for op in plan.segments[n].ops)
                for n in self.rest.numbers
            )
            and not piece.structured
            and not plan.feed_slots
            and not any(plan.segments[n].blocking for n in self.reads.numbers)
            and self.rest.sends == list(sends)
            and len(sends) <= 1
            and all(task == home for task, _, _ in (*sends, *self.reads.sends))
        )


class Begun:
    """A step whose reads were done before anybody asked for it."""

    __slots__ = ("read_at", "registered", "slots")

    def __init__(self, registered: Registered, slots: list[Any], read_at: int) -> None:
        self.registered = registered
        self.slots = slots
        self.read_at = read_at


def begin(registered: Registered) -> tuple[Begun, list[Any]] | None:
    """Do the reads of a step; return it, and them. ``None`` where that fails, or is slowed down.

    The answer to a gradient then brings the new parameters. The master decides whether it uses
    them; if not, nothing has happened: only reads are done ahead.
    """
    course = registered.course
    piece = course.piece
    load = piece.session.load
    if load.delay_seconds:
        return None
    piece.count_run()
    slots: list[Any] = [None] * piece.plan.num_slots
    begun = Begun(registered, slots, load.num_updates)
    try:
        run_stretch(piece, course.reads, slots, begun.read_at)
        reads = [slots[slot] for slot in course.read_slots]
        if piece.structured:
            for value in reads:
                check_alive(value)
    except Exception:
        return None  # the step will say so when it is asked for
    for slot in course.reads.sent:
        slots[slot] = None
    return begun, reads


class StraightRun:
    """The rest of a step that was begun: from its messages to its answer.

    Invariants: the master hears of the end once, by DONE, DATA with LAST, or ERROR; nothing begins
    after `cancel`, and nothing is told.
    """

    __slots__ = ("_begun", "_condition", "_link", "_service", "_step", "_stopped", "_watcher")

    def __init__(self, service: WorkerService, begun: Begun, link: Link, step: int) -> None:
        self._service = service
        self._begun = begun
        self._link = link
        self._step = step
        self._stopped = False
        self._watcher: Callable[[], None] | None = None
        self._condition: Any = None

    def go(self, tensors: list[Any]) -> None:
        """Take the messages, which are given away, and go on to the end or to where it waits."""
        if then_wake(self._go, tensors):
            if self._begun.registered.course.waits is None:
                self._answer()
            else:
                self._watcher = self._wake  # one object: it is known by that
                self._service.keep(self._step, self, self._link)
                self._try()

    def _go(self, tensors: list[Any]) -> bool:
        begun = self._begun
        course = begun.registered.course
        try:
            take_in(begun.slots, course.in_slots, tensors)
            # What came through memory that the sender wants to use again must go when it was used.
            tensors.clear()
            count = None if course.waits is None else -1
            run_stretch(course.piece, course.rest, begun.slots, begun.read_at, count)
        except Exception as error:
            self._fail(error)
            return False
        return True

    def _try(self, foreign: bool = False) -> None:
        """Do the last segment, which may have to wait, and answer.

        On a ``foreign`` thread, one that serves another step, nothing is done that may take long.
        """
        outer = postponing.callback
        postponing.callback = self._watcher
        try:
            then_wake(self._take)
        except Postponed as postponed:
            self._condition = postponed.condition
            if self._stopped:
                self.cancel()
            return
        except Exception as error:
            self._fail(error)
            return
        finally:
            postponing.callback = outer
        if foreign and not self._link.may_share and self._link.largest_sent > _SMALL_BYTES:
            run_in_thread(self._answer)
        else:
            self._answer()

    def _take(self) -> None:
        begun = self._begun
        course = begun.registered.course
        if not self._stopped:
            assert course.waits is not None
            course.piece.run_segment(course.waits, begun.slots, None)

    def _wake(self) -> None:
        wake(self._try_there)

    def _try_there(self) -> None:
        if not self._stopped:
            self._try(foreign=True)

    def _answer(self) -> None:
        if self._stopped:
            return
        course, slots, link = self._begun.registered.course, self._begun.slots, self._link
        if self._watcher is not None:
            self._service.forget(self._step)
        tensors = [slots[slot] for slot in course.out_slots]
        slots.clear()
        flags = 0
        ahead = begin(self._begun.registered)
        if ahead is not None:
            link.ahead, reads = ahead
            tensors += reads
            del ahead, reads
            flags = AHEAD
        try:
            if course.channel is not None:
                link.send(Kind.DATA, course.channel, self._step, tensors, None, flags | LAST)
            else:
                count = len(course.piece.plan.fetch_slots)
                link.send(Kind.DONE, count, self._step, tensors, None, flags)
        except UnavailableError:
            pass  # the master is gone
        except Exception as error:
            self._fail(error)

    def cancel(self) -> None:
        """Begin nothing more, and take no token."""
        self._stopped = True
        if self._condition is not None:
            self._condition.unwatch(self._watcher)

    def deliver(self, channel: int, tensors: Any, elsewhere: bool = False) -> None:
        """A step that has all of its messages gets no other."""
        raise ProtocolError(f"step {self._step} was sent a tensor, and had all of them")

    def _fail(self, error: Exception) -> None:
        if self._stopped:
            return
        self._stopped = True
        self._service.forget(self._step)
        self._link.ahead = None
        try:
            head = describe_error(error, self._service.task)
            self._link.send(Kind.ERROR, 0, self._step, head=head)
        except UnavailableError:
            pass  # the master is gone; nobody wants to know any more
