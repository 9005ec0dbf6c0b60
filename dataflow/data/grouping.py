"""Elements in groups, by a key or by their length, and elements drawn from several datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dataflow import dtypes
from dataflow.data.arguments import dataset_seeds, int64_tensor
from dataflow.data.dataset import Dataset
from dataflow.data.functions import trace
from dataflow.data.structure import DatasetSpec, Structure
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array, dataset as ops
from dataflow.ops.casts import cast
from dataflow.ops.seeds import counted_as
from dataflow.ops.sources import constant
from dataflow.shapes import TensorShape

#: Above the length of any element.
_NO_END = np.iinfo(np.int32).max


def _int64_scalar(value: Any, name: str) -> Tensor:
    """What a function returned, as int64; raises `ValueError` for anything but a whole number."""
    tensor = convert_to_tensor(value)
    if tensor.dtype.base_dtype not in (dtypes.int64, dtypes.int32) or tensor.dims not in (
        (),
        None,
    ):
        raise ValueError(
            f"`{name}` must return a single tf.int64 tensor. Got type={tensor.dtype} and "
            f"shape={tensor.shape}"
        )
    return cast(tensor, dtypes.int64)  # type: ignore[no-any-return]


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Tensor, Dataset], Dataset],
    window_size: Any = None,
    window_size_func: Callable[[Tensor], Any] | None = None,
) -> Callable[[Dataset], Dataset]:
    """Gathers the elements of each key in windows; ``reduce_func`` turns each full window into a dataset.

    ``key_func(element)`` gives an int64 scalar, ``reduce_func(key, window)`` a dataset, often
    ``window.batch(n)``. A window has ``window_size`` elements, or as many as ``window_size_func(key)``
    says (one of the two is given, else `ValueError`); at the end windows that are not full follow, by
    their keys.
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")
    size_of = window_size_func or (lambda _: constant(window_size, dtypes.int64))

    def apply(dataset: Dataset) -> Dataset:
        ours = dataset.structure
        made: Any = None

        def key(inputs: list[Tensor]) -> list[Tensor]:
            element = ours.decode(inputs)
            found = key_func(*element) if type(element) is tuple else key_func(element)
            return [_int64_scalar(found, "key_func")]

        def reduced(inputs: list[Tensor]) -> list[Tensor]:
            nonlocal made
            window = Structure(0, [DatasetSpec(ours)]).decode(inputs[1:])
            made = reduce_func(inputs[0], window)
            if not isinstance(made, Dataset):
                raise TypeError(
                    f"`reduce_func` must return a `Dataset` object, got {type(made).__name__}."
                )
            return [made.as_variant_tensor()]

        one: list[Any] = [dtypes.int64]
        keys = trace(key_func, "key_func", ours.dtypes, ours.dims, key)
        reducing = trace(reduce_func, "reduce_func", [*one, dtypes.variant], [(), ()], reduced)
        sizes = trace(
            size_of, "window_size_func", one, [()],
            lambda inputs: [_int64_scalar(size_of(inputs[0]), "window_size_func")],
        )  # fmt: skip
        structure = made.structure
        return Dataset(
            structure,
            lambda: ops.group_by_window_dataset_op(
                dataset.as_variant_tensor(),
                keys.captured,
                reducing.captured,
                sizes.captured,
                key_func=keys,
                reduce_func=reducing,
                window_size_func=sizes,
                output_types=structure.dtypes,
                output_shapes=structure.dims,
            ),
            dataset,
        )

    return apply


class Reducer:
    """Three functions for `group_by_reducer`.

    ``init_func(key)`` gives a state (a tensor or a nesting), ``reduce_func(state, element)`` the next one,
    and ``finalize_func(state)`` an element of the result; keys are int64 scalars.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self.init_func = init_func
        self.reduce_func = reduce_func
        self.finalize_func = finalize_func


def group_by_reducer(
    key_func: Callable[..., Any], reducer: Reducer
) -> Callable[[Dataset], Dataset]:
    """Reduces the elements of each key to one element; the results come in the order of their keys.

    ``key_func(element)`` gives an int64 scalar. The elements are gathered first, so that they must fit
    into memory. Raises `TypeError` where the state changes its dtype.
    """

    def reduced(key: Tensor, window: Dataset) -> Dataset:
        state = window.reduce(reducer.init_func(key), reducer.reduce_func)
        arguments = state if type(state) is tuple else (state,)
        return Dataset.from_tensors(reducer.finalize_func(*arguments))

    return group_by_window(key_func, reduced, window_size=np.iinfo(np.int64).max)


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Callable[[Dataset], Dataset]:
    """Batches of elements of similar length, padded to the longest of the batch.

    ``element_length_func(element)`` gives an int32 scalar. Bucket i holds lengths below
    ``bucket_boundaries[i]``, and one bucket more the rest; its batches have ``bucket_batch_sizes[i]``
    elements. ``padded_shapes`` and ``padding_values`` as for `Dataset.padded_batch` (by default every
    unknown axis is padded). With ``pad_to_bucket_boundary`` batches are as long as their bucket allows
    (boundary less one), and an element beyond the last boundary is an `InvalidArgumentError`.
    """
    boundaries = [int(b) for b in bucket_boundaries]
    batch_sizes = [int(size) for size in bucket_batch_sizes]
    if len(batch_sizes) != len(boundaries) + 1:
        raise ValueError(
            f"len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1, got {len(batch_sizes)} "
            f"and {len(boundaries)}."
        )
    lowest = _bounds([np.iinfo(np.int32).min, *boundaries])
    highest = _bounds([*boundaries, _NO_END])

    def bucket_of(*element: Any) -> Any:
        from dataflow.ops.comparison import less, less_equal, logical_and

        length = cast(element_length_func(*element), dtypes.int32)
        inside = logical_and(less_equal(lowest, length), less(length, highest))
        return cast(array.where(inside)[0][0], dtypes.int64)

    def size_of(bucket: Any) -> Any:
        return constant(np.asarray(batch_sizes, np.int64))[bucket]

    def batched(bucket: Any, window: Dataset) -> Dataset:
        size = size_of(bucket)
        if no_padding:
            return window.batch(size, drop_remainder=drop_remainder)
        shapes = padded_shapes if padded_shapes is not None else window.output_shapes
        if pad_to_bucket_boundary:
            shapes = _filled_up(shapes, _end_of(bucket, boundaries))
        return window.padded_batch(size, shapes, padding_values, drop_remainder)

    return group_by_window(bucket_of, batched, window_size_func=size_of)


def _bounds(values: list[int]) -> Any:
    """The values as an int32 array, which becomes a node of the graph that uses it."""
    return np.asarray(values, np.int32)


def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Elements of ``datasets``; ``choice_dataset`` (int64 scalars) gives the index of the one that each comes from.

    A dataset that has ended is passed over, or with ``stop_on_empty_dataset`` ends the result.
    """
    spec = choice_dataset.structure
    if spec.dtypes != [dtypes.int64] or spec.dims != [()]:
        raise TypeError(
            "`choice_dataset` must be a dataset of scalar tf.int64 tensors, got "
            f"{choice_dataset.output_types} of shape {choice_dataset.output_shapes}."
        )
    first = _same_structure(datasets)
    structure = first.structure
    return Dataset(
        structure,
        lambda: ops.directed_interleave_dataset_op(
            choice_dataset.as_variant_tensor(),
            [d.as_variant_tensor() for d in datasets],
            output_types=structure.dtypes,
            output_shapes=structure.dims,
            stop_on_empty_dataset=stop_on_empty_dataset,
        ),
        choice_dataset,
        *datasets,
    )


def random_words(seed: Any = None) -> Dataset:
    """An endless dataset of random int64 in [0, 2**32); with a ``seed`` always the same ones."""
    first, second = dataset_seeds(seed)
    return Dataset(
        Structure.of_tensors(0, [dtypes.int64], [()]),
        lambda: ops.random_dataset_op(
            int64_tensor(first),
            int64_tensor(second),
            output_types=[dtypes.int64],
            output_shapes=[()],
        ),
    )


def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Elements of ``datasets``, drawn at random: each with its weight, or all alike.

    ``weights``: numbers, one a dataset, or a dataset of such rows. A dataset that has ended is passed
    over, or with ``stop_on_empty_dataset`` ends the result; one whose weight is the number 0 is left out,
    as in TensorFlow: the end does not wait for it.
    """
    from dataflow.ops.elementary import log
    from dataflow.ops.stateless_random import stateless_multinomial

    _same_structure(datasets)
    num_nodes = 0  # TensorFlow's before the random numbers
    if isinstance(weights, Dataset):
        rows = weights
    else:
        if weights is None:
            weights = [1.0] * len(datasets)
        else:
            num_nodes = 4
        if not isinstance(weights, Tensor):
            if len(weights) != len(datasets):
                raise ValueError(
                    f"`weights` must have one number for each of {len(datasets)} datasets, "
                    f"got {len(weights)}."
                )
            drawn = [(d, w) for d, w in zip(datasets, weights, strict=True) if w > 0]
            if not drawn:
                return datasets[0].take(0)
            datasets, weights = [d for d, _ in drawn], [w for _, w in drawn]
        if len(datasets) == 1:
            return datasets[0]
        with counted_as(num_nodes):
            rows = Dataset.from_tensors(weights).repeat()

    def draw(row: Any, pair: Any) -> Any:
        if not row.dtype.is_floating:
            row = cast(row, dtypes.float32)
        return array.reshape(stateless_multinomial(log([row]), 1, pair), [])

    choices = Dataset.zip((rows, random_words(seed).batch(2, True))).map(draw)
    return choose_from_datasets(datasets, choices, stop_on_empty_dataset)


def _same_structure(datasets: Sequence[Dataset]) -> Dataset:
    if not datasets:
        raise ValueError("`datasets` must hold one dataset or more, got none.")
    first, *others = datasets
    for other in others:
        if other.output_types != first.output_types:
            raise TypeError(
                f"The datasets must have the same structure, got {first.output_types} and "
                f"{other.output_types}."
            )
    return first


def _end_of(bucket: Any, boundaries: list[int]) -> Any:
    """The greatest length of the elements of a bucket; the last one must be empty."""
    from dataflow.ops.assertions import assert_less
    from dataflow.ops.graph_functions import control_dependencies

    last = constant(len(boundaries), dtypes.int64)
    check = assert_less(bucket, last, message="an element is longer than the last boundary")
    with control_dependencies([check]):
        return constant(np.asarray([*boundaries, _NO_END], np.int64))[bucket] - 1


def _filled_up(shapes: Any, end: Any) -> Any:
    """The shapes of a nesting, with ``end`` for each axis of unknown size."""
    if isinstance(shapes, dict):
        return {k: _filled_up(v, end) for k, v in shapes.items()}
    if isinstance(shapes, tuple) and not isinstance(shapes, TensorShape):
        return tuple(_filled_up(v, end) for v in shapes)
    if not TensorShape(shapes).ndims:
        return shapes
    sizes = TensorShape(shapes).as_list()
    return array.stack([end if s is None else constant(s, dtypes.int64) for s in sizes])
