"""Plans on a GPU as CUDA graphs: captured once for each set of shapes, then launched.

A small step is dozens of kernels of a few microseconds, and launching each from Python costs more
than running it. A graph launches them all at once. What it needs: the same kernels on the same
buffers every time. So fed values are copied into fixed buffers, variables are updated in place, and
the graph is dropped when a feed has another shape or a variable another buffer.

A plan can be captured when its nodes run on one GPU, and the host computes nothing from the GPU's
values: shapes follow from the feeds' shapes, and nothing waits for the device in between. What the
host does without them (the next element of a data set, sampled candidates) is done before each
launch, see `capture_split`; random numbers are drawn on the GPU, from where the host says that the
next ones begin. Whether the kernels allow it turns out when capturing is tried; a plan that cannot
be captured runs as before.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.kernels.cuda.graphs import CapturedWork, CaptureFailed, alias_of, buffer_of
from dataflow.kernels.cuda.memory import is_out_of_memory
from dataflow.kernels.xp import array_module, is_device_array, on_device, to_host
from dataflow.placement.transfers import Placed
from dataflow.runtime.capture_split import Split
from dataflow.runtime.run_errors import annotate_error

if TYPE_CHECKING:
    from dataflow.runtime.codegen import GeneratedPlan
    from dataflow.runtime.plan import Plan


#: Runs with the same shapes before a plan is captured: by then kernels are compiled.
_RUNS_BEFORE_CAPTURE = 3
#: The most sets of shapes and truth values with a graph; a plan whose shapes keep changing is not
#: captured.
_MAX_GRAPHS = 6


class CudaGraphs:
    """The CUDA graphs of one plan, by the shapes of its feeds."""

    def __init__(self, plan: Plan, parts: Split) -> None:
        self._plan = plan
        self._parts, self._switches = parts, parts.switches
        self._placed = placed = parts.captured
        self._index = int(next(iter(placed.kernel_devices.values())).partition(":")[2])
        self._copied = [
            op.inputs[0]
            for op in placed.ops
            if op.type == "_CopyToDevice" and op.inputs[0] in placed.feeds
        ]
        self._body = _body(plan, placed, self._copied)
        #: What the host does before each launch, and how often all of the plan ran as usual so far.
        self._before = None if parts.before is None else plan.generator(parts.before).generate()
        self._runs_as_usual = 0
        self._variables = [plan.bind_variable(op) for op in placed.ops if op.op_def.is_variable]
        self._lock = threading.Lock()
        self._graphs: dict[tuple[Any, ...], _Graph | int] = {}
        #: Why there are no graphs; "" as long as there is no obstacle.
        self.reason = ""

    def run(self, arguments: Sequence[Any]) -> list[Any] | None:
        """Launches a graph and returns the results; ``None`` when the plan has to run as usual."""
        if self.reason or not self._lock.acquire(blocking=False):
            return None  # another thread is using the buffers
        try:
            if self._before is None:
                return self._run(arguments)
            if self._runs_as_usual < _RUNS_BEFORE_CAPTURE:
                self._runs_as_usual += 1
                return None
            return self._run_after_the_host(self._before, arguments)
        finally:
            self._lock.release()

    def _run_after_the_host(self, before: GeneratedPlan, arguments: Sequence[Any]) -> list[Any]:
        """Both parts. What the host did cannot be undone: without a graph the rest runs as it is."""
        plan = self._plan
        with np.errstate(all="ignore"):
            try:
                given = before.function(*arguments)
            except Exception as e:
                raise annotate_error(e, before, plan.origin, plan.session) from e
            arguments = [*(arguments[i] for i in self._parts.feeds), *given]
            results = None if self.reason else self._run(arguments)
            if results is None:
                results = self._run_uncaptured(arguments)
        rest = iter(results)
        return [next(rest) if i is None else given[i] for i in self._parts.from_host]

    def _run_uncaptured(self, arguments: Sequence[Any]) -> list[Any]:
        """The captured part, launched kernel by kernel."""
        plan, device = self._plan, f"gpu:{self._index}"
        where = {t: i for i, t in enumerate(self._placed.feeds)}
        copy = on_device(device, array_module(device).asarray)
        copies = [copy(arguments[where[t]]) for t in self._copied]
        try:
            results = self._body.function(*arguments, *copies)
        except Exception as e:
            raise annotate_error(e, self._body, plan.origin, plan.session) from e
        return [to_host(value) for value in results]

    def let_go(self) -> int:
        """Drops the graphs to free memory for other uses; returns their bytes.

        The plan is not captured again: it would take the memory back.
        """
        if not self._lock.acquire(blocking=False):
            return 0  # another thread is using the buffers
        try:
            graphs = [g for g in self._graphs.values() if isinstance(g, _Graph)]
            if graphs:
                self.reason = "the GPU's memory was used up"
                self._graphs.clear()
            return sum(graph.num_bytes for graph in graphs)
        finally:
            self._lock.release()

    def _run(self, arguments: Sequence[Any]) -> list[Any] | None:
        key: tuple[Any, ...] = tuple((np.shape(a), a.dtype) for a in arguments)
        key += tuple(bool(arguments[i]) for i in self._switches)
        found = self._graphs.get(key, 0)
        if isinstance(found, int):
            if found < _RUNS_BEFORE_CAPTURE and not self._runs_as_usual:
                self._graphs[key] = found + 1
                return None
            graph = self._capture(key, arguments)
            return None if graph is None else graph.run(arguments)
        if not found.is_valid(self._variables):
            self._graphs[key] = _RUNS_BEFORE_CAPTURE  # captured again in the next run
            return None
        return found.run(arguments)

    def _capture(self, key: tuple[Any, ...], arguments: Sequence[Any]) -> _Graph | None:
        if sum(isinstance(g, _Graph) for g in self._graphs.values()) >= _MAX_GRAPHS:
            self.reason = "the shapes of what is fed change too often"
            self._graphs.clear()
            return None
        if any(v.array is None for v in self._variables):
            return None  # the usual run reports which variable has no value
        try:
            for variable in self._variables:
                variable.exclusive()  # a buffer of its own, which updates in place may change
            graph = _Graph(
                self._index, self._body, self._placed, arguments, self._copied, self._switches
            )
            graph.capture(self._variables)
        except CaptureFailed as e:
            self.reason = str(e)
            return None
        except Exception as e:
            if not is_out_of_memory(e):
                raise
            self.reason = f"no memory for a second set of buffers: {e}"
            return None
        self._graphs[key] = graph
        return graph


class _Graph:
    """One captured plan with its buffers."""

    def __init__(
        self,
        index: int,
        body: Any,
        placed: Placed,
        arguments: Sequence[Any],
        copied: Sequence[Tensor],
        switches: Sequence[int],
    ) -> None:
        xp = array_module(f"gpu:{index}")
        self._index = index
        self._body = body
        where = {t: i for i, t in enumerate(placed.feeds)}
        self._fed = [where[t] for t in copied]
        self._buffers = [xp.empty(np.shape(arguments[i]), arguments[i].dtype) for i in self._fed]
        # For their shapes alone: a batch is not kept in memory for that.
        self._arguments = [np.broadcast_to(np.zeros((), a.dtype), np.shape(a)) for a in arguments]
        for i in switches:
            self._arguments[i] = arguments[i]

    def capture(self, variables: Sequence[Any]) -> None:
        """Captures the plan's kernels. Raises `CaptureFailed`."""
        # Aliases: references to the arrays themselves would make an update copy them first.
        aliases = [alias_of(v.array) for v in variables]
        self._seen = [buffer_of(a) for a in aliases]
        self._work = CapturedWork(
            self._index, lambda: self._body.function(*self._arguments, *self._buffers), aliases
        )
        moved = False
        for variable, alias, seen in zip(variables, aliases, self._seen, strict=True):
            if buffer_of(variable.array) != seen:
                variable.array, moved = alias, True
        if moved:
            raise CaptureFailed("a variable gets another buffer in every run")

    @property
    def num_bytes(self) -> int:
        """How much GPU memory it holds, not counting variables."""
        return sum(int(b.nbytes) for b in self._buffers) + self._work.num_bytes

    def is_valid(self, variables: Sequence[Any]) -> bool:
        """Whether the variables still have the same buffers, and nothing else refers to their arrays."""
        return all(
            variable.array is not None and buffer_of(variable.exclusive()) == seen
            for variable, seen in zip(variables, self._seen, strict=True)
        )

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Copies the fed values into the buffers, launches, and fetches the results."""
        values = [
            a if is_device_array(a) else np.asarray(a, order="C")
            for a in [arguments[i] for i in self._fed]
        ]
        self._work.fill(self._buffers, values)
        self._work.launch()
        return self._work.fetch()


def _body(plan: Plan, placed: Placed, copied: Sequence[Tensor]) -> Any:
    """The plan's function with inputs and outputs on the device.

    It takes the feeds, of which it may use only the shapes, and their copies.
    """
    copies = {
        op.inputs[0]: op.outputs[0]
        for op in placed.ops
        if op.type == "_CopyToDevice" and op.inputs[0] in copied
    }
    left_out = {copies[t].op for t in copied}
    ops: list[Operation] = [
        op for op in placed.ops if op not in left_out and op.type != "_CopyToHost"
    ]
    fetches = [t.op.inputs[0] if t.op.type == "_CopyToHost" else t for t in placed.fetches]
    inner = placed._replace(
        ops=ops, fetches=fetches, feeds=[*placed.feeds, *[copies[t] for t in copied]]
    )
    return plan.generator(inner).generate()
