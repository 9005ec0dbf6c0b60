"""`tf.estimator.inputs`: input functions for arrays and pandas frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dataflow.data.dataset import Dataset
from dataflow.dtypes import as_dtype
from dataflow.formats.object_arrays import object_array
from dataflow.graph.type_aliases import TensorLike
from dataflow.ops.seeds import counted_as, get_seed


def _batches(
    columns: list[Any], batch_size: int, num_epochs: int | None, shuffle: bool, seed: int | None
) -> Callable[[], Iterator[Any]]:
    """Rows in batches that go on across the ends of epochs; the last may be smaller."""
    num_rows = len(columns[0])

    def start() -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        waiting = np.zeros(0, np.int64)
        epoch = 0
        while num_epochs is None or epoch < num_epochs:
            epoch += 1
            order = rng.permutation(num_rows) if shuffle else np.arange(num_rows)
            waiting = np.concatenate([waiting, order])
            while len(waiting) >= batch_size:
                rows, waiting = waiting[:batch_size], waiting[batch_size:]
                yield tuple(c[rows] for c in columns)
        if len(waiting):
            yield tuple(c[waiting] for c in columns)

    return start


def _tensors(
    columns: list[Any], batch_size: int, num_epochs: int | None, shuffle: bool
) -> tuple[Any, ...]:
    columns = [_as_column(c) for c in columns]
    seed = get_seed(None)[0] if shuffle else None
    with counted_as(17 + len(columns)):  # a queue, what fills it, and a summary of how full it is
        dataset = Dataset.from_generator(
            _batches(columns, batch_size, num_epochs, shuffle, seed),
            tuple(as_dtype(c.dtype) for c in columns),
            tuple((None, *c.shape[1:]) for c in columns),
        )
        return tuple(dataset.make_one_shot_iterator().get_next())


def _as_column(values: TensorLike) -> Any:
    """An array the engine can hold: strings as bytes."""
    array = np.asarray(values)
    if array.dtype.kind in "US" or array.dtype == object:
        flat = [v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1).tolist()]
        return object_array(flat, array.shape)
    return array


def _check(shuffle: Any, x: Any) -> None:
    if shuffle not in (True, False):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )
    if len(x) == 0:
        raise ValueError(
            "x cannot be an empty dict or array: give an array or a dict of arrays with rows."
        )


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """An input function that returns batches of arrays: features alone, or (features, labels).

    ``x``: an array, or a dict of arrays, with one row for each example; ``y``: an array or a dict.
    ``num_epochs=None`` repeats forever. ``shuffle`` is required; with it each epoch is in another
    order, a permutation of all rows, where TensorFlow draws from a queue that holds
    ``queue_capacity`` of them. The rows are in memory already, and cutting a batch out of them
    needs no thread: ``queue_capacity`` and ``num_threads`` change nothing here (with one thread and
    no shuffling TensorFlow's batches are the same). Raises `ValueError` for arrays of different
    lengths (when called), and for keys that x and y share.
    """
    _check(shuffle, x)

    def input_fn() -> Any:
        if not isinstance(x, dict) and np.size(x) == 0:
            raise ValueError(f"x cannot be an empty dict or array, got shape {np.shape(x)}.")
        features = dict(x) if isinstance(x, dict) else {"x": x}
        labels = dict(y) if isinstance(y, dict) else ({} if y is None else {"y": y})
        if isinstance(y, dict):
            if not y:
                raise ValueError("y cannot be empty dict, use None instead.")
            both = sorted(set(features) & set(labels)) if isinstance(x, dict) else []
            if both:
                raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
        lengths = {
            **{f"x[{k!r}]": len(v) for k, v in features.items()},
            **{f"y[{k!r}]": len(v) for k, v in labels.items()},
        }
        if len(set(lengths.values())) > 1:
            raise ValueError(
                f"Length of tensors in x and y is mismatched. All elements must have the same "
                f"number of rows: {lengths}"
            )
        keys = sorted(features)
        tensors = _tensors(
            [features[k] for k in keys] + [labels[k] for k in sorted(labels)],
            batch_size,
            num_epochs,
            bool(shuffle),
        )
        found = dict(zip(keys, tensors, strict=False))
        result: Any = found if isinstance(x, dict) else found["x"]
        if y is None:
            return result
        rest = dict(zip(sorted(labels), tensors[len(keys) :], strict=True))
        return result, (rest if isinstance(y, dict) else rest["y"])

    return input_fn


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """`numpy_input_fn` of the columns of a pandas frame, with a series (or frame) of labels.

    A series of labels may not be called as a column of ``x`` is: ``target_column`` names it. Raises
    `ValueError` where the index of ``y`` is not that of ``x``.
    """
    _check(shuffle, x)
    if not isinstance(target_column, str):
        raise TypeError(f"target_column must be a string type, got {target_column!r}")
    if y is not None and target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column with "
            "that name. Give another target_column."
        )
    if y is not None and not np.array_equal(x.index, y.index):
        raise ValueError("Index for x and y are mismatched: pass rows of the same frame.")
    features = {name: x[name].to_numpy() for name in x.columns}
    labels: Any = None
    if y is not None:
        if getattr(y, "ndim", 1) == 2:
            labels = {name: y[name].to_numpy() for name in y.columns}
        else:
            labels = y.to_numpy()
    if not isinstance(labels, dict):
        return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle)
    # Columns of both frames may have one name: they are told apart on the way.
    own = {f"target {name}": column for name, column in labels.items()}
    both = numpy_input_fn(features, own, batch_size, num_epochs, shuffle)

    def input_fn() -> Any:
        found, targets = both()
        return found, {name: targets[f"target {name}"] for name in labels}

    return input_fn
