"""`ConcreteFunction`: what `tf.function` made of a Python function for arguments of one signature."""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, cast

from dataflow.autodiff.subgraphs import Subgraph
from dataflow.autograph.conversion import converted_if_needed
from dataflow.functions.definitions import Definition, add_to_graph, define, library_function
from dataflow.functions.signatures import described, replaced
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.eager import callable_of, eager_graph
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.graph.nest import flatten, map_structure, pack_like
from dataflow.graph.operation import Operation
from dataflow.graph.tape import recording
from dataflow.graph.tensor import Tensor
from dataflow.graph.traced_graph import TracedGraph
from dataflow.ops.composites import parts_of
from dataflow.ops.effect_order import order_effects
from dataflow.ops.sources import placeholder
from dataflow.ops.type_specs import TensorSpec
from dataflow.shapes import Dims, as_dims

_NOT_IN_NAMES = re.compile("[^A-Za-z0-9_.]+")


class ConcreteFunction:
    """A traced function. Calling it runs the graph; of the arguments it takes the tensors, in order.

    ``graph``, ``inputs`` and ``outputs`` are the traced ones, ``structured_outputs`` what the Python function returned,
    and ``captured_inputs`` the tensors and variables of eager code that it uses.
    """

    #: Whether a call takes tensors by their names alone.
    takes_names_only = False

    def __init__(
        self,
        graph: TracedGraph,
        inputs: list[Tensor],
        names: list[str],
        result: Any,
        effects: list[Operation] | None = None,
    ) -> None:
        self.graph, self.inputs, self.structured_outputs = graph, inputs, result
        self.name = graph.name
        self._names = names
        self._signature: tuple[Any, dict[str, Any]] = ((), {})
        self._results = _Results(result)
        self.outputs = self._results.tensors
        if effects is None:
            effects = order_effects(graph)
        self._effects = effects
        self.captured_inputs = list(graph.stand_ins)
        nodes = [*inputs, *graph.stand_ins.values()]
        self._subgraph = Subgraph(graph, graph.name, nodes, self.outputs, effects)

    def call(self, tensors: list[EagerTensor]) -> Any:
        """The results for these values of ``inputs``, as tensors of eager code."""
        if recording.tapes:
            tensors = [*tensors, *self.captured_inputs]
        return self._results.rebuild(self._subgraph.apply(tensors))

    @property
    def structured_input_signature(self) -> tuple[Any, dict[str, Any]]:
        """The positional and the named arguments, with a `tf.TensorSpec` for each tensor."""
        return self._signature

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the results, in their structure."""
        return map_structure(
            lambda one: None if one is None else one.dtype, self.structured_outputs
        )

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the results, in their structure."""
        return map_structure(
            lambda one: None if one is None else one.shape, self.structured_outputs
        )

    def describe(self, names: list[str], signature: tuple[Any, dict[str, Any]]) -> None:
        """Sets the argument names of the tensors, and `structured_input_signature`."""
        self._names, self._signature = names, signature

    @property
    def argument_names(self) -> list[str]:
        """The names of the tensors that it takes, in order."""
        return self._names

    def definition(self, name: str, also_bound: Collection[Any] = ()) -> Definition:
        """Its ``FunctionDef`` under ``name``; of what it uses from outside, ``also_bound`` become inputs, too."""
        return define(
            name, self.inputs, self.outputs, self._effects, self.graph.stand_ins, also_bound
        )

    def prepare_gradient(self) -> None:
        """Builds what a call under a tape runs; raises `Repeated` where there can be no gradient."""
        if recording.tapes:
            _ = self._subgraph.differentiable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.takes_names_only and args:
            raise TypeError(
                f"{self.name}() takes its tensors by their names: {', '.join(f'{n}=' for n in self._names)}; got "
                f"{len(args)} without."
            )
        given = [*args, *(kwargs[name] for name in self._names if name in kwargs)]
        unknown = set(kwargs) - set(self._names)
        if unknown:
            raise TypeError(
                f"{self.name}() got the unknown argument {min(unknown)!r}: it takes {', '.join(self._names)}."
            )
        tensors = [t for value in given for t in _tensors_of(value)]
        if len(tensors) != len(self.inputs):
            raise TypeError(
                f"{self.name}() takes {len(self.inputs)} tensors ({', '.join(self._names)}), got "
                f"{len(tensors)}."
            )
        made = [convert_to_tensor(t, i.dtype) for t, i in zip(tensors, self.inputs, strict=True)]
        graph = default_graph()
        for tensor, node in zip(made, self.inputs, strict=True):
            if not node.shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"{self.name}(): {node.op.name!r} has shape {node.shape}, got {tensor.shape}."
                )
        if not graph.executes_eagerly:
            found = self.definition(self.name)
            return self._results.rebuild(
                add_to_graph(library_function(found), made, found.bound, self.name)
            )
        return self.call(cast(list[EagerTensor], made))

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables that it reads or changes."""
        found = [h.variable() for h in self.captured_inputs if hasattr(h, "variable")]
        return tuple(v for v in found if v is not None)

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of them that optimizers change."""
        return tuple(v for v in self.variables if v.trainable)

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self.name}({', '.join(self._names)})>"


def _tensors_of(value: Any) -> list[Any]:
    found: list[Any] = []
    for leaf in flatten(value):
        parts = parts_of(leaf)
        found += [leaf] if parts is None else parts[0]
    return found


class _Results:
    """What a function returned: its tensors, and how to put together values in its structure."""

    def __init__(self, structure: Any) -> None:
        self.tensors: list[Tensor] = []
        self._structure = structure
        self._leaves: list[tuple[int, Callable[[list[Any]], Any] | None]] = []
        for leaf in flatten(structure):
            found = ([], None) if leaf is None else parts_of(leaf) or ([leaf], None)
            self.tensors += found[0]
            self._leaves.append((len(found[0]), found[1]))
        self._is_one = isinstance(structure, Tensor)
        self._is_tuple = type(structure) is tuple and all(isinstance(s, Tensor) for s in structure)

    def rebuild(self, values: list[Any]) -> Any:
        if self._is_one:
            return values[0]
        if self._is_tuple:
            return tuple(values)
        flat: list[Any] = []
        start = 0
        for count, rebuild in self._leaves:
            parts = values[start : start + count]
            start += count
            flat.append(rebuild(parts) if rebuild is not None else parts[0] if parts else None)
        return pack_like(self._structure, flat)


@contextlib.contextmanager
def _without_tapes() -> Iterator[None]:
    """Tapes around a call record the call, not what is traced for it."""
    tapes, recording.tapes = recording.tapes, []
    try:
        yield
    finally:
        recording.tapes = tapes


def trace(
    function: Callable[..., Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    autograph: bool,
    dims: list[Dims] | None = None,
    spec_names: Sequence[str | None] = (),
) -> ConcreteFunction:
    """Calls ``function`` once, with placeholders for the tensors (or `TensorSpec`) among the arguments.

    ``names``: those of the parameters. ``dims``: those of the placeholders, where they are not the tensors' own;
    ``spec_names``: the names of the specs, by which placeholders go before the parameters'. Raises what the function
    raises, and `TypeError` for a result that is no tensor.
    """
    graph = TracedGraph(name)
    inputs: list[Tensor] = []
    labels: list[str] = []

    def stand_in(given: Any, label: str) -> Tensor:
        shape = as_dims(given.shape) if dims is None else dims[len(inputs)]
        wanted = spec_names[len(inputs)] if len(inputs) < len(spec_names) else None
        label = (given.name if isinstance(given, TensorSpec) else wanted) or label
        plain = _NOT_IN_NAMES.sub("_", label).lstrip("_") or "arg"
        with graph.attributes_of_new_nodes({"_user_specified_name": label.encode()}):
            node = placeholder(given.dtype.base_dtype, shape, name=plain)
        value = getattr(given, "known_value", None)
        if value is not None:
            graph.first_values[node] = value
        inputs.append(node)
        labels.append(label)
        return node

    with _without_tapes(), graph.as_default():
        labeled = zip([*names, *["args"] * len(args)], args, strict=False)
        new_args = [replaced(a, functools.partial(stand_in, label=n)) for n, a in labeled]
        new_kwargs = {
            n: replaced(value, functools.partial(stand_in, label=n)) for n, value in kwargs.items()
        }
        run = converted_if_needed(function, calls_others=True) if autograph else function
        before = _pieces((new_args, new_kwargs))
        result = run(*new_args, **new_kwargs)
        if any(
            a is not b for a, b in itertools.zip_longest(before, _pieces((new_args, new_kwargs)))
        ):
            raise ValueError(
                f"Function to be traced should not modify structure of input arguments: {name}() changes a list "
                "or dictionary that it is given, a side effect that later calls would not repeat. Change a copy, and return it."
            )
        result = map_structure(lambda leaf: _as_result(function, leaf), result)
    graph.is_whole = True
    made = ConcreteFunction(graph, inputs, labels, result)
    made.describe(*described(names, args, kwargs))
    graph.inputs, graph.outputs = [*inputs, *graph.stand_ins.values()], list(made.outputs)
    graph.structured_outputs = result
    return made


def initial_value_of(initial_value: Any) -> Any:
    """The initial value of a variable, which a function in eager code may have computed of its arguments."""
    if callable(initial_value) and not isinstance(initial_value, Tensor):
        return lambda: initial_value_of(initial_value())
    if not isinstance(initial_value, Tensor) or not isinstance(initial_value.graph, TracedGraph):
        return initial_value
    graph = initial_value.graph
    feeds = list(graph.first_values)
    (value,) = callable_of(graph, [initial_value], feeds)(*graph.first_values.values())
    return eager_graph().constant(value, initial_value.dtype.base_dtype)


def _pieces(structure: Any) -> list[Any]:
    """The keys and leaves of a nested structure, to see whether it was changed."""
    if isinstance(structure, Mapping):
        return [p for key in structure for p in (key, *_pieces(structure[key]))]
    if isinstance(structure, (list, tuple)):
        return [p for item in structure for p in _pieces(item)]
    return [structure]


def _as_result(function: Callable[..., Any], leaf: Any) -> Any:
    """A leaf of what a function returned: numbers, texts and variables become tensors."""
    if leaf is None or isinstance(leaf, Operation):
        return None
    found = parts_of(leaf)
    try:
        if found is None:
            return convert_to_tensor(leaf)
        return found[1]([convert_to_tensor(part) for part in found[0]])
    except (TypeError, ValueError):
        raise TypeError(
            "To be compatible with tf.contrib.eager.defun, Python functions must return zero or more "
            f"Tensors; in compilation of {function}, found return value of type {type(leaf)}, which is "
            "not a Tensor."
        ) from None
