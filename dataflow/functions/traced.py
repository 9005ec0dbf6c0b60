"""`tf.function`: Python functions as graphs.

In eager code a call looks for the graph of its signature, traces the function where there is none yet, and runs
what was compiled. While a graph is being built each call adds its nodes there.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.autodiff.subgraphs import Repeated
from dataflow.autograph.conversion import converted_if_needed
from dataflow.errors import ConversionError
from dataflow.functions.concrete import ConcreteFunction, initial_value_of, trace
from dataflow.functions.run_eagerly import functions_run_eagerly
from dataflow.functions.signatures import (
    Arguments,
    Parameters,
    as_arrays_become_tensors,
    described,
    has_array,
)
from dataflow.graph.collections import collections_of_function
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import flatten, flatten_up_to, is_nested, map_structure, pack_like
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.graph.traced_graph import TracedGraph
from dataflow.ops.composites import parts_of
from dataflow.ops.control_flow import group, with_dependencies
from dataflow.ops.effects import in_order
from dataflow.ops.graph_functions import control_dependencies
from dataflow.ops.sparse_tensor import to_sparse
from dataflow.ops.type_specs import SparseTensorSpec, TensorSpec, TypeSpec
from dataflow.ops.variables import Variable, variable_creator_scope
from dataflow.shapes import Dims, as_dims, common


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """``func`` as a graph that is built once for each signature, and run by each call.

    In eager code the first call with arguments of a signature calls ``func`` on placeholders, and compiles what it
    adds to a graph; later calls run that alone. Tensors (and arrays) are told apart by dtype and shape, other values as
    Python does, objects by identity. With ``input_signature``, a structure of `tf.TensorSpec`, there is one graph for all
    arguments that fit; with ``experimental_relax_shapes`` dimensions that differ from call to call become unknown.
    In a graph each call adds its nodes under the function's name; one without results gives the operation
    that does what it does.

    As in TensorFlow, variables are resource variables and made by the first call alone, arrays are
    turned into tensors, and what ``func`` assigns, prints and asserts is done in the order of its
    lines, before its results can be had. With ``autograph`` a function whose source has branches or
    loops is rewritten as by `tf.autograph.to_graph`, so that they work on tensors. The other arguments
    change nothing.

    Raises `TypeError` for an ``input_signature`` that is none, `ValueError` for arguments that do not fit it, and for a
    variable that is made by a later call.
    """
    if func is None:
        return functools.partial(
            function,
            input_signature=input_signature,
            autograph=autograph,
            experimental_relax_shapes=experimental_relax_shapes,
        )
    return Function(func, input_signature, autograph, experimental_relax_shapes)


#: What a function may return in place of a tensor.
_VALUES = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


@contextlib.contextmanager
def _tracing(graph: Any) -> Iterator[None]:
    graph.num_tracing += 1
    try:
        yield
    finally:
        graph.num_tracing -= 1


class Function:
    """What `tf.function` makes of a function: call it as that."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Any = None,
        autograph: bool = True,
        relax_shapes: bool = False,
        makes_variables: bool = False,
    ) -> None:
        #: Whether each of its signatures may make variables of its own, as `contrib.eager.defun` allows.
        self._makes_variables = makes_variables
        self.python_function = python_function
        self.autograph = autograph
        self.input_signature = _checked_signature(input_signature)
        self._relax_shapes = relax_shapes
        self._called = False
        self._num_made = 0
        self._lock = threading.RLock()
        self._parameters = Parameters(python_function)
        self._concrete: dict[Any, ConcreteFunction] = {}
        #: With relaxed shapes, by signatures without them: the shapes, and the function for those.
        self._relaxed: dict[Any, tuple[list[Dims], ConcreteFunction]] = {}
        self._missed = False
        functools.update_wrapper(self, python_function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        name = f"_traced_{self.python_function.__name__}_{id(self)}"
        bound = instance.__dict__.get(name)
        if bound is None:  # variables belong to the object whose method this is
            method = self.python_function.__get__(instance, owner)
            options = self.autograph, self._relax_shapes, self._makes_variables
            bound = Function(method, self.input_signature, *options)
            instance.__dict__[name] = bound
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        if not graph.executes_eagerly:
            return self._add_to(graph, args, kwargs)
        if functions_run_eagerly():
            return self.python_function(*args, **kwargs)
        args, kwargs = self._whole(args, kwargs)
        found = Arguments((*args, *kwargs.values()) if kwargs else args, graph.current_device)
        concrete = self._concrete.get(found.key) or self._made(found, args, kwargs)
        try:
            concrete.prepare_gradient()
        except Repeated:  # line by line, so that the tape records each operation
            return self.python_function(*args, **kwargs)
        return concrete.call(found.tensors)

    # ---- in eager code --------------------------------------------------------------------

    def _whole(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """All arguments, with default values, and tensors for arrays."""
        if self.input_signature is not None:
            return self._fitted_arguments(args, kwargs), {}
        args, kwargs = self._parameters.whole(args, kwargs)
        if any(map(has_array, args)) or (kwargs and has_array(kwargs)):
            args, kwargs = as_arrays_become_tensors(args), as_arrays_become_tensors(kwargs)
        return args, kwargs

    def _made(self, found: Arguments, args: Any, kwargs: dict[str, Any]) -> ConcreteFunction:
        with self._lock:
            if self.input_signature is not None:  # one for all
                found.key = found.key[:1]
            concrete = self._concrete.get(found.key)
            if concrete is not None:
                return concrete
            if self._relax_shapes and self.input_signature is None and self._missed:
                return self._made_for_more(found, args, kwargs)
            self._missed = True
            dims = None
            if found.is_open and self.input_signature is None:
                dims = Arguments((*args, *kwargs.values()), ranks_only=True).dims
            concrete = self._concrete[found.key] = self._trace(args, kwargs, dims)
            return concrete

    def _made_for_more(
        self, found: Arguments, args: Any, kwargs: dict[str, Any]
    ) -> ConcreteFunction:
        """The function for shapes of which those seen so far are cases."""
        kind = Arguments((*args, *kwargs.values()), ranks_only=True)
        key, shapes = kind.key, kind.dims
        known = self._relaxed.get(key)
        if known is not None:
            if all(map(_covers, known[0], shapes)):
                return known[1]
            shapes = list(map(common, known[0], shapes))
        concrete = self._trace(args, kwargs, shapes)
        self._relaxed[key] = shapes, concrete
        return concrete

    def _trace(
        self, args: Any, kwargs: dict[str, Any], dims: list[Dims] | None = None
    ) -> ConcreteFunction:
        if dims is None and self.input_signature is not None:
            dims = [as_dims(spec.shape) for spec in _tensor_specs(self.input_signature)]
        names = self._parameters.names(len(args))
        specs = [spec.name for spec in _tensor_specs(self.input_signature or ())]
        call = self._name(), args, kwargs, names, self.autograph, dims, specs
        with variable_creator_scope(self._make_variable):
            before = self._num_made
            made = trace(self.python_function, *call)
            self._called = True
            if (
                self._num_made > before and not self._makes_variables
            ):  # it must do without making them
                made = trace(self.python_function, *call)
        return made

    def _make_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if self._called and not self._makes_variables:
            raise ValueError(
                "tf.function-decorated function tried to create variables on non-first call: make "
                "them outside, or keep them and make them once."
            )
        if kwargs.get("use_resource") is None:
            kwargs["use_resource"] = True
        if default_graph().executes_eagerly:
            first = kwargs.get("initial_value")
            if isinstance(first, Tensor) and isinstance(first.graph, TracedGraph):
                if kwargs.get("shape") is None and not first.shape.is_fully_defined():
                    kwargs["shape"] = first.shape  # a later call may give it another
            kwargs["initial_value"] = initial_value_of(first)
        self._num_made += 1
        return next_creator(**kwargs)

    def _make_outside(self, scope: str, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Creates a variable of a function in graph mode; its name is not prefixed by the function's ``scope``."""
        graph = default_graph()
        inner = graph.get_name_scope().removeprefix(scope.rstrip("/")).lstrip("/")
        with graph.name_scope(f"{inner}/" if inner else None):
            return self._make_variable(next_creator, **kwargs)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """The traced function for arguments like these; `tf.TensorSpec` stand for tensors.

        In a graph, where each call adds nodes, the function itself.
        """
        graph = default_graph()
        if not graph.executes_eagerly:
            return self
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        else:
            args, kwargs = self._whole(args, kwargs)
        found = Arguments((*args, *kwargs.values()), graph.current_device)
        made = self._concrete.get(found.key) or self._made(found, args, kwargs)
        made.describe(*described(self._parameters.names(len(args)), args, kwargs))
        return made

    def traced_functions(self) -> list[ConcreteFunction]:
        """What was traced so far, each signature once; with an ``input_signature``, that one."""
        if self.input_signature is not None:
            if default_graph().executes_eagerly:
                return [self.get_concrete_function()]
            return [self._trace(self.input_signature, {})]
        return [*self._concrete.values(), *(made for _, made in self._relaxed.values())]

    # ---- in a graph -----------------------------------------------------------------------

    def _add_to(self, graph: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call adds to the graph that is being built."""
        if self.input_signature is not None:
            args, kwargs = self._fitted_arguments(args, kwargs), {}
        if isinstance(graph, TracedGraph):  # the whole of it is put in order when it is there
            with graph.name_scope(self._name()), variable_creator_scope(self._make_variable):
                result = self._run(args, kwargs)
            self._called = True
            return result
        with (
            graph.name_scope(self._name()) as scope,
            variable_creator_scope(functools.partial(self._make_outside, scope)),
            _tracing(graph),
            collections_of_function(graph),
            in_order(graph) as made,
        ):
            result = self._run(args, kwargs)
        self._called = True
        effects = made()
        if result is None:
            return group(*effects)  # a call without results is an operation
        if not effects:
            return result
        return map_structure(lambda leaf: _after(effects, leaf), result)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = map_structure(_as_argument, (args, kwargs))
        run = self.python_function
        if self.autograph:
            run = converted_if_needed(run, calls_others=True)
        result = run(*args, **kwargs)
        return map_structure(_as_result, result)

    def _name(self) -> str:
        name = getattr(self.python_function, "__name__", "function").strip("_<>")
        return name or "function"

    def _fitted_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments as tensors that fit the signature."""
        if kwargs:
            args, _ = self._parameters.whole(args, kwargs)
        wanted = self.input_signature
        if len(wanted) < len(args):
            raise TypeError(
                "When input_signature is provided, only pass arguments covered by it. "
                f"{self._name()}() takes {len(wanted)}, and received {len(args)} argument(s)."
            )
        if len(wanted) > len(args):
            raise ConversionError(
                f"{self._name()}() takes {len(wanted)} arguments by its input_signature, got {len(args)}."
            )
        return tuple(_fitted(s, a) for s, a in zip(wanted, args, strict=True))


def _checked_signature(signature: Any) -> Any:
    if signature is None:
        return None
    if not isinstance(signature, (list, tuple)) or not all(
        isinstance(spec, TypeSpec) for spec in flatten(signature)
    ):
        raise TypeError(
            f"Invalid input_signature {signature!r}; input_signature must be a possibly nested "
            "sequence of TensorSpec objects."
        )
    return tuple(signature)


def _tensor_specs(signature: Any) -> list[TensorSpec]:
    """The specs of all tensors, of a sparse one those of its three."""
    found = [(spec, parts_of(spec)) for spec in flatten(signature)]
    return [part for spec, parts in found for part in (parts[0] if parts else [spec])]


def _covers(general: Dims, special: Dims) -> bool:
    if general is None or special is None:
        return general is None
    return len(general) == len(special) and all(
        g is None or g == s for g, s in zip(general, special, strict=True)
    )


def _fitted(spec: Any, argument: Any) -> Any:
    """An argument as tensors; raises `ValueError` where it does not fit the spec, or nesting of specs."""
    if is_nested(spec):  # below the leaves of the spec an argument may be lists of numbers
        parts = flatten_up_to(spec, argument)
        return pack_like(spec, list(map(_fitted, flatten(spec), parts)))
    if isinstance(argument, TypeSpec):
        return argument
    if isinstance(spec, SparseTensorSpec):
        return _fitted_sparse(spec, argument)
    if not isinstance(spec, TensorSpec):
        return _fitted_composite(spec, argument)
    tensor = convert_to_tensor(argument, None if isinstance(argument, Tensor) else spec.dtype)
    fits = tensor.dtype.base_dtype is spec.dtype
    if not fits or not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"Python inputs incompatible with input_signature: {tensor.name!r} has shape "
            f"{tensor.shape} and dtype {tensor.dtype.name}, and {spec} was given."
        )
    return tensor


def _fitted_composite(spec: Any, argument: Any) -> Any:
    if not spec.is_compatible_with(argument):
        raise ValueError(
            f"Python inputs incompatible with input_signature: got {argument!r}, and {spec!r} was given."
        )
    return argument


def _fitted_sparse(spec: SparseTensorSpec, argument: Any) -> Any:
    value = to_sparse(argument)
    if not spec.is_compatible_with(value):
        raise ValueError(
            f"Python inputs incompatible with input_signature: a sparse tensor has shape {value.shape} "
            f"and dtype {value.dtype.name}, and {spec!r} was given."
        )
    return value


def _as_argument(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _as_result(leaf: Any) -> Any:
    """Python's numbers and texts become tensors."""
    return convert_to_tensor(leaf) if isinstance(leaf, _VALUES) else leaf


def _after(effects: list[Operation], leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        with control_dependencies(effects):
            leaf = leaf.read_value()
    return with_dependencies(effects, leaf) if isinstance(leaf, Tensor) else leaf
