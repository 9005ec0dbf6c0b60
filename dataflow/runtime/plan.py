"""`Plan`: one set of fetches and feeds, pruned and compiled; running it is one call."""

from __future__ import annotations

import contextlib
import copy
import functools
import weakref
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import UnimplementedError
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.bfloat16 import bind_node
from dataflow.kernels.blas import num_threads, single_threaded
from dataflow.kernels.loader import get_kernel
from dataflow.kernels.malloc_tuning import (
    give_back_after_compiling,
    give_back_when_it_dies,
    keep_freed_memory,
    without_collecting,
)
from dataflow.kernels.mutex import release_held
from dataflow.kernels.parallel import limited_to
from dataflow.kernels.registry import cpu_only_reason
from dataflow.kernels.subnormals import (
    Computing,
    begin_flushing,
    begin_ignoring,
    end_flushing,
    end_ignoring,
)
from dataflow.kernels.xp import array_module, on_device
from dataflow.placement.placer import get_log_device_placement, log_placement, place
from dataflow.placement.transfers import Placed, devices_of_feeds, insert_copies
from dataflow.rewrites.gradual import Gradual, Steps, finish, nodes_per_run
from dataflow.rewrites.prune import needed_operations
from dataflow.rewrites.unordered_reads import shallow_reads_first
from dataflow.runtime import plan_recorder
from dataflow.runtime.codegen import GeneratedPlan, Generator
from dataflow.runtime.cooperative_step import CooperativeRest, counted
from dataflow.runtime.feeds import as_fed, make_feed_converter
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.kernel_context import KernelContext
from dataflow.runtime.ownership import detach
from dataflow.runtime.run_errors import annotate_error
from dataflow.runtime.shape_order import shapes_first
from dataflow.runtime.specialized_plans import Forms
from dataflow.runtime.waiting import HandedOver, Overlap

if TYPE_CHECKING:
    from dataflow.rewrites.engine import Watch
    from dataflow.runtime.base_session import BaseSession


#: Smaller plans are not checked for NaN: they run in microseconds, and its origin is obvious.
LEAST_WATCHED = 8
#: Rewriting does not pay for a graph that runs only once or twice.
RUNS_BEFORE_REWRITING = 2


class _FunctionState(dict[str, Any]):
    """The state of an op in a bound function."""


def is_kept_by_function(context: KernelContext) -> bool:
    """Whether the op with this context is part of a bound function."""
    return isinstance(context.state, _FunctionState)


class Plan:
    """The compiled form of ``run(fetches, feeds)`` in one session.

    ``ops`` the needed nodes in order; ``source`` the generated code; call `run` with the fed
    values in the order of ``feeds``. Nodes in ``done`` are not waited for (`needed_operations`).
    """

    def __init__(
        self,
        session: BaseSession,
        fetches: FetchPlan,
        feeds: list[Tensor],
        kept_by_function: dict[str, dict[str, Any]] | None = None,
        done: Container[Operation] = (),
    ) -> None:
        self.session = session
        self._kept_by_function = kept_by_function
        self.fetches = fetches
        self.feeds = feeds
        with without_collecting():
            self._make(fetches, feeds, done)

    def _make(self, fetches: FetchPlan, feeds: list[Tensor], done: Container[Operation]) -> None:
        session = self.session
        needed = needed_operations(fetches.tensors, fetches.operations, feeds, done)
        self.ops = shallow_reads_first(needed, feeds)
        self.needed = frozenset(op.name for op in self.ops)
        self.journal: list[Any] = []
        #: The nodes that `generated` computes: ``ops`` until the plan is rewritten.
        self.compiled_ops = self.ops
        #: Nodes that rewrites added or copied -> the user's nodes; empty before rewriting.
        self.origin: dict[Operation, Operation] = {}
        self._options = session.rewrite_options
        devices = place(self.ops, session.local_devices, session.config)
        if session.config.log_device_placement or get_log_device_placement():
            log_placement(devices)
        self.cuda_graphs: Any = None
        #: Whether it has warned of a NaN or an infinity; once is enough.
        self.told_of_nan = False
        self._gives_back = False
        placed = self._from_the_beginning(devices)
        self._use(placed, self.generator(placed).generate())
        give_back_after_compiling(len(self.ops))
        self._rebuild = fetches.rebuild
        #: Positions of what is both fed and fetched: (among the fetches, among the feeds).
        self._fed_fetches = [
            (i, feeds.index(t)) for i, t in enumerate(fetches.tensors) if t in feeds
        ]
        self.thread_scopes = self._thread_scopes()
        #: Runs until rewriting starts; 0 while runs do it in steps, and -1 after that.
        self._runs_left = RUNS_BEFORE_REWRITING if self._options is not None else -1
        #: What feeds are known to be in all runs of this plan (`specialized_plans`).
        self._known: dict[Tensor, bool] = {}
        self.forms = Forms.of(self, self._options)
        self._rewriting: Gradual | None = None

    def _from_the_beginning(self, devices: dict[Operation, str]) -> Placed:
        """The nodes for the first runs (`rewrites.engine.as_always`)."""
        fetches, operations = self.fetches.tensors, self.fetches.operations
        loops = any(op.op_def.control_flow == "next_iteration" for op in self.ops)
        if loops and not self.session.has_gpu:
            from dataflow.rewrites import engine

            changed = engine.as_always(self.ops, fetches, operations, self.feeds)
            if changed is not None:
                return Placed(changed.ops, changed.fetches, changed.feeds, changed.origin, {})
        return self._with_copies(shapes_first(self.ops), fetches, operations, self.feeds, devices)

    def rewrite(
        self,
        watch: Watch | None = None,
        arguments: list[Any] | None = None,
        num_hits: int | None = None,
    ) -> None:
        """Applies the rewrites and compiles again; the results stay the same to the bit.

        ``watch`` and ``num_hits`` are passed to `rewrites.engine.apply`. Sizes that are equal in
        ``arguments``, the converted feeds, are assumed to stay equal: several feeds have the size of
        the batch; and feeds of unknown rank that are one number to stay one. After a run in which that
        does not hold the plan is rewritten without that assumption.
        """
        self._runs_left = -1
        self._rewriting = None
        finish(self._rewrite_gradually(watch, arguments, num_hits))

    def _rewrite_gradually(
        self,
        watch: Watch | None = None,
        arguments: list[Any] | None = None,
        num_hits: int | None = None,
    ) -> Steps[None]:
        """As `rewrite`, in steps; the plan does not change until all are done."""
        keep_freed_memory()
        if not self._gives_back:
            self._gives_back = True
            give_back_when_it_dies(self)
        if self._options is None or len(self.ops) < self._options.min_nodes:
            return
        from dataflow.rewrites import engine
        from dataflow.rewrites.fed_shapes import (
            dims_are_equal,
            equal_dims_of,
            scalars_among,
            size_of_batch,
        )

        equal_dims: Any = []
        scalars: list[int] = []
        batch_size_hint = None if arguments is None else size_of_batch(self.feeds, arguments)
        if arguments is not None and not self.session.has_gpu:  # CUDA graphs do not use sizes
            equal_dims = equal_dims_of(self.feeds, arguments)
            scalars = scalars_among(self.feeds, arguments)
        rewritten = yield from engine.apply_gradually(
            self.ops,
            self.fetches.tensors,
            self.fetches.operations,
            self.feeds,
            self._options.where(self.session.has_gpu),
            watch,
            equal_dims,
            batch_size_hint,
            {self.origin.get(op, op) for op in self.kernel_devices},
            num_hits,
            self._known,
            {self.feeds[i] for i in scalars},
        )
        placed = self.place(
            shapes_first(rewritten.ops),
            rewritten.fetches,
            rewritten.fetch_operations,
            rewritten.feeds,
            rewritten.origin,
        )
        cuda_graphs = self._capturable(placed)
        generated = yield from self.generator(
            placed, final=not placed.kernel_devices
        ).generate_gradually()
        self.journal = rewritten.journal
        self.cuda_graphs = cuda_graphs
        assumes = equal_dims or scalars
        self._use(placed, generated, dims_are_equal(equal_dims, scalars) if assumes else None)
        self._record()
        give_back_after_compiling(len(self.ops))

    def _use(
        self,
        placed: Placed,
        generated: GeneratedPlan,
        guard: Callable[[Sequence[Any]], bool] | None = None,
    ) -> None:
        """Runs this function from now on.

        ``guard`` is a predicate on feeds: where it is false, this specialization does not hold, and
        the plan is rewritten once more and runs its earlier form until that is done.
        """
        self.origin = placed.origin
        self.compiled_ops = placed.ops
        #: ``"gpu:0"`` for the nodes whose kernels run there.
        self.kernel_devices = placed.kernel_devices
        self.generated = generated
        self._converters = [
            make_feed_converter(t, device)
            for t, device in zip(self.feeds, devices_of_feeds(placed), strict=True)
        ]
        self._guard = guard
        self._run_by(generated.function)
        if guard is None:
            self._before = placed, generated

    def _run_by(self, function: Callable[..., Any]) -> None:
        """Runs this function, of the nodes that `_use` was given."""
        self.function = function = counted(function)
        guard = self._guard
        if guard is None:
            return

        def checked(*arguments: object) -> Any:
            if guard(arguments):
                return function(*arguments)
            self._use(*self._before)
            self._runs_left = 0
            self._go_on_rewriting(None)
            return self.function(*arguments)

        self.function = checked

    def _record(self) -> None:
        """Lets runs record which lines can be lists of calls, where the plan has such."""
        if self.kernel_devices or self._options is None or not self._options.call_lists:
            return
        generated, this = self.generated, weakref.ref(self)

        def use(found: GeneratedPlan, function: Callable[..., Any]) -> None:
            plan = this()
            if plan is None or plan.generated is not generated:
                return  # rewritten meanwhile
            plan.generated = found
            plan._run_by(function)

        function = plan_recorder.begin(generated, use)
        if function is not None:
            self._run_by(function)

    def _go_on_rewriting(self, arguments: list[Any] | None) -> None:
        """Spends one run's budget on rewriting; starts it when it is time."""
        with self.session.lock:
            if self._runs_left > 0:
                self._runs_left -= 1
                return
            if self._rewriting is None:
                self._rewriting = Gradual(
                    self._rewrite_gradually(arguments=arguments), nodes_per_run(len(self.ops))
                )
            rewriting = self._rewriting
        if rewriting.go_on():
            with self.session.lock:
                if self._rewriting is rewriting:
                    self._runs_left, self._rewriting = -1, None

    def _capturable(self, placed: Placed) -> Any:
        """The plan's CUDA graphs; ``None`` where it cannot have any."""
        config: Any = self.session.config
        if not placed.kernel_devices or not config.gpu_options.use_cuda_graphs:
            return None
        from dataflow.runtime.capture_split import split
        from dataflow.runtime.cuda_graph import CudaGraphs

        parts = split(placed)
        return None if isinstance(parts, str) else CudaGraphs(self, parts)

    def in_runs_with(self, known: dict[Tensor, bool]) -> Plan:
        """A plan for those runs that feed ``known``: it starts as this one, and its own runs rewrite it."""
        plan = copy.copy(self)
        plan._known, plan.forms = known, None
        plan._gives_back, plan._runs_left, plan._rewriting = False, 0, None
        return plan

    def place(
        self,
        ops: list[Operation],
        fetches: list[Tensor],
        fetch_operations: Iterable[Operation],
        feeds: list[Tensor],
        origin: dict[Operation, Operation] | None = None,
    ) -> Placed:
        """The nodes with the copies between memories that their devices ask for.

        ``origin`` maps the given nodes to the user's; the result's ``origin`` maps its own nodes.
        """
        session = self.session
        if not session.has_gpu:  # the pins were checked when the plan was made
            return Placed(ops, fetches, feeds, origin or {}, {})
        devices = place(ops, session.local_devices, session.config)
        return self._with_copies(ops, fetches, fetch_operations, feeds, devices, origin)

    def _with_copies(
        self,
        ops: list[Operation],
        fetches: list[Tensor],
        fetch_operations: Iterable[Operation],
        feeds: list[Tensor],
        devices: dict[Operation, str],
        origin: dict[Operation, Operation] | None = None,
    ) -> Placed:
        if not any("GPU" in device for device in set(devices.values())):
            return Placed(ops, fetches, feeds, origin or {}, {})
        placed = insert_copies(ops, fetches, fetch_operations, feeds, devices)
        if origin:
            placed = placed._replace(
                origin={op: origin.get(given, given) for op, given in placed.origin.items()}
            )
        return placed

    def generator(self, placed: Placed, trace: bool = False, final: bool = False) -> Generator:
        """The generator of the function for placed nodes."""
        return generator_of(
            placed,
            self.bind_kernel,
            self.bind_variable,
            trace=trace,
            reuse=final and self._options is not None and self._options.reuse,
            threads=self._num_threads() if final else 1,
            records=final and self._options is not None and self._options.call_lists,
            kernel_threads=self.session.config.intra_op_parallelism_threads,
            check=None if trace else self._nan_check(placed),
            overlap=None if trace else self._overlap(placed),
            loop_end=getattr(self.session, "loop_end", None),  # not of a cluster's task
        )

    def _nan_check(self, placed: Placed) -> Callable[[Generator], None] | None:
        """The check of fetches for NaN, where it is asked for and pays off."""
        if placed.kernel_devices or len(self.ops) < LEAST_WATCHED:
            return None
        # A dataset's function has a graph of its own; NaN in data are missing values.
        session: Any = self.session
        if self.ops[0].graph is not getattr(session, "_graph", None):
            return None
        if not session.config.watch_numerics:
            return None
        from dataflow.runtime.nan_origin import add_checks

        return lambda generator: add_checks(self, generator, placed.origin)

    def _overlap(self, placed: Placed) -> Overlap | None:
        """Lets the rest of a step continue while one of its ops waits; ``None`` where no op may wait."""
        if not any(op.op_def.blocks for op in placed.ops):
            return None
        return Overlap(lambda: self.session.cancellation, self._thread_context, self.resume)

    @contextlib.contextmanager
    def _thread_context(self) -> Iterator[None]:
        """The context in which a thread runs lines of this plan."""
        with Computing(), contextlib.ExitStack() as stack:
            for scope in self.thread_scopes:
                stack.enter_context(scope())
            yield

    def _num_threads(self) -> int:
        """How many threads may run parts of this plan."""
        limit = self.session.config.inter_op_parallelism_threads
        return min(limit, num_threads()) if limit > 0 else num_threads()

    def _thread_scopes(self) -> tuple[Callable[[], Any], ...]:
        """The contexts of a run, which set how many threads its kernels may use."""
        blas = any(op.op_def.calls_blas for op in self.ops)
        limit = self.session.config.intra_op_parallelism_threads
        if not blas and not limit:
            return ()
        return (
            single_threaded if blas else contextlib.nullcontext,
            functools.partial(limited_to, limit) if limit else contextlib.nullcontext,
        )

    @property
    def source(self) -> str:
        """The generated Python code."""
        return self.generated.source

    def bind_kernel(self, op: Operation, where: str = "cpu") -> Callable[..., Any]:
        """The kernel of a node on a device, ready to be called with its inputs."""
        device = where.partition(":")[0]
        found = get_kernel(op.type, device, op.op_def.family)
        if found is None:
            reason = cpu_only_reason(op.type) if device == "gpu" else None
            raise UnimplementedError(
                None,
                op,
                f"There is no {device} kernel for {op.type} (node {op.name!r})"
                + (f": {reason}" if reason else "")
                + f".\n  built at {op.built_at}",
            )
        xp = array_module(where)
        if not found.stateful:
            return on_device(where, bind_node(found, xp, op))
        context = KernelContext(
            xp,
            op.name,
            op.attrs,
            self.session.resources,
            self.session.cancellation,
            self.op_state(op.name),
            self.session,
            device,
            op.device,
        )
        call = bind_node(found, context, op)
        return on_device(where, context.found_or(call) if found.looks_up else call)

    def op_state(self, op_name: str) -> dict[str, Any]:
        """An op's state between runs: for the life of the session or of a bound function."""
        if self._kept_by_function is None:
            return self.session.op_state(op_name)
        return self._kept_by_function.setdefault(op_name, _FunctionState())

    def bind_variable(self, op: Operation) -> Any:
        """The variable behind a node that holds one."""
        attrs, dims = op.attrs, op.outputs[0].dims
        by_handle = op.outputs[0].dtype.is_handle
        return self.session.resources.variable(
            attrs.get("container", ""),
            attrs.get("shared_name") or op.name,
            op.outputs[0].dtype.value_dtype,
            by_handle,
            # TensorFlow 1 looks at the shape of a reference alone.
            None if by_handle or dims is None or None in dims else dims,
        )

    def convert_feeds(self, values: Iterable[Any]) -> list[Any]:
        """The fed values as arrays, checked."""
        return [convert(v) for convert, v in zip(self._converters, values, strict=True)]

    def run(self, values: Collection[Any]) -> Any:
        """Runs with the fed values; returns the fetched values in the structure of the fetches."""
        arguments = [convert(v) for convert, v in zip(self._converters, values, strict=True)]
        results = self.run_flat(arguments)
        if self._fed_fetches:
            given = list(values)
            for fetch, feed in self._fed_fetches:
                results[fetch] = as_fed(self.feeds[feed], given[feed], arguments[feed])
        return self._rebuild(results)

    def run_flat(self, arguments: list[Any]) -> list[Any]:
        """Runs with converted feeds; returns the values of ``fetches.tensors``."""
        if self._runs_left >= 0:
            if self.forms is not None and self._runs_left == 0:
                plan = self.forms.plan_for(arguments)
                if plan is not None:
                    return plan.run_flat(arguments)
                self.forms = None
            self._go_on_rewriting(arguments)
        errors, outside = begin_ignoring(), begin_flushing()
        try:
            if self.cuda_graphs is not None:
                launched = self.cuda_graphs.run(arguments)
                if launched is not None:
                    return [detach(v) for v in launched]
            try:
                if self.thread_scopes:
                    with self.thread_scopes[0](), self.thread_scopes[1]():
                        results = self.function(*arguments)
                else:
                    results = self.function(*arguments)
            except HandedOver as handed:
                with self._thread_context():
                    results = handed.rest.finish(handed)
        except Exception as e:
            release_held()
            raise self.annotate_error(e) from e
        except BaseException:  # the cell was interrupted
            release_held()
            raise
        finally:
            end_flushing(outside)
            end_ignoring(errors)
        return [detach(v) for v in results] if results else []

    def resume(self, rest: CooperativeRest) -> Any:
        """Goes on with a run that was left in the middle; returns what `run` would have returned."""
        outside = begin_flushing()
        try:
            with np.errstate(all="ignore"), self._thread_context():
                results = rest.finish()
        except Exception as e:
            raise self.annotate_error(e) from e
        finally:
            end_flushing(outside)
        return self._rebuild([detach(v) for v in results] if results else [])

    def annotate_error(self, error: Exception) -> Exception:
        """The error of a run with the node, its inputs, and where it was built."""
        return annotate_error(error, self.generated, self.origin, self.session)


def generator_of(
    placed: Placed,
    bind_kernel: Callable[[Operation, str], Callable[..., Any]],
    bind_variable: Callable[[Operation], Any],
    **options: Any,
) -> Generator:
    """The generator of placed nodes' function; kernels and constants are bound on their devices."""
    where = placed.kernel_devices

    def bind_constant(op: Operation, value: np.ndarray) -> Any:
        if op not in where:
            return value
        return on_device(where[op], array_module(where[op]).asarray)(value)

    return Generator(
        placed.ops,
        placed.fetches,
        placed.feeds,
        lambda op: bind_kernel(op, where.get(op, "cpu")),
        bind_variable,
        bind_constant=bind_constant if where else None,
        **options,
    )
