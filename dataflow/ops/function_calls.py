"""Calls of functions in a ``GraphDef``'s library, as nodes of the graph that imports it.

Programs with `tf.function`, with control flow of the second version and all of TensorFlow 2 write nodes
that name functions: ``PartitionedCall``, ``If``, ``While``. TensorFlow puts the functions' nodes in their
place before it runs such a graph, and so does the import here: `tf.cond` and `tf.while_loop` make the
branches and loops, so that gradients, placement and pictures know nothing new.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.dtypes import as_dtype, bool_, string
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.function_def import LibraryFunction
from dataflow.graph.operation import Operation
from dataflow.graph.registry import get_op
from dataflow.graph.tensor import Tensor
from dataflow.ops.arithmetic import add
from dataflow.ops.comparison import equal, greater, less, not_equal
from dataflow.ops.conditionals import cond
from dataflow.ops.control_flow_defs import CONTEXTS, restore_contexts
from dataflow.ops.effects import in_order
from dataflow.ops.fills import zeros, zeros_like
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.identity import identity
from dataflow.ops.shape import size as size_of
from dataflow.ops.sources import constant, placeholder_with_default
from dataflow.ops.static_value import static_value
from dataflow.ops.while_loop import while_loop
from dataflow.shapes import as_dims, as_shape, scalar, unknown_shape

#: The tensors that stand for a call, and the operations that run with it.
Lowered = tuple[list[Tensor], list[Operation]]


def add_call(node: Any, inputs: list[Tensor], made: dict[str, Operation], frames: Any) -> Operation:
    """Adds to the default graph what a node of a file that calls functions stands for.

    Returns the operation that has the node's name and outputs. ``made`` has the nodes that it waits for.
    Raises `ValueError` for a function that the library does not hold, that calls itself, or that does not
    fit its inputs.
    """
    graph = default_graph()
    name = graph.unique_name(node.name)
    controls = [made[c] for c in node.controls]
    with graph.control_dependencies(controls), graph.device(node.proto.device or None):
        try:
            with graph.name_scope(f"{name}/"):  # so that no name of the file is taken
                outputs, effects = _lower(node, inputs, f"{name}/")
        except ValueError as e:
            raise ValueError(f"import_graph_def: node {node.name!r} ({node.type}): {e}") from e
        with graph.control_dependencies(effects):
            attrs = {"T": [t.dtype.base_dtype for t in outputs]} if outputs else {}
            definition = get_op("IdentityN" if outputs else "NoOp")
            return graph.make_op(definition, name, outputs, attrs, frames=frames)


def _lower(node: Any, inputs: list[Tensor], scope: str) -> Lowered:
    how = _LOWERINGS.get(node.type)
    if how is None:  # the call of a function by its name, as `Defun` writes it
        return inlined(LibraryFunction(node.type, node.library), inputs, scope)
    return how(_Call(node.proto.attr, node.library, scope), inputs)


def inlined(function: LibraryFunction, inputs: Sequence[Tensor], scope: str) -> Lowered:
    """The function's nodes; what has an effect runs with them."""
    if function.definition.signature.control_output:
        return _with_contexts(function, inputs, scope)
    with in_order(default_graph()) as effects:
        tensors, _ = _with_contexts(function, inputs, scope)
    return tensors, effects()


def _with_contexts(function: LibraryFunction, inputs: Sequence[Tensor], scope: str) -> Lowered:
    """The function's nodes, in the branches and loops that they were in where this engine wrote the function."""
    made = function.inline(inputs, scope)
    definition = function.definition
    if definition.node_def and CONTEXTS in definition.node_def[0].attr:
        names = [f"{arg.name}:0" for arg in definition.signature.input_arg]
        given = dict(zip(names, inputs, strict=True))
        restore_contexts(
            default_graph(), definition.node_def[0].attr[CONTEXTS].list.s, scope, given
        )
    return made


class _Call:
    """A node that names functions."""

    def __init__(self, attrs: Any, library: dict[str, Any], scope: str) -> None:
        self.attrs, self.library, self.scope = attrs, library, scope

    def function(self, key: str) -> LibraryFunction:
        return LibraryFunction(self.attrs[key].func.name, self.library)

    def inline(self, key: str, inputs: Sequence[Tensor]) -> Lowered:
        return inlined(self.function(key), inputs, f"{self.scope}{key}/")

    def shapes(self) -> list[Any]:
        return [as_dims(s) for s in self.attrs["output_shapes"].list.shape]


def _call(call: _Call, inputs: list[Tensor]) -> Lowered:
    return inlined(call.function("f"), inputs, call.scope)


def _branch(function: LibraryFunction, inputs: list[Tensor], scope: str) -> Callable[[], Any]:
    """What `cond` calls to build a branch."""

    def build() -> list[Tensor]:
        tensors, controls = inlined(function, inputs, scope)
        with control_dependencies(controls):
            # A branch without results still says that it is done.
            return [identity(t) for t in tensors] or [constant(True)]

    return build


def _if(call: _Call, inputs: list[Tensor]) -> Lowered:
    pred, *rest = inputs
    then, other = (
        _branch(call.function(key), rest, f"{call.scope}{key}/")
        for key in ("then_branch", "else_branch")
    )
    return _results(cond(_truth(pred), then, other, strict=True), call)


def _case(call: _Call, inputs: list[Tensor]) -> Lowered:
    index, *rest = inputs
    branches = [
        _branch(LibraryFunction(f.name, call.library), rest, f"{call.scope}branch{i}/")
        for i, f in enumerate(call.attrs["branches"].list.func)
    ]

    def choose(first: int) -> list[Tensor]:
        """The branch of ``index`` among those from ``first`` on; the last one for all other numbers."""
        if first == len(branches) - 1:
            return branches[first]()  # type: ignore[no-any-return]
        found = cond(equal(index, first), branches[first], lambda: choose(first + 1), strict=True)
        return list(found)

    return _results(choose(0), call)


def _results(tensors: Any, call: _Call) -> Lowered:
    wanted = len(call.attrs["Tout"].list.type)
    tensors = list(tensors)
    for tensor, dims in zip(tensors, call.shapes(), strict=False):
        tensor.set_shape(dims)
    return tensors[:wanted], [t.op for t in tensors[wanted:]]


def _while(call: _Call, inputs: list[Tensor]) -> Lowered:
    body = call.function("body")
    # What the body returns as it came is no variable of the loop: it is read from outside.
    fixed = {i for i, name in enumerate(body.passed_on()) if name}
    varying = [i for i in range(len(inputs)) if i not in fixed]
    # Without a shape of its own a variable may change its shape in every round.
    shapes = [as_shape(dims) for dims in call.shapes()] or [unknown_shape()] * len(inputs)

    for i in varying:
        inputs[i].set_shape(shapes[i])  # whoever wrote the file knew it

    def whole(values: Sequence[Tensor]) -> list[Tensor]:
        found = list(inputs)
        for i, value in zip(varying, values, strict=True):
            found[i] = value
        return found

    def go_on(*values: Tensor) -> Tensor:
        (found,), _ = call.inline("cond", whole(values))
        return _truth(found)

    def step(*values: Tensor) -> list[Tensor]:
        tensors, controls = call.inline("body", whole(values))
        with control_dependencies(controls):
            following = [identity(tensors[i]) for i in varying]
        for i, tensor in zip(varying, following, strict=True):
            tensor.set_shape(shapes[i])
        return following

    if not varying:
        raise ValueError(f"the loop {call.scope[:-1]!r} changes nothing: it would never end")
    parallel = call.attrs["parallel_iterations"].i if "parallel_iterations" in call.attrs else 10
    ended = while_loop(
        go_on,
        step,
        [inputs[i] for i in varying],
        shape_invariants=[shapes[i] for i in varying],
        parallel_iterations=parallel or 10,
        return_same_structure=True,
    )
    return whole(ended), []


def _for(call: _Call, inputs: list[Tensor]) -> Lowered:
    start, limit, delta, *values = inputs

    def more(i: Tensor, *_: Tensor) -> Tensor:
        return cond(greater(delta, 0), lambda: less(i, limit), lambda: greater(i, limit))  # type: ignore[no-any-return]

    def step(i: Tensor, *values: Tensor) -> list[Tensor]:
        tensors, controls = call.inline("body", [i, *values])
        with control_dependencies(controls):
            return [add(i, delta), *[identity(t) for t in tensors]]

    ended = while_loop(
        more,
        step,
        [start, *values],
        shape_invariants=[scalar(), *[unknown_shape()] * len(values)],
        return_same_structure=True,
    )
    return list(ended[1:]), [ended[0].op]


def _remote_call(call: _Call, inputs: list[Tensor]) -> Lowered:
    target, *rest = inputs
    device = static_value(target)
    if device is None:
        raise ValueError("the device that the function runs on is computed: it must be a constant")
    with default_graph().device(device.item().decode()):
        return inlined(call.function("f"), rest, call.scope)


def _symbolic_gradient(call: _Call, inputs: list[Tensor]) -> Lowered:
    from dataflow.autodiff.gradients import gradients

    count = len(call.attrs["Tout"].list.type)
    values = [identity(value) for value in inputs[:count]]
    outputs, controls = call.inline("f", values)
    with control_dependencies(controls):
        found = gradients(outputs, values, inputs[count:])
    return [
        zeros_like(v) if g is None else identity(g) for g, v in zip(found, values, strict=True)
    ], []


def _fake_param(call: _Call, inputs: list[Tensor]) -> Lowered:
    """What a branch returns that has nothing to return: nobody reads it."""
    dims = as_dims(call.attrs["shape"].shape) or ()
    made = zeros([size or 0 for size in dims], as_dtype(call.attrs["dtype"].type))
    return [placeholder_with_default(made, shape=dims)], []


def _truth(value: Tensor) -> Tensor:
    """A number is true unless it is zero, text and what is no scalar unless it is empty."""
    if value.dims not in ((), None):
        return greater(size_of(value), 0)  # type: ignore[no-any-return]
    if value.dtype is bool_:
        return value
    return not_equal(value, constant("" if value.dtype is string else 0, value.dtype))


_LOWERINGS: dict[str, Callable[[_Call, list[Tensor]], Lowered]] = {
    "PartitionedCall": _call,
    "StatefulPartitionedCall": _call,
    "If": _if,
    "StatelessIf": _if,
    "Case": _case,
    "StatelessCase": _case,
    "While": _while,
    "StatelessWhile": _while,
    "For": _for,
    "RemoteCall": _remote_call,
    "SymbolicGradient": _symbolic_gradient,
    "FakeParam": _fake_param,
}
