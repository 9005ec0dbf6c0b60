"""Functions of datasets as TensorFlow's ``FunctionDef``: the library of a ``GraphDef``, both ways.

A function graph has ``name``, ``inputs``, ``captured`` (tensors of the outer graph, with
`capture` giving the input that stands for each) and ``outputs``. Inside a ``FunctionDef`` an input
is written ``node:output:index``, where ``output`` is the name of an output in the op's signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow.dtypes import as_dtype
from dataflow.graph.op_def import OpDef
from dataflow.graph.registry import all_ops, get_op
from dataflow.providers import provided

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph


#: Nodes that name functions, which the import puts in their place (`dataflow.ops.function_calls`); each has
#: one list of outputs, called "output".
FUNCTION_CALLS = frozenset(
    {
        *("PartitionedCall", "StatefulPartitionedCall", "For", "RemoteCall"),
        *("SymbolicGradient", "FakeParam"),
        *("If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"),
    }
)


def is_function(value: Any) -> bool:
    """True for the graph of a traced function."""
    if isinstance(value, LibraryFunction):
        return True  # whose graph is not made for it
    return hasattr(value, "captured") and hasattr(value, "outputs") and hasattr(value, "bind")


def library_name(function: Any) -> str:
    """The function's name in the library: unique within the outermost graph."""
    if isinstance(function, LibraryFunction):
        return function.name
    root = function.outer
    while hasattr(root, "outer"):
        root = root.outer
    names: dict[int, tuple[Any, str]] = root.__dict__.setdefault("_library_names", {})
    if id(function) not in names:
        # The function is kept beside its name, so that its id is not given to another.
        names[id(function)] = function, f"{function.name}_{len(names)}"
    return names[id(function)][1]


class TracedFunction:
    """A function of a graph's library: its ``name`` there, its ``graph``, and its FunctionDef."""

    def __init__(self, function: Any) -> None:
        self.name = library_name(function)
        self.graph = function

    @property
    def definition(self) -> Any:
        """The ``FunctionDef``."""
        return _definition(self.graph, self.name)


def functions_of(graph: Graph) -> dict[str, Any]:
    """The functions that the operations of ``graph`` name, by their names in its library."""
    named = (value for op in graph.get_operations() for value in op.attrs.values())
    functions = {library_name(value): value for value in named if is_function(value)}
    return {
        name: f if isinstance(f, LibraryFunction) else TracedFunction(f)
        for name, f in functions.items()
    }


def add_library(result: Any, functions: list[Any]) -> None:
    """Adds to the GraphDef ``result`` all ``functions``, and what those name."""
    waiting = list(functions)
    done = {f.signature.name for f in result.library.function}
    while waiting:
        function = waiting.pop(0)
        name = library_name(function)
        if name in done:
            continue
        done.add(name)
        if isinstance(function, LibraryFunction):
            if function.name not in function.library:
                continue  # as it was read; a session that needs it says so
            result.library.function.append(function.definition)
            waiting += [LibraryFunction(n, function.library) for n in function.calls()]
            continue
        result.library.function.append(_definition(function, name))
        waiting += [
            value
            for op in function.get_operations()
            for value in op.attrs.values()
            if is_function(value)
        ]


def _definition(function: Any, name: str) -> Any:
    inputs = [*function.inputs, *(function.capture(t) for t in function.captured)]
    return definition_of(name, inputs, function.outputs, function.get_operations())


def definition_of(
    name: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    operations: Sequence[Any],
    effects: Sequence[Any] = (),
) -> Any:
    """The ``FunctionDef`` of ``operations``, from ``inputs`` to ``outputs``; ``effects`` run with each call."""
    from tensorboard.compat.proto import function_pb2

    from dataflow.graph.serialize import node_def

    result = function_pb2.FunctionDef()
    result.signature.name = name
    arguments = {}
    for number, tensor in enumerate(inputs):
        arguments[tensor.op.name] = argument = f"arg_{number}"
        enum = tensor.dtype.base_dtype.as_datatype_enum
        result.signature.input_arg.add(name=argument, type=enum)

    def reference(tensor: Any) -> str:
        if tensor.op.name in arguments:
            return arguments[tensor.op.name]
        output, index = _output_of(tensor.op.op_def, tensor.op.attrs, tensor.value_index)
        return f"{tensor.op.name}:{output}:{index}"

    for op in operations:
        if op.name in arguments:
            continue
        node = node_def(op)
        del node.input[:]
        node.input.extend(reference(t) for t in op.inputs)
        node.input.extend(f"^{c.name}" for c in op.control_inputs if c.name not in arguments)
        result.node_def.append(node)
        result.signature.is_stateful |= op.op_def.stateful
    for number, tensor in enumerate(outputs):
        enum = tensor.dtype.base_dtype.as_datatype_enum
        result.signature.output_arg.add(name=f"output_{number}", type=enum)
        result.ret[f"output_{number}"] = reference(tensor)
    for op in effects:
        result.signature.control_output.append(op.name)
        result.control_ret[op.name] = op.name
    return result


def _counts(op_def: OpDef, attrs: Any) -> list[tuple[str, int]]:
    """Name and number of tensors of each output in the signature."""
    result = []
    for arg in op_def.outputs:
        count = 1
        if arg.number_attr:
            count = int(attrs[arg.number_attr])
        elif arg.type_list_attr:
            count = len(attrs[arg.type_list_attr])
        result.append((arg.name, count))
    return result


def _output_of(op_def: OpDef, attrs: Any, value_index: int) -> tuple[str, int]:
    for name, count in _counts(op_def, attrs):
        if value_index < count:
            return name, value_index
        value_index -= count
    raise IndexError(value_index)


class LibraryFunction:
    """A function read from a GraphDef's library; its graph is made when a session first needs it."""

    def __init__(self, name: str, library: dict[str, Any]) -> None:
        self.name = name
        self.library = library
        self.captured: list[Any] = []
        self._graph: Any = None

    @property
    def definition(self) -> Any:
        """The FunctionDef; raises `ValueError` where the library has none of that name."""
        if self.name not in self.library:
            raise ValueError(
                f"the GraphDef names the function {self.name!r}, which its library does not hold"
            )
        return self.library[self.name]

    def calls(self) -> list[str]:
        """The names of the functions that its nodes name."""
        return [
            name
            for node in self.definition.node_def
            for value in node.attr.values()
            for name in (value.func.name, *(f.name for f in value.list.func))
            if name
        ] + [node.op for node in self.definition.node_def if node.op in self.library]

    def passed_on(self) -> list[str]:
        """For each result the input that it is, when that has the same number; else ``""``."""
        signature = self.definition.signature
        names = [arg.name for arg in signature.input_arg]
        results = [self.definition.ret[arg.name] for arg in signature.output_arg]
        return [a if a == b else "" for a, b in zip(names, results, strict=False)]

    def inline(self, arguments: Sequence[Any], scope: str) -> tuple[list[Any], list[Any]]:
        """Adds the function's nodes to the default graph, with ``arguments`` in place of its inputs.

        Returns what the function returns, and the operations that it says run whatever is read of that: files
        of TensorFlow before 1.14 do not say.
        Raises `ValueError` for another number of arguments and for a function that calls itself.
        """
        from dataflow.graph.import_graph import import_graph_def

        definition = self.definition
        names = [arg.name for arg in definition.signature.input_arg]
        if len(names) != len(arguments):
            raise ValueError(
                f"the function {self.name!r} takes {len(names)} tensors, and is called with {len(arguments)}"
            )
        if self.name in self._reached():
            raise ValueError(f"the function {self.name!r} calls itself, which no graph can hold")
        graph_def = self._nodes()
        read: set[str] = set()
        for node in graph_def.node:
            kept = [r for r in node.input if not (r.startswith("^") and r[1:] in names)]
            read.update(r.partition(":")[0] for r in kept)
            del node.input[:]
            node.input.extend(kept)
        given = dict(zip(names, arguments, strict=True))
        results = [
            self._tensor_name(definition.ret[arg.name]) for arg in definition.signature.output_arg
        ]
        made = [r for r in results if r[: r.rindex(":")] not in given]
        controls = list(dict.fromkeys(definition.control_ret.values()))
        found: list[Any] = import_graph_def(  # type: ignore[assignment]
            graph_def,
            input_map={f"{name}:0": given[name] for name in names if name in read},
            return_elements=[*made, *controls],
            name=scope,
        )
        tensors = dict(zip(made, found, strict=False))
        returned = [given.get(r[: r.rindex(":")], tensors.get(r)) for r in results]
        return returned, found[len(made) :]

    def _reached(self) -> list[str]:
        """The names of the functions that it calls, and of those that they call; itself, if one calls it."""
        seen: dict[str, None] = {}
        waiting = self.calls()
        while waiting:
            name = waiting.pop()
            if name not in seen and name in self.library:
                seen[name] = None
                waiting += LibraryFunction(name, self.library).calls()
        return list(seen)

    @property
    def outputs(self) -> list[Any]:
        """The tensors it returns, in its own graph."""
        return self.graph.outputs  # type: ignore[no-any-return]

    @property
    def graph(self) -> Any:
        """The function's graph."""
        if self._graph is None:
            self._graph = self.traced()
        return self._graph

    def bind(self, context: Any, captured_values: list[Any]) -> Callable[..., Any]:
        """As the function graph's: takes arrays, returns a tuple of arrays."""
        return self.graph.bind(context, captured_values)  # type: ignore[no-any-return]

    def _nodes(self) -> Any:
        """The function's nodes as a ``GraphDef``; its inputs are not among them."""
        from tensorboard.compat.proto import graph_pb2

        graph_def = graph_pb2.GraphDef()
        graph_def.library.function.extend(self.library[name] for name in self._reached())
        for node in self.definition.node_def:
            copy = graph_def.node.add()
            copy.CopyFrom(node)
            del copy.input[:]
            copy.input.extend(self._flat(reference) for reference in node.input)
        return graph_def

    def graph_def(self, shapes: Sequence[Any] = ()) -> Any:
        """The function's nodes as a ``GraphDef``, with placeholders for its inputs.

        ``shapes``: a ``TensorShapeProto`` for each, None where nothing is known of it.
        """
        result = self._nodes()
        arguments = self.definition.signature.input_arg
        for arg, shape in zip(arguments, shapes or [None] * len(arguments), strict=True):
            node = result.node.add(name=arg.name, op="Placeholder")
            node.attr["dtype"].type = arg.type
            if shape is None:
                node.attr["shape"].shape.unknown_rank = True
            else:
                node.attr["shape"].shape.CopyFrom(shape)
        return result

    def flat_names(self) -> dict[str, str]:
        """``node:index`` of each tensor that the function names as ``node:output:index``, and of its inputs."""
        definition = self.definition
        read = [r for node in definition.node_def for r in node.input if not r.startswith("^")]
        inputs = [arg.name for arg in definition.signature.input_arg]
        return {r: self._tensor_name(r) for r in [*inputs, *read, *definition.ret.values()]}

    def traced(self, shapes: Sequence[Any] = ()) -> Any:
        """A new graph of the function; ``shapes`` as in `graph_def`."""
        from dataflow.graph.import_graph import import_graph_def

        definition = self.definition
        graph_def = self.graph_def(shapes)
        graph = provided("function_graph")(self.name)
        with graph.as_default():
            import_graph_def(graph_def, name="")
            arguments = definition.signature.input_arg
            graph.inputs = [graph.get_tensor_by_name(f"{arg.name}:0") for arg in arguments]
            graph.outputs = [
                self._element(graph, definition.ret[arg.name])
                for arg in definition.signature.output_arg
            ]
        return graph

    def _element(self, graph: Graph, reference: str) -> Any:
        try:
            return graph.as_graph_element(self._tensor_name(reference))
        except KeyError as e:
            raise ValueError(
                f"the function {self.name!r} returns {reference!r}: {e.args[0]}"
            ) from e

    def _tensor_name(self, reference: str) -> str:
        flat = self._flat(reference)
        return flat if ":" in flat else f"{flat}:0"

    def _flat(self, reference: str) -> str:
        """``node:output:1`` as ``node:k``, as a GraphDef has it."""
        if reference.startswith("^") or ":" not in reference:
            return reference
        name, _, rest = reference.partition(":")
        output, _, index = rest.partition(":")
        node = next((n for n in self.definition.node_def if n.name == name), None)
        position = 0
        if node is not None and node.op in self.library and index == "0":
            outputs = self.library[node.op].signature.output_arg
            return f"{name}:{[arg.name for arg in outputs].index(output)}"
        if node is not None and node.op in FUNCTION_CALLS and output == "output":
            return f"{name}:{index}"
        if node is not None and index.isascii() and index.isdecimal() and node.op in all_ops():
            for own, count in _counts(get_op(node.op), _ListSizes(node)):
                if own == output:
                    return f"{name}:{position + int(index)}"
                position += count
        raise ValueError(
            f"the function {self.name!r} names {reference!r}, which is no output of its nodes: "
            "expected node:output:index"
        )


class _ListSizes:
    """The attributes of a NodeDef that say how many tensors an output has."""

    def __init__(self, node: Any) -> None:
        self.node = node

    def __getitem__(self, key: str) -> Any:
        value = self.node.attr[key]
        if value.WhichOneof("value") == "list":
            return [as_dtype(t) for t in value.list.type]
        return value.i
