"""`tf.data.experimental` (and `tf.contrib.data`): transformations for `Dataset.apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.data.csv_datasets import make_csv_dataset
from dataflow.data.dataset import AUTOTUNE, Dataset
from dataflow.data.file_datasets import TextLineDataset, TFRecordDataset
from dataflow.data.grouping import (
    bucket_by_sequence_length,
    choose_from_datasets,
    group_by_window,
    sample_from_datasets,
)
from dataflow.data.optional import Optional, get_next_as_optional
from dataflow.data.options import OptimizationOptions, ThreadingOptions
from dataflow.data.structure import OptionalSpec as OptionalStructure
from dataflow.ops.sources import constant

__all__ = [
    "AUTOTUNE",
    "Counter",
    "CsvDataset",
    "OptimizationOptions",
    "Optional",
    "OptionalStructure",
    "ThreadingOptions",
    "batch_and_drop_remainder",
    "bucket_by_sequence_length",
    "choose_from_datasets",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "parallel_interleave",
    "parse_example_dataset",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "unbatch",
    "unique",
]


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: bool = False,
    num_parallel_calls: Any = None,
) -> Callable[[Dataset], Dataset]:
    """`map`, then `batch`."""
    return lambda d: d.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def shuffle_and_repeat(
    buffer_size: Any, count: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """`shuffle`, then `repeat`."""
    return lambda d: d.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, **_: Any
) -> Callable[[Dataset], Dataset]:
    """`interleave`."""
    return lambda d: d.interleave(map_func, cycle_length, block_length)


def batch_and_drop_remainder(batch_size: Any) -> Callable[[Dataset], Dataset]:
    """`batch` without a smaller last batch."""
    return lambda d: d.batch(batch_size, drop_remainder=True)


def ignore_errors(log_warning: bool = False) -> Callable[[Dataset], Dataset]:
    """`Dataset.ignore_errors`."""
    return lambda d: d.ignore_errors(log_warning)


def unbatch() -> Callable[[Dataset], Dataset]:
    """`Dataset.unbatch`."""
    return lambda d: d.unbatch()


def take_while(predicate: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """`Dataset.take_while`."""
    return lambda d: d.take_while(predicate)


def unique() -> Callable[[Dataset], Dataset]:
    """`Dataset.unique`."""
    return lambda d: d.unique()


def enumerate_dataset(start: Any = 0) -> Callable[[Dataset], Dataset]:
    """`Dataset.enumerate`."""
    return lambda d: d.enumerate(start)


def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> Dataset:
    """``start, start + step, ...`` without an end."""
    from dataflow.ops.casts import cast

    limit = dtypes.int64.max if step > 0 else dtypes.int64.min
    numbers = Dataset.range(start, limit, step)
    return numbers if dtype == dtypes.int64 else numbers.map(lambda x: cast(x, dtype))


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors."""
    return dataset.make_one_shot_iterator().get_next()


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """`Dataset.scan`."""
    return lambda d: d.scan(initial_state, scan_func)


def get_structure(dataset_or_iterator: Any) -> Any:
    """The specs of an element's components (`tf.TensorSpec` and its kin), in their nesting."""
    return dataset_or_iterator.element_spec


def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Callable[[Dataset], Dataset]:
    """Batches of dense tensors of one rank and any size, each batch a `tf.SparseTensor`.

    All values of an element are kept, zeros too. The dense shape is ``[batch_size, *row_shape]``;
    where ``row_shape`` is None or -1 it is the largest of the batch. An element that is larger than
    ``row_shape`` is an `InvalidArgumentError`.
    """
    from dataflow.ops.array import ones_like, reshape, shape, where
    from dataflow.ops.assertions import assert_less_equal
    from dataflow.ops.graph_functions import control_dependencies
    from dataflow.ops.sparse_tensor import SparseTensor
    from dataflow.shapes import TensorShape

    sizes = [-1 if d is None else int(d) for d in TensorShape(row_shape).as_list()]

    def sparse(dense: Any) -> Any:
        own = shape(dense, out_type=dtypes.int64)
        whole = where([size >= 0 for size in sizes], constant(sizes, dtypes.int64), own)
        message = f"an element is larger than row_shape {sizes}"
        with control_dependencies([assert_less_equal(own, whole, message=message)]):
            places = where(ones_like(dense, dtypes.bool_))
        result = SparseTensor(places, reshape(dense, [-1]), whole)
        result.static_dims = tuple(None if size < 0 else size for size in sizes)
        return result

    return lambda d: d.map(sparse).batch(batch_size)


def parse_example_dataset(
    features: Any, num_parallel_calls: Any = 1
) -> Callable[[Dataset], Dataset]:
    """Batches of serialized ``Example`` messages as dicts of tensors and `tf.SparseTensor`."""
    from dataflow.ops.parsing import parse_example

    return lambda d: d.map(lambda batch: parse_example(batch, features), num_parallel_calls)


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: Any,
    features: Any,
    reader: Callable[..., Dataset] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: Any = 10000,
    shuffle_seed: Any = None,
    prefetch_buffer_size: Any = AUTOTUNE,
    reader_num_threads: int = 1,
    parser_num_threads: int = 2,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the ``Example`` messages in files, parsed by ``features``.

    An element is a dict, or with ``label_key`` a pair of it and what stands under that key.
    ``num_epochs`` None: for ever.
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    records = files.interleave(
        lambda name: reader(name, *(reader_args or [])), cycle_length=reader_num_threads
    )
    if shuffle:
        records = records.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    batches = records.batch(batch_size, drop_remainder=drop_final_batch or num_epochs is None)
    parsed = batches.apply(parse_example_dataset(features, parser_num_threads))
    if label_key is not None:
        if label_key not in features:
            raise ValueError(f"label_key {label_key!r} is none of the features {sorted(features)}.")
        parsed = parsed.map(
            lambda element: (
                {key: value for key, value in element.items() if key != label_key},
                element[label_key],
            )
        )
    return parsed.prefetch(prefetch_buffer_size)


def CsvDataset(
    filenames: Any,
    record_defaults: Any,
    compression_type: Any = None,
    buffer_size: Any = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
) -> Dataset:
    """The rows of CSV files as tuples; a dtype in ``record_defaults`` marks a required column."""
    from dataflow.dtypes import DType
    from dataflow.ops.parsing import decode_csv

    defaults = [
        constant([], d)
        if isinstance(d, DType)
        else ([d] if not isinstance(d, (list, tuple)) else d)
        for d in record_defaults
    ]

    def lines(name: Any) -> Dataset:
        one = TextLineDataset(name, compression_type, buffer_size)
        return one.skip(1) if header else one

    names = filenames if isinstance(filenames, (list, tuple)) else [filenames]
    files = Dataset.from_tensor_slices(list(names))
    return files.flat_map(lines).map(
        lambda line: tuple(
            decode_csv(line, defaults, field_delim, use_quote_delim, None, na_value, select_cols)
        )
    )
