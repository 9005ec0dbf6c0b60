"""A partition as its task runs it: a function for each segment, and tables of which segment follows which.

Like a local plan, a partition is compiled at once, rewritten after a few runs, and then gets lists of calls. Its
segments keep their inputs and outputs, which other tasks rely on.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dataflow.cluster.execution.segment_traits import (
    can_retry,
    changes_variables,
    effects_of,
    is_inline_safe,
    preallocated_outputs,
    reads_variables,
    refers_elsewhere,
    slots_to_release,
)
from dataflow.cluster.execution.step_tracer import StepTracer
from dataflow.cluster.execution.task_session import TaskSession
from dataflow.cluster.partition.graph_partition import GraphPartition, Segment
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.blas import single_threaded
from dataflow.kernels.malloc_tuning import give_back_when_it_dies, keep_freed_memory
from dataflow.ops.transfer import COPIES
from dataflow.placement.placer import pin_within_task, place
from dataflow.placement.transfers import CPU, Placed, insert_copies
from dataflow.rewrites.gradual import Gradual, Steps, finish, nodes_per_run
from dataflow.rewrites.options import RewriteOptions
from dataflow.rewrites.working_graph import WorkingGraph
from dataflow.runtime import plan_recorder
from dataflow.runtime.codegen import GeneratedPlan, Generator
from dataflow.runtime.config import ConfigProto
from dataflow.runtime.output_allocator import OutputAllocator
from dataflow.runtime.plan import RUNS_BEFORE_REWRITING, Plan, generator_of
from dataflow.runtime.run_errors import annotate_error


class CompiledSegment(NamedTuple):
    """A segment's function, and what is needed to find the node of a line that failed."""

    placed: Placed
    generated: GeneratedPlan
    function: Callable[..., Any]


class CompiledPartition:
    """The functions of a partition's segments, and tables of which segment follows which.

    ``options`` are those of the client's session; ``None``: nothing is rewritten. ``traced``: its
    steps will be traced; the code for that is made here, because made in a step it would look like time
    that a message took. Raises
    `InvalidArgumentError` for a pin that the task cannot keep, unless ``soft_placement`` lets it.
    """

    def __init__(
        self,
        plan: GraphPartition,
        session: TaskSession,
        options: RewriteOptions | None = None,
        soft_placement: bool = True,
        traced: bool = False,
    ) -> None:
        self.plan = plan
        self.session = session
        #: The rewrites applied, by segment.
        self.journals: list[list[Any]] = [[] for _ in plan.segments]
        self._binder = _Binder(session, soft_placement)
        self._options = options
        #: By segment: the memories in which its inputs come, and in which its outputs are left.
        self._places: list[tuple[list[str], list[str]]] = []
        self._preallocated = preallocated_outputs(plan)
        self._segments = [self._compile(n, placed) for n, placed in enumerate(self._place())]
        #: The function that each segment runs now.
        self.functions = [segment.function for segment in self._segments]
        #: Whether it has run too few times to have been rewritten.
        self.is_new = self.may_be_rewritten and not traced
        self._runs_left = RUNS_BEFORE_REWRITING
        num_nodes = sum(len(segment.ops) for segment in plan.segments)
        self._rewriting = Gradual(self._rewrite_gradually(), nodes_per_run(num_nodes))
        self._empty = [None] * len(plan.slots)
        self.pending = [s.num_pending for s in plan.segments]
        self.initial = [n for n, s in enumerate(plan.segments) if not s.num_pending]
        self.num_blocking = sum(s.blocking for s in plan.segments)
        #: Blocking segments that need no thread of their own to wait on.
        self.can_retry = [s.blocking and can_retry(s.ops) for s in plan.segments]
        #: Segments whose time depends only on the number of bytes they are given.
        self.inline_safe = [is_inline_safe(s.ops) for s in plan.segments]
        #: There are branches, so that values may be dead.
        self.structured = any(
            op.op_def.control_flow for segment in plan.segments for op in segment.ops
        )
        self.releases = slots_to_release(plan)
        #: Several tasks share a machine: BLAS's threads, which wait for each other in busy loops, would
        #: take each other's processors (a step of 0.5 ms took 40 ms with them).
        self.scopes: list[Callable[[], Any] | None] = [
            single_threaded if any(op.op_def.calls_blas for op in segment.ops) else None
            for segment in plan.segments
        ]
        self._calls = [_on_slots(self, number) for number in range(len(plan.segments))]
        #: Segments that change variables with received values, after other segments have read them.
        self.updates = (
            [bool(s.num_pending) and changes_variables(s.ops) for s in plan.segments]
            if any(not s.num_pending and reads_variables(s.ops) for s in plan.segments)
            else [False] * len(plan.segments)
        )
        #: Nothing in it blocks: a segment can run on the thread that makes it ready.
        self.is_plain = not self.num_blocking
        #: Nothing in it takes long, or waits on the thread that runs it.
        self.is_quick = all(self.inline_safe) and self.num_blocking == sum(self.can_retry)
        self._traced: dict[int, CompiledSegment] = {}
        if traced:
            for number in range(len(plan.segments)):
                self._traced_segment(number)

    def _place(self) -> Iterator[Placed]:
        """The segments with their copies. Values that no other task sees stay on the GPU between segments."""
        plan = self.plan
        on_host = {
            *plan.fetch_slots,
            *(n for s in plan.segments for t in s.transfers for n in t[2]),
        }
        place_of: dict[int, str] = {}
        for s in plan.segments:
            came = [place_of.get(slot, CPU) for slot in s.input_slots]
            on_host.update(slot for slot in s.input_slots if slot not in place_of)
            wanted = [
                CPU if slot in on_host or tensor.dtype.is_ref else None
                for slot, tensor in zip(s.output_slots, s.outputs, strict=True)
            ]
            placed = self._binder.place(*self._from_the_beginning(s, (came, wanted)))
            left = list(placed.fetch_places) or [CPU] * len(wanted)
            place_of.update(zip(s.output_slots, left, strict=True))
            self._places.append((came, left))
            yield placed

    def _from_the_beginning(
        self, segment: Segment, places: tuple[list[str], list[str | None]]
    ) -> tuple[Any, ...]:
        """The placement for the first steps (`rewrites.engine.as_always`)."""
        given = (segment.ops, segment.outputs, segment.inputs, places)
        loops = any(op.op_def.control_flow == "next_iteration" for op in segment.ops)
        if self.session.has_gpu or not loops:
            return given
        from dataflow.rewrites import engine

        effects = effects_of(segment.ops)
        changed = engine.as_always(segment.ops, segment.outputs, effects, segment.inputs)
        if changed is None:
            return given
        return changed.ops, changed.fetches, changed.feeds, places, changed.origin

    def _compile(self, number: int, placed: Placed, trace: bool = False) -> CompiledSegment:
        generated = self._binder.generator(
            placed, trace, False, self._preallocated[number]
        ).generate()
        return CompiledSegment(placed, generated, generated.function)

    @property
    def on_gpus(self) -> dict[str, str]:
        """The task's GPU (``"GPU:0"``) of each node that is placed on one, by name."""
        return {
            op.name: op.device.rpartition("/device:")[2]
            for segment in self._segments
            if segment.placed.kernel_devices
            for op in segment.placed.ops
            if "GPU" in op.device and op.type not in COPIES
        }

    def _traced_segment(self, number: int) -> CompiledSegment:
        found = self._traced.get(number)
        if found is None:
            s = self.plan.segments[number]
            placed = self._binder.place(s.ops, s.outputs, s.inputs, self._places[number])
            found = self._traced[number] = self._compile(number, placed, trace=True)
        return found

    @property
    def may_be_rewritten(self) -> bool:
        """Whether the client allows it, and there is enough to rewrite."""
        options = self._options
        return options is not None and options.min_nodes <= sum(
            len(segment.ops) for segment in self.plan.segments
        )

    def count_run(self) -> None:
        """Count a step while the partition `is_new`; from the third on each step rewrites a part of it."""
        self._runs_left -= 1
        if self.is_new and self._runs_left < 0 and self._rewriting.go_on():
            self.is_new = False

    def rewrite(self) -> None:
        """Apply the rewrites to each segment; steps in progress go on with the old code."""
        finish(self._rewrite_gradually())

    def _rewrite_gradually(self) -> Steps[None]:
        from dataflow.rewrites import engine

        keep_freed_memory()
        give_back_when_it_dies(self)
        assert self._options is not None
        for number, segment in enumerate(self.plan.segments):
            rewritten = yield from engine.apply_gradually(
                segment.ops,
                segment.outputs,
                effects_of(segment.ops),
                segment.inputs,
                self._options.where(self.session.has_gpu),
            )
            placed = self._binder.place(
                rewritten.ops,
                rewritten.fetches,
                rewritten.feeds,
                self._places[number],
                rewritten.origin,
            )
            generated = yield from self._binder.generator(
                placed, False, self._options.reuse, self._preallocated[number]
            ).generate_gradually()
            self.journals[number] = rewritten.journal
            self._run_by(number, CompiledSegment(placed, generated, generated.function))
        if self._options.call_lists:
            for number, compiled in enumerate(self._segments):
                self._record(number, compiled)

    def _run_by(self, number: int, compiled: CompiledSegment) -> None:
        self._segments[number] = compiled
        self.functions[number] = compiled.function

    def _record(self, number: int, compiled: CompiledSegment) -> None:
        """Lets steps record which lines of a segment can be lists of calls (`runtime.plan_recorder`)."""
        if compiled.placed.kernel_devices:
            return
        this = weakref.ref(self)

        def use(found: GeneratedPlan, function: Callable[..., Any]) -> None:
            partition = this()
            if partition is not None:
                partition._run_by(number, CompiledSegment(compiled.placed, found, function))

        function = plan_recorder.begin(compiled.generated, use)
        if function is not None:
            self._run_by(number, compiled._replace(function=function))

    def new_slots(self, allocator: OutputAllocator | None = None) -> list[Any]:
        """The empty slots of a step. The last one holds the connection on which results are sent, which
        allocates memory for them (`runtime.output_allocator`)."""
        return [*self._empty, allocator]

    @property
    def sources(self) -> list[str]:
        """The generated code of each segment, as it runs now."""
        return [segment.generated.source for segment in self._segments]

    def run_segment(self, number: int, slots: list[Any], tracer: StepTracer | None) -> None:
        """Run one segment on the values in ``slots``. Raises an error that names the node.

        The calling thread ignores floating-point warnings (`numpy.seterr`).
        """
        call, scope = self._calls[number], self.scopes[number]
        compiled = self._segments[number]
        function = compiled.function
        if tracer is not None:
            compiled = self._traced_segment(number)
            function = functools.partial(compiled.function, tracer.hook(compiled.placed))
        try:
            if scope is None:
                call(function, slots)
            else:
                with scope():
                    call(function, slots)
        except Exception as error:
            raise self.explained(error, compiled) from error

    def explained(self, error: Exception, segment: CompiledSegment | int) -> Exception:
        """The error that a segment's function raised, with the name of the node."""
        if not isinstance(segment, CompiledSegment):
            segment = self._segments[segment]
        return annotate_error(error, segment.generated, segment.placed.origin, self.session)

    def call_on_slots(self, number: int, function: str) -> str:
        """The line of code that calls a segment's ``function`` with the values in its slots.

        The slots are written out: a loop over them took longer than a small segment.
        The last slot is the allocator, for a function that takes one.
        """
        segment = self.plan.segments[number]
        into = "".join(f"slots[{int(slot)}], " for slot in segment.output_slots)
        sources = (*segment.input_slots, *([-1] if self._preallocated[number] else []))
        values = ", ".join(f"slots[{int(slot)}]" for slot in sources)
        return f"{into and f'{into}= '}{function}({values})"


def _on_slots(
    partition: CompiledPartition, number: int
) -> Callable[[Callable[..., Any], list[Any]], None]:
    """A function that calls a segment's function with the values in its slots."""
    scope: dict[str, Any] = {}
    exec(f"def call(function, slots):\n    {partition.call_on_slots(number, 'function')}", scope)
    return scope["call"]  # type: ignore[no-any-return]


class _Binder:
    """Binds kernels as a local plan does, to the task's resources."""

    def __init__(self, session: TaskSession, soft_placement: bool) -> None:
        self.session = session
        self._soft = soft_placement
        self.config = ConfigProto(allow_soft_placement=soft_placement)

    bind_kernel: Any = Plan.bind_kernel
    bind_variable: Any = Plan.bind_variable

    def op_state(self, op_name: str) -> dict[str, Any]:
        """State that an op keeps from step to step, for the session's life."""
        return self.session.op_state(op_name)

    def place(
        self,
        ops: Sequence[Operation],
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        places: tuple[Sequence[str], Sequence[str | None]],
        origin: dict[Operation, Operation] | None = None,
    ) -> Placed:
        """The nodes, with the copies to and from the task's GPU.

        ``places``: where the inputs are, and where the outputs go (None: left where they are).
        ``origin`` leads from the given nodes to the client's; the result's does so from its own.
        """
        origin = origin or {}
        ops, outputs, inputs = list(ops), list(outputs), list(inputs)
        session = self.session
        devices = None
        if session.has_gpu or not self._soft:
            devices = place(ops, session.local_devices, self.config, pin_within_task)
        if devices is None or not session.has_gpu:
            if not refers_elsewhere(ops, inputs):
                return Placed(ops, outputs, inputs, origin, {})
            work = WorkingGraph(ops, outputs, ops, inputs)
            return Placed(work.needed(), work.fetch_tensors(), work.feed_tensors, work.origin, {})
        placed = insert_copies(ops, outputs, ops, inputs, devices, *places)
        return placed._replace(
            origin={op: origin.get(given, given) for op, given in placed.origin.items()}
        )

    def generator(
        self, placed: Placed, trace: bool, final: bool, preallocated: Sequence[bool]
    ) -> Generator:
        """The generator of a segment's function; if ``final``, values may reuse the buffers of others.

        ``preallocated``: the outputs that are made in memory of an allocator, or none of them.
        """
        return generator_of(
            placed,
            self.bind_kernel,
            self.bind_variable,
            trace=trace,
            loop_end=self.session.loop_end,
            reuse=final and not placed.kernel_devices,
            # A result on a GPU is copied to the host: no kernel can write it to host memory itself.
            preallocated=[False] * len(preallocated) if placed.kernel_devices else preallocated,
        )
