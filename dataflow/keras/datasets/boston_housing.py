"""Prices of houses around Boston in the 1970s, with 13 features of their towns.

One feature was made from the share of black residents (Harrison and Rubinfeld 1978), which is why
scikit-learn dropped the set; for new work take `dataflow_datasets.housing` (California).
"""

from __future__ import annotations

from typing import Any

from dataflow.keras.datasets.stored import arrays, shuffled_parts


def stored_arrays(path: str = "boston_housing.npz") -> Any:
    """The file's arrays in its own order: ``x``, float64 [506, 13], and ``y``, float64 [506]."""
    return arrays(path)


def load_data(path: str = "boston_housing.npz", test_split: float = 0.2, seed: int = 113) -> Any:
    """``(x_train, y_train), (x_test, y_test)``: float64 [n, 13] and [n], in 1000 dollars.

    The file is looked for in ``~/.keras/datasets`` and in ``DATAFLOW_DATA``, and downloaded where
    it is in neither. Raises `FileNotFoundError` without file and network, `ValueError` for a
    ``test_split`` outside [0, 1).
    """
    if not 0 <= test_split < 1:
        raise ValueError(f"boston_housing: test_split is in [0, 1), got {test_split}.")
    found = stored_arrays(path)
    ((x, y),) = shuffled_parts(seed, (found["x"], found["y"]))
    count = int(len(x) * (1 - test_split))
    return (x[:count], y[:count]), (x[count:], y[count:])
