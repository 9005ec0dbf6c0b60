"""Strings as sequences: characters of encoded text, and n-grams of words."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.dtypes import DType
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.registry import Defaulted, define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.ops.array_basics import need_rank, reshape, shape
from dataflow.ops.concat_split import repeat, stack
from dataflow.ops.gather_scatter import gather
from dataflow.ops.sequences import range_
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.shapes import Dims


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


not_differentiable(unicode_decode_op, string_ngrams_op)


def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """The code points of text: an int32 vector for a scalar, a SparseTensor for a vector.

    (TensorFlow gives a ragged tensor for a vector; there are none here.)
    """
    with op_scope(name, "UnicodeDecode", [input]):
        input = convert_to_tensor(input, dtypes.string)
        if input.dims is None or len(input.dims) > 1:
            raise ValueError(f"unicode_decode takes a scalar or a vector, got {input.shape}")
        flat = reshape(input, [1]) if input.dims == () else input
        splits, values = unicode_decode_op(
            flat,
            input_encoding=input_encoding,
            errors=errors,
            replacement_char=replacement_char,
            replace_control_characters=replace_control_characters,
        )
        if input.dims == ():
            return values
        from dataflow.ops.math import cast, maximum, reduce_max

        lengths = splits[1:] - splits[:-1]
        count = shape(input, out_type=dtypes.int64)[0]
        rows = repeat(range_(count), lengths)
        total = shape(values, out_type=dtypes.int64)[0]
        columns = range_(total) - gather(splits, rows)
        most = maximum(reduce_max(lengths), cast(0, dtypes.int64))
        return SparseTensor(stack([rows, columns], 1), values, stack([count, most]))


def ngrams(
    data: Any,
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
