"""`tf.xla.experimental`: programs that ask for XLA run; what they hint at changes no value here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from dataflow.functions.traced import function
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import executing_eagerly
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.control_flow import group, no_op
from dataflow.ops.identity import identity
from dataflow.ops.variable_scope import get_variable_scope


class _Scopes:
    """How many outermost `jit_scope` blocks a graph has had, and how many are open."""

    def __init__(self) -> None:
        self.count = self.depth = 0


_scopes_of: WeakKeyDictionary[Any, _Scopes] = WeakKeyDictionary()


@contextmanager
def jit_scope(
    compile_ops: bool | Callable[[Any], bool] = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Nodes made in the block ask XLA to compile them, in attributes that graph definitions keep.

    Sessions here compile graphs by themselves, so that nothing else comes of it. A ``compile_ops`` that is a function
    of a node's definition leaves no attributes. Raises `RuntimeError` where operations run eagerly.
    """
    if executing_eagerly():
        raise RuntimeError(
            "xla.experimental.jit_scope is not supported when eager execution is enabled. "
            "Try use it inside tf.function."
        )
    graph = default_graph()
    scopes = _scopes_of.setdefault(graph, _Scopes())
    attrs: dict[str, Any] = {}
    if not callable(compile_ops):
        attrs["_XlaCompile"] = bool(compile_ops)
        attrs["_XlaSeparateCompiledGradients"] = bool(separate_compiled_gradients)
        if not scopes.depth:
            attrs["_XlaScope"] = f"jit_scope_{scopes.count}".encode()
    if not scopes.depth:
        scopes.count += 1
    scopes.depth += 1
    try:
        with graph.attributes_of_new_nodes(attrs):
            yield
    finally:
        scopes.depth -= 1


def compile(computation: Callable[..., Any], inputs: Sequence[Any] | None = None) -> Any:
    """What ``computation(*inputs)`` makes, with its inputs and outputs as XLA's clusters have them.

    Args:
        computation: a function of tensors, which returns tensors, a structure of them, or tensors and then
            operations, which run with each of the tensors.
        inputs: a list of what converts to tensors, or of structures of that; None: no inputs.

    Returns the structure that the computation returns; a list of one tensor for a single tensor; an operation that runs
    the computation where it returns None or operations alone. Variables made in it are resource variables.

    Raises `TypeError` if ``inputs`` is no list, and `ValueError` for outputs that are no tensors, for an operation
    before a tensor and for operations within a structure.
    """
    if executing_eagerly():
        return function(lambda: _in_graph(computation, inputs))()
    return _in_graph(computation, inputs)


def _in_graph(computation: Callable[..., Any], inputs: Sequence[Any] | None) -> Any:
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, Sequence):
        raise TypeError(f"inputs must be a list, got {type(inputs)}: {inputs!r}")
    no_op(name=default_graph().unique_name("cluster") + "/pivot")
    tensors = [convert_to_tensor(leaf) for leaf in nest.flatten(inputs)]
    tensors = [identity(tensor, name=f"input_{i}") for i, tensor in enumerate(tensors)]
    scope = get_variable_scope()
    used = scope.use_resource
    scope.set_use_resource(True)
    try:
        outputs = computation(*nest.pack_like(inputs, tensors))
    finally:
        scope.set_use_resource(used)
    operations: list[Operation] = []
    if _is_nested(outputs):
        found = _leaves(outputs)
    else:
        found, operations = _tensors_and_operations(outputs)
        outputs = found
    if not found:
        return group(*operations, name="output_0")
    with default_graph().control_dependencies(operations):
        found = [identity(tensor, name=f"output_{i}") for i, tensor in enumerate(found)]
    return nest.pack_like(outputs, found)


def _is_nested(outputs: Any) -> bool:
    inner = outputs if isinstance(outputs, Sequence) else ()
    return isinstance(outputs, Mapping) or any(isinstance(o, Sequence | Mapping) for o in inner)


def _leaves(outputs: Any) -> list[Tensor]:
    leaves = nest.flatten(outputs)
    for leaf in leaves:
        if isinstance(leaf, Operation):
            raise ValueError(
                "xla.compile does not support Operation as return value in non-flat output structure. You can set "
                "returned Operations as control dependencies of returned Tensors so Operations are triggered when "
                f'Tensors are evaluated. Operation found: "{leaf.name}"'
            )
    return [_as_tensor(leaf) for leaf in leaves]


def _tensors_and_operations(outputs: Any) -> tuple[list[Tensor], list[Operation]]:
    given = [] if outputs is None else outputs
    given = list(given) if isinstance(given, Sequence) else [given]
    operations = [o for o in given if isinstance(o, Operation)]
    num_tensors = len(given) - len(operations)
    if any(isinstance(o, Operation) for o in given[:num_tensors]):
        raise ValueError(
            "XLA computation function must return zero or more Tensor values followed by zero or more Operations, "
            f"got {given}"
        )
    return [_as_tensor(o) for o in given[:num_tensors]], operations


def _as_tensor(output: Any) -> Tensor:
    try:
        return convert_to_tensor(output)
    except Exception as error:
        raise ValueError(
            "XLA computation function return values must all either be Operations or convertible to Tensors. "
            f'Got error: "{error}"'
        ) from error


__getattr__ = explain_absent(__name__)
