"""Removes the sums, reshapes and broadcasts in gradients that have no effect at any batch size.

The gradient of a broadcasting op is summed over the broadcast axes, which are known only from the
shapes in a run: four nodes for each operand. Where symbolic shapes show that an operand has the
result's shape in every run, there is nothing to sum. Where they do not show it, the shape of an
element-wise result is taken from those of its operands: a result that only its shape is asked of
need not be stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from dataflow.dtypes import int32
from dataflow.graph.default_stacks import use_graph
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.kernels.jit.regions import fits
from dataflow.ops.sources import make_constant
from dataflow.rewrites.constants import is_all
from dataflow.rewrites.effects import has_effects_behind
from dataflow.rewrites.journal import Hit
from dataflow.rewrites.symbolic_shapes import BROADCASTING, EqualDims, Shapes, is_same, ratio
from dataflow.rewrites.working_graph import WorkingGraph

#: The most element-wise nodes visited to find the shape of one.
_MOST_NODES = 100
#: Ops that make an array of a smaller one, by the number of that input.
_ENLARGED = {"BroadcastTo": 0, "Fill": 1}
_PUZZLING = frozenset({"Reshape", "BroadcastTo", "Shape", "Size", "AddN", *BROADCASTING})


def run(work: WorkingGraph, journal: list[Hit], equal_dims: EqualDims) -> None:
    """Removes such nodes. ``equal_dims``: groups of feed dimensions that are equal."""
    ops = work.needed()
    if not any(op.type in ("Reshape", "BroadcastTo", "Fill", "Shape", "Size") for op in ops):
        return
    shapes = Shapes(ops, work.feed_tensors, equal_dims)
    kept = {*work.fixed, *work.fetch_tensors()}
    orders: _Orders | None = None
    for op in ops:
        if op.type not in _PUZZLING or op.outputs[0] in work.fixed:
            continue
        tensor = op.outputs[0]
        with use_graph(work.graph):
            work.begin(tensor)
            for equation, replacement in _replacements(tensor, shapes, work.feed_tensors, kept):
                waits = [control for t in _leaving(op) for control in t.op.control_inputs]
                if waits:  # they must still run first
                    orders = orders or _Orders(ops)
                    if not orders.comes_after(replacement.op, waits):
                        continue
                work.replace(tensor, replacement)
                shapes.put_in_place(tensor, replacement)
                journal.append(
                    Hit(
                        "broadcasting",
                        equation,
                        tensor.name,
                        replacement.name,
                        (op.name,),
                        (replacement.op.name,),
                    )
                )
                break


class _Orders:
    """Which nodes come after those that control edges lead from: a bit for each of these."""

    def __init__(self, ops: Sequence[Operation]) -> None:
        self._bits: dict[Operation, int] = {}
        for op in ops:
            for control in op.control_inputs:
                self._bits.setdefault(control, 1 << len(self._bits))
        self._before = dict.fromkeys(ops, 0)  # so loops do not go back
        for op in ops:
            self._before[op] = self._sources(op)

    def comes_after(self, op: Operation, waits: Iterable[Operation]) -> bool:
        """Whether a node, of the plan or a new one, waits for all of ``waits`` by its inputs."""
        before = self._of(op) | self._bits.get(op, 0)
        return all(self._bits[control] & before for control in waits)

    def _of(self, op: Operation) -> int:
        if op not in self._before:  # a new node
            self._before[op] = self._sources(op)
        return self._before[op]

    def _sources(self, op: Operation) -> int:
        before = 0
        for source in (*(t.op for t in op.inputs), *op.control_inputs):
            before |= self._of(source) | self._bits.get(source, 0)
        return before


def _leaving(op: Operation) -> list[Tensor]:
    """The inputs of a node that may go with it: of a sum the enlarged terms, and their shapes."""
    if op.type != "AddN":
        return op.inputs
    terms = [t for t in op.inputs if t.op.type in _ENLARGED]
    return [*terms, *(s for t in terms for s in t.op.inputs if s is not _small(t))]


def _small(t: Tensor) -> Tensor:
    """What an enlarged array is made of, or else the array itself."""
    number = _ENLARGED.get(t.op.type)
    return t if number is None else t.op.inputs[number]


def _replacements(
    t: Tensor, shapes: Shapes, feeds: list[Tensor], kept: Collection[Tensor]
) -> Iterator[tuple[str, Tensor]]:
    """The replacements for ``t``, each with its equation, best first.

    ``kept``: the tensors that must stay.
    """
    x, *rest = t.op.inputs
    if t.op.type in ("Shape", "Size"):
        if x not in feeds and not x.dtype.is_ref and not has_effects_behind(x.op):
            for feed in feeds:  # a feed is there from the start, so nothing waits for x
                if shapes.same(x, feed):
                    equation = f"{t.op.type.lower()}(x) -> that of a fed array of its shape"
                    yield equation, get_op(t.op.type)(feed, out_type=t.dtype)
        if t.op.type == "Shape" and not x.dtype.is_ref:
            yield from _shape_of_operands(t, shapes, kept)
        return
    if t.op.type == "Reshape":
        summed = _not_summed(x, shapes)
        source = x if summed is None else summed
        if is_same(shapes.of(source), shapes.told_by(rest[0])):
            yield "reshape(x, shape of x) -> x", source
        elif summed is not None:
            yield "sum over no axes -> x", get_op("Reshape")(summed, rest[0])
        else:
            yield from _summed_over_known_axes(x, rest[0], shapes)
    elif t.op.type == "AddN":
        yield from _without_enlarged_terms(t, shapes)
    elif t.op.type == "BroadcastTo":
        if is_same(shapes.of(x), shapes.told_by(rest[0])):
            yield "broadcast_to(x, shape of x) -> x", x
    else:
        (y,) = rest
        if t.op.type == "RealDiv":
            yield from _divided_by_a_count(x, y, shapes)
        equation = "x * broadcast_to(y, shape of x) -> x * y"
        if y.op.type == "BroadcastTo" and shapes.same(x, y):
            yield equation, get_op(t.op.type)(x, y.op.inputs[0])
        elif x.op.type == "BroadcastTo" and shapes.same(x, y):
            yield equation, get_op(t.op.type)(x.op.inputs[0], y)


def _shape_of_operands(
    t: Tensor, shapes: Shapes, kept: Collection[Tensor]
) -> Iterator[tuple[str, Tensor]]:
    """The shape of an element-wise result without the result."""
    (x,) = t.op.inputs
    sources = _sources(x, kept)
    if sources is None:
        return
    whole = [s for s in sources if shapes.same(s, x)][:1]
    needed = whole or [
        s for i, s in enumerate(sources) if not any(shapes.same(s, o) for o in sources[:i])
    ]
    if not needed or any(s not in needed and has_effects_behind(s.op) for s in sources):
        return
    total = get_op("Shape")(needed[0], out_type=t.dtype)
    for source in needed[1:]:
        total = get_op("BroadcastArgs")(total, get_op("Shape")(source, out_type=t.dtype))
    equation = "shape(f(x)) -> shape(x)" if whole else "shape(f(x, y)) -> broadcast of their shapes"
    yield equation, total


def _sources(x: Tensor, kept: Collection[Tensor]) -> list[Tensor] | None:
    """The origin of ``x`` behind element-wise nodes: arrays that are stored anyway, scalars left out.

    ``None`` where ``x`` is stored itself, or where its nodes wait for others.
    """
    found: dict[Tensor, None] = {}
    seen, stack = {x}, [x]
    while stack:
        tensor = stack.pop()
        op = tensor.op
        if not _may_be_fused(tensor) or tensor in kept:
            if tensor is x or op.type == "Const" or tensor.dtype.is_ref:
                return None
            found[tensor] = None
            continue
        if op.control_inputs or len(seen) > _MOST_NODES:
            return None
        new = [i for i in op.inputs if i.dims != () and i not in seen]
        if any(i.dims == () and has_effects_behind(i.op) for i in op.inputs):
            return None  # they must happen although the value is not used
        seen.update(new)
        stack += reversed(new)
    return list(found)


def _may_be_fused(tensor: Tensor) -> bool:
    dtype = tensor.dtype
    return (
        tensor.op.op_def.elementwise
        and len(tensor.op.outputs) == 1
        and dtype.name in ("float32", "float64")
        and fits(tensor.op.type, dtype.name)
    )


def _without_enlarged_terms(t: Tensor, shapes: Shapes) -> Iterator[tuple[str, Tensor]]:
    """Sums of gradients in which a term is broadcast, or filled with a number: that is added as it is.

    The terms are added in the same order, so rounding does not change. The branch not taken of a conditional gives
    a gradient of zeros, which make 0.0 of -0.0.
    """
    if not t.dtype.is_floating:
        return
    whole = [x for x in t.op.inputs if x.op.type not in _ENLARGED]
    enlarged = [x for x in t.op.inputs if x.op.type in _ENLARGED]
    if not whole or not enlarged or not all(shapes.same(whole[0], x) for x in enlarged):
        return
    total, *terms = map(_small, t.op.inputs)
    for term in terms:
        total = get_op("AddV2")(total, term)
    yield "add_n of x and broadcast_to(y, shape of x) -> x + y", total


def _not_summed(t: Tensor, shapes: Shapes) -> Tensor | None:
    """x of ``sum(x, broadcast axes)`` where every such axis has size 1, otherwise ``None``."""
    if t.op.type != "Sum":
        return None
    x, axes = t.op.inputs
    if axes.op.type != "BroadcastGradientArgs":
        return None
    told = [shapes.told_by(shape) for shape in axes.op.inputs]
    operand, other = told[axes.value_index], told[1 - axes.value_index]
    whole = shapes.of(x)
    if whole is None or operand is None or other is None or len(other) > len(operand):
        return None
    # The axes after those that are broadcast are a matrix's.
    return x if operand and is_same(whole[: len(operand)], operand) else None


def _summed_over_known_axes(
    t: Tensor, shape: Tensor, shapes: Shapes
) -> Iterator[tuple[str, Tensor]]:
    """``reshape(sum(x, broadcast axes), shape)`` where these axes are the same in every run."""
    if t.op.type != "Sum" or t.op.attrs["keep_dims"]:
        return
    x, axes = t.op.inputs
    whole = shapes.of(x)
    if axes.op.type != "BroadcastGradientArgs" or whole is None:
        return
    told = [shapes.told_by(one) for one in axes.op.inputs]
    operand, other = told[axes.value_index], told[1 - axes.value_index]
    if operand is None or other is None or len(whole) != max(len(operand), len(other)):
        return
    missing = len(whole) - len(operand)
    others = (*[1] * (len(whole) - len(other)), *other)
    summed = list(range(missing))
    for axis, size in enumerate(operand, start=missing):
        if size == 1 and others[axis] != 1:
            summed.append(axis)
        elif size != others[axis] and others[axis] != 1:
            return  # one of the two may be 1 in a run
        if summed and summed[-1] == axis and not isinstance(others[axis], int):
            return  # where it is 1, too, nothing is summed
    if not summed:
        return
    numbers = make_constant(np.array(summed, np.int32), int32, None, "axes")
    keeps = len(summed) > missing
    total = get_op("Sum")(x, numbers, keep_dims=keeps)
    if (missing and keeps) or not is_same(operand, shapes.told_by(shape)):
        total = get_op("Reshape")(total, shape)
    yield "sum over the axes that an operand lacks -> sum over those axes", total


def _divided_by_a_count(x: Tensor, y: Tensor, shapes: Shapes) -> Iterator[tuple[str, Tensor]]:
    """The gradient of a mean, divided by how many elements each of its results had."""
    if y.op.type != "Cast" or y.op.inputs[0].op.type != "FloorDiv":
        return
    (before, after) = y.op.inputs[0].op.inputs
    if before.op.type != "Size" or after.op.type != "Maximum":
        return
    after, least = after.op.inputs
    if after.op.type != "Size" or not is_all(least, 1):
        return
    counted = [t.op.inputs[0] for t in (before, after)]
    if any(has_effects_behind(t.op) for t in counted):
        return
    divided, many, few = (shapes.of(t) for t in (x, *counted))
    # Where ``few`` has no elements there is nothing to divide.
    count = ratio(many, few) if ratio(divided, few) else None
    if count:
        value = np.array(count, y.dtype.as_numpy_dtype)
        number = make_constant(value, y.dtype.base_dtype, None, "count")
        yield "x / (size(a) // size(b)) -> x / number", get_op("RealDiv")(x, number)
