"""Datasets and iterators as nodes: what `dataflow.data` builds and a graph view draws.

A dataset travels on an edge of dtype variant, an iterator on one of dtype resource. The functions
given to ``map`` and others are graphs of their own, kept in the attribute ``f``.
"""

from __future__ import annotations

from typing import Any

from dataflow.dtypes import DType
from dataflow.graph.registry import Function, OpDef, define_op, not_differentiable
from dataflow.graph.tensor import Tensor
from dataflow.shapes import Dims, Shape


@define_op("TensorDataset", "components: list(Toutput_types) -> handle: variant", stateful=True)
def tensor_dataset_op(components: list[Tensor], *, output_shapes: list[Shape]) -> Dims:
    """One element: the components. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "TensorSliceDataset", "components: list(Toutput_types) -> handle: variant", stateful=True
)
def tensor_slice_dataset_op(components: list[Tensor], *, output_shapes: list[Shape]) -> Dims:
    """The rows of the components, which must be equally long. Shape: scalar. Gradient: none."""
    return ()


@define_op("GeneratorDataset", "-> handle: variant", stateful=True)
def generator_dataset_op(
    *, generator: Any, output_types: list[DType], output_shapes: list[Shape]
) -> Dims:
    """What a Python generator yields; ``generator()`` is called anew for each iteration.

    Shape: scalar. Gradient: none.
    """
    return ()


@define_op(
    "RangeDataset", "start: int64, stop: int64, step: int64 -> handle: variant", stateful=True
)
def range_dataset_op(
    start: Tensor,
    stop: Tensor,
    step: Tensor,
    *,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """Numbers from start to stop. Shape: scalar. Gradient: none."""
    return ()


@define_op("ZipDataset", "input_datasets: N * variant -> handle: variant")
def zip_dataset_op(
    input_datasets: list[Tensor], *, output_types: list[DType], output_shapes: list[Shape]
) -> Dims:
    """Elements of several datasets side by side, as long as all have one.

    Shape: scalar. Gradient: none.
    """
    return ()


@define_op(
    "ConcatenateDataset", "input_dataset: variant, another_dataset: variant -> handle: variant"
)
def concatenate_dataset_op(
    input_dataset: Tensor,
    another_dataset: Tensor,
    *,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """One dataset after the other. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "TextLineDataset",
    "filenames: string, compression_type: string, buffer_size: int64 -> handle: variant",
    stateful=True,
)
def text_line_dataset_op(filenames: Tensor, compression_type: Tensor, buffer_size: Tensor) -> Dims:
    """The lines of files, without their line breaks. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "TFRecordDataset",
    "filenames: string, compression_type: string, buffer_size: int64 -> handle: variant",
    stateful=True,
)
def tf_record_dataset_op(filenames: Tensor, compression_type: Tensor, buffer_size: Tensor) -> Dims:
    """The records of TFRecord files. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "FixedLengthRecordDataset",
    "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, "
    "buffer_size: int64 -> handle: variant",
    stateful=True,
)
def fixed_length_record_dataset_op(
    filenames: Tensor,
    header_bytes: Tensor,
    record_bytes: Tensor,
    footer_bytes: Tensor,
    buffer_size: Tensor,
) -> Dims:
    """Pieces of equal length of files. Shape: scalar. Gradient: none."""
    return ()


def _unary(op_type: str, signature: str, what: str, *names: str) -> OpDef:
    """A dataset made from another one and some scalars."""
    scope: dict[str, Any] = {}
    parameters = ", ".join(("input_dataset", *names))
    exec(f"def rule({parameters}, *, output_types, output_shapes):\n    return ()", scope)
    rule = scope["rule"]
    rule.__name__ = op_type
    rule.__module__ = __name__
    rule.__annotations__ = {"output_types": "list[DType]", "output_shapes": "list[Shape]"}
    rule.__doc__ = f"{what} Shape: scalar. Gradient: none."
    return define_op(op_type, f"input_dataset: variant{signature} -> handle: variant")(rule)


batch_dataset_op = _unary(
    "BatchDatasetV2",
    ", batch_size: int64, drop_remainder: bool",
    "Consecutive elements stacked.",
    "batch_size",
    "drop_remainder",
)
prefetch_dataset_op = _unary(
    "PrefetchDataset",
    ", buffer_size: int64",
    "The same elements, made ahead by a thread.",
    "buffer_size",
)
repeat_dataset_op = _unary(
    "RepeatDataset", ", count: int64", "The dataset several times (-1: for ever).", "count"
)
take_dataset_op = _unary("TakeDataset", ", count: int64", "The first elements.", "count")
skip_dataset_op = _unary("SkipDataset", ", count: int64", "All but the first elements.", "count")
cache_dataset_op = _unary(
    "CacheDataset", ", filename: string", "Elements kept from the first time on.", "filename"
)
shard_dataset_op = _unary(
    "ShardDataset",
    ", num_shards: int64, index: int64",
    "Every num_shards-th element.",
    "num_shards",
    "index",
)
window_dataset_op = _unary(
    "WindowDataset",
    ", size: int64, shift: int64, stride: int64, drop_remainder: bool",
    "Windows of elements, each a dataset.",
    "size",
    "shift",
    "stride",
    "drop_remainder",
)
unbatch_dataset_op = _unary("UnbatchDataset", "", "The rows of every element, one by one.")
ignore_errors_dataset_op = _unary(
    "IgnoreErrorsDataset", "", "The elements that can be computed; the others are left out."
)


@define_op(
    "ShuffleDataset",
    "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64 -> handle: variant",
)
def shuffle_dataset_op(
    input_dataset: Tensor,
    buffer_size: Tensor,
    seed: Tensor,
    seed2: Tensor,
    *,
    reshuffle_each_iteration: bool = True,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """Elements in random order, drawn from a buffer. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "PaddedBatchDatasetV2",
    "input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
    "padding_values: list(Toutput_types), drop_remainder: bool -> handle: variant",
)
def padded_batch_dataset_op(
    input_dataset: Tensor,
    batch_size: Tensor,
    padded_shapes: list[Tensor],
    padding_values: list[Tensor],
    drop_remainder: Tensor,
    *,
    output_shapes: list[Shape],
) -> Dims:
    """Consecutive elements stacked, padded to a common shape. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "MapDataset", "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant"
)
def map_dataset_op(
    input_dataset: Tensor,
    other_arguments: list[Tensor],
    *,
    f: Function,
    num_parallel_calls: int = 0,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """``f`` of every element, a graph of its own. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "FilterDataset", "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant"
)
def filter_dataset_op(
    input_dataset: Tensor,
    other_arguments: list[Tensor],
    *,
    predicate: Function,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """The elements for which ``predicate`` is true. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "FlatMapDataset", "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant"
)
def flat_map_dataset_op(
    input_dataset: Tensor,
    other_arguments: list[Tensor],
    *,
    f: Function,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """The datasets ``f(element)``, one after the other. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "InterleaveDataset",
    "input_dataset: variant, other_arguments: list(Targuments), cycle_length: int64, "
    "block_length: int64 -> handle: variant",
)
def interleave_dataset_op(
    input_dataset: Tensor,
    other_arguments: list[Tensor],
    cycle_length: Tensor,
    block_length: Tensor,
    *,
    f: Function,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """The datasets ``f(element)``, several at a time in turn. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "ScanDataset",
    "input_dataset: variant, initial_state: list(Tstate), other_arguments: list(Targuments) "
    "-> handle: variant",
)
def scan_dataset_op(
    input_dataset: Tensor,
    initial_state: list[Tensor],
    other_arguments: list[Tensor],
    *,
    f: Function,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """``f(state, element) -> (state, output)`` along the dataset. Shape: scalar. Gradient: none."""
    return ()


@define_op(
    "ReduceDataset",
    "input_dataset: variant, initial_state: list(Tstate), other_arguments: list(Targuments) "
    "-> components: list(output_types)",
    stateful=True,
    blocks=True,
)
def reduce_dataset_op(
    input_dataset: Tensor,
    initial_state: list[Tensor],
    other_arguments: list[Tensor],
    *,
    f: Function,
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Any:
    """``f(state, element)`` over all elements; the last state. Shape: ``output_shapes``."""
    return list(output_shapes)


# ---- iterators -------------------------------------------------------------------------------


@define_op("IteratorV2", "-> handle: resource", stateful=True)
def iterator_op(
    *,
    shared_name: str = "",
    container: str = "",
    output_types: list[DType],
    output_shapes: list[Shape],
) -> Dims:
    """An iterator that MakeIterator sets to the start of a dataset. Shape: scalar."""
    return ()


@define_op("MakeIterator", "dataset: variant, iterator: resource", stateful=True)
def make_iterator_op(dataset: Tensor, iterator: Tensor) -> list[Dims]:
    """Sets an iterator to the start of a dataset."""
    return []


@define_op(
    "OneShotIterator", "other_arguments: list(Targuments) -> handle: resource", stateful=True
)
def one_shot_iterator_op(
    other_arguments: list[Tensor],
    *,
    dataset_factory: Function,
    output_types: list[DType],
    output_shapes: list[Shape],
    container: str = "",
    shared_name: str = "",
) -> Dims:
    """An iterator over the dataset that the function ``dataset_factory`` makes, once.

    Shape: scalar.
    """
    return ()


@define_op(
    "IteratorGetNext",
    "iterator: resource -> components: list(output_types)",
    stateful=True,
    blocks=True,
)
def iterator_get_next_op(
    iterator: Tensor, *, output_types: list[DType], output_shapes: list[Shape]
) -> Any:
    """The next element; `OutOfRangeError` at the end. Shape: ``output_shapes``."""
    return list(output_shapes)


@define_op(
    "IteratorToStringHandle", "resource_handle: resource -> string_handle: string", stateful=True
)
def iterator_to_string_handle_op(resource_handle: Tensor) -> Dims:
    """A string that names an iterator and can be fed. Shape: scalar."""
    return ()


@define_op(
    "IteratorFromStringHandleV2",
    "string_handle: string -> resource_handle: resource",
    stateful=True,
)
def iterator_from_string_handle_op(
    string_handle: Tensor, *, output_types: list[DType], output_shapes: list[Shape]
) -> Dims:
    """The iterator that a string names. Shape: scalar."""
    return ()


not_differentiable(
    tensor_dataset_op,
    tensor_slice_dataset_op,
    generator_dataset_op,
    range_dataset_op,
    zip_dataset_op,
    concatenate_dataset_op,
    text_line_dataset_op,
    tf_record_dataset_op,
    fixed_length_record_dataset_op,
    batch_dataset_op,
    prefetch_dataset_op,
    repeat_dataset_op,
    take_dataset_op,
    skip_dataset_op,
    cache_dataset_op,
    shard_dataset_op,
    window_dataset_op,
    unbatch_dataset_op,
    ignore_errors_dataset_op,
    shuffle_dataset_op,
    padded_batch_dataset_op,
    map_dataset_op,
    filter_dataset_op,
    flat_map_dataset_op,
    interleave_dataset_op,
    scan_dataset_op,
    reduce_dataset_op,
    iterator_op,
    make_iterator_op,
    one_shot_iterator_op,
    iterator_get_next_op,
    iterator_to_string_handle_op,
    iterator_from_string_handle_op,
)
