"""Keras's settings: the fuzz factor, the dtype of layers, the image data format."""

from __future__ import annotations

from typing import Any

import numpy as np

from dataflow.graph.default_stacks import default_graph
from dataflow.tensorflow_numbers import draws_as_tensorflow

settings: dict[str, Any] = {
    "epsilon": 1e-7,
    "floatx": "float32",
    "image_data_format": "channels_last",
    "manual_initialization": False,
    "seeds_of_numpy": False,
}


def op_seed(seed: Any) -> Any:
    """The seed of a random op: ``seed``, or where the package Keras is imported one that NumPy draws.

    So a program that calls ``np.random.seed`` first repeats. A graph's own seed makes this needless,
    but Keras draws one even then: so does this in programs that run as TensorFlow's.
    """
    if seed is None and settings["seeds_of_numpy"]:
        if draws_as_tensorflow() or default_graph().seed is None:
            return int(np.random.randint(10_000_000))
    return seed


def backend_seed(seed: Any) -> Any:
    """As `op_seed`, for what Keras draws by functions of its backend, in tf.keras too."""
    if seed is None and draws_as_tensorflow():
        return int(np.random.randint(10_000_000))
    return op_seed(seed)


def epsilon() -> float:
    """The small number that keeps divisions and logarithms finite."""
    return settings["epsilon"]  # type: ignore[no-any-return]


def set_epsilon(value: float) -> None:
    """Changes `epsilon`."""
    settings["epsilon"] = float(value)


def floatx() -> str:
    """The dtype of variables and inputs, by name."""
    return settings["floatx"]  # type: ignore[no-any-return]


def set_floatx(value: str) -> None:
    """Changes `floatx`: "float16", "float32" or "float64"."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value!r}; choose float16, float32 or float64.")
    settings["floatx"] = value


def image_data_format() -> str:
    """The position of the channels axis: "channels_last" or "channels_first"."""
    return settings["image_data_format"]  # type: ignore[no-any-return]


def set_image_data_format(data_format: str) -> None:
    """Changes `image_data_format`."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format!r}")
    settings["image_data_format"] = data_format
