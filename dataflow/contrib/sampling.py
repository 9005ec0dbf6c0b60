"""Choosing examples at random: by class (`stratified_sample`), by a function, or by weights.

What is chosen is batched by queues, whose threads `tf.train.start_queue_runners` starts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow import dtypes
from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.tensor import Tensor
from dataflow.ops import array, math
from dataflow.ops.assertions import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_non_negative,
)
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.logging_ops import Assert
from dataflow.ops.random import random_poisson, random_uniform
from dataflow.ops.sequences import range_
from dataflow.ops.static_value import static_value
from dataflow.ops.tile import repeat
from dataflow.ops.variable_scope import get_local_variable, variable_scope
from dataflow.ops.variables import Variable
from dataflow.train.batching import batch, maybe_batch
from dataflow.train.learning_rate_decay import cosine_decay_restarts
from dataflow.train.moving_averages import assign_moving_average

__all__ = [
    "rejection_sample",
    "resample_at_rate",
    "sgdr_decay",
    "stratified_sample",
    "weighted_resample",
]

#: Each class counts as seen so often before the first example, so that none has probability 0.
_SEEN_BEFORE = 10


def resample_at_rate(
    inputs: list[Any],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[Tensor]:
    """Each example as often as a Poisson distribution says whose mean is its rate.

    Args:
        inputs: tensors ``[n, ...]``, of any dtype; an example is a row of all of them.
        rates: ``[n]``, a float: how often each example comes on average.
        seed: repeats the choice.

    Returns one tensor ``[m, ...]`` for each input, ``m`` known at run time. ``back_prop`` changes nothing here.
    """
    with name_scope(scope, "resample_at_rate", [*inputs, rates]):
        rates = convert_to_tensor(rates)
        counts = math.cast(random_poisson(rates, (), rates.dtype, seed=seed), dtypes.int32)
        counts = array.reshape(counts, [-1])
        rows = repeat(range_(array.shape(counts)[0]), counts)
        return [array.gather(values, rows) for values in inputs]


def weighted_resample(
    inputs: list[Any],
    weights: Any,
    overall_rate: Any,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Examples in proportion to their weights: ``(resampled, rates)``.

    The rate of an example is ``overall_rate * weight / mean``, the mean being a moving average of the weights of all
    batches (a local variable, decayed by ``mean_decay``). ``rates`` are those of the examples that came.
    """
    with name_scope(scope, "weighted_resample", inputs):
        weights = convert_to_tensor(weights)
        with variable_scope(scope, "estimate_mean", inputs):
            estimate = get_local_variable(
                "estimated_mean", initializer=math.cast(0, weights.dtype), dtype=weights.dtype
            )
            mean = assign_moving_average(estimate, math.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        resampled = resample_at_rate([rates, *inputs], rates, seed=seed)
        return resampled[1:], resampled[0]


def rejection_sample(
    tensors: Any,
    accept_prob_fn: Callable[[list[Tensor]], Any],
    batch_size: int,
    queue_threads: int = 1,
    enqueue_many: bool = False,
    prebatch_capacity: int = 16,
    prebatch_threads: int = 1,
    runtime_checks: bool = False,
    name: str | None = None,
) -> list[Tensor]:
    """Batches of the examples that are accepted with probability ``accept_prob_fn(tensors)``, one by one.

    With ``enqueue_many`` the tensors hold a batch of examples each. ``runtime_checks`` raises
    `InvalidArgumentError` for a probability outside 0 to 1. Raises `ValueError` for batches of different sizes.
    """
    with variable_scope(name, "rejection_sample", tensors):
        tensors = [convert_to_tensor(tensor) for tensor in tensors]
        if enqueue_many:
            tensors = _one_by_one(_same_batch(tensors), prebatch_capacity, prebatch_threads)
        accepted = convert_to_tensor(accept_prob_fn(tensors))
        if runtime_checks:
            checks = [assert_less_equal(0.0, accepted), assert_less_equal(accepted, 1.0)]
            accepted = array.identity(with_dependencies(checks, accepted), "prob_with_checks")
        chosen = maybe_batch(
            tensors, random_uniform([]) < accepted, batch_size, num_threads=queue_threads
        )
        return [chosen] if isinstance(chosen, Tensor) else chosen


def stratified_sample(
    tensors: Any,
    labels: Any,
    target_probs: Any,
    batch_size: int,
    init_probs: Any = None,
    enqueue_many: bool = False,
    queue_capacity: int = 16,
    threads_per_queue: int = 1,
    name: str | None = None,
) -> tuple[list[Tensor], Tensor]:
    """Batches whose classes have the probabilities ``target_probs``, by rejecting examples of the others.

    Args:
        tensors: a list of tensors: one example, or with ``enqueue_many`` a batch.
        labels: its class, an integer (``[n]`` with ``enqueue_many``).
        target_probs: ``[classes]``, sum 1: how often each class is wanted.
        init_probs: how often each class comes; None counts it while examples come, in a variable.

    Returns ``(tensors, labels)``, ``[batch_size, ...]`` each. Raises `ValueError` for shapes that do not fit and for a
    class that is wanted and never comes, `TypeError` if ``tensors`` is not a list, and at run time
    `InvalidArgumentError` for labels without a class and for probabilities that do not sum to 1.
    """
    if isinstance(tensors, Tensor):
        raise TypeError("tensors is a list of tensors, got a single one: write [tensor]")
    with name_scope(name, "stratified_sample", [*tensors, labels]):
        values = [convert_to_tensor(tensor) for tensor in tensors]
        labels = convert_to_tensor(labels)
        wanted = convert_to_tensor(target_probs, dtypes.float32)
        if not enqueue_many:
            values = [array.expand_dims(value, 0) for value in values]
            labels = array.expand_dims(labels, 0)
        _check_vectors(labels, wanted)
        if init_probs is None:
            given = _frequencies(labels, int(wanted.shape.num_elements() or 0))
        else:
            given = convert_to_tensor(init_probs, dtypes.float32)
            _check_probabilities(given, wanted)
        values, labels, (given, wanted) = _verify_input(values, labels, [given, wanted])
        never = math.logical_or(math.not_equal(given, 0), math.equal(wanted, 0))
        message = [
            "target_probs asks for a class that init_probs never gives: init_probs, target_probs",
            given,
            wanted,
        ]
        given = with_dependencies([Assert(math.reduce_all(never), message)], given)
        accepted = _acceptance(given, wanted)
        *values, label = _one_by_one([*values, labels], queue_capacity, threads_per_queue)
        keep = random_uniform([]) < array.gather(accepted, label)
        *chosen, classes = maybe_batch(
            [*values, label], keep, batch_size, num_threads=threads_per_queue
        )
        return chosen, classes


def sgdr_decay(
    learning_rate: Any,
    global_step: Any,
    initial_period_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    name: str | None = None,
) -> Any:
    """A cosine from ``learning_rate`` to 0 again and again: stochastic gradient descent with warm restarts.

    Each period is ``t_mul`` times as long as the one before, from ``initial_period_steps`` on, and begins at
    ``m_mul`` times its rate (Loshchilov and Hutter 2016).
    """
    return cosine_decay_restarts(
        learning_rate, global_step, initial_period_steps, t_mul, m_mul, name=name or "SGDRDecay"
    )


def _one_by_one(tensors: list[Tensor], capacity: int, threads: int) -> list[Tensor]:
    """The examples of a batch, each by itself, out of a queue."""
    batched = batch(tensors, 1, num_threads=threads, capacity=capacity, enqueue_many=True)
    found = [batched] if isinstance(batched, Tensor) else batched
    return [array.squeeze(tensor, [0]) for tensor in found]


def _same_batch(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors, checked to have as many rows each."""
    for tensor in tensors:
        tensor.shape.with_rank_at_least(1)
        tensor.shape[:1].assert_is_compatible_with(tensors[0].shape[:1])
    first = array.shape(tensors[0])[0]
    checks = [assert_equal(array.shape(tensor)[0], first) for tensor in tensors[1:]]
    return [with_dependencies(checks, tensor) for tensor in tensors] if checks else tensors


def _check_vectors(labels: Tensor, wanted: Tensor) -> None:
    labels.shape.assert_has_rank(1)
    wanted.shape.assert_has_rank(1)
    wanted.shape.assert_is_fully_defined()


def _check_probabilities(given: Tensor, wanted: Tensor) -> None:
    """What can be said before the first run, where both are constants."""
    given.shape.assert_is_compatible_with(wanted.shape)
    given.shape.assert_is_fully_defined()
    known = [static_value(given), static_value(wanted)]
    if known[0] is not None and known[1] is not None and ((known[0] == 0) & (known[1] != 0)).any():
        raise ValueError(
            f"target_probs asks for a class that init_probs never gives: init_probs {known[0]}, target_probs {known[1]}"
        )


def _verify_input(
    values: list[Tensor], labels: Tensor, probabilities: list[Tensor]
) -> tuple[list[Tensor], Tensor, list[Tensor]]:
    """The same tensors, with checks of their sizes and values at run time."""
    for value in values:
        value.shape.with_rank_at_least(1)
        value.shape[:1].assert_is_compatible_with(labels.shape[:1])
    checked = []
    for probability in probabilities:
        probability.shape.assert_is_fully_defined()
        one = assert_near(math.reduce_sum(probability), 1.0, rtol=1e-3, atol=1e-3)
        checked.append(with_dependencies([assert_non_negative(probability), one], probability))
    rows = array.shape(labels)[0]
    fits = [assert_equal(array.shape(value)[0], rows) for value in values]
    classes = math.cast(array.shape(checked[0])[0], labels.dtype)
    fits += [assert_non_negative(labels), assert_less(labels, classes)]
    values = [with_dependencies(fits, value) for value in values]
    return values, with_dependencies(fits, labels), checked


def _frequencies(labels: Tensor, num_classes: int) -> Tensor:
    """How often each class came, counted in a variable (float32)."""
    counts = Variable(
        [_SEEN_BEFORE] * num_classes, trainable=False, name="class_count", dtype=dtypes.int64
    )
    seen = array.one_hot(labels, num_classes, dtype=dtypes.int64)
    counted = array.identity(counts.assign_add(math.reduce_sum(seen, 0)))
    frequencies: Tensor = math.truediv(counted, math.reduce_sum(counted))
    found: Tensor = math.cast(frequencies, dtypes.float32)
    return found


def _acceptance(given: Tensor, wanted: Tensor) -> Tensor:
    """With which probability an example of each class is kept: the rarest one always is."""
    absent = math.equal(given, 0)
    ratio = wanted / array.where(absent, array.ones_like(given), given)
    ratio = array.where(absent, array.zeros_like(ratio), ratio)
    kept: Tensor = ratio / math.reduce_max(ratio)
    return kept
