"""Ops on strings, which are bytes: joining, splitting, searching, numbers, base64."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow import dtypes, shapes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor, is_tensor_like
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import INDEX
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.ops.ragged_dispatch import takes_ragged
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.shape import need_rank, rank
from dataflow.ops.sources import constant
from dataflow.ops.static_value import static_value
from dataflow.shapes import Dims, TensorShape

# ---- joining and splitting ----------------------------------------------------------------


@define_op("StringJoin", "inputs: N * string -> output: string", keeps_rows=True)
def string_join(inputs: list[Tensor], *, separator: str = "") -> Dims:
    """Strings joined element by element; scalars go with every element. Not differentiable."""
    if not inputs:
        raise ValueError("there is nothing to join: inputs is an empty list")
    dims: Dims = ()
    for t in inputs:
        if t.dims == ():
            continue
        try:
            dims = t.dims if dims == () else shapes.merge(dims, t.dims)
        except ValueError:
            raise ValueError(
                f"shapes differ: {shapes.list_dims(dims)} and {shapes.list_dims(t.dims)}\n"
                "All inputs must have the same shape, or be scalars."
            ) from None
    return dims


@define_op("ReduceJoin", "inputs: string, reduction_indices: int32 -> output: string")
def reduce_join_op(
    inputs: Tensor, reduction_indices: Tensor, *, keep_dims: bool = False, separator: str = ""
) -> Dims:
    """Strings joined along axes, the first of them first. Not differentiable."""
    known = static_value(reduction_indices)
    if inputs.dims is None or known is None:
        return None
    gone = {shapes.normalize_axis(int(a), len(inputs.dims)) for a in np.reshape(known, -1)}
    if keep_dims:
        return tuple(1 if i in gone else d for i, d in enumerate(inputs.dims))
    return tuple(d for i, d in enumerate(inputs.dims) if i not in gone)


@define_op(
    "UnsortedSegmentJoin",
    "inputs: string, segment_ids: Tindices, num_segments: Tnumsegments -> output: string",
    Tindices=dtypes.INDICES,
    Tnumsegments=INDEX,
)
def unsorted_segment_join(
    inputs: Tensor, segment_ids: Tensor, num_segments: Tensor, *, separator: str = ""
) -> Dims:
    """Strings of one segment joined, in order; the shape of ``segment_ids`` begins that of ``inputs``.

    Not differentiable."""
    known = static_value(num_segments)
    if inputs.dims is None or segment_ids.dims is None:
        return None
    first = inputs.dims[: len(segment_ids.dims)]
    if not TensorShape(first).is_compatible_with(TensorShape(segment_ids.dims)):
        raise ValueError(
            f"the shape of segment_ids must be a prefix of that of inputs, {list(inputs.dims)}; "
            f"got {list(segment_ids.dims)}"
        )
    rest = inputs.dims[len(segment_ids.dims) :]
    return (None if known is None else int(known), *rest)


@define_op(
    "StringSplit",
    "input: string, delimiter: string -> indices: int64, values: string, shape: int64",
)
def string_split_op(input: Tensor, delimiter: Tensor, *, skip_empty: bool = True) -> list[Dims]:
    """The words of each string of a vector, as a sparse matrix; any character of ``delimiter``
    ends a word, an empty one splits into bytes. Not differentiable."""
    need_rank(input, 1, "the input")
    need_rank(delimiter, 0, "the delimiter")
    return [(None, 2), (None,), (2,)]


@define_op(
    "StringSplitV2",
    "input: string, sep: string -> indices: int64, values: string, shape: int64",
)
def string_split_v2_op(input: Tensor, sep: Tensor, *, maxsplit: int = -1) -> list[Dims]:
    """The words of each string, as a sparse matrix; an empty ``sep`` is white space. Not differentiable."""
    need_rank(input, 1, "the input")
    need_rank(sep, 0, "sep")
    return [(None, 2), (None,), (2,)]


not_differentiable(
    string_join, reduce_join_op, unsorted_segment_join, string_split_op, string_split_v2_op
)


@takes_ragged("reduce_join")
def reduce_join(
    inputs: Any,
    axis: AxisLike | None = None,
    keep_dims: Any = None,
    separator: str = "",
    name: str | None = None,
    reduction_indices: Any = None,
    keepdims: Any = None,
) -> Tensor:
    """The strings of ``inputs`` joined along ``axis`` (all axes by default)."""
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    with op_scope(name, "ReduceJoin", [inputs]):
        tensor = convert_to_tensor(inputs)
        if axis is None:
            if tensor.dims is not None:
                axis = constant(np.arange(len(tensor.dims) - 1, -1, -1, dtype=np.int32))
            else:
                from dataflow.ops.sequences import range_

                axis = range_(rank(tensor) - 1, -1, -1)
        return reduce_join_op(tensor, axis, keep_dims=bool(keepdims), separator=separator)  # type: ignore[no-any-return]


# ---- parts and patterns -------------------------------------------------------------------


def _check_unit(unit: str) -> None:
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit must be BYTE or UTF8_CHAR, got {unit!r}")


@define_op(
    "Substr", "input: string, pos: T, len: T -> output: string", T=dtypes.INDICES, keeps_rows=True
)
def substr_op(input: Tensor, pos: Tensor, len: Tensor, *, unit: str = "BYTE") -> Dims:
    """``len`` bytes (or characters) of each string from ``pos`` on; all three are broadcast.

    A negative position counts from the end; one outside of the string is an error. Not
    differentiable.
    """
    _check_unit(unit)
    if not shapes.compatible(pos.dims, len.dims):
        a, b = shapes.list_dims(pos.dims), shapes.list_dims(len.dims)
        raise ValueError(f"pos {a} and len {b} must have the same shape")
    return shapes.broadcast(input.dims, shapes.broadcast(pos.dims, len.dims))


@define_op("StringLength", "input: string -> output: int32", keeps_rows=True)
def string_length_op(input: Tensor, *, unit: str = "BYTE") -> Dims:
    """How many bytes (or characters) each string has. Not differentiable."""
    _check_unit(unit)
    return input.dims


@define_op("StringLower", "input: string -> output: string", keeps_rows=True)
def string_lower(input: Tensor, *, encoding: str = "") -> Dims:
    """Strings in lower case: ASCII letters, or all with ``encoding="utf-8"``. Not differentiable."""
    return input.dims


@define_op("StringUpper", "input: string -> output: string", keeps_rows=True)
def string_upper(input: Tensor, *, encoding: str = "") -> Dims:
    """Strings in upper case: ASCII letters, or all with ``encoding="utf-8"``. Not differentiable."""
    return input.dims


@define_op("StringStrip", "input: string -> output: string", keeps_rows=True)
def string_strip(input: Tensor) -> Dims:
    """Strings without white space at both ends. Not differentiable."""
    return input.dims


@define_op(
    "RegexReplace",
    "input: string, pattern: string, rewrite: string -> output: string",
    keeps_rows=True,
)
def regex_replace_op(
    input: Tensor, pattern: Tensor, rewrite: Tensor, *, replace_global: bool = True
) -> Dims:
    r"""Matches of ``pattern`` replaced; ``\1`` in ``rewrite`` is a group. Not differentiable."""
    need_rank(pattern, 0, "the pattern")
    need_rank(rewrite, 0, "the rewrite")
    return input.dims


@define_op("StaticRegexReplace", "input: string -> output: string", keeps_rows=True)
def static_regex_replace_op(
    input: Tensor, *, pattern: str, rewrite: str, replace_global: bool = True
) -> Dims:
    """As RegexReplace with pattern and rewrite known when the graph is built."""
    return input.dims


@define_op("RegexFullMatch", "input: string, pattern: string -> output: bool", keeps_rows=True)
def regex_full_match_op(input: Tensor, pattern: Tensor) -> Dims:
    """Whether each string as a whole matches the pattern. Not differentiable."""
    need_rank(pattern, 0, "the pattern")
    return input.dims


@define_op("StaticRegexFullMatch", "input: string -> output: bool", keeps_rows=True)
def static_regex_full_match_op(input: Tensor, *, pattern: str) -> Dims:
    """As RegexFullMatch with a pattern known when the graph is built. Not differentiable."""
    return input.dims


not_differentiable(
    substr_op,
    string_length_op,
    string_lower,
    string_upper,
    string_strip,
    regex_replace_op,
    static_regex_replace_op,
    regex_full_match_op,
    static_regex_full_match_op,
)


def substr(
    input: TensorLike, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """``len`` bytes (``unit="UTF8_CHAR"``: characters) of each string from ``pos`` on."""
    return substr_op(input, pos, len, unit=unit, name=name)  # type: ignore[no-any-return]


def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string in bytes or (``unit="UTF8_CHAR"``) characters, int32."""
    return string_length_op(input, unit=unit, name=name)  # type: ignore[no-any-return]


def regex_replace(
    input: TensorLike,
    pattern: Any,
    rewrite: Any,
    replace_global: bool = True,
    name: str | None = None,
) -> Tensor:
    r"""Each string with the matches of ``pattern`` (all, or the first) replaced by ``rewrite``.

    ``\1`` to ``\9`` in ``rewrite`` are the groups, ``\0`` the whole match.
    """
    if not is_tensor_like(pattern) and not is_tensor_like(rewrite):
        return static_regex_replace_op(  # type: ignore[no-any-return]
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return regex_replace_op(input, pattern, rewrite, replace_global=replace_global, name=name)  # type: ignore[no-any-return]


def regex_full_match(input: TensorLike, pattern: Any, name: str | None = None) -> Tensor:
    """Whether each string as a whole matches ``pattern``."""
    if not is_tensor_like(pattern):
        return static_regex_full_match_op(input, pattern=pattern, name=name)  # type: ignore[no-any-return]
    return regex_full_match_op(input, pattern, name=name)  # type: ignore[no-any-return]


# ---- numbers ------------------------------------------------------------------------------


@define_op("StringToNumber", "string_tensor: string -> output: out_type", keeps_rows=True)
def string_to_number_op(string_tensor: Tensor, *, out_type: DType = dtypes.float32) -> Dims:
    """Numbers read from strings. Not differentiable."""
    if out_type not in (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64):
        raise ValueError(f"out_type must be float32, float64, int32 or int64, got {out_type.name}")
    return string_tensor.dims


@define_op("AsString", "input: T -> output: string", keeps_rows=True)
def as_string(
    input: Tensor,
    *,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
) -> Dims:
    """Each element as text, as C's printf writes it. Not differentiable.

    ``precision``: digits after the point; ``width`` and ``fill`` pad.
    """
    kind = input.dtype.base_dtype.kind
    if scientific and shortest:
        raise ValueError("Cannot select both scientific and shortest notation")
    if (precision >= 0 or scientific or shortest) and kind not in "fc":
        raise ValueError(f"precision and notation are for floating numbers, not {input.dtype.name}")
    if len(fill) > 1:
        raise ValueError("Fill string must be one or fewer characters")
    return input.dims


@define_op("StringFormat", "inputs: list(T) -> output: string")
def string_format_op(
    inputs: list[Tensor], *, template: str = "%s", placeholder: str = "%s", summarize: int = 3
) -> Dims:
    """Tensors printed into a template, a scalar string. Not differentiable."""
    if template.count(placeholder) != len(inputs):
        raise ValueError(
            f"{template.count(placeholder)} placeholder(s) in template does not match {len(inputs)} "
            f"tensor(s) provided as input: {template!r}"
        )
    return ()


not_differentiable(string_to_number_op, as_string, string_format_op)


def string_to_number(
    string_tensor: Any = None,
    out_type: DTypeLike = dtypes.float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> Tensor:
    """Each string as a number of ``out_type``.

    Raises `InvalidArgumentError` at run time for text that is no number.
    """
    source = renamed("input", string_tensor, "string_tensor", input)
    return string_to_number_op(source, out_type=out_type, name=name)  # type: ignore[no-any-return]


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """The template with each placeholder replaced by a tensor, long ones shortened."""
    items = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    return string_format_op(  # type: ignore[no-any-return]
        items, template=template, placeholder=placeholder, summarize=summarize, name=name
    )


# ---- base64 -------------------------------------------------------------------------------


@define_op("EncodeBase64", "input: string -> output: string", keeps_rows=True)
def encode_base64(input: Tensor, *, pad: bool = False) -> Dims:
    """Web-safe base64, with ``=`` at the end only with ``pad``. Not differentiable."""
    return input.dims


@define_op("DecodeBase64", "input: string -> output: string", keeps_rows=True)
def decode_base64(input: Tensor) -> Dims:
    """Web-safe base64 decoded. Not differentiable."""
    return input.dims


not_differentiable(encode_base64, decode_base64)
