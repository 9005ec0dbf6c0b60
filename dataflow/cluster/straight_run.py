"""A step's piece whose messages come together, on the task that serves it: no turns, one answer.

Such a piece reads (`begin`, at the end of the step before), is sent what a worker has made of that,
and answers once: with what it fetches, and with the next reads. If it has to wait before its end,
for a token, that is its last segment, and it is tried again when there is news. `PieceRun` does the
same for any piece and in any order of messages; it does the steps that are not of this kind, and
those that were not begun ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.cluster.channel import Link
from dataflow.cluster.compiled_piece import CompiledPiece
from dataflow.cluster.lines import Line, is_line, parts_of
from dataflow.cluster.messages import Kind, ProtocolError
from dataflow.cluster.pieces import check_alive, run_in_thread
from dataflow.cluster.remote_errors import describe_error
from dataflow.cluster.step_flags import AHEAD, LAST
from dataflow.cluster.stretches import first_stretch, next_stretch, runner, take_in
from dataflow.errors import UnavailableError

if TYPE_CHECKING:
    from dataflow.cluster.worker_service import Registered, WorkerService

#: An answer in a frame of up to this size finds room in the socket, whoever's thread sends it.
_SMALL_BYTES = 1 << 14


class Course:
    """The way of a piece that has no turns: what it reads, and what it does with the answer."""

    def __init__(self, piece: CompiledPiece, home: str) -> None:
        plan = piece.plan
        self.piece = piece
        self.reads = first_stretch(piece)
        read_slots = [slot for _, _, slots in self.reads.sends for slot in slots]
        self.run_reads = runner(piece, self.reads, results=read_slots)
        self.rest = next_stretch(piece, self.reads, range(len(plan.channels)))
        self.in_slots = [slot for slots, _ in plan.channels for slot in slots]
        last = self.rest.numbers[-1:]
        sends = plan.segments[last[0]].transfers if last else []
        self.channel = sends[0][1] if sends else None
        self.out_slots = [*(sends[0][2] if sends else ()), *plan.fetch_slots]
        self.is_straight = (
            bool(last)
            and not any(self.rest.pending)
            and not plan.feed_slots
            and not any(plan.segments[n].blocking for n in self.reads.numbers)
            and is_line(piece, self.rest)
            and self.rest.sends == list(sends)
            and len(sends) <= 1
            and all(task == home for task, _, _ in (*sends, *self.reads.sends))
        )
        self.parts = parts_of(piece, self.rest) if self.is_straight else []


class Begun:
    """A step whose reads were done before anybody asked for it."""

    __slots__ = ("read_at", "registered", "slots")

    def __init__(self, registered: Registered, slots: list[Any], read_at: int) -> None:
        self.registered = registered
        self.slots = slots
        self.read_at = read_at


def begin(registered: Registered, link: Link) -> tuple[Begun, list[Any]] | None:
    """Do the reads of a step of the master on a link; return it, and them.

    ``None`` where that fails, or is slowed down.

    The answer to a gradient then brings the new parameters. The master decides whether it uses
    them; if not, nothing has happened: only reads are done ahead.
    """
    course = registered.course
    piece = course.piece
    load = piece.session.load
    if load.delay_seconds:
        return None
    if piece.is_new:
        piece.count_run()
    slots = piece.new_slots(link)
    begun = Begun(registered, slots, load.num_updates)
    try:
        reads = course.run_reads(slots, begun.read_at)
        if piece.structured:
            for value in reads:
                check_alive(value)
    except Exception:
        return None  # the step will say so when it is asked for
    for slot in course.reads.sent:
        slots[slot] = None
    return begun, reads


class StraightRun(Line):
    """The rest of a step that was begun: from its messages to its answer.

    The master hears of the end once, by DONE, DATA with LAST, or ERROR; after `cancel` it is told
    nothing.
    """

    __slots__ = ("_link", "_registered", "_service", "_step")

    def __init__(
        self, service: WorkerService, begun: Begun, link: Link, step: int, tensors: list[Any]
    ) -> None:
        """Take the messages, which are given away."""
        registered = begun.registered
        course = registered.course
        super().__init__(course.parts, begun.slots, begun.read_at)
        self._service = service
        self._registered = registered
        self._link = link
        self._step = step
        take_in(begun.slots, course.in_slots, tensors)
        # What came through memory that the sender wants to use again must go when it was used.
        tensors.clear()

    def deliver(self, channel: int, tensors: Any, elsewhere: bool = False) -> None:
        """A step that has all of its messages gets no other."""
        raise ProtocolError(f"step {self._step} was sent a tensor, and had all of them")

    def _hold(self) -> None:
        self._service.keep(self._step, self, self._link)

    def _end(self, foreign: bool) -> None:
        link = self._link
        if foreign and not link.may_share and link.largest_sent > _SMALL_BYTES:
            run_in_thread(self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        registered, slots, link = self._registered, self._slots, self._link
        course = registered.course
        if self._watcher is not None:
            self._service.forget(self._step)
        tensors = [slots[slot] for slot in course.out_slots]
        slots.clear()
        flags = 0
        ahead = begin(registered, link)
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

    def _fail(self, error: Exception) -> None:
        self._service.forget(self._step)
        self._link.ahead = None
        try:
            head = describe_error(error, self._service.task)
            self._link.send(Kind.ERROR, 0, self._step, head=head)
        except UnavailableError:
            pass  # the master is gone; nobody wants to know any more
