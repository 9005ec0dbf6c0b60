"""Symbolic shapes: which tensors of a plan have the same shape for any feeds.

A size that is unknown when the plan is made is a *symbol*. Two tensors share a symbol where their
sizes must be equal. A reshape makes multiples and fractions of a symbol (`Scaled`). Several symbols
broadcast to the set of them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.loop_shapes import NOTHING, LoopShapes, Scaled, are_there

Symbols = tuple[Any, ...]
#: Groups of feed axes of equal size: (index of the feed, axis).
EqualDims = list[list[tuple[int, int]]]

#: Element-wise ops of two operands that broadcast.
BROADCASTING = ("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum")
_ENTROPIES = frozenset({"SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"})
#: By the number of the input that their first result is like.
_BATCH_NORMS = {"FusedBatchNormV3": 0, "FusedBatchNormGradV3": 1}
#: The most rounds over the nodes of a plan with loops, which end when nothing changes.
_MOST_ROUNDS = 12


class Shapes:
    """Symbolic shapes of a plan's tensors: numbers, and symbols where a size is unknown.

    Sizes in one group of ``equal_dims`` share a symbol; the caller guarantees that they are equal.
    """

    def __init__(
        self, ops: Sequence[Operation], feeds: Sequence[Tensor], equal_dims: EqualDims | None = None
    ) -> None:
        self._own: dict[Tensor, Symbols | None] = {}
        self._of: dict[Tensor, Symbols | None] = {}
        self._loops: LoopShapes | None = None
        if are_there(ops):
            self._loops = LoopShapes(ops, feeds, self._of, self._fresh)
        fed = [self._fresh(tensor) for tensor in feeds]
        for group in equal_dims or ():
            ((first, axis), *others) = group
            for i, other_axis in others:
                symbols, shared = fed[i], fed[first]
                assert symbols is not None and shared is not None
                before, after = symbols[:other_axis], symbols[other_axis + 1 :]
                fed[i] = (*before, shared[axis], *after)
        self._of.update(zip(feeds, fed, strict=True))
        given = set(feeds)
        self._look_at(ops, given)
        if self._loops is not None:
            self._settle(self._loops, ops, given)

    def _look_at(self, ops: Sequence[Operation], given: set[Tensor]) -> None:
        """One round over all nodes, using what earlier rounds found out."""
        loops, own = self._loops, self._of
        for op in ops:
            for tensor in op.outputs:
                if tensor in given:
                    continue
                if loops is None:
                    own[tensor] = self._infer(op, tensor)
                elif loops.can_tell(op):
                    found = self._infer(op, tensor)
                    if found is not NOTHING and own.get(tensor, NOTHING) != found:
                        own[tensor] = found
                        loops.changed = True

    def _settle(self, loops: LoopShapes, ops: Sequence[Operation], given: set[Tensor]) -> None:
        """Repeats the analysis until nothing changes."""
        rounds = 0
        while loops.changed:
            loops.changed = False
            self._look_at(ops, given)
            rounds += 1
            if not loops.changed:  # a shape that depends on nothing may be anything
                for op in ops:
                    for tensor in op.outputs:
                        if tensor not in self._of:
                            self._of[tensor] = self._fresh(tensor)
                            loops.given_up.add(op)
                            loops.changed = True
            if rounds == _MOST_ROUNDS:  # no fixed point: nothing is certain
                for tensor in [t for t in self._of if t not in given]:
                    self._of[tensor] = self._fresh(tensor)
                return

    def same(self, a: Tensor, b: Tensor) -> bool:
        """True when both have the same shape, of rank 1 or more, in every run."""
        return is_same(self.of(a), self.of(b))

    def of(self, tensor: Tensor) -> Symbols | None:
        """The symbols of a tensor; ``None`` where not even the rank is known."""
        return self._of.get(tensor)

    def put_in_place(self, old: Tensor, new: Tensor) -> None:
        """Gives a new tensor the shape of the one that it replaces."""
        self._of.setdefault(new, self._of.get(old))

    def told_by(self, shape: Tensor) -> Symbols | None:
        """The symbols of an array whose shape is the value of ``shape``, where that is known."""
        while shape.op.type == "Enter" and shape.op.attrs["is_constant"]:
            shape = shape.op.inputs[0]
        if shape.op.type == "Shape":
            return self._of.get(shape.op.inputs[0])
        if shape.op.type == "ShapeN":
            return self._of.get(shape.op.inputs[shape.value_index])
        if shape.op.type == "BroadcastArgs":
            return _broadcast([self.told_by(t) for t in shape.op.inputs])
        if shape.op.type == "Const":
            sizes = shape.op.attrs["value"]
            if sizes.ndim == 1 and (sizes >= 0).all():
                return tuple(sizes.tolist())
        if shape.op.type == "StridedSlice":  # the batch axes of a product of many matrices
            return _some(self.told_by(shape.op.inputs[0]), shape.op)
        if shape.op.type == "Pack":  # the state of a recurrent network: [batch, units]
            found = [self._size(t) for t in shape.op.inputs]
            return None if None in found else tuple(found)
        if shape.op.type == "SparseCross":  # as many rows as its first input
            told = self.told_by(shape.op.inputs[2 * shape.op.attrs["N"]])
            return (told[0], f"{shape.name}[1]") if told and shape.op.attrs["N"] else None
        return None

    def _size(self, size: Tensor) -> Any:
        """The symbol of a size: a number, or an element of a shape; ``None`` where it is neither."""
        op = size.op
        if op.type == "Const":
            value = op.attrs["value"]
            return int(value) if value.shape == () and value >= 0 else None
        if op.type != "StridedSlice" or size.dims != ():
            return None
        told, begin = self.told_by(op.inputs[0]), _constant(op.inputs[1])
        flags = [op.attrs[name] for name in ("begin_mask", "ellipsis_mask", "new_axis_mask")]
        if told is None or begin is None or len(begin) != 1 or any(flags):
            return None
        return told[begin[0]] if -len(told) <= begin[0] < len(told) else None

    def _fresh(self, tensor: Tensor) -> Symbols | None:
        """A new symbol for each unknown dimension of a tensor."""
        if tensor not in self._own:
            if tensor.dims is None:
                self._own[tensor] = None
            else:
                number = len(self._own)
                self._own[tensor] = tuple(
                    f"s{number}.{axis}" if d is None else d for axis, d in enumerate(tensor.dims)
                )
                if self._loops is not None:
                    for symbol in self._own[tensor] or ():
                        if isinstance(symbol, str):
                            self._loops.born(tensor, symbol)
        return self._own[tensor]

    def _infer(self, op: Operation, output: Tensor) -> Symbols | None:
        fresh = self._fresh(output)
        handled = False
        if self._loops is not None:
            handled, found = self._loops.rule(op, output)
        if not handled:
            found = self._rule(op, output, fresh)
        if found is None:
            return fresh
        if fresh is None or found is NOTHING:
            return found
        if len(found) != len(fresh):
            return fresh
        # A dimension that the shape rule knows is a number.
        return tuple(
            f if known is None else known for f, known in zip(found, output.dims or (), strict=True)
        )

    def _rule(self, op: Operation, output: Tensor, fresh: Symbols | None) -> Symbols | None:
        kind = op.type
        inputs = [self._of.get(t) for t in op.inputs]
        op_def = op.op_def
        if op_def.shape_like is not None:
            return inputs[op_def.shape_like]
        if op_def.elementwise:
            return _broadcast(inputs)
        if kind == "_Fused":
            return None if op.attrs["program"].reduction else _broadcast(inputs)
        if op_def.shape_input is not None:
            told = self.told_by(op.inputs[op_def.shape_input])
            if told is None and kind == "Reshape":
                return _split(inputs[0], fresh)
            return told
        if kind in _BATCH_NORMS and output.value_index == 0:
            return inputs[_BATCH_NORMS[kind]]
        if kind in _ENTROPIES:
            return inputs[0] if output.value_index or inputs[0] is None else inputs[0][:1]
        if kind == "_SafeEmbeddingLookup" and not output.value_index and inputs[0]:
            told = self.told_by(op.inputs[3])
            return (told[0], *inputs[0][1:]) if told else None
        if kind == "Split":
            return _along(inputs[1], _constant(op.inputs[0]), fresh)
        if kind == "SplitV":
            return _along(inputs[0], _constant(op.inputs[2]), fresh)
        if inputs and inputs[0]:
            return self._of_first(op, inputs, inputs[0], fresh)
        return None

    def _of_first(
        self, op: Operation, inputs: list[Symbols | None], first: Symbols, fresh: Symbols | None
    ) -> Symbols | None:
        """For ops whose result has axes of the first input."""
        kind = op.type
        if kind == "MatMul" and inputs[1]:
            rows = first[1 if op.attrs["transpose_a"] else 0]
            return (rows, inputs[1][0 if op.attrs["transpose_b"] else 1])
        if kind in ("BatchMatMul", "BatchMatMulV2") and inputs[1]:
            batch = _broadcast([first[:-2], inputs[1][:-2]])
            rows, columns = (
                first[-1 if op.attrs["adj_x"] else -2],
                inputs[1][-2 if op.attrs["adj_y"] else -1],
            )
            return None if batch is None else (*batch, rows, columns)
        if kind in ("Conv2D", "_Conv2DBias", "MaxPool", "AvgPool") and fresh:
            return (first[0], *fresh[1:])  # the batch
        if kind == "Unpack":
            at = op.attrs["axis"] % len(first)
            return first[:at] + first[at + 1 :]
        if kind == "Pack":
            at = op.attrs["axis"] % (len(first) + 1)
            return (*first[:at], len(inputs), *first[at:])
        numbers = [_constant(t) for t in op.inputs[1:]]
        if kind == "StridedSlice":
            return _sliced(op, first, fresh)
        if op.op_def.is_reduction and numbers[0] is not None:
            gone = {a % len(first) for a in numbers[0]}
            if op.attrs["keep_dims"]:
                return tuple(1 if i in gone else d for i, d in enumerate(first))
            return tuple(d for i, d in enumerate(first) if i not in gone)
        if kind == "GatherV2" and numbers[1] == [0] and not op.attrs["batch_dims"]:
            return None if inputs[1] is None else inputs[1] + first[1:]
        if kind in ("Gather", "ResourceGather"):
            return None if inputs[1] is None else inputs[1] + first[1:]
        if kind == "ExpandDims" and numbers[0] is not None:
            at = numbers[0][0] % (len(first) + 1)
            return (*first[:at], 1, *first[at:])
        if kind == "Transpose" and numbers[0] is not None:
            return tuple(first[a] for a in numbers[0])
        return _along(first, numbers[-1], fresh) if kind == "ConcatV2" else None


def is_same(a: Symbols | None, b: Symbols | None) -> bool:
    """True for equal symbols of rank 1 or more."""
    return bool(a) and a == b


def _constant(tensor: Tensor) -> list[int] | None:
    if tensor.op.type != "Const" or tensor.dtype.base_dtype.kind != "i":
        return None
    return tensor.op.attrs["value"].reshape(-1).tolist()  # type: ignore[no-any-return]


def _along(
    symbols: Symbols | None, axis: list[int] | None, fresh: Symbols | None
) -> Symbols | None:
    """``symbols`` with a new size along one axis."""
    if not symbols or axis is None or not fresh or len(fresh) != len(symbols):
        return None
    at = axis[0] % len(symbols)
    return (*symbols[:at], fresh[at], *symbols[at + 1 :])


def _some(told: Symbols | None, op: Operation) -> Symbols | None:
    """The dimensions that ``shape[begin:end]`` selects."""
    bounds = [_constant(t) for t in op.inputs[1:]]
    masks = [op.attrs[f"{name}_mask"] for name in ("ellipsis", "new_axis", "shrink_axis")]
    if told is None or any(masks) or any(b is None or len(b) != 1 for b in bounds):
        return None
    begin, end, step = (b[0] for b in bounds if b is not None)
    return told[
        slice(
            None if op.attrs["begin_mask"] else begin, None if op.attrs["end_mask"] else end, step
        )
    ]


def ratio(a: Symbols | None, b: Symbols | None) -> int | None:
    """How many times as many elements an array of shape ``a`` has; ``None`` where runs may differ.

    Holds where ``b`` has elements.
    """
    if a is None or b is None:
        return None
    numbers = [math.prod(d for d in s if isinstance(d, int)) for s in (a, b)]
    unknown = [Counter(d for d in s if not isinstance(d, int)) for s in (a, b)]
    if unknown[0] != unknown[1] or not numbers[1] or numbers[0] % numbers[1]:
        return None
    return numbers[0] // numbers[1]


def _sliced(op: Operation, first: Symbols, fresh: Symbols | None) -> Symbols | None:
    """The symbols of a slice: an axis that is taken whole keeps its size."""
    begins, strides = _constant(op.inputs[1]), _constant(op.inputs[3])
    masks = [op.attrs[f"{name}_mask"] for name in ("begin", "end", "new_axis", "shrink_axis")]
    if fresh is None or begins is None or strides is None or op.attrs["ellipsis_mask"]:
        return None
    rest, result = list(first), []
    for i, (begin, stride) in enumerate(zip(begins, strides, strict=True)):
        from_first, to_last, is_new, is_gone = (mask >> i & 1 for mask in masks)
        if is_new:
            result.append(1)
            continue
        size = rest.pop(0)
        if not is_gone:
            whole = to_last and (from_first or begin == 0) and stride == 1
            result.append(size if whole else fresh[len(result)])
    return (*result, *rest)


def _split(before: Symbols | None, after: Symbols | None) -> Symbols | None:
    """The symbols of a reshape: its one unknown size is a multiple, or a part, of its input's."""
    if before is None or after is None:
        return None
    known = math.prod(d for d in before if isinstance(d, int))
    unknown = [d for d in before if not isinstance(d, int)]
    wanted = [d for d in after if isinstance(d, int)]
    if len(unknown) != 1 or len(wanted) != len(after) - 1 or not known or not math.prod(wanted):
        return None
    size = _scaled(unknown[0], known, math.prod(wanted))
    return tuple(d if isinstance(d, int) else size for d in after)


def _scaled(size: Any, numerator: int, denominator: int) -> Any:
    """``size * numerator / denominator``, where that is a whole number in every run."""
    if isinstance(size, Scaled):
        size, numerator, denominator = (
            size.symbol,
            size.numerator * numerator,
            size.denominator * denominator,
        )
    factor = math.gcd(numerator, denominator)
    if numerator == denominator:
        return size
    return Scaled(size, numerator // factor, denominator // factor)


def _broadcast(shapes: list[Symbols | None]) -> Symbols | None:
    """The shape that all broadcast to; ``None`` when it is not known."""
    if not shapes or any(s is None for s in shapes):
        return None
    rank = max(len(s) for s in shapes if s is not None)
    result: list[Any] = []
    for axis in range(1, rank + 1):
        sizes = {s[-axis] for s in shapes if s is not None and len(s) >= axis} - {1}
        numbers = [s for s in sizes if isinstance(s, int)]
        if numbers:
            result.append(numbers[0])  # a symbol beside it is the same number, or 1
        elif len(sizes) > 1:
            alternatives = (size if isinstance(size, frozenset) else {size} for size in sizes)
            result.append(frozenset().union(*alternatives))
        else:
            result.append(next(iter(sizes), 1))
    return tuple(reversed(result))
