"""Words of strings, in sparse or ragged rows: `tf.string_split` and `tf.strings.split`."""

from __future__ import annotations

from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.name_scopes import op_scope
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.renamed_arguments import renamed
from dataflow.ops.reshape import reshape
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.string import string_split_op, string_split_v2_op


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> Any:
    """The words of each string of the vector ``source`` as a SparseTensor [n, most words].

    ``sep`` (older name ``delimiter``): each of its characters ends a word; " " by default, "" splits
    into bytes. ``skip_empty`` drops empty words.
    """
    sep = renamed("sep", sep, "delimiter", delimiter)
    sep = " " if sep is None else sep
    with op_scope(name, "StringSplit", [source]):
        source = convert_to_tensor(source, dtypes.string)
        sep = convert_to_tensor(sep, dtypes.string)
        return _in_rows(string_split_op(source, sep, skip_empty=skip_empty), result_type)


def split(
    input: TensorLike | None = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """The words of each string of a vector, parted by ``sep`` (runs of white space by default)."""
    input = renamed("input", input, "source", source)
    with op_scope(name, "StringSplit", [input]):
        input = convert_to_tensor(input, dtypes.string, "input")
        if is_one := input.dims == ():
            input = reshape(input, [1])
        words = string_split_v2_op(input, "" if sep is None else sep, maxsplit=maxsplit)
        return (
            words[1] if is_one and result_type == "RaggedTensor" else _in_rows(words, result_type)
        )


def _in_rows(parts: Any, result_type: str) -> Any:
    """The words as a sparse or a ragged tensor."""
    words = SparseTensor(*parts)
    if result_type == "RaggedTensor":
        return RaggedTensor.from_sparse(words)
    if result_type != "SparseTensor":
        raise ValueError(
            f"result_type must be 'SparseTensor' or 'RaggedTensor', got {result_type!r}"
        )
    return words
