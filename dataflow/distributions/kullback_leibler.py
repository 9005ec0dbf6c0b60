"""Kullback-Leibler divergences: which pairs of distributions have a closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.distributions.distribution import Distribution, after
from dataflow.ops.graph_functions import name_scope
from dataflow.ops.logging_ops import Assert
from dataflow.ops.math import is_nan, logical_not, reduce_all

_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


def _registered_kl(kind_a: type, kind_b: type) -> Callable[..., Any] | None:
    """The function for the nearest classes above these two, the first one's distance deciding ties."""
    best, found = None, None
    for i, a in enumerate(kind_a.__mro__):
        for j, b in enumerate(kind_b.__mro__):
            function = _DIVERGENCES.get((a, b))
            if function is not None and (best is None or i + j < best):
                best, found = i + j, function
    return found


def kl_divergence(
    distribution_a: Distribution,
    distribution_b: Distribution,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Any:
    """``KL(a, b) = E_a[log a(X) - log b(X)]`` in nats, for each member of the batch.

    With ``allow_nan_stats=False`` a NaN raises `InvalidArgumentError` at run time. Raises
    `NotImplementedError` for pairs without a closed form; `RegisterKL` adds one.
    """
    function = _registered_kl(type(distribution_a), type(distribution_b))
    if function is None:
        a, b = type(distribution_a).__name__, type(distribution_b).__name__
        raise NotImplementedError(
            f"No KL(distribution_a || distribution_b) registered for distribution_a type {a} and "
            f"distribution_b type {b}. Estimate it from samples, or add it with RegisterKL({a}, {b})."
        )
    with name_scope("KullbackLeibler"):
        divergence = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        text = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN "
            "values (and was called with allow_nan_stats=False). Values:"
        )
        fine = reduce_all(logical_not(is_nan(divergence)))
        return after([Assert(fine, [text, divergence])], divergence)


def cross_entropy(
    ref: Distribution, other: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Any:
    """``-E_ref[log other(X)] = H(ref) + KL(ref, other)``, in nats."""
    with name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats)


class RegisterKL:
    """``@RegisterKL(A, B)`` above ``f(a, b, name=None)`` makes it the divergence of these classes.

    Raises `TypeError` for what is not callable, `ValueError` when the pair has one already.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            a, b = (kind.__name__ for kind in self._key)
            raise ValueError(f"KL({a} || {b}) has already been registered.")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
