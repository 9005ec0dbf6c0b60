"""Datasets and iterators as nodes: what `dataflow.data` builds and a graph view draws.

A dataset travels on an edge of dtype variant, an iterator on one of dtype resource. The functions
given to ``map`` and others are graphs of their own, kept in the attribute ``f``.
"""

from __future__ import annotations

from dataflow.graph.declared_ops import declare_op
from dataflow.graph.op_def import OpDef

_ELEMENTS = "output_types: list[DType], output_shapes: list[Shape]"


tensor_dataset_op = declare_op(
    "TensorDataset",
    "components: list(Toutput_types) -> handle: variant",
    "One element: the components. Shape: scalar. Gradient: none.",
    attrs="output_shapes: list[Shape]",
    stateful=True,
)
tensor_slice_dataset_op = declare_op(
    "TensorSliceDataset",
    "components: list(Toutput_types) -> handle: variant",
    "The rows of the components, which must be equally long. Shape: scalar. Gradient: none.",
    attrs="output_shapes: list[Shape]",
    stateful=True,
)
generator_dataset_op = declare_op(
    "GeneratorDataset",
    "init_args: list(Tinit_args) -> handle: variant",
    """What ``generator(*init_args)`` yields; it is called anew for each iteration.

    Shape: scalar. Gradient: none.
    """,
    attrs=f"generator: Any, {_ELEMENTS}",
    stateful=True,
)
range_dataset_op = declare_op(
    "RangeDataset",
    "start: int64, stop: int64, step: int64 -> handle: variant",
    "Numbers from start to stop. Shape: scalar. Gradient: none.",
    attrs=_ELEMENTS,
    stateful=True,
)
random_dataset_op = declare_op(
    "RandomDataset",
    "seed: int64, seed2: int64 -> handle: variant",
    "Random whole numbers of 32 bits without an end. Shape: scalar. Gradient: none.",
    attrs=_ELEMENTS,
    stateful=True,
)
zip_dataset_op = declare_op(
    "ZipDataset",
    "input_datasets: N * variant -> handle: variant",
    """Elements of several datasets side by side, as long as all have one.

    Shape: scalar. Gradient: none.
    """,
    attrs=_ELEMENTS,
)
concatenate_dataset_op = declare_op(
    "ConcatenateDataset",
    "input_dataset: variant, another_dataset: variant -> handle: variant",
    "One dataset after the other. Shape: scalar. Gradient: none.",
    attrs=_ELEMENTS,
)
text_line_dataset_op = declare_op(
    "TextLineDataset",
    "filenames: string, compression_type: string, buffer_size: int64 -> handle: variant",
    "The lines of files, without their line breaks. Shape: scalar. Gradient: none.",
    stateful=True,
)
csv_dataset_op = declare_op(
    "CSVDataset",
    "filenames: string, compression_type: string, buffer_size: int64, header: bool, "
    "field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, "
    "record_defaults: list(output_types) -> handle: variant",
    "The rows of CSV files, one component for each column. Shape: scalar. Gradient: none.",
    attrs="output_shapes: list[Shape]",
    stateful=True,
)
sql_dataset_op = declare_op(
    "SqlDataset",
    "driver_name: string, data_source_name: string, query: string -> handle: variant",
    "The rows that a query finds in a database, one component for each column. Shape: scalar. Gradient: none.",
    attrs=_ELEMENTS,
    stateful=True,
)
tf_record_dataset_op = declare_op(
    "TFRecordDataset",
    "filenames: string, compression_type: string, buffer_size: int64 -> handle: variant",
    "The records of TFRecord files. Shape: scalar. Gradient: none.",
    stateful=True,
)
fixed_length_record_dataset_op = declare_op(
    "FixedLengthRecordDatasetV2",
    "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, "
    "buffer_size: int64, compression_type: string -> handle: variant",
    "Pieces of equal length of files. Shape: scalar. Gradient: none.",
    stateful=True,
)


def _unary(op_type: str, scalars: str, what: str) -> OpDef:
    """A dataset made from another one and some scalars."""
    return declare_op(
        op_type,
        f"input_dataset: variant{scalars} -> handle: variant",
        f"{what} Shape: scalar. Gradient: none.",
        attrs=_ELEMENTS,
    )


batch_dataset_op = _unary(
    "BatchDatasetV2", ", batch_size: int64, drop_remainder: bool", "Consecutive elements stacked."
)
prefetch_dataset_op = _unary(
    "PrefetchDataset", ", buffer_size: int64", "The same elements, made ahead by a thread."
)
repeat_dataset_op = _unary(
    "RepeatDataset", ", count: int64", "The dataset several times (-1: for ever)."
)
take_dataset_op = _unary("TakeDataset", ", count: int64", "The first elements.")
skip_dataset_op = _unary("SkipDataset", ", count: int64", "All but the first elements.")
cache_dataset_op = _unary(
    "CacheDataset", ", filename: string", "Elements kept from the first time on."
)
shard_dataset_op = _unary(
    "ShardDataset", ", num_shards: int64, index: int64", "Every num_shards-th element."
)
window_dataset_op = _unary(
    "WindowDataset",
    ", size: int64, shift: int64, stride: int64, drop_remainder: bool",
    "Windows of elements, each a dataset.",
)
unique_dataset_op = _unary("UniqueDataset", "", "Each scalar once, where it is first met.")
unbatch_dataset_op = _unary("UnbatchDataset", "", "The rows of every element, one by one.")
# How TensorFlow 1.15 runs a dataset, which its iterators say in the graph: nothing to do here.
_unary("ModelDataset", "", "The same elements; TensorFlow tunes the datasets before it.")
_unary(
    "OptimizeDataset",
    ", optimizations: string",
    "The same elements; TensorFlow rewrites the datasets before it.",
)
ignore_errors_dataset_op = _unary(
    "IgnoreErrorsDataset", "", "The elements that can be computed; the others are left out."
)
assert_cardinality_dataset_op = _unary(
    "AssertCardinalityDataset",
    ", cardinality: int64",
    "The same elements; `FailedPreconditionError` where there are more or fewer.",
)
dataset_cardinality_op = declare_op(
    "DatasetCardinality",
    "input_dataset: variant -> cardinality: int64",
    "How many elements there are; -1 for no end, -2 where it is not known. Shape: scalar.",
    stateful=True,
)
dataset_to_tf_record_op = declare_op(
    "DatasetToTFRecord",
    "input_dataset: variant, filename: string, compression_type: string",
    "Writes the elements, which are scalar strings, to a TFRecord file.",
    stateful=True,
    blocks=True,
)
shuffle_dataset_op = declare_op(
    "ShuffleDataset",
    "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64 -> handle: variant",
    "Elements in random order, drawn from a buffer. Shape: scalar. Gradient: none.",
    attrs=f"reshuffle_each_iteration: bool = True, {_ELEMENTS}",
)
padded_batch_dataset_op = declare_op(
    "PaddedBatchDatasetV2",
    "input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
    "padding_values: list(Toutput_types), drop_remainder: bool -> handle: variant",
    "Consecutive elements stacked, padded to a common shape. Shape: scalar. Gradient: none.",
    attrs="output_shapes: list[Shape]",
)
map_dataset_op = declare_op(
    "MapDataset",
    "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant",
    "``f`` of every element, a graph of its own. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
# 2.15 writes V2, whose number is an int64.
parallel_map_dataset_op, _ = (
    declare_op(
        f"ParallelMapDataset{version}",
        "input_dataset: variant, other_arguments: list(Targuments), "
        f"num_parallel_calls: {number} -> handle: variant",
        "As MapDataset, some elements at a time (-1: as many as are quick). Shape: scalar.",
        attrs=f"f: Function, {_ELEMENTS}",
    )
    for version, number in (("", "int32"), ("V2", "int64"))
)
filter_dataset_op = declare_op(
    "FilterDataset",
    "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant",
    "The elements for which ``predicate`` is true. Shape: scalar. Gradient: none.",
    attrs=f"predicate: Function, {_ELEMENTS}",
)
flat_map_dataset_op = declare_op(
    "FlatMapDataset",
    "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant",
    "The datasets ``f(element)``, one after the other. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
interleave_dataset_op = declare_op(
    "InterleaveDataset",
    "input_dataset: variant, other_arguments: list(Targuments), cycle_length: int64, "
    "block_length: int64 -> handle: variant",
    "The datasets ``f(element)``, several at a time in turn. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
# What TensorFlow 1.15 writes for two steps in one, or for several threads.
map_and_batch_dataset_op = declare_op(
    "MapAndBatchDataset",
    "input_dataset: variant, other_arguments: list(Targuments), batch_size: int64, "
    "num_parallel_calls: int64, drop_remainder: bool -> handle: variant",
    "ParallelMapDataset, then BatchDatasetV2. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
declare_op(
    "ParallelInterleaveDatasetV2",
    "input_dataset: variant, other_arguments: list(Targuments), cycle_length: int64, "
    "block_length: int64, num_parallel_calls: int64 -> handle: variant",
    "As InterleaveDataset. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
declare_op(
    "ParallelInterleaveDataset",
    "input_dataset: variant, other_arguments: list(Targuments), cycle_length: int64, "
    "block_length: int64, sloppy: bool, buffer_output_elements: int64, "
    "prefetch_input_elements: int64 -> handle: variant",
    "As InterleaveDataset. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
_unary(
    "ShuffleAndRepeatDataset",
    ", buffer_size: int64, seed: int64, seed2: int64, count: int64",
    "ShuffleDataset, then RepeatDataset.",
)
take_while_dataset_op = declare_op(
    "TakeWhileDataset",
    "input_dataset: variant, other_arguments: list(Targuments) -> handle: variant",
    "The elements before the first for which ``predicate`` is false. Shape: scalar. Gradient: none.",
    attrs=f"predicate: Function, {_ELEMENTS}",
)
group_by_window_dataset_op = declare_op(
    "GroupByWindowDataset",
    "input_dataset: variant, key_func_other_arguments: list(Tkey_func_other_arguments), "
    "reduce_func_other_arguments: list(Treduce_func_other_arguments), "
    "window_size_func_other_arguments: list(Twindow_size_func_other_arguments) -> handle: variant",
    "The datasets ``reduce_func(key, elements)`` of full windows of one key. Shape: scalar. "
    "Gradient: none.",
    attrs=f"key_func: Function, reduce_func: Function, window_size_func: Function, {_ELEMENTS}",
)
directed_interleave_dataset_op = declare_op(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N * variant -> handle: variant",
    "An element of the dataset whose number the selector gives next. Shape: scalar. Gradient: none.",
    attrs=f"{_ELEMENTS}, stop_on_empty_dataset: bool = False",
    later_attrs={"stop_on_empty_dataset": False},
)
scan_dataset_op = declare_op(
    "ScanDataset",
    "input_dataset: variant, initial_state: list(Tstate), other_arguments: list(Targuments) "
    "-> handle: variant",
    "``f(state, element) -> (state, output)`` along the dataset. Shape: scalar. Gradient: none.",
    attrs=f"f: Function, {_ELEMENTS}",
)
reduce_dataset_op = declare_op(
    "ReduceDataset",
    "input_dataset: variant, initial_state: list(Tstate), other_arguments: list(Targuments) "
    "-> components: list(output_types)",
    "``f(state, element)`` over all elements; the last state. Shape: ``output_shapes``.",
    "output_shapes",
    attrs=f"f: Function, {_ELEMENTS}",
    stateful=True,
    blocks=True,
)


# ---- iterators -------------------------------------------------------------------------------

iterator_op = declare_op(
    "IteratorV2",
    "-> handle: resource",
    "An iterator that MakeIterator sets to the start of a dataset. Shape: scalar.",
    attrs=f"shared_name: str = '', container: str = '', {_ELEMENTS}",
    stateful=True,
)
make_iterator_op = declare_op(
    "MakeIterator",
    "dataset: variant, iterator: resource",
    "Sets an iterator to the start of a dataset.",
    stateful=True,
)
one_shot_iterator_op = declare_op(
    "OneShotIterator",
    "other_arguments: list(Targuments) -> handle: resource",
    """An iterator over the dataset that the function ``dataset_factory`` makes, once.

    Shape: scalar.
    """,
    attrs=f"dataset_factory: Function, {_ELEMENTS}, container: str = '', shared_name: str = ''",
    stateful=True,
    later_attrs={"Targuments": []},
)
iterator_get_next_op = declare_op(
    "IteratorGetNext",
    "iterator: resource -> components: list(output_types)",
    "The next element; `OutOfRangeError` at the end. Shape: ``output_shapes``.",
    "output_shapes",
    attrs=_ELEMENTS,
    stateful=True,
    blocks=True,
)
iterator_get_next_as_optional_op = declare_op(
    "IteratorGetNextAsOptional",
    "iterator: resource -> optional: variant",
    "The next element of an iterator; at the end, an optional without a value. Shape: scalar.",
    attrs=_ELEMENTS,
    stateful=True,
    blocks=True,
)
iterator_to_string_handle_op = declare_op(
    "IteratorToStringHandle",
    "resource_handle: resource -> string_handle: string",
    "A string that names an iterator and can be fed. Shape: scalar.",
    stateful=True,
)
iterator_from_string_handle_op = declare_op(
    "IteratorFromStringHandleV2",
    "string_handle: string -> resource_handle: resource",
    "The iterator that a string names. Shape: scalar.",
    attrs=_ELEMENTS,
    stateful=True,
)
serialize_iterator_op = declare_op(
    "SerializeIterator",
    "resource_handle: resource -> serialized: string",
    """How far an iterator has come, for a checkpoint; TensorFlow's has its dataset as well.

    Shape: scalar.
    """,
    stateful=True,
)
deserialize_iterator_op = declare_op(
    "DeserializeIterator",
    "resource_handle: resource, serialized: string",
    "Sets an iterator to where `SerializeIterator` found one.",
    stateful=True,
)
