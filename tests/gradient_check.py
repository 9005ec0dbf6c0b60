"""Numeric checks of gradients: a random projection of the Jacobian, by central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def project(values: Sequence[Any], weights: Sequence[Any]) -> float:
    """The weighted sum of all outputs, in double precision."""
    return float(
        sum(np.sum(np.asarray(v, np.float64) * w) for v, w in zip(values, weights, strict=True))
    )


def directional_derivative(
    function: Callable[[list[Any]], float],
    inputs: list[Any],
    which: Sequence[int],
    directions: Sequence[Any],
    step: float = 1e-6,
) -> float:
    """``d/dt function(inputs + t * directions)`` at 0, by central differences of second order."""

    def at(t: float) -> float:
        moved = list(inputs)
        for i, direction in zip(which, directions, strict=True):
            moved[i] = inputs[i] + t * direction
        return function(moved)

    # Richardson's extrapolation removes the error in step**2.
    coarse = (at(2 * step) - at(-2 * step)) / (4 * step)
    fine = (at(step) - at(-step)) / (2 * step)
    return (4 * fine - coarse) / 3


def assert_gradients(
    tf: Any,
    build: Callable[..., Any],
    inputs: Sequence[Any],
    which: Sequence[int] | None = None,
    order: int = 2,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> None:
    """Checks first (and with ``order`` 2 second) derivatives of ``build`` at ``inputs``.

    Floating inputs are raised to float64 first. Raises `AssertionError` with both numbers.
    """
    rng = np.random.default_rng(seed)
    arrays = [
        a.astype(np.float64) if a.dtype.kind == "f" else a for a in (np.asarray(i) for i in inputs)
    ]
    if which is None:
        which = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    graph = tf.Graph()
    with graph.as_default():
        # A placeholder hides its value from shape rules; what is not differentiated stays constant.
        tensors = [
            tf.placeholder(tf.float64, a.shape) if i in which else tf.constant(a)
            for i, a in enumerate(arrays)
        ]
        outputs = build(tf, *tensors)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        outputs = [o for o in outputs if o.dtype.base_dtype in (tf.float64, tf.float32)]
        assert outputs, "no floating output to differentiate"
        xs = [tensors[i] for i in which]
        feeds = list(xs)
        session = tf.Session(graph=graph)

        def run(fetches: Any, values: list[Any]) -> Any:
            return session.run(fetches, dict(zip(feeds, [values[i] for i in which], strict=True)))

        first_values = run(outputs, arrays)
        weights = [rng.standard_normal(np.shape(v)) for v in first_values]
        directions = [rng.standard_normal(arrays[i].shape) for i in which]
        _compare(tf, run, outputs, weights, xs, arrays, which, directions, tolerance, "first")
        if order < 2:
            return
        grads = tf.gradients(
            [tf.cast(o, tf.float64) for o in outputs], xs, [tf.constant(w) for w in weights]
        )
        present = [g for g in grads if g is not None]
        present = [g for g in present if _depends(g, xs)]
        if not present:
            return
        present = [tf.convert_to_tensor(g) for g in present]
        values = run(present, arrays)
        weights = [rng.standard_normal(np.shape(v)) for v in values]
        _compare(tf, run, present, weights, xs, arrays, which, directions, tolerance * 10, "second")


def _depends(tensor: Any, xs: list[Any]) -> bool:
    seen: set[Any] = set()
    stack = [getattr(tensor, "op", tensor)]
    targets = {x.op for x in xs}
    while stack:
        op = stack.pop()
        if op in targets:
            return True
        if op not in seen:
            seen.add(op)
            stack.extend(t.op for t in op.inputs)
    return False


def _compare(
    tf: Any,
    run: Callable[..., Any],
    outputs: list[Any],
    weights: list[Any],
    xs: list[Any],
    arrays: list[Any],
    which: Sequence[int],
    directions: list[Any],
    tolerance: float,
    name: str,
) -> None:
    casted = [tf.cast(o, tf.float64) for o in outputs]
    grads = tf.gradients(casted, xs, [tf.constant(w) for w in weights])
    grads = [None if g is None else tf.convert_to_tensor(g) for g in grads]
    present = [(g, d) for g, d in zip(grads, directions, strict=True) if g is not None]
    values = run([g for g, _ in present], arrays)
    for value, (_, direction) in zip(values, present, strict=True):
        assert np.shape(value) == np.shape(direction), (
            f"{name} gradient has shape {np.shape(value)}, its input {np.shape(direction)}"
        )
    analytic = sum(float(np.sum(v * d)) for v, (_, d) in zip(values, present, strict=True))
    numeric = directional_derivative(
        lambda moved: project(run(outputs, moved), weights), arrays, which, directions
    )
    scale = max(1.0, abs(numeric), abs(analytic))
    assert abs(analytic - numeric) <= tolerance * scale, (
        f"{name} derivative: the graph says {analytic}, differences say {numeric}"
    )
