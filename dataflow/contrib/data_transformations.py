"""Transformations that only `tf.contrib.data` had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.data.dataset import Dataset
from dataflow.data.experimental import Reducer, parse_example_dataset
from dataflow.data.file_datasets import TFRecordDataset
from dataflow.graph import nest
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.identity import ensure_shape
from dataflow.shapes import TensorShape


def assert_element_shape(expected_shapes: Any) -> Callable[[Dataset], Dataset]:
    """Sets the shapes of the elements to ``expected_shapes``, and checks them when the dataset runs.

    Raises `ValueError` if known shapes contradict them.
    """

    def check(*element: Any) -> Any:
        return _checked(element[0] if len(element) == 1 else element, expected_shapes)

    return lambda d: d.map(check)


def _checked(element: Any, shapes: Any) -> Any:
    if isinstance(element, dict):
        return {key: _checked(element[key], shapes[key]) for key in element}
    if isinstance(element, tuple):
        return tuple(_checked(part, shape) for part, shape in zip(element, shapes, strict=True))
    return ensure_shape(element, TensorShape(shapes))


def padded_batch_and_drop_remainder(
    batch_size: TensorLike, padded_shapes: Any, padding_values: Any = None
) -> Callable[[Dataset], Dataset]:
    """`Dataset.padded_batch` without a smaller last batch."""
    return lambda d: d.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Callable[..., Dataset] = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """The next batch of the ``Example`` messages in files, parsed by ``features``: a dict of tensors.

    ``randomize_input`` draws from ``capacity`` of them; ``num_epochs=None`` repeats forever.
    """
    files = Dataset.list_files(file_pattern, shuffle=randomize_input)
    records = files.flat_map(lambda name: reader(name, *(reader_args or [])))
    if num_epochs != 1:
        records = records.repeat(num_epochs)
    if randomize_input:
        records = records.shuffle(capacity)
    parsed = records.batch(batch_size).apply(parse_example_dataset(features))
    return parsed.prefetch(1).make_one_shot_iterator().get_next()


def reduce_dataset(dataset: Dataset, reducer: Reducer) -> Any:
    """The state of ``reducer``, a nest of tensors, after all elements; `TypeError` for anything but a dataset."""
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


def sliding_window_batch(
    window_size: TensorLike,
    stride: TensorLike | None = None,
    window_shift: TensorLike | None = None,
    window_stride: TensorLike = 1,
) -> Callable[[Dataset], Dataset]:
    """Batches of ``window_size`` elements, ``window_stride`` apart; the next begins ``window_shift`` later.

    ``stride`` is an older name of ``window_shift``, 1 if neither is given; raises `ValueError` if both are.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((s for s in (window_shift, stride) if s is not None), 1)

    def batched(*windows: Any) -> Any:
        packed = nest.map_structure(lambda window: window.batch(window_size), windows)
        return Dataset.zip(packed[0] if len(packed) == 1 else packed)

    return lambda d: d.window(window_size, shift, window_stride, drop_remainder=True).flat_map(
        batched
    )


def sloppy_interleave(
    map_func: Callable[..., Any], cycle_length: Any, block_length: Any = 1
) -> Callable[[Dataset], Dataset]:
    """`Dataset.interleave`, whose order may differ in TensorFlow; here it never does."""
    return lambda d: d.interleave(map_func, cycle_length, block_length)
