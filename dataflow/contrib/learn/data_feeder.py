"""Batches of arrays, frames and iterators as values to feed: what `tf.contrib.learn` read its data with.

A feeder makes placeholders (`input_builder`) and a function that gives the values of the next batch by the
placeholders' names (`get_feed_dict_fn`), for `sess.run(..., feed_dict=next_batch())`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow import dtypes, logging
from dataflow.contrib.learn.frames import extract_pandas_data, extract_pandas_labels
from dataflow.ops.sources import placeholder

#: Arrays under names, or one array.
_Arrays = Any


def _each(function: Callable[..., Any], data: _Arrays, *others: Any) -> Any:
    """``function`` of each array, with what the others have under its name; of one array, of that."""
    if data is None:
        return None
    if not isinstance(data, dict):
        return function(data, *others)
    found = {}
    for key, value in data.items():
        rest = [other[key] if isinstance(other, dict) else other for other in others]
        found[key] = function(value, *rest)
    return found


def _first(data: _Arrays) -> Any:
    return next(iter(data.values())) if isinstance(data, dict) else data


def _checked(data: Any, dtype: Any = None) -> Any:
    """An array, or what is read like one (a file's dataset); warns of float64."""
    if not hasattr(data, "shape") or not hasattr(data, "dtype") or dtype is not None:
        data = np.asarray(data, dtype)
    _check_dtype(data.dtype)
    return data


def _check_dtype(dtype: Any) -> Any:
    if dtypes.as_dtype(dtype) is dtypes.float64:
        logging.warn("float64 is not supported by many models, consider casting to float32.")
    return dtype


def _rows(data: Any, indices: Any) -> Any:
    """Rows of an array, a frame or a file's dataset."""
    if hasattr(data, "iloc"):
        return data.iloc[indices].to_numpy()
    if isinstance(data, np.ndarray):
        return np.asarray(data)[indices]
    return np.stack(
        [data[int(i)] for i in indices]
    )  # files want their indices sorted, and once each


def _check_batch_size(batch_size: Any) -> None:
    if batch_size is not None and batch_size <= 0:
        raise ValueError(f"Invalid batch_size {batch_size}.")


def _input_shape(shape: Any, batch_size: int) -> list[int]:
    return [batch_size, *(shape[1:] if len(shape) > 1 else [1])]


def _output_shape(shape: Any, n_classes: int | None, batch_size: int) -> list[int]:
    inner = list(shape[1:])
    if inner and inner[0] == 1:
        inner = inner[1:]
    return [batch_size, *inner, *([n_classes] if n_classes is not None and n_classes > 1 else [])]


class DataFeeder:
    """Batches of arrays in memory (or of a file's datasets), shuffled in each epoch.

    ``x``: an array or a dict of arrays, ``y``: the labels, such, or None. ``n_classes``: with more than one,
    labels are ids and come out as one-hot rows, float32; a dict where ``y`` is one. ``batch_size`` None is all
    rows; the last batch of an epoch may be smaller. ``epochs`` None goes on for ever. Raises `ValueError` for a
    ``batch_size`` that is not positive.
    """

    def __init__(
        self,
        x: _Arrays,
        y: _Arrays,
        n_classes: Any,
        batch_size: int | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        epochs: int | None = None,
    ) -> None:
        _check_batch_size(batch_size)
        self._x = _each(_checked, x)

        def labels(values: Any, classes: Any) -> Any:
            return _checked(values, np.int64 if classes is not None and classes > 1 else None)

        self._y = _each(labels, y, n_classes)
        self.n_classes = n_classes
        self.max_epochs = epochs
        self._num_rows = len(_first(self._x))
        self._batch_size = min(batch_size or self._num_rows, self._num_rows)
        self.input_shape = _each(lambda a: _input_shape(a.shape, self._batch_size), self._x)
        self._input_dtype = _each(lambda a: a.dtype, self._x)
        self.output_shape = _each(
            lambda a, n: _output_shape(a.shape, n, self._batch_size), self._y, n_classes
        )
        self._output_dtype = _each(
            lambda a, n: a.dtype if n is None else np.dtype(np.float32), self._y, n_classes
        )
        self._shuffle = shuffle
        self.random_state = np.random.RandomState(42) if random_state is None else random_state
        self.indices = self._order()
        self.offset = 0
        self.epoch = 0
        self._placeholders: tuple[Any, Any] = (None, None)
        self._epoch_placeholder: Any = None

    @property
    def x(self) -> _Arrays:
        """The features."""
        return self._x

    @property
    def y(self) -> _Arrays:
        """The labels, or None."""
        return self._y

    @property
    def shuffle(self) -> bool:
        """Whether each epoch has an order of its own."""
        return self._shuffle

    @property
    def input_dtype(self) -> Any:
        """The features' dtype, NumPy's, or a dict of them."""
        return self._input_dtype

    @property
    def output_dtype(self) -> Any:
        """The dtype of what is fed as labels, NumPy's, or a dict of them; None without labels."""
        return self._output_dtype

    @property
    def batch_size(self) -> int:
        """How many rows a batch has at most."""
        return self._batch_size

    def _order(self) -> Any:
        rows = self._num_rows
        return self.random_state.permutation(rows) if self._shuffle else np.arange(rows)

    def make_epoch_variable(self) -> Any:
        """A placeholder [1], int32, that is fed the number of the epoch."""
        self._epoch_placeholder = placeholder(dtypes.int32, [1], name="epoch")
        return self._epoch_placeholder

    def input_builder(self) -> tuple[Any, Any]:
        """Placeholders for features and labels: ``input`` and ``output``, or ``input_name`` for a dict's."""
        made = []
        for shapes, kinds, name in (
            (self.input_shape, self._input_dtype, "input"),
            (self.output_shape, self._output_dtype, "output"),
        ):
            if not isinstance(shapes, dict):
                made.append(None if shapes is None else _placeholder(shapes, kinds, name))
            else:
                made.append({k: _placeholder(shapes[k], kinds[k], f"{name}_{k}") for k in shapes})
        self._placeholders = (made[0], made[1])
        return self._placeholders

    def set_placeholders(self, input_placeholders: Any, output_placeholders: Any) -> None:
        """Other placeholders than `input_builder`'s."""
        self._placeholders = (input_placeholders, output_placeholders)

    def get_feed_params(self) -> dict[str, Any]:
        """Where it stands: the epoch, the offset in it and the batch's size."""
        return {"epoch": self.epoch, "offset": self.offset, "batch_size": self._batch_size}

    def get_feed_dict_fn(self) -> Callable[[], dict[str, Any]]:
        """A function that returns the next batch: values by the placeholders' names.

        It raises `StopIteration` after the last epoch.
        """

        def feed_dict_fn() -> dict[str, Any]:
            if self.max_epochs is not None and self.epoch >= self.max_epochs:
                raise StopIteration
            fed = self._epoch_fed()
            indices = self.indices[self.offset : self.offset + self._batch_size]
            self._advance()
            inputs, outputs = self._placeholders
            _put(fed, inputs, _each(lambda a: _as_inputs(_rows(a, indices)), self._x))
            if outputs is not None:
                one_hot = _each(
                    lambda a, n, s, d: _as_outputs(_rows(a, indices), n, s, d),
                    *(self._y, self.n_classes, self.output_shape, self._output_dtype),
                )
                _put(fed, outputs, one_hot)
            return fed

        return feed_dict_fn

    def _epoch_fed(self) -> dict[str, Any]:
        if self._epoch_placeholder is None:
            return {}
        return {self._epoch_placeholder.name: [self.epoch]}

    def _advance(self) -> None:
        self.offset += self._batch_size
        if self.offset >= self._num_rows:
            self.indices = self._order()
            self.offset = 0
            self.epoch += 1


def _placeholder(shape: Any, dtype: Any, name: str) -> Any:
    return placeholder(dtypes.as_dtype(dtype), [None, *shape[1:]], name=name)


def _put(fed: dict[str, Any], placeholders: Any, values: Any) -> None:
    if isinstance(placeholders, dict):
        fed.update({placeholders[key].name: values[key] for key in placeholders})
    else:
        fed[placeholders.name] = values


def _as_inputs(rows: Any) -> Any:
    """A vector as a column."""
    rows = np.asarray(rows)
    return rows.reshape(-1, 1) if rows.ndim == 1 else rows


def _as_outputs(rows: Any, n_classes: int | None, shape: list[int], dtype: Any) -> Any:
    """Labels as they are fed: ids as one-hot rows where there are classes."""
    rows = np.asarray(rows)
    if n_classes is not None and n_classes > 1:
        ids = rows.astype(np.int64).reshape(len(rows), *shape[1:-1])
        return np.eye(n_classes, dtype=dtype)[ids]
    return rows.astype(dtype).reshape(len(rows), *shape[1:])


class StreamingDataFeeder(DataFeeder):
    """Batches of what iterators give, one example at a time: arrays, or dicts of arrays.

    ``y``: an iterator of labels, or None. The last batch may be smaller; then `StopIteration`. Raises
    `StopIteration` at once where an iterator is empty.
    """

    def __init__(
        self, x: Iterator[Any], y: Iterator[Any] | None, n_classes: Any, batch_size: int
    ) -> None:
        _check_batch_size(batch_size)
        first = _each(np.asarray, next(x))
        self._examples: Any = itertools.chain([first], x)
        self._labels: Any = None
        self.n_classes = n_classes
        self._batch_size = batch_size
        self.input_shape = _each(lambda a: _input_shape([1, *a.shape], batch_size), first)
        self._input_dtype = _each(lambda a: _check_dtype(a.dtype), first)
        self.output_shape: Any = None
        self._output_dtype: Any = None
        if y is not None:
            label = _each(np.asarray, next(y))
            self._labels = itertools.chain([label], y)
            self.output_shape = _each(
                lambda a, n: _output_shape([1, *a.shape], n, batch_size), label, n_classes
            )
            self._output_dtype = _each(
                lambda a, n: a.dtype if n is None else np.dtype(np.float32), label, n_classes
            )
        self._placeholders = (None, None)
        self._epoch_placeholder = None
        self.epoch = 0

    def get_feed_params(self) -> dict[str, Any]:
        """The batch's size."""
        return {"batch_size": self._batch_size}

    def get_feed_dict_fn(self) -> Callable[[], dict[str, Any]]:
        """A function that returns the next batch: values by the placeholders' names."""

        def feed_dict_fn() -> dict[str, Any]:
            examples = list(itertools.islice(self._examples, self._batch_size))
            if not examples:
                raise StopIteration
            fed = self._epoch_fed()
            inputs, outputs = self._placeholders

            def inner(a: Any, shape: list[int]) -> Any:
                return np.asarray(a).reshape(len(examples), *shape[1:])

            _put(fed, inputs, _each(inner, _together(examples), self.input_shape))
            if outputs is not None:
                labels = _together(list(itertools.islice(self._labels, len(examples))))
                made = _each(
                    _as_outputs, labels, self.n_classes, self.output_shape, self._output_dtype
                )
                _put(fed, outputs, made)
            return fed

        return feed_dict_fn


def _together(examples: list[Any]) -> Any:
    """Several examples as arrays, one row each."""
    if isinstance(examples[0], dict):
        return {key: np.stack([np.asarray(e[key]) for e in examples]) for key in examples[0]}
    return np.stack([np.asarray(e) for e in examples])


def is_iterator(x: Any) -> bool:
    return hasattr(x, "__next__")


def _of_frames(x: Any, y: Any) -> tuple[Any, Any]:
    return _each(extract_pandas_data, x), _each(extract_pandas_labels, y)


def setup_train_data_feeder(
    x: Any,
    y: Any,
    n_classes: Any,
    batch_size: int | None = None,
    shuffle: bool = True,
    epochs: int | None = None,
) -> DataFeeder:
    """The feeder that fits: a `StreamingDataFeeder` for iterators, else a `DataFeeder`.

    Iterators come in batches of 1 by default, as TensorFlow's. Raises `ValueError` where one of ``x`` and
    ``y`` is an iterator and the other is not.
    """
    x, y = _of_frames(x, y)
    if not is_iterator(x):
        return DataFeeder(x, y, n_classes, batch_size, shuffle, epochs=epochs)
    if y is not None and not is_iterator(y):
        raise ValueError("Both x and y should be iterators for streaming learning to work.")
    return StreamingDataFeeder(x, y, n_classes, 1 if batch_size is None else batch_size)


def setup_predict_data_feeder(x: Any, batch_size: int | None = None) -> Any:
    """An iterable of batches to predict on: of an iterator's examples, or of an array's rows.

    Without ``batch_size`` an array is one batch. Raises `ValueError` for one that is not positive.
    """
    x, _ = _of_frames(x, None)
    if is_iterator(x):
        return _batches(x, batch_size)
    x = _each(_as_inputs, x)
    if batch_size is None:
        return [x]
    _check_batch_size(batch_size)
    count = math.ceil(len(_first(x)) / batch_size)
    return [_each(lambda a, i=i: a[i * batch_size : (i + 1) * batch_size], x) for i in range(count)]


def _batches(x: Iterator[Any], batch_size: int | None) -> Iterator[Any]:
    _check_batch_size(batch_size)
    while examples := list(itertools.islice(x, batch_size)):
        yield _together(examples)


def setup_processor_data_feeder(x: Any) -> Any:
    """The values of a frame, anything else as it is."""
    return _of_frames(x, None)[0]
