"""``keras.engine.training_utils``: how the package Keras checked and cut what `fit` was given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow import dtypes, logging
from dataflow.data.dataset import Dataset
from dataflow.graph import nest
from dataflow.graph.eager_tensor import EagerTensor
from dataflow.keras import backend as K, losses
from dataflow.keras.training_data import is_due as _is_due, is_generator, weights_of
from dataflow.keras.utils import Sequence
from dataflow.ops.comparison import not_equal
from dataflow.ops.reduce import reduce_mean
from dataflow.ops.type_specs import TensorSpec
from dataflow.python.keras_helpers import slice_arrays as slice_arrays

__all__ = [
    "ModelInputs",
    "assert_not_shuffled",
    "batch_shuffle",
    "check_array_length_consistency",
    "check_loss_and_target_compatibility",
    "convert_to_generator_like",
    "is_generator_or_sequence",
    "is_sequence",
    "iter_sequence_infinite",
    "make_batches",
    "should_run_validation",
    "slice_arrays",
    "standardize_weights",
    "verify_dataset_shuffled",
    "weighted_masked_objective",
]


def make_batches(size: int, batch_size: int) -> list[tuple[int, int]]:
    """(start, end) of each batch of ``size`` examples; the last one may be smaller."""
    return [(i, min(size, i + batch_size)) for i in range(0, size, batch_size)]


def batch_shuffle(index_array: Any, batch_size: int) -> Any:
    """Numbers of examples with the order of whole batches changed; the rest stays at the end."""
    whole = len(index_array) // batch_size * batch_size
    batches = np.asarray(index_array[:whole]).reshape(-1, batch_size)
    np.random.shuffle(batches)
    return np.append(batches.reshape(-1), index_array[whole:])


def _lengths(arrays: Any) -> set[int]:
    if arrays is None:
        return {0}
    return {0 if array is None else int(array.shape[0]) for array in arrays}


def check_array_length_consistency(inputs: Any, targets: Any, weights: Any = None) -> None:
    """Raises `ValueError` where lists of arrays do not all have as many examples."""
    names = ("input arrays (x)", "target arrays (y)", "sample_weight arrays")
    counts = [_lengths(arrays) for arrays in (inputs, targets, weights)]
    for name, count, arrays in zip(names, counts, (inputs, targets, weights), strict=True):
        if len(count) > 1:
            raise ValueError(
                f"All {name} should have the same number of samples. Got array shapes: "
                f"{[None if a is None else a.shape for a in arrays]}"
            )
    for first, second in ((0, 1), (1, 2)):
        if counts[first] and counts[second] and counts[first] != counts[second]:
            raise ValueError(
                f"{names[first]} and {names[second]} should have the same number of samples. Found "
                f"{min(counts[first])} and {min(counts[second])} samples."
            )


def check_loss_and_target_compatibility(targets: Any, loss_fns: Any, output_shapes: Any) -> None:
    """Raises `ValueError` for class numbers with a loss for one-hot rows, and for unequal sizes."""
    for target, loss, shape in zip(targets, loss_fns, output_shapes, strict=False):
        if target is None or loss is None:
            continue
        if loss is losses.categorical_crossentropy and target.shape[-1] == 1:
            raise ValueError(
                f"You are passing a target array of shape {target.shape} while using as loss "
                "`categorical_crossentropy`, which expects rows with one 1 (samples, classes): use "
                "keras.utils.to_categorical(y), or the loss `sparse_categorical_crossentropy`."
            )
        like = (losses.mean_squared_error, losses.binary_crossentropy)
        sizes = zip(target.shape[1:], shape[1:], strict=False)
        if loss in (*like, losses.categorical_crossentropy) and any(
            size is not None and size != given for given, size in sizes
        ):
            raise ValueError(
                f"A target array with shape {target.shape} was passed for an output of shape {shape} "
                f"while using as loss `{loss.__name__}`. This loss expects targets to have the same "
                "shape as the output."
            )


def weighted_masked_objective(fn: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A loss ``(y_true, y_pred, weights, mask=None)``: a scalar, the mean over what is counted."""
    if fn is None:
        return None

    def weighted(y_true: Any, y_pred: Any, weights: Any, mask: Any = None) -> Any:
        values = fn(y_true, y_pred)
        if mask is not None:
            kept = K.cast(mask, K.floatx())
            values = values * kept / (reduce_mean(kept) + K.epsilon())
        if weights is not None:
            extra = list(range(weights.shape.ndims, values.shape.ndims))
            values = (reduce_mean(values, axis=extra) if extra else values) * weights
            values = values / reduce_mean(K.cast(not_equal(weights, 0), K.floatx()))
        return reduce_mean(values)

    return weighted


def standardize_weights(
    y: Any, sample_weight: Any = None, class_weight: Any = None, sample_weight_mode: Any = None
) -> Any:
    """A weight for each example, or with ``"temporal"`` for each step; see `fit`."""
    if sample_weight_mode not in (None, "temporal"):
        raise ValueError(
            f'"sample_weight_mode" should be None or "temporal". Found: {sample_weight_mode}'
        )
    per_class = class_weight if isinstance(class_weight, dict) else None
    return weights_of(y, sample_weight, per_class, 1 if sample_weight_mode is None else 2)


def iter_sequence_infinite(seq: Any) -> Iterator[Any]:
    """The batches of a `Sequence`, again and again."""
    while True:
        for number in range(len(seq)):
            yield seq[number]


def is_sequence(seq: Any) -> bool:
    """Whether ``seq`` is a `Sequence`, or has the methods of one."""
    wanted = ("__getitem__", "__len__", "on_epoch_end")
    return isinstance(seq, Sequence) or all(hasattr(seq, name) for name in wanted)


def is_generator_or_sequence(x: Any) -> bool:
    """Whether ``x`` yields batches."""
    return is_generator(x) or is_sequence(x)


def should_run_validation(validation_freq: Any, epoch: int) -> bool:
    """Whether to validate after ``epoch``, counted from 0."""
    return _is_due(epoch + 1, validation_freq)


#: Ops after which the order of a dataset's elements is the one of its source.
_KEEP_THE_ORDER = {
    *("", "batch", "cache", "filter", "map", "parallel_map", "prefetch"),
    *("repeat", "skip", "take", "window"),
}


def assert_not_shuffled(dataset: Dataset) -> None:
    """Raises `ValueError` unless all that the dataset is made by keeps the order of elements.

    Whether a function's datasets are shuffled (`flat_map`, `interleave`) cannot be told.
    """
    if dataset.made_by.removesuffix("_v2").removesuffix("_dataset") not in _KEEP_THE_ORDER:
        raise ValueError("Could not assert that dataset is not shuffled.")
    for source in dataset.sources:
        assert_not_shuffled(source)


def verify_dataset_shuffled(x: Dataset) -> None:
    """Warns where a dataset is surely not shuffled."""
    try:
        assert_not_shuffled(x)
    except ValueError:
        return
    logging.warning(
        "Expected a shuffled dataset but input dataset `x` is not shuffled. Please invoke "
        "`shuffle()` on input dataset."
    )


class ModelInputs:
    """What a model was given, flat and by name; what has no names gets "input_1", "input_2" ..."""

    def __init__(self, inputs: Any) -> None:
        self._is_dict = isinstance(inputs, dict)
        self._is_single_input = not isinstance(inputs, (list, tuple, dict))
        if self._is_dict:
            self._names = sorted(inputs)
            self._flat = [inputs[name] for name in self._names]
        else:
            self._flat = nest.flatten(inputs)
            self._names = [f"input_{i + 1}" for i in range(len(self._flat))]

    def get_input_names(self) -> list[str]:
        """The names, of a dictionary in sorted order."""
        return self._names

    def get_symbolic_inputs(self, return_single_as_list: bool = False) -> Any:
        """Placeholders of any number of examples for the arrays among the inputs, in their structure."""
        pairs = zip(self._names, self._flat, strict=True)
        self._flat = [_placeholder_for(name, value) for name, value in pairs]
        if self._is_dict:
            return dict(zip(self._names, self._flat, strict=True))
        return self._flat[0] if self._is_single_input and not return_single_as_list else self._flat

    def as_dict(self) -> Iterator[tuple[str, Any]]:
        """(name, input) of each."""
        yield from zip(self._names, self._flat, strict=True)

    def as_list(self) -> list[Any]:
        """The inputs, flat."""
        return self._flat


def _placeholder_for(name: str, value: Any) -> Any:
    """A placeholder for an array or a `TensorSpec`; a symbolic tensor itself."""
    if isinstance(value, (list, float, int)):
        value = np.asarray(value)
    if isinstance(value, (EagerTensor, np.ndarray)):
        own = dtypes.as_dtype(value.dtype)
        kind: Any = K.floatx() if own.is_floating else own
    elif isinstance(value, TensorSpec):
        kind = value.dtype
    else:
        return value
    shape = [None, *tuple(value.shape)[1:]]
    return K.placeholder(shape if len(shape) > 1 else [None, 1], name=name, dtype=kind)


def convert_to_generator_like(
    data: Any,
    batch_size: int | None = None,
    steps_per_epoch: int | None = None,
    epochs: int = 1,
    shuffle: bool = False,
) -> tuple[Any, int | None]:
    """(a generator, `Sequence` or iterator, steps of an epoch) of what `fit` was given.

    ``data``: one of these, a dataset, or a tuple (x, y, weights) of arrays, of which some may be None; a dataset
    becomes an iterator. Raises `ValueError` for arrays without ``batch_size``.
    """
    if isinstance(data, tuple):
        data = tuple(part for part in data if any(p is not None for p in nest.flatten(part)))
    if is_generator_or_sequence(data) or hasattr(data, "get_next"):
        is_counted = isinstance(data, Sequence) and steps_per_epoch is None
        return data, len(data) if is_counted else steps_per_epoch
    if isinstance(data, Dataset):
        return data.make_one_shot_iterator(), steps_per_epoch
    count = int(nest.flatten(data)[0].shape[0])
    if batch_size is None:
        raise ValueError(
            "When passing input data as arrays, do not specify `steps_per_epoch`/`steps` argument. "
            "Please use `batch_size` instead."
        )
    return _batches_of(data, count, batch_size, epochs, shuffle), -(-count // batch_size)


def _batches_of(
    data: Any, count: int, batch_size: int, epochs: int, shuffle: bool
) -> Iterator[Any]:
    order = np.arange(count)
    for _ in range(epochs):
        if shuffle:
            np.random.shuffle(order)
        for start, end in make_batches(count, batch_size):
            rows = slice_arrays(nest.flatten(data), order[start:end])
            yield nest.pack_like(data, rows)
