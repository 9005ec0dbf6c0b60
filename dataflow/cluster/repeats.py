"""A step that its task begins again by itself, until its master says that it is enough.

A step that lies wholly on one task, and brings nothing back, needs no master between one time and
the next. The step that a synchronous chief makes again and again (take the averages, apply them,
hand out tokens) is of this kind: a trip to the chief and back for each of them cost as much
processor time as a worker's whole step.

The master asks now and then how often the step was done (PING, answered by PONG), so that it
notices a step that does not get on; CANCEL lets the task finish the time that it is at.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dataflow.cluster.channel import Link
from dataflow.cluster.compiled_piece import CompiledPiece
from dataflow.cluster.lines import Line, Part, is_line, parts_of
from dataflow.cluster.messages import Kind, ProtocolError
from dataflow.cluster.pieces import PieceRun, run_in_thread, run_later
from dataflow.cluster.remote_errors import describe_error
from dataflow.cluster.stretches import first_stretch

if TYPE_CHECKING:
    from dataflow.cluster.worker_service import WorkerService

#: How often the master asks, and looks whether it is to end.
REPORT_SECONDS = 0.1


class RepeatedStep:
    """One step's piece, run again and again; where each run's end is told.

    Invariants: one run at a time; after `cancel` none begins; the master hears of the end once, by
    DONE after `finish`, or by ERROR.
    """

    def __init__(self, service: WorkerService, piece: CompiledPiece, link: Link, step: int) -> None:
        self.count = 0
        self._service = service
        self._piece = piece
        self._link = link
        self._step = step
        self._run: PieceRun | _RepeatedLine | None = None
        stretch = first_stretch(piece)
        self._parts: list[Part] | None = None
        if is_line(piece, stretch) and not any(stretch.pending):
            self._parts = parts_of(piece, stretch)
        self._beginning = False
        self._done = False
        self._finishing = False
        self._cancelled = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Run the step, and again as long as it comes to its end at once."""
        while True:
            run = self._new_run()
            with self._lock:
                if self._cancelled:
                    return
                self._run = run
                self._beginning, self._done = True, False
            if isinstance(run, PieceRun):
                run.start(())
            else:
                run.go()
            with self._lock:
                self._beginning = False
                if not self._done:
                    return  # it waits; whoever ends it begins the next

    def _new_run(self) -> PieceRun | _RepeatedLine:
        piece, parts = self._piece, self._parts
        if parts is None or piece.session.load.delay_seconds:
            return PieceRun(piece, self._step, self)
        if piece.is_new:
            piece.count_run()
        return _RepeatedLine(self, piece, parts)

    def finish(self) -> None:
        """Let the run that is in progress be the last."""
        self._finishing = True

    def cancel(self) -> None:
        """Begin nothing more, and give up what is in progress."""
        with self._lock:
            self._cancelled = True
            run = self._run
        if run is not None:
            run.cancel()

    def deliver(self, channel: int, tensors: Sequence[Any], elsewhere: bool = False) -> None:
        """A step that lies wholly on one task gets no messages."""
        raise ProtocolError(f"step {self._step} repeats itself, and was sent a tensor")

    # The runs' transport

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        """Never called, as nothing leaves the task."""
        raise AssertionError("a step that repeats itself has something to send")

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        """One run has ended: begin the next, on this thread if it is not held up by that."""
        self.count += 1
        self._service.num_steps += 1
        if self._finishing:
            self._service.forget(self._step)
            self._link.send(Kind.DONE, 0, self._step)
            return
        with self._lock:
            if self._beginning:
                self._done = True
                return
        if self._piece.is_quick:
            run_later(self.begin)  # those that wait for what was done go first
        else:
            run_in_thread(self.begin)

    def failed(self, error: Exception) -> None:
        """A run raised: that is the step's end."""
        service = self._service
        service.forget(self._step)
        if not self._link.closed:
            self._link.send(Kind.ERROR, 0, self._step, head=describe_error(error, service.task))


class _RepeatedLine(Line):
    """One run of a step that has no turns."""

    __slots__ = ("_owner",)

    def __init__(self, owner: RepeatedStep, piece: CompiledPiece, parts: list[Part]) -> None:
        super().__init__(parts, piece.new_slots(), piece.session.load.num_updates)
        self._owner = owner

    def _end(self, foreign: bool) -> None:
        self._owner.done([], ())

    def _fail(self, error: Exception) -> None:
        self._owner.failed(error)
