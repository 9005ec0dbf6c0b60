"""Running a piece: compiled segments, woken by messages.

A `CompiledPiece` belongs to a task and a session; a `PieceRun` is one step of it. Whoever delivers
the last message that a segment waits for runs it, so that the usual step costs no thread switch;
segments that may block run on threads of their own.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

import numpy as np

from dataflow.cluster.task_load import TaskLoad
from dataflow.errors import InvalidArgumentError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.blas import single_threaded
from dataflow.kernels.xp import array_module, gpus
from dataflow.placement.groups import reference_inputs
from dataflow.placement.placer import local_devices, pin_within_task, place
from dataflow.placement.transfers import Placed, insert_copies
from dataflow.rewrites.switches import Switches
from dataflow.runtime.codegen import ALIASES, DEAD, VARIABLES, GeneratedPlan, Generator
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.control_structure import CONTROL_OPS
from dataflow.runtime.plan import CALLS_BLAS, Plan, explain_error
from dataflow.runtime.resources import Cancellation, Postponed, ResourceManager, postponing
from dataflow.runtime.stepper import _keep

#: Results up to this size are sent on whatever thread made them possible: the socket has room.
_SMALL_BYTES = 1 << 14
#: Ops that can be tried, and tried again when what they wait for changes.
_CAN_BE_TRIED = re.compile(r"^Queue(Dequeue|Enqueue)|AccumulatorTakeGradient$")
#: What may stand beside one in its segment: looking up queues, accumulators and variables.
_LOOKS_UP = re.compile(r"Queue(V2)?$|ConditionalAccumulator$|^(Const|Identity|VariableV2)$")


class _Local(threading.local):
    cancellation: Cancellation | None = None
    #: Segments that what runs on this thread has made worth another try.
    woken: list[tuple[PieceRun, int]] | None = None


_local = _Local()


class StepCancellation:
    """The cancellation that kernels see: that of the step which the calling thread is running."""

    @property
    def cancelled(self) -> bool:
        """Whether the step has been given up."""
        current = _local.cancellation
        return current is not None and current.cancelled

    def register(self, callback: Callable[[], None]) -> int:
        """Call ``callback`` when the step is given up."""
        current = _local.cancellation
        return 0 if current is None else current.register(callback)

    def unregister(self, token: int) -> None:
        """Undo `register`."""
        current = _local.cancellation
        if current is not None:
            current.unregister(token)


class TaskSession:
    """What kernels see as their session: the task's resources and the state of stateful ops."""

    def __init__(self, resources: ResourceManager, load: TaskLoad | None = None) -> None:
        self.load = load or TaskLoad()
        self._resources = resources
        self._cancellation = StepCancellation()
        # Functions within a node (those of datasets) are planned here, as in a session of their own.
        # What a client's session asks for is not known here: nodes without a kernel go to the CPU.
        self._config = ConfigProto(allow_soft_placement=True)
        self._local_devices = local_devices(self._config, num_gpus=len(gpus()))
        self._has_gpu = len(self._local_devices) > 1
        self._rewrite_switches = Switches.from_config(self._config)
        self._states: dict[str, dict[str, Any]] = {}

    def _op_state(self, op_name: str) -> dict[str, Any]:
        return self._states.setdefault(op_name, {})


class SegmentPlan(NamedTuple):
    """What `Segment` says, in the form in which it arrives at a task."""

    ops: Sequence[Operation]
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    input_slots: Sequence[int]
    output_slots: Sequence[int]
    num_pending: int
    followers: Sequence[int]
    transfers: Sequence[tuple[str, int, Sequence[int]]]  # task, channel, slots
    blocking: bool


class PiecePlan(NamedTuple):
    """What `Piece` says, in the form in which it arrives at a task."""

    segments: Sequence[SegmentPlan]
    channels: Sequence[tuple[Sequence[int], Sequence[int]]]  # slots, segments that it wakes
    feed_slots: Sequence[int]
    fetch_slots: Sequence[int]
    num_slots: int


class CompiledPiece:
    """The functions of a piece's segments, and the tables that say who follows whom."""

    def __init__(self, plan: PiecePlan, session: TaskSession) -> None:
        self.plan = plan
        self.session = session
        self._binder: Any = _Binder(session)
        self._placed = [self._binder.place(s) for s in plan.segments]
        self.generated = [self._binder.generate(placed) for placed in self._placed]
        self.functions = [generated.function for generated in self.generated]
        self.pending = [s.num_pending for s in plan.segments]
        self.initial = [n for n, s in enumerate(plan.segments) if not s.num_pending]
        self.num_blocking = sum(s.blocking for s in plan.segments)
        #: Blocking segments that need no thread of their own to wait on.
        self.can_be_tried = [s.blocking and _can_be_tried(s.ops) for s in plan.segments]
        #: There are branches, and values of those not taken.
        self.structured = any(
            op.type in CONTROL_OPS for segment in plan.segments for op in segment.ops
        )
        self.releases = _releases(plan)
        #: Several tasks share a machine: BLAS's threads, which wait for each other in loops, would
        #: take each other's processors (a step of 0.5 ms took 40 ms with them).
        self._scopes: list[Callable[[], Any]] = [
            single_threaded
            if any(op.type in CALLS_BLAS for op in segment.ops)
            else contextlib.nullcontext
            for segment in plan.segments
        ]
        #: Segments that change variables with what came from elsewhere, after others have read.
        self.updates = (
            [bool(s.num_pending) and _changes_variables(s.ops) for s in plan.segments]
            if any(not s.num_pending and _reads_variables(s.ops) for s in plan.segments)
            else [False] * len(plan.segments)
        )
        #: Nothing in it blocks: whatever is ready can run on the thread that finds it so.
        self.is_plain = not self.num_blocking
        self._traced: dict[int, GeneratedPlan] = {}

    def _traced_segment(self, number: int) -> GeneratedPlan:
        found = self._traced.get(number)
        if found is None:
            found = self._binder.generate(self._placed[number], trace=True)
            self._traced[number] = found
        return found

    def run_segment(self, number: int, slots: list[Any], recorder: Recorder | None) -> None:
        """Run one segment on the values in ``slots``. Raises an error that names the node.

        The calling thread ignores floating-point warnings (`numpy.seterr`).
        """
        segment = self.plan.segments[number]
        arguments = [slots[slot] for slot in segment.input_slots]
        generated = self.generated[number]
        function = self.functions[number]
        if recorder is not None:
            generated = self._traced_segment(number)
            function = functools.partial(
                generated.function, recorder.hook(self._placed[number].ops)
            )
        try:
            with self._scopes[number]():
                results = function(*arguments)
        except Exception as error:
            raise explain_error(error, generated, self._placed[number].origin) from error
        if results:
            for slot, value in zip(segment.output_slots, results, strict=True):
                slots[slot] = value


def _can_be_tried(ops: Sequence[Operation]) -> bool:
    tried = [op for op in ops if _CAN_BE_TRIED.search(op.type)]
    return len(tried) == 1 and all(op in tried or _LOOKS_UP.search(op.type) for op in ops)


def _changes_variables(ops: Sequence[Operation]) -> bool:
    return any(
        tensor.dtype.is_ref and tensor.dtype.base_dtype.kind != "x"
        for op in ops
        if op.type not in ALIASES
        for tensor in reference_inputs(op)
    )


def _reads_variables(ops: Sequence[Operation]) -> bool:
    return any(op.type in VARIABLES for op in ops)


def _releases(plan: PiecePlan) -> list[list[int]]:
    """Return the slots that nobody reads any more once a segment has run and sent.

    A value that stays referenced costs more than its memory: a variable whose array somebody holds
    must be copied before it is changed.
    """
    readers: dict[int, int] = dict.fromkeys(plan.fetch_slots, 2)
    for segment in plan.segments:
        for slot in segment.input_slots:
            readers[slot] = readers.get(slot, 0) + 1
    return [
        [slot for slot in segment.input_slots if readers[slot] == 1]
        + [slot for slot in segment.output_slots if slot not in readers]
        for segment in plan.segments
    ]


class Recorder:
    """What a traced step did on one task: when each node ran, and what it produced."""

    def __init__(self, keep_values: bool) -> None:
        self.keep_values = keep_values
        #: (node, seconds since 1970 when it began, seconds that it took, its outputs)
        self.events: list[tuple[str, float, float, list[Any]]] = []

    def hook(self, ops: Sequence[Operation]) -> Callable[[int, tuple[Any, ...]], None]:
        """Return what the traced function of a segment calls after each node."""
        last = time.time()

        def note(number: int, outputs: tuple[Any, ...]) -> None:
            nonlocal last
            now = time.time()
            kept = [_keep(value) for value in outputs] if self.keep_values else []
            self.events.append((ops[number].name, last, now - last, kept))
            last = time.time()

        return note

    def encode(self) -> tuple[dict[str, Any], list[Any]]:
        """Return the events as JSON, and the arrays that it refers to by number."""
        arrays: list[Any] = []
        events = []
        for name, start, seconds, outputs in self.events:
            places: list[int | None] = []
            for value in outputs:
                places.append(None if value is None else len(arrays))
                if value is not None:
                    arrays.append(value)
            events.append([name, start, seconds, places])
        return {"trace": events}, arrays

    def decode(self, head: dict[str, Any], arrays: Sequence[Any]) -> None:
        """Add the events of another task."""
        for name, start, seconds, places in head["trace"]:
            outputs = [None if place is None else arrays[place] for place in places]
            self.events.append((name, start, seconds, outputs))


class _Binder:
    """Binds kernels as a local plan does, to the task's resources."""

    def __init__(self, session: TaskSession) -> None:
        self.session = session

    bind_kernel: Any = Plan.bind_kernel
    bind_variable: Any = Plan.bind_variable

    def place(self, segment: SegmentPlan) -> Placed:
        """The segment's nodes with the copies that the task's GPU asks for; values arrive on the host."""
        ops, outputs, inputs = list(segment.ops), list(segment.outputs), list(segment.inputs)
        if not self.session._has_gpu:
            return Placed(ops, outputs, inputs, {}, {})
        session = self.session
        devices = place(ops, session._local_devices, session._config, pin_within_task)
        return insert_copies(ops, outputs, ops, inputs, devices, to_host=True)

    def generate(self, placed: Placed, trace: bool = False) -> GeneratedPlan:
        """The function of a segment."""
        where = placed.kernel_devices

        def bind_constant(op: Operation, value: Any) -> Any:
            return array_module(where[op]).asarray(value) if op in where else value

        return Generator(
            placed.ops,
            placed.fetches,
            placed.feeds,
            lambda op: self.bind_kernel(op, where.get(op, "cpu")),
            self.bind_variable,
            trace,
            bind_constant if where else None,
        ).generate()


class Transport(Protocol):
    """Where a piece's results go. Called from whichever thread ran the segment."""

    def send(self, task: str, channel: int, tensors: list[Any]) -> None:
        """Pass tensors on to another task's piece of the same step."""

    def done(self, fetches: list[Any], last: Sequence[tuple[str, int, list[Any]]]) -> None:
        """Every segment has run; ``last`` is what the last of them sends (task, channel, tensors)."""

    def failed(self, error: Exception) -> None:
        """A segment raised; nothing more of the piece will run. Told once."""


class PieceRun:
    """One step of a piece.

    Invariants: a segment runs once, after everything it waits for; after `cancel` or an error no
    further segment begins; the transport hears `done` or `failed` exactly once, or, after
    `cancel`, nothing.
    """

    def __init__(
        self,
        piece: CompiledPiece,
        step: int,
        transport: Transport,
        inline: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self.piece = piece
        self.step = step
        self.transport = transport
        self.slots: list[Any] = [None] * piece.plan.num_slots
        self.pending = piece.pending.copy()
        self.remaining = len(self.pending)
        self.cancellation: Cancellation | None = Cancellation() if piece.num_blocking else None
        self.stopped = False
        self.recorder = recorder
        self.read_at = piece.session.load.num_updates
        self._held = False
        self._watchers: dict[int, Callable[[], None]] = {}
        self._inline = inline  # run blocking segments on the calling thread, last
        self._lock = threading.Lock()

    def start(self, feeds: Sequence[Any]) -> None:
        """Take the fed values and run what waits for nothing else."""
        slots = self.slots
        for slot, value in zip(self.piece.plan.feed_slots, feeds, strict=True):
            slots[slot] = value
        if self.piece.initial:
            if self.piece.is_plain and len(self.piece.initial) == 1:
                self._run_one(self.piece.initial[0])
            else:
                self._run(self.piece.initial)
        elif not self.pending:
            self.transport.done([slots[slot] for slot in self.piece.plan.fetch_slots], ())

    def deliver(self, channel: int, tensors: Sequence[Any], elsewhere: bool = False) -> None:
        """Take a message; run what it was the last missing part of.

        With ``elsewhere`` that happens on another thread, and the caller goes on receiving.
        """
        where, wakes = self.piece.plan.channels[channel]
        slots = self.slots
        for slot, value in zip(where, tensors, strict=True):
            # As in a local run, a number is a NumPy scalar and not an array of rank 0.
            slots[slot] = value if value.shape or value.dtype.kind == "O" else value[()]
        ready = self._count_down(wakes)
        if ready:
            if self.piece.is_plain and len(ready) == 1 and not elsewhere:
                self._run_one(ready[0])
            elif elsewhere:
                run_in_thread(lambda: self._run(ready))
            else:
                self._run(ready)

    def cancel(self) -> None:
        """Begin no further segment, and wake those that wait for a queue."""
        with self._lock:
            self.stopped = True
        if self.cancellation is not None:
            self.cancellation.cancel()

    def _count_down(self, numbers: Sequence[int]) -> list[int]:
        pending = self.pending
        ready = []
        with self._lock:
            for number in numbers:
                pending[number] -= 1
                if not pending[number]:
                    ready.append(number)
        return ready

    def _run(self, numbers: Sequence[int]) -> None:
        """Run segments, and what becomes ready through them."""
        queue = deque(numbers)
        segments = self.piece.plan.segments
        while queue:
            number = queue.popleft()
            segment = segments[number]
            if segment.blocking:
                if not self._inline:
                    if (
                        self.piece.can_be_tried[number]
                        and not self.piece.session.load.delay_seconds
                    ):
                        queue.extend(self._try(number))
                    else:
                        run_in_thread(functools.partial(self._run_one, number))
                    continue
                if any(not segments[other].blocking for other in queue):
                    queue.append(number)  # what does not block goes first
                    continue
            queue.extend(self._step(number, segment))

    def _run_one(self, number: int) -> None:
        followers = self._step(number, self.piece.plan.segments[number])
        if followers:
            self._run(followers)

    def _try(self, number: int, foreign: bool = False) -> Sequence[int]:
        """Run a segment that may have to wait; if so, it is tried again when there is news.

        Returns the segments that can follow. On a ``foreign`` thread, one that serves another step,
        nothing is done that may take long.
        """
        watcher = self._watchers.get(number)
        fresh = watcher is None
        if watcher is None:
            watcher = self._watchers[number] = functools.partial(_wake, self, number)
        outer = postponing.callback
        postponing.callback = watcher
        try:
            computed = self._compute(number)
        except Postponed as postponed:
            if postponed.condition is None:
                run_in_thread(functools.partial(self._run_one, number))
            elif fresh and self.cancellation is not None:
                self.cancellation.register(functools.partial(postponed.condition.unwatch, watcher))
            return ()
        finally:
            postponing.callback = outer
        if not computed:
            return ()
        segment = self.piece.plan.segments[number]
        if not foreign:
            return self._finish(number, segment)
        if segment.followers or self._num_bytes(segment) > _SMALL_BYTES:
            run_in_thread(lambda: self._run(self._finish(number, segment)))
            return ()
        return self._finish(number, segment)

    def _num_bytes(self, segment: SegmentPlan) -> int:
        return sum(getattr(self.slots[slot], "nbytes", 0) or 0 for slot in segment.output_slots)

    def _step(self, number: int, segment: SegmentPlan) -> list[int]:
        return self._finish(number, segment) if self._compute(number) else []

    def _compute(self, number: int) -> bool:
        """Run a segment; whether it went well. Tries then what waited for what it has changed."""
        if _local.woken is not None:
            return self._compute_alone(number)
        woken = _local.woken = []
        try:
            return self._compute_alone(number)
        finally:
            _try_again(woken)

    def _compute_alone(self, number: int) -> bool:
        if self.stopped:
            return False
        slots = self.slots
        load = self.piece.session.load
        if load.delay_seconds and not self._held:
            self._held = True
            load.hold(lambda: self.stopped)
        try:
            if self.cancellation is not None:
                _local.cancellation = self.cancellation
                try:
                    self.piece.run_segment(number, slots, self.recorder)
                finally:
                    _local.cancellation = None
            else:
                self.piece.run_segment(number, slots, self.recorder)
            if self.piece.updates[number]:
                load.updated(self.read_at)
        except Exception as error:
            self._fail(error)
            return False
        return True

    def _finish(self, number: int, segment: SegmentPlan) -> list[int]:
        """Send what a segment has computed; return the segments that can follow it."""
        slots = self.slots
        try:
            transfers = []
            for task, channel, which in segment.transfers:
                tensors = [slots[slot] for slot in which]
                if self.piece.structured:
                    for value in tensors:
                        check_alive(value)
                transfers.append((task, channel, tensors))
            with self._lock:
                last = self.remaining == 1 and not self.stopped
                if last:
                    self.remaining = 0
            if last:
                fetches = [check_alive(slots[slot]) for slot in self.piece.plan.fetch_slots]
                self.slots = []
                self.transport.done(fetches, transfers)
                return []
            for task, channel, tensors in transfers:
                self.transport.send(task, channel, tensors)
            for slot in self.piece.releases[number]:
                slots[slot] = None
        except Exception as error:
            self._fail(error)
            return []
        # Counted only now: whoever says "done" must know that all the others have sent theirs.
        with self._lock:
            self.remaining -= 1
            last = not self.remaining and not self.stopped
        if last:
            try:
                fetches = [check_alive(slots[slot]) for slot in self.piece.plan.fetch_slots]
                self.transport.done(fetches, ())
            except Exception as error:
                self._fail(error)
            return []
        return self._count_down(segment.followers) if segment.followers else []

    def _fail(self, error: Exception) -> None:
        with self._lock:
            if self.stopped:
                return
            self.stopped = True
        if self.cancellation is not None:
            self.cancellation.cancel()
        self.transport.failed(error)


def _wake(run: PieceRun, number: int) -> None:
    """What a segment waits for has changed; the caller may hold locks."""
    woken = _local.woken
    if woken is not None:
        woken.append((run, number))
    else:
        run_in_thread(lambda: run._run(run._try(number, foreign=True)))


def _try_again(woken: list[tuple[PieceRun, int]]) -> None:
    """Try the segments that this thread has woken, and those that they wake."""
    try:
        while woken:
            run, number = woken.pop(0)
            run._try(number, foreign=True)
    finally:
        _local.woken = None
        for run, number in woken:  # after an interrupt
            _wake(run, number)


def check_alive(value: Any) -> Any:
    """Return the value; raise InvalidArgumentError for one of a branch that was not taken."""
    if value is DEAD:
        raise InvalidArgumentError(
            None, None, "Retval does not have value: the tensor is in a branch not taken."
        )
    return value


class _Worker(threading.Thread):
    """A thread that runs one function after the other and is kept for the next."""

    def __init__(self) -> None:
        super().__init__(name="dataflow segment", daemon=True)
        self.work: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def run(self) -> None:
        np.seterr(all="ignore")  # for this thread; a context for each segment costs a microsecond
        while True:
            function = self.work.get()
            function()
            del function
            _idle.append(self)


_idle: list[_Worker] = []


def run_in_thread(function: Callable[[], None]) -> None:
    """Run ``function`` on an idle thread, a new one when all are busy (they may all be blocked)."""
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
        worker.start()
    worker.work.put(function)
