"""`tf.function` and `tf.Module`, as they are in a graph."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.autograph.conversion import converted_if_needed
from dataflow.errors import ConversionError
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.nest import (
    flatten,
    flatten_up_to,
    is_nested,
    leaves_with_paths,
    map_structure,
    pack_like,
)
from dataflow.graph.operation import Operation
from dataflow.graph.tensor import Tensor
from dataflow.layers.base import Layer, snake_case
from dataflow.ops.control_flow import group, with_dependencies
from dataflow.ops.effects import in_order
from dataflow.ops.trackable import AutoTrackable
from dataflow.ops.variables import Variable, variable_creator_scope


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """``func`` as a part of the graph: each call adds its nodes under its name.

    As in TensorFlow, variables are resource variables and made by the first call alone, arrays are
    turned into tensors, and what ``func`` assigns, prints and asserts is done in the order of its
    lines, before its results can be had. With ``autograph`` a function whose source has branches or
    loops is rewritten as by `tf.autograph.to_graph`, so that they work on tensors. The other arguments
    change nothing.

    A function that returns nothing gives the operation that does what it does. Raises `ValueError`
    for arguments that do not fit ``input_signature``, and for a variable that is
    made by a later call.
    """
    if func is None:
        return functools.partial(function, input_signature=input_signature, autograph=autograph)
    return _Function(func, input_signature, autograph)


#: What a function may return in place of a tensor.
_VALUES = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


@contextlib.contextmanager
def _tracing(graph: Any) -> Iterator[None]:
    graph.num_tracing += 1
    try:
        yield
    finally:
        graph.num_tracing -= 1


class _Function:
    def __init__(
        self, python_function: Callable[..., Any], input_signature: Any, autograph: bool = True
    ) -> None:
        self.python_function = python_function
        self.autograph = autograph
        self.input_signature = input_signature
        self._variables: list[Variable] = []
        self._called = False
        functools.update_wrapper(self, python_function)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        name = f"_traced_{self.python_function.__name__}_{id(self)}"
        bound = instance.__dict__.get(name)
        if bound is None:  # variables belong to the object whose method this is
            method = self.python_function.__get__(instance, owner)
            bound = _Function(method, self.input_signature, self.autograph)
            instance.__dict__[name] = bound
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        name = getattr(self.python_function, "__name__", "function").strip("_<>") or "function"
        with (
            graph.name_scope(name),
            variable_creator_scope(self._make_variable),
            _tracing(graph),
            in_order(graph) as made,
        ):
            if self.input_signature is not None:
                args = self._checked(args)
            args, kwargs = map_structure(_as_argument, (args, kwargs))
            run = self.python_function
            result = (converted_if_needed(run) if self.autograph else run)(*args, **kwargs)
            result = map_structure(_as_result, result)
        self._called = True
        effects = made()
        if result is None and (effects or not graph.executes_eagerly):
            return group(*effects)  # in a graph a call without results is an operation
        if not effects:
            return result
        return map_structure(lambda leaf: _after(effects, leaf), result)

    def _make_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if self._called:
            raise ValueError(
                "tf.function-decorated function tried to create variables on non-first call: make "
                "them outside, or keep them and make them once."
            )
        if kwargs.get("use_resource") is None:
            kwargs["use_resource"] = True
        variable = next_creator(**kwargs)
        self._variables.append(variable)
        return variable

    def _checked(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(self.input_signature) != len(args):
            raise ConversionError(
                f"{self.python_function.__name__}() takes {len(self.input_signature)} arguments by "
                f"its input_signature, got {len(args)}."
            )
        return tuple(_fitted(s, a) for s, a in zip(self.input_signature, args, strict=True))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself: in a graph each call adds nodes."""
        return self


def _fitted(spec: Any, argument: Any) -> Any:
    """An argument as tensors; raises `ValueError` where it does not fit the spec, or nesting of specs."""
    if is_nested(spec):  # below the leaves of the spec an argument may be lists of numbers
        parts = flatten_up_to(spec, argument)
        return pack_like(spec, list(map(_fitted, flatten(spec), parts)))
    tensor = convert_to_tensor(argument, spec.dtype)
    if not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            f"Python inputs incompatible with input_signature: {tensor.name!r} has shape "
            f"{tensor.shape}, and {spec} was given."
        )
    return tensor


def _as_argument(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _as_result(leaf: Any) -> Any:
    """Python's numbers and texts become tensors."""
    return convert_to_tensor(leaf) if isinstance(leaf, _VALUES) else leaf


def _after(effects: list[Operation], leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        leaf = leaf.read_value()
    return with_dependencies(effects, leaf) if isinstance(leaf, Tensor) else leaf


class Module(AutoTrackable):
    """A base for classes that hold variables and other modules, and find them again."""

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = snake_case(type(self).__name__)
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a valid module name: needed is a Python identifier.")
        self._name = name
        with default_graph().name_scope(name) as scope:
            self._scope = scope

    @property
    def name(self) -> str:
        """The name that it was given, or that of its class."""
        return self._name

    @property
    def name_scope(self) -> contextlib.AbstractContextManager[str]:
        """The block whose nodes are named after this module: ``with self.name_scope:``."""
        return default_graph().name_scope(self._scope)

    @classmethod
    def with_name_scope(cls, method: Any) -> Any:
        """A decorator: ``method`` of a module runs in the module's `name_scope`."""

        @functools.wraps(method)
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped

    @property
    def variables(self) -> tuple[Any, ...]:
        """The variables of this module and those it holds, each once."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Variable)))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those variables that optimizers change."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules within, each once."""
        return tuple(self._flatten(predicate=_is_module))

    #: Attributes that are not looked into; a class below may name more.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        ("_self_unconditional_checkpoint_dependencies", "_self_unconditional_dependency_names")
    )

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """What stands in attributes and is as the ``predicate`` says, each once; then within modules.

        Attributes are taken in the order of their names, or of the key; ``with_path`` gives pairs of the
        path, a tuple of names and places, and the value.
        """
        found = _leaves(self, (), {id(self)}, recursive, attribute_traversal_key)
        for path, leaf in found:
            if predicate is None or predicate(leaf):
                yield (path, leaf) if with_path else leaf


def _is_module(value: Any) -> bool:
    return isinstance(value, (Module, Layer))


def _leaves(
    module: Any,
    path: tuple[Any, ...],
    seen: set[int],
    recursive: bool,
    key: Callable[[str], Any] | None,
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(module, Module):
        ignored = module._TF_MODULE_IGNORED_PROPERTIES
        parts = {name: vars(module)[name] for name in vars(module) if name not in ignored}
    else:
        parts = {"weights": module.weights, "layers": getattr(module, "layers", [])}
    within: list[tuple[tuple[Any, ...], Any]] = []
    for name in sorted(parts, key=key):
        for place, leaf in leaves_with_paths(parts[name]):
            if id(leaf) in seen:
                continue
            seen.add(id(leaf))
            here = (*path, name, *place)
            yield here, leaf
            if recursive and _is_module(leaf):
                within.append((here, leaf))
    for here, leaf in within:
        yield from _leaves(leaf, here, seen, recursive, key)
