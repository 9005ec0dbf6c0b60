"""The arguments of a call of an op: values become tensors, and attributes follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dataflow import dtypes
from dataflow.dtypes import DType, as_dtype
from dataflow.errors import DTypeError, NoKernelError
from dataflow.graph.conversion import CompositeOperand
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.op_signature import (
    ATTRS_WITHOUT_NONE,
    ArgSpec,
    normalize_attr,
    short_repr,
)
from dataflow.graph.tensor import Tensor

if TYPE_CHECKING:
    from dataflow.graph.graph import Graph
    from dataflow.graph.op_def import OpDef


class OpArguments:
    """What an op takes, and how the values of a call become its inputs and attributes.

    ``are_plain``: no list, no reference among the inputs. ``has_references``: some are references.
    ``follow_from_dtypes``: where no attribute is given, all follow from the dtypes of the inputs.
    """

    def __init__(self, op_def: OpDef) -> None:
        self._op_def = op_def
        self._inputs = op_def.inputs
        self._attrs = op_def.attrs
        self._attr_by_name = op_def.attr_by_name
        self._allowed = op_def.allowed
        self._type_defaults = op_def.type_defaults
        # Attributes of a node whose caller gives none; None when some must be given.
        self._plain_attrs: dict[str, Any] | None = None
        if not any(a.required for a in op_def.attrs):
            self._plain_attrs = {a.name: normalize_attr(a.kind, a.default) for a in op_def.attrs}
        self._list_attrs = [k for k, v in (self._plain_attrs or {}).items() if type(v) is list]
        self._allowed_items = tuple(op_def.allowed.items())
        self._type_attrs = {*op_def.allowed, *(a.type_attr for a in op_def.inputs if a.type_attr)}
        # The plain case: no list, no reference input; served without loops over specs.
        self.are_plain = not any(a.is_list or a.is_ref or a.is_handle for a in op_def.inputs)
        self.has_references = any(a.is_ref and not a.is_handle for a in op_def.inputs)
        self.follow_from_dtypes = (
            self.are_plain and self._plain_attrs is not None and not self._list_attrs
        )
        # Eager code keeps no nodes whose lists somebody may change. A handle's dtype says what it holds.
        lists = any(a.is_list for a in op_def.inputs)
        self._settle_eagerly = not lists and not self.has_references

    def settle(self, graph: Graph) -> bool:
        """Whether nodes of a graph share their attributes, where dtypes and the caller say the same."""
        return self._settle_eagerly if graph.executes_eagerly else self.follow_from_dtypes

    def convert(
        self, graph: Graph, op_name: str, values: Sequence[Any], given: dict[str, Any]
    ) -> tuple[list[Tensor], dict[str, Any]]:
        """The inputs as tensors, and all attributes; raises `TypeError` where they do not fit."""
        if not given and self._plain_attrs is not None:
            attrs = self._plain_attrs.copy()
            for key in self._list_attrs:
                attrs[key] = list(attrs[key])
        else:
            attrs = self._given_attrs(given)
        tensors: list[Tensor] = []
        if self.are_plain:
            kind = graph.tensor_class
            for arg, value in zip(self._inputs, values, strict=True):
                type_attr = arg.type_attr
                wanted: Any = arg.dtype if type_attr is None else attrs.get(type_attr)
                if type(value) is kind:
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
        for spec in self._attrs:
            # None stands for the default, but in attributes that may be None themselves.
            unset = given.get(spec.name) is None and spec.kind in ATTRS_WITHOUT_NONE
            if spec.name in given and (spec.required or not unset or spec.default is None):
                attrs[spec.name] = normalize_attr(spec.kind, given[spec.name])
            elif spec.required:
                raise TypeError(f"{self._op_def.__name__}() is missing the argument {spec.name!r}")
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
                raise TypeError(f"{self._op_def.__name__}() got an unexpected argument {key!r}")
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
            if dtype is None and arg.type_attr in self._type_defaults:
                preferred = self._type_defaults[arg.type_attr]
            elif dtype is None and arg.type_attr is not None:
                spec = self._attr_by_name.get(arg.type_attr)
                if spec is not None and not spec.required:
                    preferred = as_dtype(spec.default)
                elif isinstance(value, (list, tuple)):
                    preferred = preferred_of_list(value, self._allowed.get(arg.type_attr))
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
                f"{self._op_def.type} {op_name!r}: input {arg.name!r} needs a tensor{wanted}, got "
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
        for arg, value in zip(self._inputs, values, strict=True):
            if not arg.is_list:
                tensors.append(self._convert_one(graph, op_name, arg, value, attrs, tensors))
                continue
            if isinstance(value, (Tensor, str, bytes)) or not isinstance(value, Iterable):
                raise TypeError(
                    f"Expected list for {arg.name!r} argument to {self._op_def.type!r} Op, not {value!r}."
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
        if dtype.is_ref and (dtype.is_handle == arg.is_handle or self._op_def.is_internal):
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
            f"{self._op_def.type} {op_name!r}: input {arg.name!r} must be {what}, got {got}. {advice}",
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
        if known is not None and arg.number_attr not in self._attr_by_name:
            if known != len(converted):
                raise ValueError(
                    f"List argument {arg.name!r} to {self._op_def.type!r} Op with length "
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
            other = next((a.name for a in self._inputs if a.type_attr == arg.type_attr), arg.name)
            reason = f"that does not match type {wanted.name} of argument {other!r}"
        # Of whole numbers and others, the whole ones: the other way would lose what is behind the point.
        base = tensor.dtype.base_dtype
        inexact = base.is_floating or base.is_complex
        kept = got if arg.type_attr and wanted.is_integer and inexact else wanted.name
        error = DTypeError(
            None,
            None,
            f"{self._op_def.type} {op_name!r}: input {arg.name!r} has type {got} {reason}.\n"
            + describe_inputs(self._op_def, [*before, tensor])
            + f"  Convert one of them with tf.cast(t, tf.{kept}).",
        )
        error.failed_node = failed_node(self._op_def, op_name, [*before, tensor], len(before))
        raise error

    def _dtype_not_allowed(
        self, op_name: str, key: str, dtype: DType, allowed: Any, tensors: list[Tensor]
    ) -> None:
        from dataflow.graph.printing import describe_inputs, failed_node, input_labels

        names = ", ".join(sorted(d.name for d in allowed))
        labels = input_labels(self._op_def, len(tensors))
        args = [a.name for a in self._inputs if a.type_attr == key]
        what = f"input {args[0]!r}" if args else f"attribute {key!r}"
        # Of a list, its first part.
        mine = (args[0], f"{args[0]}[0]") if args else ()
        wrong = next((i for i, label in enumerate(labels) if label in mine), None)
        other = _numbers_like(dtype, allowed)
        advice = f"  Convert it with tf.cast(t, tf.{other.name}).\n" if args and other else ""
        error = (NoKernelError if default_graph().executes_eagerly else DTypeError)(
            None,
            None,
            f"{self._op_def.type} {op_name!r}: {what} has type {dtype.name}, which is not in the list of "
            f"allowed values: {names}\n" + describe_inputs(self._op_def, tensors) + advice,
        )
        error.failed_node = failed_node(self._op_def, op_name, tensors, wrong)
        raise error


def _numbers_like(dtype: DType, allowed: Iterable[DType]) -> DType | None:
    """The first of the usual dtypes of ``allowed`` to which numbers of ``dtype`` are converted; None where none is."""
    if not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
        return None
    usual = (dtypes.float32, dtypes.int32, dtypes.int64, dtypes.float64, dtypes.complex64)
    return next((one for one in usual if one in allowed), None)
