"""What an op's declaration says: its inputs, outputs and attributes, read from the signature's text."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from dataflow import dtypes, shapes
from dataflow.dtypes import DType, as_dtype, resource

REQUIRED = object()

#: Kinds of attributes whose values have no type of their own in Python: what their annotation says
#: is what a ``GraphDef`` holds (`dataflow.graph.attr_kinds`).
Array = Any
Function = Any


def function_name(op_type: str) -> str:
    """TensorFlow's name of the function that adds an op: ``"segment_max"`` of ``"SegmentMax"``."""
    words = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])"
    return re.sub(words, "_", op_type).lower()


class ArgSpec(NamedTuple):
    """One input or output of an op."""

    name: str
    dtype: DType | None  # a fixed dtype
    type_attr: str | None  # or the type attribute that says it
    type_list_attr: str | None  # or, for a list of any types, the attribute with all of them
    number_attr: str | None  # a list: the attribute that holds its length
    is_ref: bool  # through which the op may change a variable, or makes one
    is_handle: bool = False  # of a resource variable; without ``is_ref`` the op only reads it

    @property
    def is_list(self) -> bool:
        """True when the argument stands for several tensors."""
        return self.number_attr is not None or self.type_list_attr is not None

    def base_dtype(self, given: DType) -> DType:
        """What the op calls the dtype of a tensor that is given: of a variable the value's."""
        by_reference = self.is_ref or self.is_handle
        return (
            given.value_dtype if by_reference and self.dtype is not resource else given.base_dtype
        )


def _parse_arg(text: str) -> ArgSpec:
    name, _, kind = (part.strip() for part in text.partition(":"))
    is_handle = kind.startswith(("Handle(", "Read("))
    is_ref = kind.startswith(("Handle(", "Ref("))
    if is_handle or is_ref:
        kind = kind.partition("(")[2][:-1]
    number_attr = None
    if "*" in kind:
        number_attr, kind = (part.strip() for part in kind.split("*"))
    if kind.startswith("list("):
        return ArgSpec(name, None, None, kind[5:-1], None, is_ref)
    if kind in dtypes.BY_NAME:
        return ArgSpec(name, as_dtype(kind), None, None, number_attr, is_ref, is_handle)
    return ArgSpec(name, None, kind, None, number_attr, is_ref, is_handle)


def parse_signature(signature: str) -> tuple[tuple[ArgSpec, ...], tuple[ArgSpec, ...]]:
    """Inputs and outputs of ``"a: T, b: N * T -> product: T"``; `define_op`'s file has the language."""
    left, _, right = signature.partition("->")
    return tuple(
        tuple(_parse_arg(part) for part in side.split(",") if part.strip())
        for side in (left, right)
    )  # type: ignore[return-value]


class Defaulted(NamedTuple):
    """Allowed dtypes of a type attribute, and the one that Python values get where they fit."""

    default: DType
    allowed: frozenset[DType]


#: The type attribute of a shape or axis input: int32 unless a tensor says int64.
INDEX = Defaulted(dtypes.int32, dtypes.INDICES)
#: The type attribute of colors and boxes: float32 unless a tensor has another floating-point type.
FLOAT = Defaulted(dtypes.float32, dtypes.FLOATING)


class AttrSpec(NamedTuple):
    """One attribute of an op: its name, the kind of its value, and the default."""

    name: str
    kind: str
    default: Any

    @property
    def required(self) -> bool:
        """True when the caller must give it."""
        return self.default is REQUIRED


#: The kinds of attributes whose value cannot be None.
ATTRS_WITHOUT_NONE = frozenset(
    {"DType", "bool", "int", "float", "str", "list[int]", "list[float]", "list[DType]", "list[str]"}
)


def normalize_attr(kind: str, value: Any) -> Any:
    """An attribute's value in the one form in which nodes of its kind keep it."""
    if kind == "DType":
        return as_dtype(value).base_dtype
    if kind == "bool":
        return bool(value)
    if kind == "int":
        return int(value)
    if kind == "float":
        return float(value)
    if kind == "str":
        return value.decode() if isinstance(value, bytes) else str(value)
    if kind == "Shape":
        return shapes.as_dims(value)
    if kind == "list[int]":
        return [int(v) for v in value]
    if kind == "list[float]":
        return [float(v) for v in value]
    if kind == "list[DType]":
        return [as_dtype(v).base_dtype for v in value]
    if kind == "list[Shape]":
        return [shapes.as_dims(v) for v in value]
    if kind == "list[str]":
        return [v.decode() if isinstance(v, bytes) else str(v) for v in value]
    return value


def parse_attrs(text: str) -> tuple[AttrSpec, ...]:
    """Attributes that are written as keyword parameters: ``"f: Function, timeout_ms: int = -1"``."""
    function = ast.parse(f"def rule(*, {text}): pass" if text else "def rule(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    parameters = function.args
    return tuple(
        AttrSpec(
            parameter.arg,
            ast.unparse(parameter.annotation) if parameter.annotation else "any",
            REQUIRED if default is None else ast.literal_eval(default),
        )
        for parameter, default in zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
    )


def short_repr(value: Any) -> str:
    """The value as messages quote it: 60 characters at most."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
