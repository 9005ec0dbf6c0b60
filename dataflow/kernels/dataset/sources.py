"""Kernels of datasets that come from nothing else: arrays, generators, ranges and files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from dataflow.errors import InvalidArgumentError, NotFoundError
from dataflow.formats.local_paths import local_path
from dataflow.formats.object_arrays import object_array
from dataflow.kernels.array_types import Array
from dataflow.kernels.dataset.blocks import Block, Blocks, in_lists
from dataflow.kernels.dataset.elements import INFINITE, Element, FromFunction, Rows, by_chance
from dataflow.kernels.dataset.tensorflow_shuffle import words_of
from dataflow.kernels.located_lines import text_lines
from dataflow.kernels.registry import kernel
from dataflow.kernels.text_decoding import text, texts

if TYPE_CHECKING:
    from dataflow.runtime.kernel_context import KernelContext


@kernel("TensorDataset", stateful=True, cpu_only="datasets live on the host")
def tensor_dataset_kernel(ctx: KernelContext, components: list[Any]) -> Any:
    element = tuple(components)
    return FromFunction(lambda: iter((element,)), 1)


@kernel("TensorSliceDataset", stateful=True, cpu_only="datasets live on the host")
def tensor_slice_dataset_kernel(ctx: KernelContext, components: list[Any]) -> Any:
    arrays = tuple(np.asarray(c) for c in components)
    lengths = {len(a) for a in arrays}
    if len(lengths) > 1:
        raise InvalidArgumentError(
            None, None, f"all components must have the same length, got {[len(a) for a in arrays]}"
        )
    size = lengths.pop() if lengths else 0
    return Rows(arrays, lambda: iter(range(size)), size)


@kernel("GeneratorDataset", stateful=True, cpu_only="the generator is a Python function")
def generator_dataset_kernel(ctx: KernelContext, init_args: list[Any], *, generator: Any) -> Any:
    arguments = [np.asarray(value) for value in init_args]
    return FromFunction(lambda: iter(generator(*arguments)))


@kernel("RangeDataset", stateful=True, cpu_only="datasets live on the host")
def range_dataset_kernel(
    ctx: KernelContext, start: Array, stop: Array, step: Array, *, output_types: Any
) -> Any:
    dtype = output_types[0].numpy.type
    numbers = range(int(start), int(stop), int(step))
    no_end = int(stop) in (np.iinfo(np.int64).min, np.iinfo(np.int64).max)
    num_elements = INFINITE if no_end else len(numbers)
    return FromFunction(lambda: ((dtype(i),) for i in numbers), num_elements)


@kernel("RandomDataset", stateful=True, cpu_only="datasets live on the host")
def random_dataset_kernel(ctx: KernelContext, seed: Array, seed2: Array) -> Any:
    first, second = int(seed), int(seed2)
    if not first and not second:
        first, second = by_chance(), by_chance()

    def start() -> Iterator[Element]:
        word = words_of(first, second)
        while True:
            yield (np.int64(word()),)

    return FromFunction(start, INFINITE)


def opened(path: str, compression: str = "") -> Any:
    """A file for reading, unpacked where it is compressed; `NotFoundError` where there is none."""
    from dataflow.formats.compression import unpacked_file

    try:
        return unpacked_file(open(local_path(path), "rb"), compression)
    except FileNotFoundError as e:
        raise NotFoundError(None, None, f"{path}; No such file or directory") from e


@kernel("TextLineDataset", stateful=True, cpu_only="files are read by the host")
def text_line_dataset_kernel(
    ctx: KernelContext, filenames: Array, compression_type: Array, buffer_size: Array
) -> Any:
    from dataflow.formats.compression import lines
    from dataflow.formats.record_files import compression_name

    paths, compression = texts(filenames), compression_name(text(compression_type).upper())

    def start() -> Iterator[Block]:
        for path in paths:
            number = 1
            with opened(path, compression) as file:
                for found in in_lists(lines(path, file, compression)):
                    yield (object_array(list(text_lines(path, found, number))),)
                    number += len(found)

    return Blocks(start)


@kernel("TFRecordDataset", stateful=True, cpu_only="files are read by the host")
def tf_record_dataset_kernel(
    ctx: KernelContext, filenames: Array, compression_type: Array, buffer_size: Array
) -> Any:
    from dataflow.formats.record_files import TFRecordOptions, tf_record_iterator

    paths, compression = texts(filenames), text(compression_type)

    def start() -> Iterator[Block]:
        for path in paths:
            if not os.path.exists(local_path(path)):
                raise NotFoundError(None, None, f"{path}; No such file or directory")
            for records in in_lists(tf_record_iterator(path, TFRecordOptions(compression))):
                yield (object_array(records),)

    return Blocks(start)


@kernel("DatasetToTFRecord", stateful=True, cpu_only="files are written by the host")
def dataset_to_tf_record_kernel(
    ctx: KernelContext, input_dataset: Any, filename: Array, compression_type: Array
) -> None:
    from dataflow.formats.record_files import TFRecordOptions, TFRecordWriter

    with TFRecordWriter(text(filename), TFRecordOptions(text(compression_type))) as writer:
        for (record,) in input_dataset.iterate():
            writer.write(record if isinstance(record, bytes) else record.item())


@kernel("FixedLengthRecordDatasetV2", stateful=True, cpu_only="files are read by the host")
def fixed_length_record_dataset_kernel(
    ctx: KernelContext,
    filenames: Array,
    header_bytes: Array,
    record_bytes: Array,
    footer_bytes: Array,
    buffer_size: Array,
    compression_type: Array,
) -> Any:
    from dataflow.formats.record_files import compression_name

    compression = compression_name(text(compression_type).upper())
    paths, size = texts(filenames), int(record_bytes)
    header, footer = int(header_bytes), int(footer_bytes)

    def start() -> Iterator[Element]:
        for path in paths:
            with opened(path, compression) as file:
                data = file.read()
            body = data[header : len(data) - footer]
            if len(body) % size:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"{path}: {len(body)} bytes of records are not a multiple of {size} bytes",
                )
            for at in range(0, len(body), size):
                yield (np.array(body[at : at + size], dtype=object),)

    return FromFunction(start)
