"""Functions of a SavedModel of objects, callable again: their nodes are put where they are called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from dataflow.functions.concrete import ConcreteFunction, trace
from dataflow.functions.definitions import add_to_graph
from dataflow.functions.traced import Function
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.function_def import LibraryFunction
from dataflow.graph.nest import flatten, flatten_up_to, pack_like
from dataflow.graph.tensor import Tensor
from dataflow.ops.composites import parts_of
from dataflow.ops.type_specs import TensorSpec, TypeSpec
from dataflow.ops.variables import Variable
from dataflow.saved_model.structures import StructureCoder

_NOT_IN_NAMES = re.compile("[^A-Za-z0-9_.]+")


class SavedFunction:
    """One traced function of a SavedModel: its definition, what it is bound to, and its signature."""

    def __init__(self, name: str, library: dict[str, Any], proto: Any) -> None:
        coder = StructureCoder()
        self.name = name
        self._library = library
        self.bound_numbers = list(proto.bound_inputs)
        #: What it takes after its arguments; said when all objects are there.
        self.bound: list[Any] = []
        #: The positional and the named arguments, with a spec in place of each tensor.
        self.arguments: Any = coder.decode_proto(proto.canonicalized_input_signature)
        self.results: Any = coder.decode_proto(proto.output_signature)

    @property
    def definition(self) -> Any:
        """The ``FunctionDef``."""
        return LibraryFunction(self.name, self._library).definition

    def takes(self, arguments: Any, converting: bool) -> bool:
        """Whether it can be called with these; ``converting``: with tensors of what can be made one."""
        try:
            given = flatten_up_to(self.arguments, arguments, False)
        except (TypeError, ValueError):
            return False
        return all(
            _fits(spec, value, converting)
            for spec, value in zip(flatten(self.arguments), given, strict=True)
        )

    def __call__(self, arguments: Any) -> Any:
        """Its results; its nodes are added to the default graph, which is none of eager code."""
        if default_graph().executes_eagerly:
            raise NotImplementedError(
                f"the gradient of {self.short_name}(), a function of a SavedModel, would have to run again loops or "
                "branches that change variables, or read what changes. Call it outside of the tape."
            )
        given = flatten_up_to(self.arguments, arguments, False)
        tensors: list[Any] = []
        for spec, value in zip(flatten(self.arguments), given, strict=True):
            if isinstance(spec, TensorSpec):
                tensors.append(convert_to_tensor(value, spec.dtype))
            elif isinstance(spec, TypeSpec):
                found = parts_of(value)
                tensors += found[0] if found is not None else [value]
        return self.add(tensors)

    def add(self, tensors: list[Any]) -> Any:
        """As `__call__`, for the tensors of the arguments."""
        function = LibraryFunction(self.name, self._library)
        bound = [_handle_or_value(value) for value in self.bound]
        return self._packed(add_to_graph(function, tensors, bound, self.short_name))

    def _packed(self, outputs: list[Tensor]) -> Any:
        left = iter(outputs)
        found: list[Any] = []
        for spec in flatten(self.results):
            parts = None if isinstance(spec, TensorSpec) else parts_of(spec)
            if parts is not None:
                found.append(parts[1]([next(left) for _ in parts[0]]))
            elif isinstance(spec, TypeSpec):
                tensor = next(left)
                if isinstance(spec, TensorSpec) and not tensor.dtype.is_handle:
                    tensor.set_shape(spec.shape)
                found.append(tensor)
            else:
                found.append(spec)
        return pack_like(self.results, found)

    def traced(self, names: list[str] | None = None) -> ConcreteFunction:
        """A function of eager code; ``names``: its tensors by name, in place of its own arguments."""
        if names is None:
            args, kwargs = self.arguments

            def body(*args: Any, **kwargs: Any) -> Any:
                return self((args, kwargs))

            labels = [f"arg_{i}" for i in range(len(args))]
            return trace(body, self.short_name, args, kwargs, labels, autograph=False)
        specs = dict(zip(names, _tensor_specs(self.arguments), strict=False))

        def named(**kwargs: Any) -> Any:
            return self.add([kwargs[name] for name in names])

        return trace(named, self.short_name, (), specs, (), autograph=False)

    @property
    def short_name(self) -> str:
        """The Python function's name."""
        stem, _, number = self.name.removeprefix("__inference_").rpartition("_")
        name = stem if number.isdigit() else self.name
        return _NOT_IN_NAMES.sub("_", name).lstrip("_") or "function"


def _handle_or_value(value: Any) -> Any:
    """The tensor that a function is given for an object that it is bound to."""
    for name in ("resource_handle", "handle", "asset_path"):
        if (found := getattr(value, name, None)) is not None and not isinstance(value, Tensor):
            return found
    return value


def _tensor_specs(arguments: Any) -> list[Any]:
    found: list[Any] = []
    for spec in flatten(arguments):
        parts = parts_of(spec) if isinstance(spec, TypeSpec) else None
        found += parts[0] if parts is not None else [spec] if isinstance(spec, TensorSpec) else []
    return found


def _fits(spec: Any, value: Any, converting: bool) -> bool:
    if isinstance(spec, TensorSpec):
        if converting and not isinstance(value, (Tensor, Variable, TensorSpec)):
            try:
                value = convert_to_tensor(value, preferred_dtype=spec.dtype)
            except (TypeError, ValueError):
                return False
        if not isinstance(value, (Tensor, Variable, TensorSpec)):
            return False
        fits = value.dtype.base_dtype is spec.dtype.base_dtype
        return fits and spec.shape.is_compatible_with(value.shape)
    if isinstance(spec, TypeSpec):
        return spec.is_compatible_with(value)
    return not isinstance(value, (Tensor, Variable)) and bool(value == spec)


class RestoredFunction(Function):
    """A `tf.function` of a SavedModel: a call runs that of its traced functions that takes the arguments."""

    def __init__(self, proto: Any, functions: list[SavedFunction]) -> None:
        coder = StructureCoder()
        spec = proto.function_spec
        full = coder.decode_proto(spec.fullargspec)
        if spec.is_method:
            full = full._replace(args=full.args[1:])
        #: How the Python function took its arguments.
        self.saved_argument_spec = full
        self._functions = functions
        signature = coder.decode_proto(spec.input_signature)
        super().__init__(self._body(_signature(full)), signature, autograph=False)

    def _body(self, signature: inspect.Signature) -> Callable[..., Any]:
        def restored(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arguments = bound.args, bound.kwargs
            for converting in (False, True):
                for function in self._functions:
                    if function.takes(arguments, converting):
                        return function(arguments)
            raise ValueError(self._mismatch(*arguments))

        restored.__signature__ = signature  # type: ignore[attr-defined]
        if self._functions:
            restored.__name__ = self._functions[0].short_name
        return restored

    def _mismatch(self, args: Any, kwargs: Any) -> str:
        def positional(values: Any) -> str:
            lines = "\n    * ".join(str(value) for value in values)
            return f"Positional arguments ({len(values)} total):\n    * {lines}"

        options = [
            f"Option {i + 1}:\n  {positional(f.arguments[0])}\n  Keyword arguments: {f.arguments[1]}"
            for i, f in enumerate(self._functions)
        ]
        return (
            "Could not find matching function to call loaded from the SavedModel. "
            f"Got:\n  {positional(args)}\n  Keyword arguments: {kwargs}\n\nExpected these arguments to match one of "
            f"the following {len(options)} option(s):\n\n" + "\n\n".join(options)
        )

    def traced_functions(self) -> list[ConcreteFunction]:
        """Its functions, to be saved again."""
        return [function.traced() for function in self._functions]


def _signature(full: Any) -> inspect.Signature:
    """The signature that a ``FullArgSpec`` says."""
    kinds = inspect.Parameter
    defaults = list(full.defaults or ())
    first = len(full.args) - len(defaults)
    made = [
        kinds(
            _python_name(name),
            kinds.POSITIONAL_OR_KEYWORD,
            default=defaults[i - first] if i >= first else kinds.empty,
        )
        for i, name in enumerate(full.args)
    ]
    if full.varargs:
        made.append(kinds(full.varargs, kinds.VAR_POSITIONAL))
    for name in full.kwonlyargs or ():
        default = (full.kwonlydefaults or {}).get(name, kinds.empty)
        made.append(kinds(name, kinds.KEYWORD_ONLY, default=default))
    if full.varkw:
        made.append(kinds(full.varkw, kinds.VAR_KEYWORD))
    return inspect.Signature(made)


def _python_name(name: str) -> str:
    return name if name.isidentifier() else "_" + "".join(c if c.isalnum() else "_" for c in name)
