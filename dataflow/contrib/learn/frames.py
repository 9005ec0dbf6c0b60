"""Arrays out of pandas' frames, and pandas' and NumPy's input functions with contrib's defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dataflow.estimator import inputs


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "to_numpy")


def extract_pandas_data(data: Any) -> Any:
    """The values of a frame of numbers and booleans as an array of floats; anything else as it is.

    Raises `ValueError` for a column of another kind.
    """
    if not _is_frame(data):
        return data
    kinds = {str(name): data[name].dtype for name in data}
    bad = [f"'{name}' type='{kind}'" for name, kind in kinds.items() if kind.kind not in "biuf"]
    if bad:
        raise ValueError(
            "Data types for extracting pandas data must be int, float, or bool. Found: "
            + ", ".join(bad)
        )
    return data.to_numpy().astype(float)


def extract_pandas_matrix(data: Any) -> Any:
    """The values of a frame as they are; anything else as it is."""
    return data.to_numpy() if _is_frame(data) else data


def extract_pandas_labels(labels: Any) -> Any:
    """The values of a frame with one column, or of a series in an array; anything else as it is.

    Raises `ValueError` for several columns, and for another kind than numbers and booleans.
    """
    if not _is_frame(labels):
        return labels
    if len(labels.columns) > 1:
        raise ValueError(f"Only one column for labels is allowed, got {list(labels.columns)}.")
    (kind,) = labels.dtypes
    if kind.kind not in "biuf":
        raise ValueError(f"Data types for labels must be int, float, or bool, got {kind}.")
    return labels.to_numpy()


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """`tf.estimator.inputs.numpy_input_fn`, which shuffles unless told otherwise."""
    return inputs.numpy_input_fn(np_dict(x), y, batch_size, num_epochs, shuffle)


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """`tf.estimator.inputs.pandas_input_fn`, which shuffles unless told otherwise."""
    return inputs.pandas_input_fn(
        x, y, batch_size, num_epochs, shuffle, target_column=target_column
    )


def np_dict(x: Any) -> Any:
    """``x`` with arrays for its lists."""
    return {key: np.asarray(value) for key, value in x.items()} if isinstance(x, dict) else x
