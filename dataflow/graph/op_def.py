"""`OpDef`: calling one checks and converts the arguments, infers shapes, and adds a node."""

from __future__ import annotations

import inspect
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow import shapes
from dataflow.dtypes import DType, as_dtype, resource
from dataflow.errors import DTypeError
from dataflow.graph.conversion import CompositeOperand
from dataflow.graph.default_stacks import default_graph, use_graph
from dataflow.graph.op_signature import (
    ATTRS_WITHOUT_NONE,
    REQUIRED,
    ArgSpec,
    AttrSpec,
    Defaulted,
    function_name,
    normalize_attr,
    parse_attrs,
    parse_signature,
    short_repr,
)
from dataflow.graph.op_traits import HOST_ARGUMENTS, OpTraits
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.operation import Operation


class OpDef(OpTraits):
    """An op of the registry; calling it adds a node to the default graph.

    Fields: ``type`` ("MatMul"), ``inputs`` and ``outputs`` (`ArgSpec`), ``attrs`` (`AttrSpec`),
    ``allowed`` (type attribute -> dtypes), ``stateful`` (never folded, deduplicated or reordered
    with others of its kind), ``gradient_function`` (`None`: not differentiable when
    ``differentiable`` is False, not written otherwise), ``attr_by_name``, ``single_output`` (exactly
    one tensor comes out), ``settled`` (input dtypes -> attributes and output dtypes, for ops whose
    attributes follow from them; `None` for others). The traits, and who reads each of them, are those
    of `OpTraits`.
    """

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
        code = shape_rule.__code__
        positional = code.co_varnames[: code.co_argcount]
        takes_any = bool(code.co_flags & inspect.CO_VARARGS) and not positional
        if not takes_any and positional != tuple(a.name for a in self.inputs):
            raise TypeError(
                f"{op_type}: the shape rule takes {positional}, "
                f"the signature names {[a.name for a in self.inputs]}"
            )
        keyword_only = code.co_varnames[
            code.co_argcount : code.co_argcount + code.co_kwonlyargcount
        ]
        defaults = shape_rule.__kwdefaults__ or {}
        annotations = shape_rule.__annotations__
        self.attrs = tuple(
            AttrSpec(n, str(annotations.get(n, "any")), defaults.get(n, REQUIRED))
            for n in keyword_only
        ) + parse_attrs(attrs)
        self.attr_by_name = {a.name: a for a in self.attrs}
        self.attr_kinds: dict[str, str] | None = None
        # Attributes of a node whose caller gives none; None when some must be given.
        self._plain_attrs: dict[str, Any] | None = None
        if not any(a.required for a in self.attrs):
            self._plain_attrs = {a.name: normalize_attr(a.kind, a.default) for a in self.attrs}
        self._list_attrs = [k for k, v in (self._plain_attrs or {}).items() if type(v) is list]
        self._allowed_items = tuple(self.allowed.items())
        takes_all = code.co_flags & inspect.CO_VARKEYWORDS
        self._rule_attrs = tuple(a.name for a in self.attrs) if takes_all else keyword_only
        self._num_inputs = len(self.inputs)
        self._type_attrs = {*self.allowed, *(a.type_attr for a in self.inputs if a.type_attr)}
        # The plain case: no list, no reference input; served without loops over specs.
        self._plain = not any(a.is_list or a.is_ref or a.is_handle for a in self.inputs)
        self._has_references = any(a.is_ref and not a.is_handle for a in self.inputs)
        self.single_output = len(self.outputs) == 1 and not self.outputs[0].is_list
        self._plain_output = self.single_output and not self.outputs[0].is_ref
        # What follows from the dtypes of the inputs, when no attribute is given: the attributes,
        # which the nodes share, and the dtypes of the outputs. None where it takes more.
        self.settled: dict[tuple[DType, ...], tuple[dict[str, Any], list[DType]]] | None = None
        if self._plain and self._plain_attrs is not None and not self._list_attrs:
            self.settled = {}
        self._result_type: Any = None

    @property
    def family(self) -> str:
        """The name of the file that defines it; its kernel is in the file of that name."""
        return self.__module__.rpartition(".")[2]

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
                raise TypeError(f"{self.__name__}() misses the argument {arg.name!r}")
            values.append(kwargs.pop(arg.name))
        return self.build(values, kwargs, name)

    def build(self, values: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Converts ``values`` to tensors, infers the type attributes, and makes the node."""
        graph = default_graph()
        for value in values:
            if type(value) is Tensor:
                if value.op.graph is not graph and graph.captures is None:
                    # As in TensorFlow, the inputs choose the graph.
                    with use_graph(value.op.graph):
                        return self.build(values, attrs, name)
                break
        op_name = graph.unique_name(name or self.type)
        try:
            if attrs or self.settled is None:
                tensors, given = self._convert(graph, op_name, values, attrs)
                if self._has_references:  # what changes a variable stands where that is
                    pairs = zip(self.inputs, tensors, strict=False)
                    with graph.colocate_with_references([t for arg, t in pairs if arg.is_ref]):
                        return self._result(graph.make_op(self, op_name, tensors, given))
                return self._result(graph.make_op(self, op_name, tensors, given))
            for value in values:
                if type(value) is not Tensor:
                    tensors, given = self._convert(graph, op_name, values, attrs)
                    break
            else:
                tensors, given = list(values), {}
        except CompositeOperand as found:
            if not self.elementwise:
                raise
            return found.composite.elementwise(self, values, attrs, name)
        key = tuple([tensor.dtype for tensor in tensors])
        known = self.settled.get(key)
        if known is None:
            given = given or self._convert(graph, op_name, tensors, attrs)[1]
            known = self.settled[key] = (given, self.output_dtypes(given, tensors))
        op = graph.make_op(self, op_name, tensors, *known)
        return op.outputs[0] if self.single_output else self._result(op)

    def _result(self, op: Operation) -> Any:
        if self.single_output:
            return op.outputs[0]
        if not self.outputs:
            return op
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

    def _convert(
        self, graph: Graph, op_name: str, values: Sequence[Any], given: dict[str, Any]
    ) -> tuple[list[Tensor], dict[str, Any]]:
        if not given and self._plain_attrs is not None:
            attrs = self._plain_attrs.copy()
            for key in self._list_attrs:
                attrs[key] = list(attrs[key])
        else:
            attrs = self._given_attrs(given)
        tensors: list[Tensor] = []
        if self._plain:
            for arg, value in zip(self.inputs, values, strict=True):
                type_attr = arg.type_attr
                wanted: Any = arg.dtype if type_attr is None else attrs.get(type_attr)
                if type(value) is Tensor:
                    tensor = value
                else:
                    tensor = self._to_tensor(graph, op_name, arg, value, wanted)
                base = tensor.dtype.base_dtype
                if wanted is None:
                    attrs[type_attr] = base  # type: ignore[index]
                elif base is not wanted:
                    self._dtype_mismatch(op_name, arg, tensor, wanted, tensors)
                tensors.append(tensor)
        else:
            self._convert_general(graph, op_name, values, attrs, tensors)
        for key, allowed in self._allowed_items:
            dtype = attrs.get(key)
            if dtype is not None and dtype not in allowed and type(dtype) is DType:
                self._dtype_not_allowed(op_name, key, dtype, allowed, tensors)
        return tensors, attrs

    def _given_attrs(self, given: dict[str, Any]) -> dict[str, Any]:
        """Attributes from what the caller gave and the defaults; raises for unknown ones."""
        attrs: dict[str, Any] = {}
        for spec in self.attrs:
            # None stands for the default, but in attributes that may be None themselves.
            unset = given.get(spec.name) is None and spec.kind in ATTRS_WITHOUT_NONE
            if spec.name in given and (spec.required or not unset or spec.default is None):
                attrs[spec.name] = normalize_attr(spec.kind, given[spec.name])
            elif spec.required:
                raise TypeError(f"{self.__name__}() misses the argument {spec.name!r}")
            else:
                attrs[spec.name] = normalize_attr(spec.kind, spec.default)
        for key in given:
            if key in attrs:
                continue
            if key in self._type_attrs:  # said by the caller
                attrs[key] = as_dtype(given[key]).base_dtype
            elif key.startswith("_"):
                attrs[key] = given[key]
            else:
                raise TypeError(f"{self.__name__}() got an unexpected argument {key!r}")
        return attrs

    def _to_tensor(
        self,
        graph: Graph,
        op_name: str,
        arg: ArgSpec,
        value: Any,
        dtype: DType | None,
        ref: bool = False,
    ) -> Tensor:
        from dataflow.graph.conversion import internal_convert, preferred_of_list

        saved = graph.name_stack
        graph.name_stack = op_name
        try:
            preferred = None
            if dtype is None and arg.type_attr in self.type_defaults:
                preferred = self.type_defaults[arg.type_attr]
            elif dtype is None and arg.type_attr is not None:
                spec = self.attr_by_name.get(arg.type_attr)
                if spec is not None and not spec.required:
                    preferred = as_dtype(spec.default)
                elif isinstance(value, (list, tuple)):
                    preferred = preferred_of_list(value, self.allowed.get(arg.type_attr))
            return internal_convert(value, dtype, arg.name, preferred, ref)
        except CompositeOperand:
            raise
        except DTypeError:
            raise
        except TypeError as e:
            wanted = f" that is {dtype.name}" if dtype else ""
            kind = getattr(getattr(value, "dtype", None), "kind", type(value).__name__[0])
            others = (
                f"\n  The other tensors of this op are {dtype.name}. To compute with fractions, convert "
                "them: tf.cast(t, tf.float32)."
                if dtype and dtype.is_integer and arg.type_attr and kind == "f"
                else ""
            )
            raise DTypeError(
                None,
                None,
                f"{self.type} {op_name!r}: input {arg.name!r} needs a tensor{wanted}, got "
                f"{type(value).__name__} {short_repr(value)}: {e}{others}",
            ) from e
        finally:
            graph.name_stack = saved

    def _convert_general(
        self,
        graph: Graph,
        op_name: str,
        values: Sequence[Any],
        attrs: dict[str, Any],
        tensors: list[Tensor],
    ) -> None:
        """Appends every input to ``tensors``; type and length attributes that they say go to ``attrs``."""
        for arg, value in zip(self.inputs, values, strict=True):
            if not arg.is_list:
                tensors.append(self._convert_one(graph, op_name, arg, value, attrs, tensors))
                continue
            if isinstance(value, (Tensor, str, bytes)) or not isinstance(value, Iterable):
                raise TypeError(
                    f"Expected list for {arg.name!r} argument to {self.type!r} Op, not {value!r}."
                )
            convert = self._convert_mixed if arg.type_list_attr is not None else self._convert_alike
            tensors.extend(convert(graph, op_name, arg, list(value), attrs, tensors))

    def _convert_one(
        self,
        graph: Graph,
        op_name: str,
        arg: ArgSpec,
        value: Any,
        attrs: dict[str, Any],
        before: list[Tensor],
    ) -> Tensor:
        wanted = arg.dtype if arg.type_attr is None else attrs.get(arg.type_attr)
        by_reference = arg.is_ref or arg.is_handle
        tensor = self._to_tensor(graph, op_name, arg, value, wanted, by_reference)
        if by_reference:
            self._need_variable(op_name, arg, tensor)
        base = arg.base_dtype(tensor.dtype)
        if wanted is None:
            attrs[arg.type_attr] = base  # type: ignore[index]
        elif base is not wanted.base_dtype:
            self._dtype_mismatch(op_name, arg, tensor, wanted, before)
        return tensor

    def _need_variable(self, op_name: str, arg: ArgSpec, tensor: Tensor) -> None:
        """Raises where what is to be changed is no variable, or one of the other kind."""
        dtype = tensor.dtype
        # Nodes that rewrites make take both kinds.
        if dtype.is_ref and (dtype.is_handle == arg.is_handle or self.type.startswith("_")):
            return
        if not dtype.is_ref:
            got, advice = f"the tensor {tensor.name!r}", "Assign to the tf.Variable itself."
        elif arg.is_handle:
            got, advice = (
                f"the reference variable {tensor.name!r}",
                "Make it with use_resource=True.",
            )
        else:
            got, advice = (
                f"the handle {tensor.name!r}",
                "Make the variable with use_resource=False.",
            )
        what = "a resource variable" if arg.is_handle else "a variable"
        raise DTypeError(
            None,
            None,
            f"{self.type} {op_name!r}: input {arg.name!r} must be {what}, got {got}. {advice}",
        )

    def _convert_mixed(
        self,
        graph: Graph,
        op_name: str,
        arg: ArgSpec,
        items: list[Any],
        attrs: dict[str, Any],
        before: list[Tensor],
    ) -> list[Tensor]:
        """The tensors of ``list(Tin)``: each has a dtype of its own."""
        wanted = attrs.get(arg.type_list_attr)  # type: ignore[arg-type]
        converted = []
        for i, item in enumerate(items):
            dtype = wanted[i] if wanted else None
            one = ArgSpec(f"{arg.name}_{i}", dtype, None, None, None, False)
            converted.append(self._to_tensor(graph, op_name, one, item, dtype))
        attrs[arg.type_list_attr] = [t.dtype.base_dtype for t in converted]  # type: ignore[index]
        return converted

    def _convert_alike(
        self,
        graph: Graph,
        op_name: str,
        arg: ArgSpec,
        items: list[Any],
        attrs: dict[str, Any],
        before: list[Tensor],
    ) -> list[Tensor]:
        """The tensors of ``N * T``: all of one dtype."""
        wanted = arg.dtype if arg.type_attr is None else attrs.get(arg.type_attr)
        if wanted is None:  # a tensor anywhere in the list says the type for all
            dtypes_of = (getattr(item, "dtype", None) for item in items)
            found = next((d for d in dtypes_of if isinstance(d, DType)), None)
            if found is not None:
                wanted = arg.base_dtype(found)
        converted: list[Tensor] = []
        for i, item in enumerate(items):
            if type(item) is Tensor:
                tensor = item
            else:
                one = ArgSpec(f"{arg.name}_{i}", wanted, None, None, None, False)
                tensor = self._to_tensor(graph, op_name, one, item, wanted, arg.is_ref)
            base = arg.base_dtype(tensor.dtype)
            if wanted is None:
                wanted = base
            elif base is not wanted.base_dtype:
                self._dtype_mismatch(op_name, arg, tensor, wanted, before + converted)
            converted.append(tensor)
        if arg.type_attr is not None and wanted is not None:
            attrs[arg.type_attr] = wanted
        known = attrs.get(str(arg.number_attr))
        if known is not None and arg.number_attr not in self.attr_by_name:
            if known != len(converted):
                raise ValueError(
                    f"List argument {arg.name!r} to {self.type!r} Op with length "
                    f"{len(converted)} must match length {known} of a previous argument."
                )
        attrs[arg.number_attr] = len(converted)  # type: ignore[index]
        return converted

    def _dtype_mismatch(
        self, op_name: str, arg: ArgSpec, tensor: Tensor, wanted: DType, before: list[Tensor]
    ) -> None:
        from dataflow.graph.printing import describe_inputs, failed_node

        got = tensor.dtype.base_dtype.name
        if arg.type_attr is None:
            reason = f"must be {wanted.name}"
        else:
            other = next((a.name for a in self.inputs if a.type_attr == arg.type_attr), arg.name)
            reason = f"that does not match type {wanted.name} of argument {other!r}"
        error = DTypeError(
            None,
            None,
            f"{self.type} {op_name!r}: input {arg.name!r} has type {got} {reason}.\n"
            + describe_inputs(self, [*before, tensor])
            + f"  Convert one of them with tf.cast(t, tf.{wanted.name}).",
        )
        error.failed_node = failed_node(self, op_name, [*before, tensor], len(before))
        raise error

    def _dtype_not_allowed(
        self, op_name: str, key: str, dtype: DType, allowed: Any, tensors: list[Tensor]
    ) -> None:
        from dataflow.graph.printing import describe_inputs, failed_node

        names = ", ".join(sorted(d.name for d in allowed))
        args = [a.name for a in self.inputs if a.type_attr == key]
        what = f"input {args[0]!r}" if args else f"attribute {key!r}"
        error = DTypeError(
            None,
            None,
            f"{self.type} {op_name!r}: {what} has type {dtype.name}, which is not in the list of "
            f"allowed values: {names}\n" + describe_inputs(self, tensors),
        )
        wrong = next((i for i, t in enumerate(tensors) if t.dtype.base_dtype is dtype), None)
        error.failed_node = failed_node(self, op_name, tensors, wrong)
        raise error

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
        if self._plain or not any(a.is_list for a in self.inputs):
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
