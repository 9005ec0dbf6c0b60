"""`tf.data.experimental` (and `tf.contrib.data`): transformations for `Dataset.apply`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.data.arguments import int64_scalar
from dataflow.data.batching import map_and_batch
from dataflow.data.csv_datasets import CsvDataset, make_csv_dataset
from dataflow.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from dataflow.data.file_datasets import TFRecordDataset
from dataflow.data.grouping import (
    Reducer,
    bucket_by_sequence_length,
    choose_from_datasets,
    group_by_reducer,
    group_by_window,
    random_words,
    sample_from_datasets,
)
from dataflow.data.optional import Optional, get_next_as_optional
from dataflow.data.options import (
    AutoShardPolicy,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)
from dataflow.data.ragged_elements import RaggedTensorSpec
from dataflow.data.rejection_resampling import rejection_resample
from dataflow.data.structure import (
    DatasetSpec,
    OptionalSpec as OptionalStructure,
    Structure as _Elements,
)
from dataflow.graph import nest
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import DTypeLike, TensorLike
from dataflow.namespaces import explain_absent
from dataflow.ops import dataset as ops
from dataflow.ops.array import identity, zeros
from dataflow.ops.reader import ReaderBase
from dataflow.ops.seeds import count_left_out
from dataflow.ops.sources import constant
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.type_specs import SparseTensorSpec, TensorSpec, TypeSpec as Structure
from dataflow.shapes import Dims

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "Counter",
    "CsvDataset",
    "DatasetStructure",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "OptionalStructure",
    "RaggedTensorStructure",
    "RandomDataset",
    "Reducer",
    "SparseTensorStructure",
    "SqlDataset",
    "Structure",
    "TFRecordWriter",
    "TensorStructure",
    "ThreadingOptions",
    "assert_cardinality",
    "batch_and_drop_remainder",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]

#: Stands for a number that a distribution strategy would fill in.
SHARD_HINT = -1


def shuffle_and_repeat(
    buffer_size: Any, count: Any = None, seed: TensorLike | None = None
) -> Callable[[Dataset], Dataset]:
    """`shuffle`, then `repeat`."""

    def apply(dataset: Dataset) -> Dataset:
        count_left_out(-1)  # one node for both
        return dataset.shuffle(buffer_size, seed).repeat(count)

    return apply


def parallel_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1, **_: Any
) -> Callable[[Dataset], Dataset]:
    """`interleave`."""
    return lambda d: d.interleave(map_func, cycle_length, block_length)


def batch_and_drop_remainder(batch_size: TensorLike) -> Callable[[Dataset], Dataset]:
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


def enumerate_dataset(start: TensorLike = 0) -> Callable[[Dataset], Dataset]:
    """`Dataset.enumerate`."""
    return lambda d: d.enumerate(start)


#: There is one kind of function here.
map_and_batch_with_legacy_function = map_and_batch


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements a dataset has, an int64 scalar; nothing is read.

    `INFINITE_CARDINALITY` for no end, `UNKNOWN_CARDINALITY` where only reading tells, as of files, filters
    and functions.
    """
    return ops.dataset_cardinality_op(dataset.as_variant_tensor())  # type: ignore[no-any-return]


def assert_cardinality(expected_cardinality: Any) -> Callable[[Dataset], Dataset]:
    """Says how many elements there are; reading more or fewer is a `FailedPreconditionError`."""
    wanted = int64_scalar(expected_cardinality)

    def apply(dataset: Dataset) -> Dataset:
        structure = dataset.structure
        return Dataset(
            structure,
            lambda: ops.assert_cardinality_dataset_op(
                dataset.as_variant_tensor(),
                wanted(),
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
            dataset,
        )

    return apply


def copy_to_device(
    target_device: Any, source_device: Any = "/cpu:0"
) -> Callable[[Dataset], Dataset]:
    """The same elements: a session brings each to the device of the op that reads it."""
    return lambda d: d.with_options(d.options())


def prefetch_to_device(device: Any, buffer_size: Any = None) -> Callable[[Dataset], Dataset]:
    """`Dataset.prefetch`: a session brings each element to the device of the op that reads it."""
    return lambda d: d.prefetch(AUTOTUNE if buffer_size is None else buffer_size)


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset that a tensor of `to_variant` stands for; ``structure`` as `get_structure` says it."""
    return Dataset(_Elements.of_specs(structure), lambda: variant)


def to_variant(dataset: Dataset) -> Tensor:
    """The dataset as a scalar tensor of dtype variant."""
    return dataset.as_variant_tensor()


def TensorStructure(dtype: DTypeLike, shape: Any) -> TensorSpec:
    """`tf.TensorSpec`, dtype first."""
    return TensorSpec(shape, dtype)


def RaggedTensorStructure(dtype: DTypeLike, shape: Any, ragged_rank: int) -> RaggedTensorSpec:
    """`tf.RaggedTensorSpec`, dtype first."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def SparseTensorStructure(dtype: DTypeLike, shape: Any) -> SparseTensorSpec:
    """`tf.SparseTensorSpec`, dtype first."""
    return SparseTensorSpec(shape, dtype)


def DatasetStructure(element_spec: Any) -> DatasetSpec:
    """What a dataset is as a component of another one's elements."""
    return DatasetSpec(_Elements.of_specs(element_spec))


def RandomDataset(seed: Any = None) -> Dataset:
    """Random numbers without an end, int64 from 0 to 2**32 - 1; with a ``seed`` always the same ones."""
    return random_words(seed)


def SqlDataset(driver_name: Any, data_source_name: Any, query: Any, output_types: Any) -> Dataset:
    """The rows that a query finds in a database, as tuples.

    ``driver_name``: "sqlite", the only one there is; ``data_source_name``: the path of its file.
    ``output_types``: a tuple, one dtype a column of tf.string, tf.bool, tf.float64 or integers. All arguments but
    the last may be tensors. The query runs when an iteration starts: `UnknownError` where it fails,
    `InvalidArgumentError` where it has other columns.
    """
    arguments = [
        convert_to_tensor(value, dtypes.string) for value in (driver_name, data_source_name, query)
    ]
    kinds = [dtypes.as_dtype(t).base_dtype for t in output_types]
    shapes: list[Dims] = [()] * len(kinds)
    return Dataset(
        _Elements.of_tensors(tuple(range(len(kinds))), kinds, shapes),
        lambda: ops.sql_dataset_op(*arguments, output_types=kinds, output_shapes=shapes),
    )


class TFRecordWriter:
    """Writes a dataset of scalar strings to one TFRecord file.

    ``compression_type``: "ZLIB", "GZIP", or none.
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string, "filename")
        self._compression = convert_to_tensor(compression_type or "", dtypes.string)

    def write(self, dataset: Dataset) -> Any:
        """An op that writes the file; raises `TypeError` for what is no dataset of scalar strings."""
        if not isinstance(dataset, Dataset):
            raise TypeError(f"`dataset` must be a `tf.data.Dataset`, got {type(dataset).__name__}.")
        elements = dataset.structure
        if elements.dtypes != [dtypes.string] or elements.dims != [()]:
            raise TypeError(
                "`dataset` must produce scalar `DT_STRING` tensors, whereas it produces shape "
                f"{dataset.output_shapes} and types {dataset.output_types}"
            )
        return ops.dataset_to_tf_record_op(
            dataset.as_variant_tensor(), self._filename, self._compression
        )


def Counter(start: TensorLike = 0, step: Any = 1, dtype: DTypeLike = dtypes.int64) -> Dataset:
    """``start, start + step, ...`` without an end."""
    from dataflow.ops.casts import cast

    limit = dtypes.int64.max if step > 0 else dtypes.int64.min
    numbers = Dataset.range(start, limit, step)
    return numbers if dtype == dtypes.int64 else numbers.map(lambda x: cast(x, dtype))


def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset, as tensors; each run makes it again.

    A run raises `InvalidArgumentError` for a dataset of no element, or of several.
    """
    from dataflow.ops.graph_functions import control_dependencies
    from dataflow.ops.logging_ops import Assert

    def empty(spec: Any) -> Any:
        sizes = [size or 0 for size in spec.shape.as_list() or ()] if spec.shape.ndims else []
        if isinstance(spec, TensorSpec):
            return zeros(sizes, spec.dtype)
        indices = zeros([0, len(sizes)], dtypes.int64)
        return SparseTensor(indices, zeros([0], spec.dtype), constant(sizes, dtypes.int64))

    specs = dataset.element_spec
    parts = nest.flatten(specs)
    if not all(isinstance(spec, (TensorSpec, SparseTensorSpec)) for spec in parts):
        return dataset.make_one_shot_iterator().get_next()
    nothing = nest.pack_like(specs, [empty(spec) for spec in parts])
    start = (constant(-1, dtypes.int64), nothing)
    last, element = dataset.take(2).enumerate().reduce(start, lambda state, item: item)
    checks = [
        Assert(last >= 0, ["Dataset was empty."]),
        Assert(last <= 0, ["Dataset had more than one element."]),
    ]
    with control_dependencies(checks):
        return nest.map_structure(identity, element)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Callable[[Dataset], Dataset]:
    """`Dataset.scan`."""
    return lambda d: d.scan(initial_state, scan_func)


def get_structure(dataset_or_iterator: Any) -> Any:
    """The specs of an element's components (`tf.TensorSpec` and its kin), in their nesting.

    Raises `TypeError` for anything but a dataset or an iterator.
    """
    spec = getattr(dataset_or_iterator, "element_spec", None)
    if spec is None:
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        )
    return spec


def dense_to_sparse_batch(batch_size: TensorLike, row_shape: Any) -> Callable[[Dataset], Dataset]:
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
    batch_size: TensorLike,
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

    An element is a dict, or with ``label_key`` a pair of the dict and the value of that key.
    ``num_epochs=None`` repeats forever. Raises `TypeError` for a ``reader`` of queues.
    """
    kind: Any = reader
    if isinstance(kind, type) and issubclass(kind, ReaderBase):
        raise TypeError(
            "The `reader` argument must return a `Dataset` object. `tf.ReaderBase` subclasses are not "
            "supported; pass `tf.data.TFRecordDataset` instead of `tf.TFRecordReader`."
        )
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


#: Saving is above datasets: `dataflow.train.iterator_checkpoints`.
_OF_TRAINING = ("CheckpointInputPipelineHook", "make_saveable_from_iterator")
__all__.extend(_OF_TRAINING)


def __getattr__(name: str) -> Any:
    home = "dataflow.train.iterator_checkpoints"
    if name in _OF_TRAINING:
        return getattr(importlib.import_module(home), name)
    return explain_absent(__name__)(name)
