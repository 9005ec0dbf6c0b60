"""Windows that overlap and leave a rest, as 3 by 2 on 6: no windows beside each other."""

import numpy as np

from dataflow.kernels import pooling
from dataflow.windows import Window


def test_six_elements_are_not_two_windows_of_three_that_move_by_two() -> None:
    overlapping = Window(6, 3, 2, 1, 0, 0, 2)
    assert not pooling._is_tiled({1: overlapping, 2: overlapping})
    beside = Window(6, 3, 3, 1, 0, 0, 2)
    assert pooling._is_tiled({1: beside, 2: beside})


def test_the_gradient_is_zero_where_no_window_looks(at_once: None) -> None:
    windows = {axis: Window(6, 3, 2, 1, 0, 0, 2) for axis in (1, 2)}
    x = np.random.default_rng(0).standard_normal((16, 6, 6, 5)).astype(np.float32)
    y = np.stack(
        [x[:, i : i + 3, j : j + 3].max((1, 2)) for i in (0, 2) for j in (0, 2)], 1
    ).reshape(16, 2, 2, 5)
    gradient = pooling._max_pool_gradient(np, x, y, np.ones_like(y), windows)
    assert not gradient[:, 5].any() and not gradient[:, :, 5].any()
    assert gradient.sum() == y.size
