"""Reverse-mode differentiation: a graph in, more graph out.

`gradients` walks back from ``ys``; at each node it calls the function registered for the op,
which adds ordinary nodes. Where several paths meet, their contributions are summed.
"""

from __future__ import annotations

import collections
import contextlib
import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import internal_convert
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import gradient_function_of
from dataflow.graph.tape import recording
from dataflow.graph.tensor import Tensor
from dataflow.ops.indexed_slices import IndexedSlices, concat_slices
from dataflow.ops.seeds import counted_as, left_out_of_gradient
from dataflow.shapes import dimension_value


class AggregationMethod:
    """How contributions of several paths are summed; all ways give the same sum here."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_AGGREGATION_METHODS = (
    AggregationMethod.ADD_N,
    AggregationMethod.EXPERIMENTAL_TREE,
    AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
)


class UnconnectedGradients(enum.Enum):
    """What `gradients` gives where no differentiable path leads: ``None``, or zeros."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Symbolic derivatives of ``sum(ys)`` with respect to each of ``xs``.

    Returns one tensor (or `IndexedSlices`, for what was only gathered from) for each of ``xs``,
    with its shape and dtype; ``None`` where no differentiable path leads there
    (``unconnected_gradients="zero"`` gives zeros instead). ``grad_ys`` are the gradients that
    arrive at ``ys``; ones by default. ``stop_gradients`` are held constant.

    Raises `LookupError` for an op on the way without a gradient, `TypeError` for integer ``ys``,
    `RuntimeError` with eager execution, `ValueError` for a wrong number of ``grad_ys`` and for an unknown ``aggregation_method`` (all of
    them give the same sum) or ``unconnected_gradients``.
    """
    if default_graph().executes_eagerly and not recording.num_connected:
        raise RuntimeError(
            "tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead."
        )
    if aggregation_method not in (None, *_AGGREGATION_METHODS):
        raise ValueError(
            f"Invalid aggregation_method {aggregation_method!r}: take one of tf.AggregationMethod."
        )
    zero = gives_zeros(unconnected_gradients)
    ys = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    grad_list = (
        list(grad_ys)
        if isinstance(grad_ys, (list, tuple))
        else ([None] * len(ys) if grad_ys is None else [grad_ys])
    )
    if len(grad_list) != len(ys):
        raise ValueError(f"Passed {len(grad_list)} grad_ys for {len(ys)} ys")
    stops = stop_gradients if stop_gradients is not None else []
    stops = list(stops) if isinstance(stops, (list, tuple)) else [stops]
    y_tensors = [internal_convert(y, None, "y") for y in ys]
    x_tensors = [
        x.values if isinstance(x, IndexedSlices) else internal_convert(x, None, "x", None, True)
        for x in xs
    ]
    stop_tensors = [internal_convert(s, None, "s", None, True) for s in stops]
    graph = y_tensors[0].graph if y_tensors else x_tensors[0].graph
    x_tensors = [
        x.in_graph(graph) if x.graph.executes_eagerly and x.graph is not graph else x
        for x in x_tensors
    ]
    with graph.as_default(), graph.name_scope(name) as scope:
        walker = _Walker(graph, y_tensors, x_tensors, stop_tensors, colocate_gradients_with_ops)
        walker.gate = bool(gate_gradients)
        result = _walked(walker, grad_list, scope)
        if zero:
            from dataflow.ops.array import zeros_like

            result = [zeros_like(x) if g is None else g for g, x in zip(result, xs, strict=True)]
        return result


def gives_zeros(unconnected_gradients: Any) -> bool:
    """Whether it asks for zeros; raises `ValueError` for what is none of `UnconnectedGradients`."""
    try:
        return UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}. Take "
            "tf.UnconnectedGradients.NONE or ZERO."
        ) from None


def gradients_within(
    ys: list[Tensor],
    xs: list[Tensor],
    grad_ys: list[Any] | None,
    holds: Callable[[Operation], bool],
) -> list[Any]:
    """`gradients` along those nodes of a graph alone of which ``holds(op)`` is true: a tape's."""
    graph = ys[0].graph
    with graph.as_default(), graph.name_scope("gradients") as scope:
        walker = _Walker(graph, ys, xs, [], False, holds)
        return _walked(walker, grad_ys or [None] * len(ys), scope)


def _walked(walker: _Walker, grad_ys: list[Any], scope: str) -> list[Any]:
    """What the walker finds for its xs."""
    attachments = walker.graph.attachments
    walker.start(_initial_gradients(walker.ys, grad_ys, walker.colocate))
    saved = attachments.get("gradient_scope")
    attachments["gradient_scope"] = scope  # tells apart the gradients of TensorArrays
    try:
        walker.walk()
    finally:
        attachments["gradient_scope"] = saved
    return [walker.result(x) for x in walker.xs]


def takes_none(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for gradient functions that take None for an output that no gradient reached, and not zeros."""
    function.takes_none = True  # type: ignore[attr-defined]
    return function


def _initial_gradients(ys: list[Tensor], grad_ys: list[Any], colocate: bool) -> list[Any]:
    from dataflow.ops.array import fill_op, shape as shape_of
    from dataflow.ops.sources import constant

    result = []
    for i, (y, grad) in enumerate(zip(ys, grad_ys, strict=True)):
        if grad is not None:
            if not isinstance(grad, IndexedSlices):
                grad = internal_convert(grad, y.dtype.base_dtype, f"grad_y_{i}")
                if grad.dtype.base_dtype is not y.dtype.base_dtype:
                    raise TypeError(
                        f"Gradient type {grad.dtype.name} generated for {y.dtype.name} tensor {y.name!r}: "
                        "grad_ys must have the dtypes of ys."
                    )
            result.append(grad)
            continue
        base = y.dtype.base_dtype
        if base.is_complex:
            raise TypeError(
                f"Gradients of complex tensors ({y.name!r}) must set grad_ys (y.dtype = {base.name})"
            )
        if base.is_integer:
            result.append(None)  # nothing flows out of an integer; the gradients are None
            continue
        with y.graph.colocate_with(y.op) if colocate else _NOWHERE:
            one = constant(1, dtype=base, name=f"grad_ys_{i}")
            result.append(fill_op(shape_of(y), one))
    return result


def _is_sparse(grad: Any) -> bool:
    return isinstance(grad, IndexedSlices)


#: Stands for a context that is not needed.
_NOWHERE: Any = contextlib.nullcontext()


def _carries_gradient(tensor: Tensor) -> bool:
    dtype = tensor.dtype.value_dtype
    return dtype.kind in "fc" or dtype in (dtypes.resource, dtypes.variant)


class _Walker:
    """One backward pass. ``grads[tensor]`` lists the contributions that reached an output."""

    def __init__(
        self,
        graph: Any,
        ys: list[Tensor],
        xs: list[Tensor],
        stops: list[Tensor],
        colocate: bool,
        holds: Callable[[Operation], bool] = lambda op: True,
    ) -> None:
        self.graph = graph
        self.ys = ys
        self.xs = xs
        self.colocate = colocate
        self.gate = False
        self.holds = holds
        self.grads: dict[Tensor, list[Any]] = {}
        self.summed: dict[Tensor, Any] = {}
        self.stop_ops = self._stop_ops(stops)
        self.loop_state: Any = None
        self.between, self.pending = self._between()

    def _stop_ops(self, stops: list[Tensor]) -> set[Operation]:
        """Nodes at which the walk ends: those of ``stop_gradients``, and xs below no other x."""
        result = {t.op for t in stops}
        x_ops = {x.op for x in self.xs}
        for op in x_ops:
            if not self.holds(op) or not any(True for _ in self._reaches(op, x_ops)):
                result.add(op)
        return result

    @staticmethod
    def _reaches(op: Operation, targets: set[Operation]) -> Iterator[Operation]:
        seen = {op}
        stack = [t.op for t in op.inputs]
        while stack:
            source = stack.pop()
            if source in seen:
                continue
            seen.add(source)
            if source in targets:
                yield source
            stack.extend(t.op for t in source.inputs)

    def _between(self) -> tuple[set[Operation], dict[Operation, int]]:
        """Nodes on a path from xs to ys, and how many of their consumers are on one too."""
        reached: set[Operation] = set()
        stack = [x.op for x in self.xs]
        while stack:
            op = stack.pop()
            if op in reached:
                continue
            reached.add(op)
            for output in op.outputs:
                if _carries_gradient(output):
                    stack.extend(filter(self.holds, output.uses))
        between: set[Operation] = set()
        pending: dict[Operation, int] = {}
        stack = [y.op for y in self.ys]
        order: list[Operation] = []
        while stack:
            op = stack.pop()
            if op in between or op not in reached:
                continue
            between.add(op)
            order.append(op)
            stack.extend(t.op for t in op.inputs)
        for op in order:
            if op in self.stop_ops:
                continue
            for tensor in op.inputs:
                if tensor.op in between:
                    pending[tensor.op] = pending.get(tensor.op, 0) + 1
        from dataflow.ops import control_flow_gradients

        self.loop_state = control_flow_gradients.prepare(between, pending, self.ys, self.xs)
        return between, pending

    def start(self, initial: list[Any]) -> None:
        for y, grad in zip(self.ys, initial, strict=True):
            if grad is not None:
                self.grads.setdefault(y, []).append(grad)

    def walk(self) -> None:
        """Visits nodes once all their consumers on the way have been visited."""
        ready = [op for op in dict.fromkeys(y.op for y in self.ys) if self.pending.get(op, 0) == 0]
        ready = [op for op in ready if op in self.between]
        if self.loop_state is not None:
            ready.extend(self.loop_state.start(self, ready))
        while ready:
            op = ready.pop()
            if op in self.stop_ops:
                continue
            self.visit(op)
            if self.loop_state is not None and op in self.loop_state.entered:
                continue  # the second visit of a loop variable: its inputs are on their way
            for tensor in op.inputs:
                source = tensor.op
                if source not in self.between:
                    continue
                self.pending[source] -= 1
                done = self.pending[source] == 0
                if self.loop_state is not None:
                    done = self.loop_state.is_ready(self, source, done, ready)
                if done:
                    ready.append(source)
        if self.loop_state is not None:
            self.loop_state.finish(self)

    def sum_in_context(self, tensor: Tensor) -> Any:
        """`sum`, made where the gradients of the tensor arrive: in a gradient's loop or outside."""
        if self.loop_state is None:
            return self.sum(tensor)
        with self.loop_state.context(tensor.op, before=True):
            return self.sum(tensor)

    def sum(self, tensor: Tensor) -> Any:
        """The sum of all contributions that reached an output; ``None`` for none."""
        if tensor in self.summed:
            return self.summed[tensor]
        parts = self.grads.get(tensor)
        if not parts:
            return None
        parts = [p for p in parts if p is not None]
        if not parts:
            total = None
        elif len(parts) == 1:
            total = parts[0]
        elif all(isinstance(p, IndexedSlices) for p in parts):
            total = concat_slices(parts)
        else:
            dense = [internal_convert(p, None, None) for p in parts]
            with self.graph.colocate_with(tensor.op) if self.colocate else _NOWHERE:
                total = self._add(dense)
        self.summed[tensor] = total
        return total

    def _add(self, parts: list[Tensor]) -> Tensor:
        """The sum, of those of each device there first, so that one tensor travels from each."""
        from dataflow.ops.math import add_n

        by_device: dict[str, list[Tensor]] = {}
        for part in parts:
            by_device.setdefault(part.device, []).append(part)
        sums = []
        for device in sorted(by_device):
            tensors = by_device[device]
            with self.graph.colocate_with(tensors[0].op, ignore_existing=True):
                sums.append(add_n(tensors))
        return sums[0] if len(sums) == 1 else add_n(sums)

    def visit(self, op: Operation) -> None:
        """Builds the gradients of one node's inputs from those of its outputs."""
        grads = [self.sum_in_context(t) for t in op.outputs]
        if self.loop_state is not None:
            grads = self.loop_state.complete(self, op, grads)
        if not any(g is not None for g in grads):
            return
        function = None
        if any(_carries_gradient(t) for t in op.inputs) or op.gradient_override:
            function = gradient_function_of(op)
        if function is None:
            return
        where = _NOWHERE if self.loop_state is None else self.loop_state.context(op)
        device = self.graph.colocate_with(op) if self.colocate else _NOWHERE
        with where, self.graph.name_scope(op.name + "_grad"), device:
            filled = grads
            if not hasattr(function, "takes_none"):
                outputs = zip(grads, op.outputs, strict=True)
                filled = [self._zeros(t) if g is None else g for g, t in outputs]
            if function is op.op_def.gradient_function and not hasattr(function, "takes_slices"):
                filled = [internal_convert(g, None, None) if _is_sparse(g) else g for g in filled]
            result = function(op, *filled)
            left_out = left_out_of_gradient(op, self.gate)
            for source, num_nodes in zip(op.inputs, left_out, strict=False):
                self.graph.num_left_out += num_nodes if source.op in self.between else 0
            self._distribute(op, result)

    def _zeros(self, tensor: Tensor) -> Any:
        """Zeros for an output that no gradient reached while another one did."""
        if self.loop_state is not None:
            special = self.loop_state.zeros(self, tensor)
            if special is not NotImplemented:
                return special
        if not _carries_gradient(tensor) or tensor.dtype.base_dtype.kind == "x":
            return None
        from dataflow.ops.array import zeros_like

        with counted_as(1):
            return zeros_like(tensor)

    def _distribute(self, op: Operation, result: Any) -> None:
        if not isinstance(result, (list, tuple)):
            result = [result]
        if len(result) != len(op.inputs):
            raise ValueError(
                f"The gradient of {op.type} ({op.name!r}) returned {len(result)} gradients for "
                f"{len(op.inputs)} inputs."
            )
        real = [g for g in result if g is not None]
        if self.gate and len(real) > 1:
            from dataflow.ops.control_flow import tuple_

            with self.graph.colocate_with(None, ignore_existing=True):
                gated = iter(tuple_(real))
            result = [None if g is None else next(gated) for g in result]
        for tensor, grad in zip(op.inputs, result, strict=True):
            if grad is None:
                continue
            if isinstance(grad, Tensor):
                wanted = tensor.dtype.base_dtype
                if grad.dtype.base_dtype is not wanted and wanted.kind in "fc":
                    raise ValueError(
                        f"The gradient of {op.type} ({op.name!r}) has dtype {grad.dtype.name}, "
                        f"but its input {tensor.name!r} has {wanted.name}."
                    )
                if tensor.dims is not None and grad.dims != tensor.dims:
                    try:
                        grad.set_shape(tensor.dims)
                    except ValueError as e:
                        raise ValueError(
                            f"Incompatible shapes between op input and calculated input gradient. "
                            f"Forward operation: {op.name}. Original input shape: {tensor.shape}. "
                            f"Calculated input gradient shape: {grad.shape}"
                        ) from e
            self.grads.setdefault(tensor, []).append(grad)

    def result(self, x: Tensor) -> Any:
        return self.sum(x)


def obstacles(ys: Sequence[Tensor], xs: Sequence[Any]) -> list[Operation]:
    """The ops at which every path back from ``ys`` to ``xs`` (tensors or variables) ends, the nearest first.

    Such an op depends on one of ``xs``, and passes no gradient on: its result is of integers or
    booleans, or it is not differentiable. Empty where ``ys`` depend on none of ``xs``.
    """
    depends: set[Operation] = set()
    stack = [x.op for x in xs]
    while stack:
        op = stack.pop()
        if op not in depends:
            depends.add(op)
            for output in op.outputs:
                stack.extend(output.uses)
    found: list[Operation] = []
    seen: set[Operation] = set()
    waiting = collections.deque((y.op, y) for y in ys)
    while waiting:
        op, output = waiting.popleft()
        if op in seen or op not in depends:
            continue
        seen.add(op)
        stops = not op.op_def.differentiable and op.gradient_override is None
        if not _carries_gradient(output) or stops:
            found.append(op)
        else:
            waiting.extend((tensor.op, tensor) for tensor in op.inputs)
    return found


#: A Hessian of more rows is taken in a loop, as building a gradient for each row would never end.
_LARGEST_UNROLLED_HESSIAN = 64


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
) -> list[Tensor]:
    """Second derivatives of ``sum(ys)``: for each x of shape S a tensor of shape S + S."""
    from dataflow.ops.array import concat, reshape, shape as shape_of, stack

    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    result = []
    graph = default_graph()
    with graph.name_scope(name):
        for x in xs:  # as it is: a variable may be read anew each time that it is converted
            (grad,) = gradients(ys, x, name="gradients", gate_gradients=gate_gradients)
            flat = reshape(grad, [-1])
            size = dimension_value(flat.shape[0])
            if size is None or size > _LARGEST_UNROLLED_HESSIAN:
                from dataflow.ops.functional import map_rows

                rows = map_rows(flat, x)
            else:
                rows = stack([gradients(flat[i], x)[0] for i in range(size)])
            full = concat([shape_of(grad), shape_of(grad)], 0)
            hessian = reshape(rows, full)
            if grad.dims is not None:
                hessian.set_shape(grad.dims + grad.dims)
            result.append(hessian)
    return result
