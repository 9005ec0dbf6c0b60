"""``tf.contrib.bayesflow``: means over samples (`monte_carlo`)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dataflow.graph.conversion import convert_to_tensor
from dataflow.graph.default_stacks import default_graph
from dataflow.graph.tensor import Tensor
from dataflow.namespaces import explain_absent
from dataflow.ops.activation import relu
from dataflow.ops.array import stop_gradient
from dataflow.ops.elementary import exp, log
from dataflow.ops.math import reduce_max, reduce_mean

__all__ = [
    "expectation",
    "expectation_importance_sampler",
    "expectation_importance_sampler_logspace",
    "monte_carlo",
]


def expectation(
    f: Callable[[Any], Any],
    samples: Any,
    log_prob: Callable[[Any], Any] | None = None,
    use_reparametrization: bool = True,
    axis: Any = 0,
    keep_dims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean of ``f(samples)`` over ``axis``.

    The gradient flows through the samples (reparametrization), or, without ``use_reparametrization``, is the
    score-function estimate, which needs ``log_prob``. Raises `ValueError` if ``f`` or ``log_prob`` is not callable.
    """
    with default_graph().name_scope(name or "expectation"):
        if not callable(f):
            raise ValueError(f"`f` must be a callable function, got {f!r}.")
        if use_reparametrization:
            return reduce_mean(f(samples), axis, keep_dims)
        if not callable(log_prob):
            raise ValueError(f"`log_prob` must be a callable function, got {log_prob!r}.")
        x = stop_gradient(samples)
        score = log_prob(x)
        value = f(x)
        value = value + stop_gradient(value) * (score - stop_gradient(score))
        return reduce_mean(value, axis, keep_dims)


def _get_samples(q: Any, z: Any, n: Any, seed: Any) -> Any:
    if (n is None) == (z is None):
        raise ValueError(
            f'Must specify exactly one of arguments "n" and "z".  Found: n = {n}, z = {z}'
        )
    return convert_to_tensor(z, name="z") if n is None else q.sample(n, seed=seed)


def _log_of_mean(logs: Any) -> Any:
    """``log(mean(exp(logs)))`` over the first axis."""
    largest = stop_gradient(reduce_max(logs, axis=[0]))
    return log(reduce_mean(exp(logs - largest), axis=[0])) + largest


def expectation_importance_sampler_logspace(
    log_f: Callable[[Any], Any],
    log_p: Callable[[Any], Any],
    sampling_dist_q: Any,
    z: Any = None,
    n: int | None = None,
    seed: int | None = None,
    name: str = "expectation_importance_sampler_logspace",
) -> Tensor:
    """The logarithm of the mean of ``f p / q`` over ``z``, or over ``n`` samples of ``q``; give exactly one of both.

    ``log_f`` and ``log_p`` return logarithms. Raises `ValueError` where both or neither of ``z`` and ``n`` are given.
    """
    with default_graph().name_scope(name):
        points = _get_samples(sampling_dist_q, z, n, seed)
        return _log_of_mean(  # type: ignore[no-any-return]
            log_f(points) + log_p(points) - sampling_dist_q.log_prob(points)
        )


def expectation_importance_sampler(
    f: Callable[[Any], Any],
    log_p: Callable[[Any], Any],
    sampling_dist_q: Any,
    z: Any = None,
    n: int | None = None,
    seed: int | None = None,
    name: str = "expectation_importance_sampler",
) -> Tensor:
    """The mean of ``f p / q`` over ``z``, or over ``n`` samples of ``q``, as a difference of positive means."""
    with default_graph().name_scope(name):
        points = _get_samples(sampling_dist_q, z, n, seed)
        weights = log_p(points) - sampling_dist_q.log_prob(points)
        values = f(points)
        above, below = (_log_of_mean(log(relu(part) + 1.0) + weights) for part in (values, -values))
        return exp(above) - exp(below)  # type: ignore[no-any-return]


monte_carlo = SimpleNamespace(
    expectation=expectation,
    expectation_importance_sampler=expectation_importance_sampler,
    expectation_importance_sampler_logspace=expectation_importance_sampler_logspace,
)

__getattr__ = explain_absent(__name__)
