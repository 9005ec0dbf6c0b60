"""Lines of equal height, by marching squares."""

from __future__ import annotations

import numpy as np


def contour_line(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Where ``z`` [rows, columns] passes ``level``, as short pieces with NaN between them: x and y, float64 [3 n].

    ``x`` and ``y`` have the shape of ``z``. Raises `ValueError` where they do not.
    """
    if z.ndim != 2 or x.shape != z.shape or y.shape != z.shape:
        raise ValueError(
            f"x, y and z must have the same shape [rows, columns]; got {x.shape}, {y.shape}, {z.shape}"
        )
    points = []
    for i in range(z.shape[0] - 1):
        for j in range(z.shape[1] - 1):
            corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i + 1, j)]
            heights = [float(z[c]) - level for c in corners]
            if min(heights) > 0 or max(heights) <= 0:
                continue
            found = []
            for a in range(4):
                b = (a + 1) % 4
                if (heights[a] > 0) != (heights[b] > 0):
                    part = heights[a] / (heights[a] - heights[b])
                    p, q = corners[a], corners[b]
                    found.append((x[p] + part * (x[q] - x[p]), y[p] + part * (y[q] - y[p])))
            for k in range(0, len(found) - 1, 2):  # two pieces at a saddle
                points += [found[k], found[k + 1], (np.nan, np.nan)]
    way = np.array(points, np.float64).reshape(-1, 2)
    return way[:, 0], way[:, 1]
