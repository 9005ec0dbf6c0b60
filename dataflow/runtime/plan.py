"""`Plan`: one set of fetches and feeds, pruned and compiled; running it is one call."""

from __future__ import annotations

import contextlib
import functools
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dataflow.errors import (
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.bfloat16 import bind_node
from dataflow.kernels.blas import num_threads, single_threaded
from dataflow.kernels.cuda.memory import (
    describe_holders,
    free_unused_memory,
    is_out_of_memory,
)
from dataflow.kernels.memory import keep_freed_memory, without_collecting
from dataflow.kernels.mutex import release_held
from dataflow.kernels.parallel import limited_to
from dataflow.kernels.registry import cpu_only_reason, get_kernel
from dataflow.kernels.text_lines import TextLine, without_places
from dataflow.kernels.xp import array_module, is_device_array, on_device, to_host
from dataflow.ops.transfer import COPIES
from dataflow.placement.placer import log_placement, place
from dataflow.placement.transfers import Placed, insert_copies
from dataflow.rewrites.gradual import Gradual, Steps, finish, nodes_per_run
from dataflow.rewrites.prune import needed_operations
from dataflow.runtime.codegen import DEAD, GeneratedPlan, Generator
from dataflow.runtime.feeds import make_feed_converter
from dataflow.runtime.fetches import FetchPlan
from dataflow.runtime.resources import KernelContext

#: Smaller plans are not watched for NaN: they run in microseconds, and what makes it is plain to see.
LEAST_WATCHED = 8
#: A graph that runs once is not worth the work.
RUNS_BEFORE_REWRITING = 2


class Plan:
    """The compiled form of ``run(fetches, feeds)`` in one session.

    ``ops`` the needed nodes in order; ``source`` the generated code; call `run` with the fed
    values in the order of ``feeds``.
    """

    def __init__(self, session: Any, fetches: FetchPlan, feeds: list[Tensor]) -> None:
        self.session = session
        self.fetches = fetches
        self.feeds = feeds
        with without_collecting():
            self._make(fetches, feeds)

    def _make(self, fetches: FetchPlan, feeds: list[Tensor]) -> None:
        session = self.session
        self.ops = needed_operations(fetches.tensors, fetches.operations, feeds)
        self.needed = frozenset(op.name for op in self.ops)
        self.journal: list[Any] = []
        #: The nodes that `generated` computes: those of ``ops`` until the plan is rewritten.
        self.compiled_ops = self.ops
        #: Nodes that rewrites made or copied -> the user's nodes; empty before rewriting.
        self.origin: dict[Operation, Operation] = {}
        self._converters = [make_feed_converter(t) for t in feeds]
        self._switches = session._rewrite_switches
        devices = place(self.ops, session._local_devices, session._config)
        if session._config.log_device_placement:
            log_placement(devices)
        self.captures: Any = None
        #: Whether a warning was given that something fetched is NaN or infinite; one is enough.
        self.told_of_nan = False
        placed = self._from_the_beginning(devices)
        self._use(placed, self.generator(placed).generate())
        self._rebuild = fetches.rebuild
        self._scopes = self._thread_scopes()
        #: Runs until rewriting begins; 0 while the runs do it, bit by bit, and -1 after that.
        self._runs_left = RUNS_BEFORE_REWRITING if self._switches is not None else -1
        self._rewriting: Gradual | None = None

    def _from_the_beginning(self, devices: dict[Operation, str]) -> Placed:
        """The nodes of the first runs (`rewrites.engine.as_always`)."""
        fetches, operations = self.fetches.tensors, self.fetches.operations
        loops = any(op.op_def.control_flow == "next_iteration" for op in self.ops)
        if loops and not self.session._has_gpu:
            from dataflow.rewrites import engine

            changed = engine.as_always(self.ops, fetches, operations, self.feeds)
            if changed is not None:
                return Placed(changed.ops, changed.fetches, changed.feeds, changed.origin, {})
        return self._with_copies(self.ops, fetches, operations, self.feeds, devices)

    def rewrite(self, watch: Any = None, arguments: list[Any] | None = None) -> None:
        """Applies the rewrites and compiles again; the results stay the same to the bit.

        ``watch`` is handed to `rewrites.engine.apply`. Sizes that are equal in ``arguments``, the
        converted feeds, are taken to stay so: the size of a batch, which several feeds have. A run
        in which they differ has the plan rewritten without that.
        """
        self._runs_left = -1
        self._rewriting = None
        finish(self._rewrite_gradually(watch, arguments))

    def _rewrite_gradually(
        self, watch: Any = None, arguments: list[Any] | None = None
    ) -> Steps[None]:
        """As `rewrite`, bit by bit; the plan stays as it is until all is done."""
        keep_freed_memory()
        if self._switches is None or len(self.ops) < self._switches.min_nodes:
            return
        from dataflow.rewrites import engine, rules  # noqa: F401
        from dataflow.rewrites.symbolic_shapes import are_together, size_of_batch, sizes_together

        together: Any = []
        guess = None if arguments is None else size_of_batch(self.feeds, arguments)
        if arguments is not None and not self.session._has_gpu:  # CUDA graphs look at no sizes
            together = sizes_together(self.feeds, arguments)
        rewritten = yield from engine.apply_gradually(
            self.ops,
            self.fetches.tensors,
            self.fetches.operations,
            self.feeds,
            self._switches.where(self.session._has_gpu),
            watch,
            together,
            guess,
            {self.origin.get(op, op) for op in self.kernel_devices},
        )
        placed = self.place(
            rewritten.ops,
            rewritten.fetches,
            rewritten.fetch_operations,
            rewritten.feeds,
            rewritten.origin,
        )
        captures = self._captures(placed)
        generated = yield from self.generator(
            placed, final=not placed.kernel_devices
        ).generate_gradually()
        self.journal = rewritten.journal
        self.captures = captures
        self._use(placed, generated, are_together(together) if together else None)

    def _use(
        self,
        placed: Placed,
        generated: GeneratedPlan,
        fits: Callable[[Sequence[Any]], bool] | None = None,
    ) -> None:
        """Runs this function from now on.

        ``fits`` tells of which feeds the nodes are for; for others the plan is rewritten once
        more, and runs as it was before until that is done.
        """
        self.origin = placed.origin
        self.compiled_ops = placed.ops
        #: ``"gpu:0"`` for the nodes whose kernels run there.
        self.kernel_devices = placed.kernel_devices
        self.generated = generated
        self.function = function = generated.function
        if fits is None:
            self._before = placed, generated
            return

        def checked(*arguments: Any) -> Any:
            if fits(arguments):
                return function(*arguments)
            self._use(*self._before)
            self._runs_left = 0
            self._go_on_rewriting(None)
            return self.function(*arguments)

        self.function = checked

    def _go_on_rewriting(self, arguments: list[Any] | None) -> None:
        """Does as much of the rewriting as one run may; begins it when it is time."""
        with self.session._lock:
            if self._runs_left > 0:
                self._runs_left -= 1
                return
            if self._rewriting is None:
                self._rewriting = Gradual(
                    self._rewrite_gradually(arguments=arguments), nodes_per_run(len(self.ops))
                )
            rewriting = self._rewriting
        if rewriting.go_on():
            with self.session._lock:
                if self._rewriting is rewriting:
                    self._runs_left, self._rewriting = -1, None

    def _captures(self, placed: Placed) -> Any:
        """The plan's CUDA graphs; ``None`` where it can have none."""
        config: Any = self.session._config
        if not placed.kernel_devices or not config.gpu_options.use_cuda_graphs:
            return None
        from dataflow.runtime.cuda_graph import Captures, why_not

        return None if why_not(placed) else Captures(self, placed)

    def place(
        self,
        ops: list[Operation],
        fetches: list[Tensor],
        fetch_operations: Iterable[Operation],
        feeds: list[Tensor],
        origin: dict[Operation, Operation] | None = None,
    ) -> Placed:
        """The nodes with the copies between memories that their devices ask for.

        ``origin`` leads from the given nodes to the user's; the result's does so from its own.
        """
        session = self.session
        if not session._has_gpu:  # the pins were looked at when the plan was made
            return Placed(ops, fetches, feeds, origin or {}, {})
        devices = place(ops, session._local_devices, session._config)
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
        """What writes the function for placed nodes."""
        return generator_of(
            placed,
            self.bind_kernel,
            self.bind_variable,
            trace=trace,
            reuse=final and self._switches.reuse,
            threads=self._num_threads() if final else 1,
            kernel_threads=self.session._config.intra_op_parallelism_threads,
            check=None if trace else self._nan_check(placed),
        )

    def _nan_check(self, placed: Placed) -> Callable[[Generator], None] | None:
        """What watches for NaN in what is fetched, where that is asked for and worth its while."""
        if placed.kernel_devices or len(self.ops) < LEAST_WATCHED:
            return None
        # A function of a data set has a graph of its own; NaN in data are missing values.
        session: Any = self.session
        if self.ops[0].graph is not getattr(session, "_graph", None):
            return None
        if not session._config.watch_numerics:
            return None
        from dataflow.runtime.nan_origin import add_checks

        return lambda generator: add_checks(self, generator, placed.origin)

    def _num_threads(self) -> int:
        """How many threads may share this plan's parts."""
        limit = self.session._config.inter_op_parallelism_threads
        return min(limit, num_threads()) if limit > 0 else num_threads()

    def _thread_scopes(self) -> tuple[Callable[[], Any], ...]:
        """The contexts that a run needs so that its kernels use as many threads as they may."""
        blas = any(op.op_def.calls_blas for op in self.ops)
        limit = self.session._config.intra_op_parallelism_threads
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
            self.session._resources,
            self.session._cancellation,
            self.session._op_state(op.name),
            self.session,
            device,
        )
        return on_device(where, bind_node(found, context, op))

    def bind_variable(self, op: Operation) -> Any:
        """The variable behind a VariableV2 node."""
        attrs = op.attrs
        return self.session._resources.variable(
            attrs.get("container", ""),
            attrs.get("shared_name") or op.name,
            op.outputs[0].dtype.base_dtype,
        )

    def convert_feeds(self, values: Iterable[Any]) -> list[Any]:
        """The fed values as arrays, checked."""
        return [convert(v) for convert, v in zip(self._converters, values, strict=True)]

    def run(self, values: Iterable[Any]) -> Any:
        """Runs with the fed values; returns what was fetched, in the structure asked for."""
        arguments = [convert(v) for convert, v in zip(self._converters, values, strict=True)]
        return self._rebuild(self.run_flat(arguments))

    def run_flat(self, arguments: list[Any]) -> list[Any]:
        """Runs with converted feeds; returns the values of ``fetches.tensors``."""
        if self._runs_left >= 0:
            self._go_on_rewriting(arguments)
        try:
            if self.captures is not None:
                launched = self.captures.run(arguments)
                if launched is not None:
                    return [own(v) for v in launched]
            with np.errstate(all="ignore"):
                if self._scopes:
                    with self._scopes[0](), self._scopes[1]():
                        results = self.function(*arguments)
                else:
                    results = self.function(*arguments)
        except Exception as e:
            release_held()
            raise self.explain(e) from e
        except BaseException:  # the cell was interrupted
            release_held()
            raise
        return [own(v) for v in results] if results else []

    def explain(self, error: Exception) -> Exception:
        """The error of a run with the node, its inputs, and where it was built."""
        return explain_error(error, self.generated, self.origin, self.session)


def generator_of(
    placed: Placed,
    bind_kernel: Callable[[Operation, str], Callable[..., Any]],
    bind_variable: Callable[[Operation], Any],
    **options: Any,
) -> Generator:
    """What writes the function of placed nodes: kernels and constants are bound on their devices."""
    where = placed.kernel_devices

    def bind_constant(op: Operation, value: Any) -> Any:
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


def own(value: Any) -> Any:
    """A result that the caller may keep and change: a copy where the engine still holds it."""
    if type(value) is np.ndarray:
        if not value.shape:
            value = value[()]
            return value.copy() if type(value) is np.ndarray else own(value)
        if value.dtype.hasobject and (plain := without_places(value)) is not value:
            return plain
        # References: the results tuple, the loop variable, this parameter, getrefcount's.
        base = value.base
        if sys.getrefcount(value) > _FRESH or not value.flags.writeable:
            return value.copy()
        if base is not None and (type(base) is not np.ndarray or sys.getrefcount(base) > 3):
            return value.copy()
        return value
    if isinstance(value, np.generic):
        return value
    if value is DEAD:
        raise InvalidArgumentError(
            None, None, "Retval does not have value: the fetched tensor is in a branch not taken."
        )
    if type(value) is TextLine:
        return bytes(value)
    if is_device_array(value):
        return own(to_host(value))
    return value


def _measure_fresh() -> int:
    """How many references `own` sees to an array that nobody else holds."""
    seen = []

    def probe(value: Any) -> Any:
        seen.append(sys.getrefcount(value))
        return value

    def make() -> tuple[Any, ...]:
        return (np.zeros(2),)

    results = make()
    [probe(v) for v in results]
    return seen[0]


_FRESH = _measure_fresh()


def failing_op(error: BaseException, line_ops: dict[int, Operation], filename: str) -> Any:
    """The node whose line raised, and the local variables of the plan at that time."""
    op, local_values = None, {}
    entry = error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        if frame.f_code.co_filename == filename:
            op = line_ops.get(entry.tb_lineno)
            local_values = {**frame.f_globals, **frame.f_locals}
        entry = entry.tb_next
    return op, local_values


def explain_error(
    error: Exception,
    generated: Any,
    origin: dict[Operation, Operation] | None = None,
    session: Any = None,
) -> Exception:
    """An `OpError` that names the node: its type, inputs with their shapes now, and its origin.

    Where a GPU has no memory left it also says what ``session`` holds of it, and lets go of what the
    run held, which the error's traceback would keep.
    """
    if not is_out_of_memory(error):
        return _explained(error, generated, origin)
    text = f"the GPU has no memory left. {error}\n  {_held_by(session)}"
    full = ResourceExhaustedError(None, None, text).with_traceback(error.__traceback__)
    explained = _explained(full, generated, origin)
    traceback.clear_frames(error.__traceback__)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        frame.f_locals  # noqa: B018  the copy that was looked at is cleared when it is made anew
    full.__traceback__ = None
    free_unused_memory()
    return explained


def _held_by(session: Any) -> str:
    """Which variables and CUDA graphs hold a GPU's memory; the graphs let go of it."""
    variables = [] if session is None else session._resources.items("variable")
    held = [(n, v.array.nbytes) for n, v in variables if is_device_array(v.array)]
    for plan in list(getattr(session, "_plans", {}).values()):
        if plan.captures is not None and (num_bytes := plan.captures.let_go()):
            held.append((f"CUDA graph of {', '.join(plan.fetches.names)}", num_bytes))
    return (
        f"held by {describe_holders(held)}\n"
        "  Use smaller batches, pin some variables to /cpu:0, or close other sessions."
    )


def _explained(
    error: Exception, generated: Any, origin: dict[Operation, Operation] | None
) -> Exception:
    op, local_values = failing_op(error, generated.line_ops, generated.filename)
    if op is None:
        return error
    values = [_value_of(t, generated, local_values) for t in op.inputs]
    if op.type in ("_Fused", "_FusedRegion") and not isinstance(error, (OpError, MemoryError)):
        from dataflow.rewrites.fusion import failing_step

        found = failing_step(op, values)
        if found is not None:
            op, values, error = found
    if op.type == "_UpdateAll" and op in (origin or {}):
        from dataflow.rewrites.updates import failing_update

        op, values = failing_update(op, values) or (op, values)
    lines = []
    if isinstance(error, OpError):
        error_class: type[OpError] = type(error)
        text = error.message
    elif isinstance(error, NotImplementedError):
        error_class, text = UnimplementedError, str(error)
    elif isinstance(error, (ValueError, TypeError, IndexError, ArithmeticError)) or type(
        error
    ).__module__.startswith("numpy"):
        error_class, text = InvalidArgumentError, str(error)
    elif isinstance(error, MemoryError):
        error_class, text = ResourceExhaustedError, f"out of memory: {error}"
    else:
        error_class, text = UnknownError, f"{type(error).__name__}: {error}"
    if error_class.__name__ in ("ShapeError", "DTypeError"):
        error_class = InvalidArgumentError
    for tensor, value in zip(op.inputs, values, strict=True):
        shape = getattr(value, "shape", None)
        now = f", now of shape {tuple(shape)}" if shape is not None else ""
        made = tensor.op.inputs[0] if tensor.op.type in COPIES else tensor  # the user's own
        lines.append(f"  input {made.name!r}: {tensor.dtype.base_dtype.name}{now}")
    message = f"{op.type} {op.name!r}: {text}"
    if lines:
        message += "\n" + "\n".join(lines)
    message += f"\n  built at {op.built_at}"
    if origin:
        op = origin.get(op, op)
    return error_class(op, op, message)


def _value_of(tensor: Tensor, generated: Any, local_values: dict[str, Any]) -> Any:
    """The value that a tensor had when the plan stopped; ``None`` when it is gone."""
    name = generated.values.get(tensor, "")
    value: Any = local_values.get(name)
    if name.endswith((".array", ".read()")):
        return local_values[name.partition(".")[0]].array
    if name in local_values and hasattr(value, "exclusive"):
        return value.array  # a variable
    return value
