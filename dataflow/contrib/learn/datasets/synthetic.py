"""Made data for classification in the plane: circles and spirals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dataflow.contrib.learn.datasets.base import Dataset


def circles(
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = None,
    factor: float = 0.8,
    n_classes: int = 2,
    *args: object,
    **kwargs: object,
) -> Dataset:
    """Points [n_samples, 2] on circles around 0, one for each class; each is ``factor`` times the last.

    ``noise``: the deviation of normal noise. Points come in a random order.
    """
    random = np.random.RandomState(seed)
    count = n_samples // n_classes
    angles = np.linspace(0, 2 * np.pi, count + 1)[:-1]
    parts, radius = [], 1.0
    for _ in range(n_classes):
        parts.append(radius * np.stack([np.cos(angles), np.sin(angles)], 1))
        radius *= factor
    return _shuffled(parts, noise, random)


def spirals(
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = None,
    mode: str = "archimedes",
    n_loops: int = 2,
    *args: object,
    **kwargs: object,
) -> Dataset:
    """Points [n_samples, 2] on the two arms of a spiral, in a random order.

    ``mode``: how the radius grows with the angle t: "archimedes" (t), "bernoulli" (exp(0.1 t)) or
    "fermat" (sqrt(t)); raises `ValueError` for another.
    """
    growths: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "archimedes": lambda t: t,
        "bernoulli": lambda t: np.exp(0.1 * t),
        "fermat": np.sqrt,
    }
    if mode not in growths:
        raise ValueError(f"Cannot generate spiral with mode {mode}; take one of {sorted(growths)}.")
    random = np.random.RandomState(seed)
    angles = np.linspace(0, n_loops * 2 * np.pi, n_samples // 2)
    radii = growths[mode](angles)
    arm = np.stack([radii * np.cos(angles), radii * np.sin(angles)], 1)
    return _shuffled([arm, -arm], noise, random)


def _shuffled(
    parts: list[np.ndarray], noise: float | None, random: np.random.RandomState
) -> Dataset:
    data = np.concatenate(parts)
    target = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if noise is not None:
        data = data + random.normal(scale=noise, size=data.shape)
    order = random.permutation(len(data))
    return Dataset(data[order], target[order])
