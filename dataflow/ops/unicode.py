"""Strings as sequences: characters of encoded text, and n-grams of words."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.op_signature import Defaulted
from dataflow.graph.registry import define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.concat_split import stack
from dataflow.ops.ragged_tensor import RaggedTensor, convert_to_ragged
from dataflow.ops.ragged_value import is_value
from dataflow.ops.reshape import reshape
from dataflow.ops.shape import need_rank, shape
from dataflow.ops.string_split import string_split
from dataflow.shapes import Dims


@define_op("UnicodeTranscode", "input: string -> output: string")
def unicode_transcode(
    input: Tensor,
    *,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
) -> Dims:
    """Each string in another encoding; ``errors`` says what becomes of bad input. Not differentiable."""
    if output_encoding not in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        raise ValueError(
            f"output_encoding must be UTF-8, UTF-16-BE or UTF-32-BE: {output_encoding}"
        )
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"errors must be strict, replace or ignore, got {errors!r}")
    return input.dims


not_differentiable(unicode_transcode)


@define_op("UnicodeDecode", "input: string -> row_splits: Tsplits, char_values: int32")
def unicode_decode_op(
    input: Tensor,
    *,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    Tsplits: DType = dtypes.int64,
) -> list[Dims]:
    """The code points of all strings in one vector, and where each string's begin.

    Not differentiable.
    """
    need_rank(input, 1, "the input")
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"errors must be strict, replace or ignore, got {errors!r}")
    count = None if input.dims is None else input.dims[0]
    return [(None if count is None else count + 1,), (None,)]


@define_op(
    "StringNGrams",
    "data: string, data_splits: Tsplits -> ngrams: string, ngrams_splits: Tsplits",
    Tsplits=Defaulted(dtypes.int64, dtypes.INDICES),
)
def string_ngrams_op(
    data: Tensor,
    data_splits: Tensor,
    *,
    separator: str,
    ngram_widths: list[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> list[Dims]:
    """Runs of neighboring words, joined; rows are told apart by splits. Not differentiable."""
    need_rank(data, 1, "data")
    need_rank(data_splits, 1, "data_splits")
    if any(w < 1 for w in ngram_widths):
        raise ValueError(f"n-grams need widths of at least 1, got {ngram_widths}")
    return [(None,), data_splits.dims]


@define_op(
    "UnicodeDecodeWithOffsets",
    "input: string -> row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64",
)
def unicode_decode_with_offsets_op(
    input: Tensor,
    *,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    Tsplits: DType = dtypes.int64,
) -> list[Dims]:
    """As UnicodeDecode, and the byte at which each character begins in its string.

    Not differentiable.
    """
    need_rank(input, 1, "the input")
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(f"errors must be strict, replace or ignore, got {errors!r}")
    count = None if input.dims is None else input.dims[0]
    return [(None if count is None else count + 1,), (None,), (None,)]


@define_op(
    "UnicodeEncode",
    "input_values: int32, input_splits: Tsplits -> output: string",
    Tsplits=Defaulted(dtypes.int64, dtypes.INDICES),
)
def unicode_encode_op(
    input_values: Tensor,
    input_splits: Tensor,
    *,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
) -> Dims:
    """Text of rows of code points, told apart by splits: a string a row. Not differentiable."""
    need_rank(input_values, 1, "input_values")
    need_rank(input_splits, 1, "input_splits")
    if output_encoding not in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        raise ValueError(
            f"output_encoding must be UTF-8, UTF-16-BE or UTF-32-BE: {output_encoding}"
        )
    splits = input_splits.dims
    return (None if splits is None or splits[0] is None else splits[0] - 1,)


not_differentiable(
    unicode_decode_op, unicode_decode_with_offsets_op, unicode_encode_op, string_ngrams_op
)


def _decoded(
    op: Any, input: Any, encoding: str, errors: str, replacement: int, controls: bool
) -> list[Any]:
    """The outputs of an op that decodes, one more level of rows than ``input`` has."""
    if is_value(input):
        input = convert_to_ragged(input)
    if isinstance(input, RaggedTensor):
        parts = _decoded(op, input.values, encoding, errors, replacement, controls)
        return [input.with_values(part) for part in parts]
    input = convert_to_tensor(input, dtypes.string)
    if input.dims is None:
        raise ValueError("Rank of `input` must be statically known.")
    splits, *values = op(
        reshape(input, [-1]),
        input_encoding=encoding,
        errors=errors,
        replacement_char=replacement,
        replace_control_characters=controls,
    )
    if not input.dims:
        return values  # type: ignore[no-any-return]
    rows = [RaggedTensor.from_row_splits(part, splits) for part in values]
    if len(input.dims) == 1:
        return rows
    sizes = shape(input, out_type=dtypes.int64)
    for axis in range(len(input.dims) - 1, 0, -1):
        rows = [RaggedTensor.from_uniform_row_length(part, sizes[axis]) for part in rows]
    return rows


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of text: an int32 vector for a scalar, else a `RaggedTensor`, [..., (chars)]."""
    with op_scope(name, "UnicodeDecode", [input]):
        return _decoded(
            unicode_decode_op,
            input,
            input_encoding,
            errors,
            replacement_char,
            replace_control_characters,
        )[0]


def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """`unicode_decode`, and the byte at which each character begins, int64 of the same shape."""
    with op_scope(name, "UnicodeDecodeWithOffsets", [input]):
        return tuple(
            _decoded(
                unicode_decode_with_offsets_op,
                input,
                input_encoding,
                errors,
                replacement_char,
                replace_control_characters,
            )
        )


def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Text of code points, the last axis of an int32 tensor or `RaggedTensor`: [..., chars] -> [...].

    What is no code point becomes ``replacement_char`` (``errors="replace"``), is left out
    (``"ignore"``), or is an `InvalidArgumentError` (``"strict"``).
    """
    with op_scope(name, "UnicodeEncode", [input]):
        if not isinstance(input, RaggedTensor):
            input = convert_to_tensor(input, dtypes.int32)
            if not input.dims:
                raise ValueError(
                    f"unicode_encode takes code points along the last axis, got shape {input.shape}"
                )
            sizes = shape(input, out_type=dtypes.int64)
            if len(input.dims) == 1:
                rows = RaggedTensor.from_row_splits(input, stack([sizes[0] * 0, sizes[0]]))
                made = unicode_encode(rows, output_encoding, errors, replacement_char)
                return reshape(made, [])
            rows = RaggedTensor.from_uniform_row_length(reshape(input, [-1]), sizes[-1])
            made = unicode_encode(rows, output_encoding, errors, replacement_char)
            return reshape(made, sizes[:-1])
        if isinstance(input.values, RaggedTensor):
            inner = unicode_encode(input.values, output_encoding, errors, replacement_char)
            return input.with_values(inner)
        if len(input.values.dims) > 1:
            inner = unicode_encode(input.values, output_encoding, errors, replacement_char)
            return input.with_values(inner)
        return unicode_encode_op(
            input.values,
            input.row_splits,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
        )


def _characters(points: Any, encoding: str) -> Any:
    """Each code point as text of its own."""
    if isinstance(points, RaggedTensor):
        return points.with_values(_characters(points.values, encoding))
    return unicode_encode(reshape(points, [-1, 1]), encoding)


def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """The characters of text, each a string: a vector for a scalar, else a `RaggedTensor`."""
    with op_scope(name, "UnicodeSplit", [input]):
        points = unicode_decode(input, input_encoding, errors, replacement_char)
        return _characters(points, input_encoding)


def unicode_split_with_offsets(
    input: TensorLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """`unicode_split`, and the byte at which each character begins, int64 of the same shape."""
    with op_scope(name, "UnicodeSplitWithOffsets", [input]):
        points, starts = unicode_decode_with_offsets(
            input, input_encoding, errors, replacement_char
        )
        return _characters(points, input_encoding), starts


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of a string, as a vector; of a vector of strings, as a `RaggedTensor` of its rows.

    Raises `ValueError` for tensors of more dimensions.
    """
    with op_scope(name, "StringsByteSplit", [input]):
        input = convert_to_tensor(input, dtypes.string, name="input")
        if input.dims is None or len(input.dims) > 1:
            raise ValueError(f"bytes_split takes a string or a vector, got {input.get_shape()}")
        parts = string_split(reshape(input, [-1]), sep="")
        if not input.dims:
            return parts.values
        return RaggedTensor.from_value_rowids(
            parts.values, parts.indices[:, 0], parts.dense_shape[0], validate=False
        )


def ngrams(
    data: TensorLike,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Tensor:
    """The n-grams of a vector of words, as a vector; several widths one after the other.

    ``pad_values``: a string, or one for each side, that is put around the words first.
    """
    with op_scope(name, "StringNGrams", [data]):
        words = convert_to_tensor(data, dtypes.string, "data")
        need_rank(words, 1, "data")
        widths = list(ngram_width) if isinstance(ngram_width, (list, tuple)) else [ngram_width]
        if pad_values is None:
            left: Any = ""
            right: Any = ""
            padding_width = 0
        else:
            left, right = (pad_values,) * 2 if isinstance(pad_values, (str, bytes)) else pad_values
        splits = stack([convert_to_tensor(0, dtypes.int64), shape(words, out_type=dtypes.int64)[0]])
        result = string_ngrams_op(
            words,
            splits,
            separator=separator,
            ngram_widths=widths,
            left_pad=left,
            right_pad=right,
            pad_width=-1 if padding_width is None else padding_width,
            preserve_short_sequences=preserve_short_sequences,
        )
        return result[0]  # type: ignore[no-any-return]
