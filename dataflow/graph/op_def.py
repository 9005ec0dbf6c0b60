"""`OpDef`: calling one checks and converts the arguments, infers shapes, and adds a node."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from dataflow import shapes
from dataflow.dtypes import DType, resource
from dataflow.graph.conversion import CompositeOperand, SymbolicInput
from dataflow.graph.default_stacks import default_graph, use_graph
from dataflow.graph.op_arguments import OpArguments
from dataflow.graph.op_def_fields import OpDefFields
from dataflow.graph.op_signature import (
    REQUIRED,
    AttrSpec,
    Defaulted,
    function_name,
    parse_attrs,
    parse_signature,
)
from dataflow.graph.op_traits import HOST_ARGUMENTS, OpTraits
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.operation import Operation


#: Settings that are kept for an op at most: eager code may give other attributes at each call.
_MOST_SETTLED = 1024
_PLAIN = frozenset({bool, int, float, str, DType, type(None)})


def _key_of_given(attrs: dict[str, Any], eagerly: bool) -> tuple[Any, ...] | None:
    """What stands for the attributes of a call in `OpDef.settled`; None where nodes do not share them.

    In a graph all have to be yes or no, so that there are few combinations of them; in eager code, where
    a loop makes the same calls again and again, numbers, texts, dtypes and lists of integers do.
    """
    if not attrs:
        return ()
    if set(map(type, attrs.values())) == {bool}:
        return tuple(attrs.items())
    if not eagerly:
        return None
    parts: list[Any] = []
    for name, value in attrs.items():
        kind = type(value)
        if kind is list or kind is tuple:
            if not set(map(type, value)) <= {int}:
                return None
            value = tuple(value)
        elif kind not in _PLAIN:
            return None
        parts += (name, kind, value)
    return tuple(parts)


class SharedAttrs(dict[str, Any]):
    """Attributes that many nodes share, which nobody changes."""

    __slots__ = ("key",)

    def __init__(self, attrs: dict[str, Any]) -> None:
        super().__init__(attrs)
        #: What stands for them in keys of dictionaries, once somebody has asked for it.
        self.key: Any = None


class OpDef(OpTraits, OpDefFields):
    """An op of the registry; calling it adds a node to the default graph.

    Fields: ``type`` ("MatMul"), ``inputs`` and ``outputs`` (`ArgSpec`), ``attrs`` (`AttrSpec`),
    ``allowed`` (type attribute -> dtypes), ``stateful`` (never folded, deduplicated or reordered
    with others of its kind), ``gradient_function`` (`None`: not differentiable when
    ``differentiable`` is False, not written otherwise), ``attr_by_name``, ``single_output`` (exactly
    one tensor comes out), ``settled`` (input dtypes and what the caller says -> attributes and output
    dtypes, for calls whose attributes follow from them). The traits, and who reads each of them, are those
    of `OpTraits`.
    """

    #: Whether ``isinstance(op, types.FunctionType)`` and ``inspect.isfunction`` say yes, as of TensorFlow's own
    #: functions; for programs of its time (`dataflow.shim`), which test activations by it.
    passes_as_function = False

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return FunctionType if OpDef.passes_as_function else type(self)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        """Pickled and copied by its name, as a function is: programs keep activations in their settings."""
        from dataflow.graph.registry import get_op

        return get_op, (self.type,)

    def __init__(
        self,
        op_type: str,
        signature: str,
        shape_rule: Callable[..., Any],
        allowed: dict[str, Any],
        stateful: bool,
        traits: dict[str, Any],
        attrs: str = "",
    ) -> None:
        self.type = op_type
        self.signature = signature
        self.shape_rule = shape_rule
        self.inputs, self.outputs = parse_signature(signature)
        self.stateful = stateful
        given = tuple(a.name for a in self.inputs if a.name in HOST_ARGUMENTS)
        self._set_traits({"host_inputs": given, **traits})
        self.type_defaults = {k: v.default for k, v in allowed.items() if type(v) is Defaulted}
        self.allowed = {
            k: v.allowed if type(v) is Defaulted else frozenset(v) for k, v in allowed.items()
        }
        self.gradient_function: Callable[..., Any] | None = None
        self.differentiable = True
        self.__doc__ = shape_rule.__doc__
        # A rule that was made for several types has the type's name; one beside a public function, `_op`.
        name = shape_rule.__name__
        own = name != op_type and not name.endswith("_op")
        self.__name__ = self.__qualname__ = name if own else function_name(op_type)
        self.__module__ = shape_rule.__module__
        self.__wrapped__ = shape_rule
        keyword_only = self._check_rule(shape_rule)
        self.attrs = _attrs_of(shape_rule, keyword_only) + parse_attrs(attrs)
        self.attr_by_name = {a.name: a for a in self.attrs}
        self.attr_kinds: dict[str, str] | None = None
        takes_all = shape_rule.__code__.co_flags & inspect.CO_VARKEYWORDS
        self._rule_attrs = tuple(a.name for a in self.attrs) if takes_all else keyword_only
        self._num_inputs = len(self.inputs)
        self.arguments = OpArguments(self)
        self.single_output = len(self.outputs) == 1 and not self.outputs[0].is_list
        self._plain_output = self.single_output and not self.outputs[0].is_ref
        # What follows from the dtypes of the inputs, and from what the caller says: the attributes,
        # which the nodes share, and the dtypes of the outputs.
        self.settled: dict[tuple[Any, ...], tuple[dict[str, Any], list[DType]]] = {}
        self._result_type: Any = None

    def _check_rule(self, shape_rule: Callable[..., Any]) -> tuple[str, ...]:
        """The names of the attributes that the rule takes; raises where its inputs are others."""
        code = shape_rule.__code__
        positional = code.co_varnames[: code.co_argcount]
        takes_any = bool(code.co_flags & inspect.CO_VARARGS) and not positional
        if not takes_any and positional != tuple(a.name for a in self.inputs):
            raise TypeError(
                f"{self.type}: the shape rule takes {positional}, "
                f"the signature names {[a.name for a in self.inputs]}"
            )
        return code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]

    @property
    def name(self) -> str:
        """The op's type ("MatMul"), under the name that it has in TensorFlow's ``OpDef``."""
        return self.type

    @property
    def is_stateful(self) -> bool:
        """Whether it keeps or changes something between runs, as TensorFlow's ``OpDef`` says."""
        return self.stateful

    @property
    def family(self) -> str:
        """The name of the file that defines it; its kernel is in the file of that name."""
        return self.__module__.rpartition(".")[2]

    @property
    def is_internal(self) -> bool:
        """Whether only rewrites and the placer make such nodes: the type begins with an underscore."""
        return self.type.startswith("_")

    @property
    def is_random(self) -> bool:
        """Whether each run draws the next numbers of the node's own stream."""
        return self.stateful and self.family == "random"

    @property
    def is_of_one_run(self) -> bool:
        """Whether what it keeps lives as long as the run: arrays of tensors, and lists of them."""
        return self.family in ("tensor_array", "tensor_list")

    def gradient(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator: ``function(op, *output_gradients)`` returns a gradient for each input."""
        self.gradient_function = function
        return function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a node: tensors first, then attributes, then ``name``, as TensorFlow's functions."""
        name = kwargs.pop("name", None)
        n = self._num_inputs
        if len(args) == n:
            return self.build(args, kwargs, name)
        values = list(args[:n])
        if len(args) > n:
            extra = args[n:]
            if len(extra) > len(self.attrs) + 1:
                raise TypeError(
                    f"{self.__name__}() takes at most {n + len(self.attrs) + 1} arguments"
                )
            for value, attr in zip(extra, self.attrs, strict=False):
                kwargs.setdefault(attr.name, value)
            if len(extra) > len(self.attrs):
                name = extra[-1]
        for arg in self.inputs[len(values) :]:
            if arg.name not in kwargs:
                raise TypeError(f"{self.__name__}() is missing the argument {arg.name!r}")
            values.append(kwargs.pop(arg.name))
        return self.build(values, kwargs, name)

    def build(self, values: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Converts ``values`` to tensors, infers the type attributes, and makes the node."""
        graph = default_graph()
        for value in values:
            if type(value) is Tensor:
                if value.op.graph is not graph and graph.captures is None:
                    value.op.graph.check_open(value)
                    # As in TensorFlow, the inputs choose the graph.
                    with use_graph(value.op.graph):
                        return self.build(values, attrs, name)
                break
        op_name = graph.unique_name(name or self.type)
        asked = attrs
        try:
            said = None
            if self.arguments.settle(graph):
                said = _key_of_given(attrs, graph.executes_eagerly)
            if said is None:
                tensors, attrs = self.arguments.convert(graph, op_name, values, attrs)
                if self.arguments.has_references:  # what changes a variable stands where that is
                    pairs = zip(self.inputs, tensors, strict=False)
                    with graph.colocate_with_references([t for arg, t in pairs if arg.is_ref]):
                        return self._result(graph.make_op(self, op_name, tensors, attrs))
                return self._result(graph.make_op(self, op_name, tensors, attrs))
            kind = graph.tensor_class
            given: dict[str, Any] | None = None
            for value in values:
                if type(value) is not kind:
                    tensors, given = self.arguments.convert(graph, op_name, values, attrs)
                    break
            else:
                tensors = list(values)
        except CompositeOperand as found:
            is_ragged = getattr(found.composite, "is_ragged", False)
            if not (self.keeps_rows if is_ragged else self.elementwise):
                raise
            return found.composite.elementwise(self, values, attrs, name)
        except SymbolicInput as found:  # in a list, where nobody looks first
            if not found.tensor.graph.variables_are_eager:
                raise
            with use_graph(found.tensor.graph):
                return self.build(values, asked, name)
        key: Any = (*[tensor.dtype for tensor in tensors], *said)
        known = self.settled.get(key)
        if known is None:
            if given is None:
                given = self.arguments.convert(graph, op_name, tensors, attrs)[1]
            if len(self.settled) >= _MOST_SETTLED:
                self.settled.clear()
            known = self.settled[key] = (SharedAttrs(given), self.output_dtypes(given, tensors))
        op = graph.make_op(self, op_name, tensors, *known)
        if self.single_output and not graph.executes_eagerly:
            return op.outputs[0]
        return self._result(op)

    def _result(self, op: Operation) -> Any:
        if self.single_output:
            (result,) = op.outputs
        else:
            result = self._grouped(op)
        if op.graph.executes_eagerly:
            op.release()
        return result

    def _grouped(self, op: Operation) -> Any:
        if not self.outputs:
            return None if self.type == "NoOp" and op.graph.executes_eagerly else op
        grouped: list[Any] = []
        position = 0
        for arg in self.outputs:
            if arg.is_list:
                count = (
                    op.attrs[arg.number_attr]
                    if arg.number_attr
                    else len(op.attrs[arg.type_list_attr])  # type: ignore[index]
                )
                grouped.append(op.outputs[position : position + count])
                position += count
            else:
                grouped.append(op.outputs[position])
                position += 1
        if len(grouped) == 1:
            return grouped[0]
        if self._result_type is None:
            self._result_type = namedtuple(self.type.strip("_"), [a.name for a in self.outputs])  # type: ignore[misc]
        return self._result_type(*grouped)

    def output_dtypes(self, attrs: dict[str, Any], tensors: Sequence[Tensor]) -> list[DType]:
        """Dtypes of all outputs, given the node's attributes and inputs.

        A handle is passed on as the handle of that variable: the attribute only says ``resource``.
        """
        found = self._output_dtypes(attrs)
        for tensor in tensors:
            if tensor.dtype.is_handle:
                return [tensor.dtype if dtype is resource else dtype for dtype in found]
        return found

    def _output_dtypes(self, attrs: dict[str, Any]) -> list[DType]:
        if self._plain_output:
            (output,) = self.outputs
            return [output.dtype if output.type_attr is None else attrs[output.type_attr]]  # type: ignore[list-item]
        result: list[DType] = []
        for arg in self.outputs:
            if arg.type_list_attr is not None:
                result.extend(attrs[arg.type_list_attr])
                continue
            dtype: Any = arg.dtype if arg.type_attr is None else attrs[arg.type_attr]
            if arg.is_ref:
                dtype = dtype.handle if arg.is_handle else dtype.as_ref
            if arg.number_attr is not None:
                result.extend([dtype] * attrs[arg.number_attr])
            else:
                result.append(dtype)
        return result

    def infer_dims(self, tensors: list[Tensor], attrs: dict[str, Any]) -> list[shapes.Dims]:
        """Runs the shape rule; one dims for each output."""
        if self.arguments.are_plain or not any(a.is_list for a in self.inputs):
            arguments: list[Any] = tensors
        else:
            arguments, position = [], 0
            for arg in self.inputs:
                if arg.is_list:
                    count = (
                        attrs[arg.number_attr]
                        if arg.number_attr
                        else len(attrs[arg.type_list_attr])  # type: ignore[index]
                    )
                    arguments.append(tensors[position : position + count])
                    position += count
                else:
                    arguments.append(tensors[position])
                    position += 1
        if self._rule_attrs:
            dims = self.shape_rule(*arguments, **{k: attrs[k] for k in self._rule_attrs})
        else:
            dims = self.shape_rule(*arguments)
        return dims if type(dims) is list else [dims]

    @property
    def __signature__(self) -> inspect.Signature:
        parameter, kind = inspect.Parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [parameter(a.name, kind) for a in self.inputs]
        parameters += [
            parameter(a.name, kind, default=parameter.empty if a.required else a.default)
            for a in self.attrs
        ]
        parameters.append(parameter("name", kind, default=None))
        # A required attribute may follow an optional one, which Python's functions cannot say.
        return inspect.Signature(parameters, __validate_parameters__=False)

    def __repr__(self) -> str:
        return f"<op {self.type}({self.signature})>"


def _attrs_of(
    shape_rule: Callable[..., Any], keyword_only: tuple[str, ...]
) -> tuple[AttrSpec, ...]:
    """The attributes that a shape rule takes, with its annotations as kinds, and its defaults."""
    defaults = shape_rule.__kwdefaults__ or {}
    annotations = shape_rule.__annotations__
    return tuple(
        AttrSpec(n, str(annotations.get(n, "any")), defaults.get(n, REQUIRED)) for n in keyword_only
    )
