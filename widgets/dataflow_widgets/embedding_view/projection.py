"""Vectors drawn in two dimensions, and what is near what in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dataflow.extras import where_to_get

MAX_POINTS = 20_000
_TSNE_DIMENSIONS = 50
#: Up to so many points, t-SNE takes one thread. Two are 1.3 times as quick, and wait for each other in
#: every step: beside other work on all cores they take several times as long.
_ONE_THREAD_POINTS = 1000


def pca(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two directions in which ``vectors`` (n, d) spread most: places (n, 2), float32, and the
    share of the variance that each of the two explains.

    By a singular value decomposition: of the centered data, or of their (d, d) covariance when that
    is smaller. The larger entries of each direction are made positive, so that the same data give
    the same picture.
    """
    n, d = vectors.shape
    centered = vectors - vectors.mean(axis=0)
    if n > d:
        _, variance, axes = np.linalg.svd(centered.T @ centered)
    else:
        _, singular, axes = np.linalg.svd(centered, full_matrices=False)
        variance = singular**2
    axes = axes[:2]
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    places = np.zeros((n, 2))
    places[:, : len(axes)] = centered @ (axes * signs[:, None]).T
    total = float(variance.sum())
    share = np.zeros(2)
    if total > 0:
        share[: min(2, len(variance))] = variance[:2] / total
    return places.astype(np.float32), share


def tsne(vectors: np.ndarray, perplexity: float = 30.0, seed: int = 0) -> np.ndarray:
    """scikit-learn's t-SNE after a PCA to 50 dimensions: places (n, 2), float32.

    Raises `ImportError` without scikit-learn, which says where it can be had.
    """
    try:
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits
    except ImportError as e:
        raise ImportError(
            f"t-SNE needs scikit-learn: {where_to_get('scikit-learn', 'data')}"
        ) from e
    n, d = vectors.shape
    if n < 4:
        raise ValueError(f"t-SNE needs at least 4 points, got {n}")
    start, _ = pca(vectors)
    if d > _TSNE_DIMENSIONS:
        centered = vectors - vectors.mean(axis=0)
        _, _, axes = np.linalg.svd(
            centered.T @ centered if n > d else centered, full_matrices=False
        )
        vectors = centered @ axes[:_TSNE_DIMENSIONS].T
    scale = float(start[:, 0].std()) or 1.0
    model = TSNE(
        perplexity=min(perplexity, (n - 1) / 3),
        init=(start / scale * 1e-4).astype(np.float32),
        random_state=seed,
    )
    with threadpool_limits(1 if n <= _ONE_THREAD_POINTS else None):
        places: np.ndarray = model.fit_transform(np.ascontiguousarray(vectors, np.float32))
    return places.astype(np.float32)


def align(places: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """``places`` turned (and mirrored) so that they lie nearest to ``before``: Procrustes.

    The directions of a PCA may swap from one moment to the next; the picture must not jump.
    """
    if before is None or before.shape != places.shape:
        return places
    a = places - places.mean(axis=0)
    b = before - before.mean(axis=0)
    u, _, v = np.linalg.svd(a.T.astype(np.float64) @ b)
    turned: np.ndarray = (a @ (u @ v)).astype(np.float32)
    return turned


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1; rows of zeros stay."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1)


def nearest(
    directions: np.ndarray, target: np.ndarray, without: Sequence[int], k: int
) -> list[tuple[int, float]]:
    """The ``k`` rows of ``directions`` (of length 1) with the largest cosine to ``target``."""
    length = float(np.linalg.norm(target))
    cosine = directions @ (target / length if length > 0 else target)
    cosine[list(without)] = -np.inf
    k = min(k, len(cosine) - len(set(without)))
    if k <= 0:
        return []
    best = np.argpartition(-cosine, k - 1)[:k]
    best = best[np.lexsort((best, -cosine[best]))]
    return [(int(i), float(cosine[i])) for i in best]


def analogy(directions: np.ndarray, a: int, b: int, c: int, k: int) -> list[tuple[int, float]]:
    """What is to ``c`` as ``b`` is to ``a``: nearest to b - a + c, the three left out.

    3CosAdd of Mikolov, Yih and Zweig, "Linguistic Regularities in Continuous Space Word
    Representations" (2013).
    """
    return nearest(directions, directions[b] - directions[a] + directions[c], (a, b, c), k)


def as_vectors(value: Any) -> tuple[np.ndarray, int]:
    """``value`` as float32 (n, d), and how many rows were not finite (they become zeros)."""
    array = np.asarray(value)
    if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf":
        raise ValueError(
            f"an embedding is a matrix of numbers (points, dimensions); got {array.dtype} "
            f"{array.shape}"
        )
    if len(array) > MAX_POINTS:
        raise ValueError(
            f"{len(array)} points are too many to show (at most {MAX_POINTS}). Give the first rows: "
            "embedding[:10000]."
        )
    vectors = array.astype(np.float32)
    bad = ~np.isfinite(vectors).all(axis=1)
    vectors[bad] = 0
    return vectors, int(bad.sum())
