"""Symbolic shapes of loop variables, and of the elements of tensor lists and tensor arrays.

A loop variable keeps the shape that it enters the loop with if the body returns that shape. This is
known only after the body has been analyzed, so it is assumed first; where it turns out to be wrong,
the axis gets a symbol of its own and the analysis is repeated (`symbolic_shapes.Shapes` iterates to a
fixed point). An element taken from a list has the shape of those that were pushed, as far as it is
the same in every iteration: it may have been pushed in another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.rewrites.control_flow_positions import OUTSIDE, positions
from dataflow.shapes import common

Symbols = tuple[Any, ...]
#: Symbols, with ``None`` for axes that differ between elements; ``None`` if the rank is unknown.
Element = tuple[Any, ...] | None
#: The element of an empty list or array.
NOTHING: Any = ("nothing",)

#: Ops that write elements to tensor arrays, and the input that holds them.
_WRITES = {"TensorArrayWriteV3": 2, "TensorArrayScatterV3": 2, "TensorArraySplitV3": 1}


class LoopShapes:
    """The part of `Shapes` for plans with control flow.

    ``of`` and ``fresh`` are those of `Shapes`: the symbols that a tensor has so far, and symbols of
    its own for a tensor.
    """

    def __init__(
        self,
        ops: Sequence[Operation],
        feeds: Sequence[Tensor],
        of: dict[Tensor, Symbols | None],
        fresh: Callable[[Tensor], Symbols | None],
    ) -> None:
        self._of, self._fresh = of, fresh
        self._where = positions(ops, feeds)
        self._ops = set(ops)
        #: True once this round has learned something that earlier ones did not know.
        self.changed = False
        #: Nodes whose shapes cannot be inferred.
        self.given_up: set[Operation] = set()
        self._elements: dict[Any, Element] = {}
        #: Axes of Merges whose inputs differ.
        self._apart: set[tuple[Tensor, int]] = set()
        self._symbols_inside: set[str] = set()

    def born(self, tensor: Tensor, symbol: str) -> None:
        """Notes that ``symbol`` is the tensor's own: in a loop its size may differ in each iteration."""
        if self._where.get(tensor.op, OUTSIDE).loops:
            self._symbols_inside.add(symbol)

    def can_tell(self, op: Operation) -> bool:
        """False while an input depends on a loop variable that has not been analyzed."""
        if op in self.given_up:
            return False
        if op.op_def.control_flow == "merge":
            return any(self._is_there(t) for t in op.inputs)
        return all(self._is_there(t) for t in op.inputs)

    def _is_there(self, tensor: Tensor) -> bool:
        return tensor in self._of or tensor.op not in self._ops

    def rule(self, op: Operation, output: Tensor) -> tuple[bool, Symbols | None]:
        """Whether the op is one of control flow, lists or arrays; and the symbols of an output."""
        kind = op.type
        if _hands_on(op):
            source = op.inputs[0]
            if source in self._elements:
                self._note(output, self._elements[source])
            return True, self._of.get(source)
        if op.op_def.control_flow == "merge":
            return True, self._merge(op, output)
        if kind.startswith("TensorList") or kind == "EmptyTensorList":
            return True, self._list(op, output)
        if kind.startswith("TensorArray"):
            return True, self._array(op, output)
        return False, None

    def _merge(self, op: Operation, output: Tensor) -> Symbols | None:
        if output.value_index:
            return ()
        element = NOTHING
        for source in op.inputs:
            if source in self._elements:
                element = _join(element, self._elements[source])
        if element is not NOTHING or any(t in self._elements for t in op.inputs):
            self._note(output, element)
        known = [self._of[t] for t in op.inputs if t in self._of]
        own = self._fresh(output)
        if not known or any(s is None for s in known):
            return own
        first = known[0]
        assert first is not None
        if any(len(s) != len(first) for s in known if s is not None) or (
            own is not None and len(own) != len(first)
        ):
            return own
        result = []
        for axis, symbol in enumerate(first):
            if any(s is not None and s[axis] != symbol for s in known):
                self._apart.add((output, axis))
            if (output, axis) in self._apart:
                if own is None:
                    return None
                symbol = own[axis]
            result.append(symbol)
        return tuple(result)

    # ---- lists ----------------------------------------------------------------------------

    def _list(self, op: Operation, output: Tensor) -> Symbols | None:
        kind = op.type
        if kind == "EmptyTensorList":
            self._elements.setdefault(output, NOTHING)
            return ()
        if kind == "TensorListPushBack":
            before = self._elements.get(op.inputs[0])
            self._note(output, _join(before, self._lasting(self._of.get(op.inputs[1]))))
            return ()
        if kind == "TensorListPopBack":
            element = self._elements.get(op.inputs[0])
            if output.value_index == 0:
                self._note(output, element)
                return ()
            return self._taken(output, element)
        self._note(output, None)
        return self._fresh(output)

    # ---- arrays ---------------------------------------------------------------------------

    def _array(self, op: Operation, output: Tensor) -> Symbols | None:
        kind = op.type
        if kind in ("TensorArrayV3", "TensorArrayGradV3"):
            return self._fresh(output)
        source = _array_of(op.inputs[0])
        if kind in _WRITES:
            brought = self._of.get(op.inputs[_WRITES[kind]])
            if brought is not None and kind != "TensorArrayWriteV3":
                brought = brought[1:] if kind == "TensorArrayScatterV3" else (None, *brought[1:])
            if source is not None:
                found = self._elements.get(source, NOTHING)
                self._note(source, _join(found, self._lasting(brought)))
            return ()
        element = None if source is None else self._elements.get(source, NOTHING)
        if source is not None and source[1]:  # an element that was never written reads as zeros
            element = _join(element, self._elements.get((source[0], False), NOTHING))
        if kind == "TensorArrayReadV3":
            return self._taken(output, element)
        own = self._fresh(output)
        if element is NOTHING and kind == "TensorArrayGatherV3":
            return element  # type: ignore[no-any-return]
        if element is not None and kind == "TensorArrayGatherV3":
            count = self._of.get(op.inputs[1])
            if own is not None and len(own) == len(element) + 1:
                number = own[0] if not count else count[0]
                inner = [o if e is None else e for o, e in zip(own[1:], element, strict=True)]
                return (number, *inner)
        return own

    # ---- elements -----------------------------------------------------------------------

    def _lasting(self, symbols: Symbols | None) -> Element:
        """The facts about an element that hold in later iterations, too."""
        if symbols is None:
            return None
        return tuple(None if parts(s) & self._symbols_inside else s for s in symbols)

    def _taken(self, output: Tensor, element: Element) -> Symbols | None:
        """The symbols of an element that is read."""
        own = self._fresh(output)
        if element is NOTHING:
            return element  # type: ignore[no-any-return]
        if element is None or own is None or len(own) != len(element):
            return own
        return tuple(o if e is None else e for o, e in zip(own, element, strict=True))

    def _note(self, of: Any, element: Element) -> None:
        """Merges the facts about the elements of a list (its tensor) or an array (its node)."""
        before = self._elements.get(of, NOTHING)
        joined = _join(before, element)
        if of not in self._elements or joined != before:
            self._elements[of] = joined
            self.changed = True


def _hands_on(op: Operation) -> bool:
    """Whether each output of the node is its first input."""
    return op.op_def.is_alias or op.op_def.control_flow == "switch"


class Scaled(NamedTuple):
    """A size that is ``numerator / denominator`` times that of a symbol: rows of a batch of sequences.

    The fraction is in lowest terms and not 1, so that equal sizes are equal tuples.
    """

    symbol: Any
    numerator: int
    denominator: int


def parts(size: Any) -> frozenset[Any]:
    """The symbols that this size depends on; none for a number."""
    if isinstance(size, Scaled):
        return parts(size.symbol)
    if isinstance(size, frozenset):
        return frozenset(symbol for one in size for symbol in parts(one))
    return frozenset([size] if isinstance(size, str) else [])


def are_there(ops: Sequence[Operation]) -> bool:
    """True for a plan with control flow."""
    return any(op.op_def.control_flow for op in ops)


def _join(a: Element, b: Element) -> Element:
    """The facts that hold for elements of both kinds."""
    if a is NOTHING or a == b:
        return b
    if b is NOTHING:
        return a
    return common(a, b)


def _array_of(handle: Tensor) -> tuple[Operation, bool] | None:
    """The node that made an array of tensors, and whether it is an array of its gradients."""
    seen, gradients = set(), False
    while handle.op not in seen:
        seen.add(handle.op)
        op = handle.op
        if op.type == "TensorArrayV3":
            return op, gradients
        gradients = gradients or op.type == "TensorArrayGradV3"
        if _hands_on(op) or op.op_def.control_flow == "merge" or op.type == "TensorArrayGradV3":
            handle = op.inputs[0]
        else:
            return None
    return None
