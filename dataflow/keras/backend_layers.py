"""`tf.keras.backend`: building blocks of custom layers and losses.

Normalization, CTC, variables filled at random. The names are public as ``tf.keras.backend.ctc_decode``
and so on; functions of images are in `backend_convolutions`, recurrences in `backend_rnn`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.graph.type_aliases import AxisLike, DTypeLike, TensorLike
from dataflow.keras.backend_settings import backend_seed
from dataflow.ops import array, math, random
from dataflow.ops.ctc import ctc_beam_search_decoder, ctc_greedy_decoder, ctc_loss
from dataflow.ops.elementary import log
from dataflow.ops.normalization import batch_normalization as _batch_normalization, fused_batch_norm
from dataflow.ops.reduce import reduce_sum
from dataflow.ops.sparse import sparse_tensor_to_dense
from dataflow.ops.sparse_tensor import SparseTensor
from dataflow.ops.state import assign, assign_add, assign_sub
from dataflow.train.moving_averages import assign_moving_average

__all__ = [
    *("arange", "batch_dot", "batch_normalization", "ctc_batch_cost", "ctc_decode"),
    *("ctc_label_dense_to_sparse", "eye", "is_sparse", "moving_average_update"),
    *("normalize_batch_in_training", "ones", "random_binomial", "random_normal_variable"),
    *("random_uniform_variable", "repeat", "repeat_elements"),
    *("sparse_categorical_crossentropy", "to_dense", "truncated_normal", "update", "update_add"),
    *("update_sub", "zeros"),
]


def _backend() -> Any:
    from dataflow.keras import backend

    return backend


def _dtype(dtype: DTypeLike) -> Any:
    return dtype or _backend().floatx()


# ---- variables --------------------------------------------------------------------------------


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros; a tensor where ``shape`` is not known when the graph is built."""
    return _filled(array.zeros, np.zeros, shape, dtype, name)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones; a tensor where ``shape`` is not known when the graph is built."""
    return _filled(array.ones, np.ones, shape, dtype, name)


def _filled(tensor: Any, values: Any, shape: Any, dtype: Any, name: str | None) -> Any:
    sizes = [shape] if isinstance(shape, (int, Tensor)) else list(shape)
    if any(size is None or isinstance(size, Tensor) for size in sizes):
        return tensor(shape, _dtype(dtype), name)
    return _backend().variable(values(sizes), _dtype(dtype), name)


def eye(size: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable with the identity matrix [size, size]; ``size`` may be (rows, columns)."""
    sizes = size if isinstance(size, (list, tuple)) else [size]
    return _backend().variable(np.eye(*sizes), _dtype(dtype), name)


def random_normal_variable(shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: int | None = None) -> Any:  # fmt: skip
    """A variable of normal random numbers with standard deviation ``scale``."""
    values = random.random_normal(shape, mean, scale, _dtype(dtype), _seed_of_variable(seed))
    return _backend().variable(values, _dtype(dtype), name)


def random_uniform_variable(shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: int | None = None) -> Any:  # fmt: skip
    """A variable of uniform random numbers in [low, high)."""
    values = random.random_uniform(shape, low, high, _dtype(dtype), _seed_of_variable(seed))
    return _backend().variable(values, _dtype(dtype), name)


def _seed_of_variable(seed: int | None) -> int:
    """``seed``, or one that NumPy draws, so that a program that calls ``np.random.seed`` repeats."""
    return int(np.random.randint(1_000_000_000)) if seed is None else seed


def update(x: Any, new_x: Any) -> Any:
    """An op that gives the variable ``x`` the value ``new_x``."""
    return assign(x, new_x)


def update_add(x: Any, increment: Any) -> Any:
    """An op that adds to the variable ``x``."""
    return assign_add(x, increment)


def update_sub(x: Any, decrement: Any) -> Any:
    """An op that subtracts from the variable ``x``."""
    return assign_sub(x, decrement)


def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """An op: ``x`` becomes ``x * momentum + value * (1 - momentum)``, corrected for the bias of its initial value."""
    return assign_moving_average(x, value, momentum, zero_debias=True)


# ---- arrays -----------------------------------------------------------------------------------


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: DTypeLike = "int32") -> Tensor:
    """``start, start + step, ...`` below ``stop``; a vector.

    Without a ``dtype`` fractions stay floats.
    """
    if stop is None:
        start, stop = 0, math.maximum(start, 0)  # empty below 0, as NumPy's
    result: Tensor = array.range_(start, limit=stop, delta=step)
    return result if dtype == "int32" else math.cast(result, dtype)


def repeat(x: Any, n: Any) -> Tensor:
    """[samples, dim] -> [samples, n, dim], the same row n times."""
    return array.tile(array.expand_dims(x, 1), array.stack([1, n, 1]))


def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Each slice along ``axis`` ``rep`` times, one copy beside the other, as `numpy.repeat`."""
    x = convert_to_tensor(x)
    rank = _rank(x, "repeat_elements")
    axis = axis % rank
    size = x.shape.as_list()[axis]
    numbers = array.range_(array.shape(x)[axis] * rep) // rep
    result = array.gather(x, numbers, axis=axis)
    dims = x.shape.as_list()
    dims[axis] = None if size is None else size * rep
    result.set_shape(dims)
    return result


def batch_dot(x: Any, y: Any, axes: AxisLike | None = None) -> Tensor:
    """Products example by example: axis ``axes[0]`` of ``x`` is summed with ``axes[1]`` of ``y``.

    [batch, a, k] and [batch, k, b] give [batch, a, b] by default (the last axis of ``x``, the last but
    one of ``y``); two matrices [batch, k] with ``axes=1`` give [batch, 1]. Of more than three axes
    only the last two are multiplied, as up to TensorFlow 1.15 and Keras 2.2.4: [batch, n, a] and
    [batch, n, a, b] with ``axes=[2, 2]`` give [batch, n, b]. Raises `ValueError` for vectors.
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    ranks = (_rank(x, "batch_dot"), _rank(y, "batch_dot"))
    if min(ranks) < 2:
        raise ValueError(f"batch_dot: two tensors of rank 2 or more are needed, got {ranks}.")
    if axes is None:
        axes = [ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2]
    given = [axes, axes] if isinstance(axes, int) else list(axes)
    first, second = (a % rank for a, rank in zip(given, ranks, strict=True))
    if ranks == (2, 2):
        x = x if first == second else array.transpose(x)
        return array.expand_dims(reduce_sum(x * y, second), 1)
    rank, missing = max(ranks), abs(ranks[0] - ranks[1])
    for _ in range(missing):
        x, y = (array.expand_dims(t, -1) if t.shape.ndims < rank else t for t in (x, y))
    result = math.matmul(x, y, transpose_a=first != rank - 1, transpose_b=second == rank - 1)
    begin = rank - missing if ranks[0] > ranks[1] else ranks[0] - 1
    result = array.squeeze(result, list(range(begin, begin + missing))) if missing else result
    return array.expand_dims(result, 1) if result.shape.ndims == 1 else result


def is_sparse(tensor: Any) -> bool:
    """Whether it is a `tf.SparseTensor`."""
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """A sparse tensor as a dense one; others as they are."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:  # fmt: skip
    """Normal random numbers within two standard deviations."""
    return random.truncated_normal(shape, mean, stddev, _dtype(dtype), backend_seed(seed))


def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """1 with probability ``p``, else 0."""
    drawn = random.random_uniform(shape, dtype=_dtype(dtype), seed=backend_seed(seed)) <= p
    return math.cast(drawn, _dtype(dtype))  # type: ignore[no-any-return]


# ---- normalization and losses -----------------------------------------------------------------


def _rank(x: Tensor, what: str) -> int:
    if x.dims is None:
        raise ValueError(f"{what}: the rank of {x.name!r} must be known; use set_shape.")
    return len(x.dims)


def _along(values: Any, x: Tensor, axes: Any) -> Any:
    """Moments of the ``axes`` in a shape that broadcasts with ``x``."""
    rank = _rank(x, "normalize_batch_in_training")
    if values is None or sorted(axes) == list(range(rank - 1)):
        return values
    sizes = array.shape(x)
    return array.reshape(values, array.stack([1 if i in axes else sizes[i] for i in range(rank)]))


def normalize_batch_in_training(x: Any, gamma: Any, beta: TensorLike, reduction_axes: Any, epsilon: float = 1e-3) -> Any:  # fmt: skip
    """``(normalized, mean, variance)`` by the batch's own moments over ``reduction_axes``."""
    from dataflow.ops.moments import moments

    x = convert_to_tensor(x)
    rank = _rank(x, "normalize_batch_in_training")
    axes = [axis % rank for axis in reduction_axes]
    if rank == 4 and axes == [0, 1, 2]:  # as TensorFlow: its variance divides by n - 1
        normalized, mean, variance = fused_batch_norm(x, gamma, beta, epsilon=epsilon)
        return normalized, mean, variance
    mean, variance = moments(x, axes)
    parts = [_along(t, x, axes) for t in (mean, variance, beta, gamma)]
    mean_, variance_, beta_, gamma_ = parts
    normalized = _batch_normalization(x, mean_, variance_, beta_, gamma_, epsilon)
    return normalized, mean, variance


def batch_normalization(x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3) -> Tensor:  # fmt: skip
    """``gamma (x - mean) / sqrt(var + epsilon) + beta``, with vectors for the channels on ``axis``."""
    x = convert_to_tensor(x)
    rank = x.shape.ndims
    parts = [mean, var, beta, gamma]
    if rank is not None and axis % rank != rank - 1:
        shape = [-1 if i == axis % rank else 1 for i in range(rank)]
        parts = [None if t is None else array.reshape(t, shape) for t in parts]
    mean, var, beta, gamma = parts
    return _batch_normalization(x, mean, var, beta, gamma, epsilon)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:  # fmt: skip
    """Cross-entropy of integer classes; ``axis`` of ``output`` holds probabilities (or logits)."""
    from dataflow.ops.clip import clip_by_value
    from dataflow.ops.loss import sparse_softmax_cross_entropy_with_logits

    output = convert_to_tensor(output)
    rank = output.shape.ndims
    if rank is not None and axis % rank != rank - 1:
        output = array.transpose(
            output, [*(i for i in range(rank) if i != axis % rank), axis % rank]
        )
    if not from_logits:
        small = _backend().epsilon()
        output = log(clip_by_value(output, small, 1.0 - small))
    classes = array.shape(output)[-1]
    flat = array.reshape(math.cast(target, "int64"), [-1])
    rows = array.reshape(output, array.stack([-1, classes]))
    losses = sparse_softmax_cross_entropy_with_logits(labels=flat, logits=rows)
    if rank is not None and rank <= 2:
        return losses
    return array.reshape(losses, array.shape(output)[:-1])


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: Any) -> SparseTensor:
    """The first ``label_lengths`` [batch] labels of each row of [batch, longest], as a sparse tensor."""
    labels = convert_to_tensor(labels)
    lengths = array.reshape(math.cast(label_lengths, "int32"), [-1, 1])
    sizes = array.shape(labels)
    places = array.where(array.reshape(array.range_(sizes[1]), [1, -1]) < lengths)
    return SparseTensor(places, array.gather_nd(labels, places), math.cast(sizes, "int64"))


def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: Any, label_length: Any
) -> Tensor:
    """The CTC loss of each example, [batch, 1].

    ``y_true`` [batch, longest] holds labels, ``y_pred`` [batch, steps, classes] probabilities, the
    lengths [batch, 1]; the last class is the blank.
    """
    labels = ctc_label_dense_to_sparse(math.cast(y_true, "int32"), label_length)
    logits = log(array.transpose(y_pred, [1, 0, 2]) + _backend().epsilon())
    lengths = array.reshape(math.cast(input_length, "int32"), [-1])
    return array.expand_dims(ctc_loss(labels, logits, lengths), 1)


def ctc_decode(y_pred: TensorLike, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1, merge_repeated: bool | None = None) -> Any:  # fmt: skip
    """``(paths, scores)``: label sequences [batch, longest] filled up with -1, and how likely they are.

    ``merge_repeated``, of the package keras: whether a beam's path has equal labels side by side once; there
    they stay by default, in `tf.keras` of TensorFlow 1.15 they do not.

    ``y_pred`` [batch, steps, classes] holds probabilities, ``input_length`` [batch] the steps.
    """
    logits = log(array.transpose(y_pred, [1, 0, 2]) + _backend().epsilon())
    lengths = math.cast(input_length, "int32")
    if greedy:
        paths, scores = ctc_greedy_decoder(logits, lengths)
    else:
        if merge_repeated is None:
            merge_repeated = not _backend().is_package_keras()
        paths, scores = ctc_beam_search_decoder(
            logits, lengths, beam_width, top_paths, merge_repeated
        )
    return [sparse_tensor_to_dense(path, default_value=-1) for path in paths], scores
