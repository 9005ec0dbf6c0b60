"""Names that a module of TensorFlow Probability shares with its module in `tf.contrib.distributions`."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any


def name_of(contrib: ModuleType, part: str, name: str, later: Sequence[str]) -> Any:
    """``contrib.name``, for ``tensorflow_probability.part``; ``later`` are the names that only that has.

    Raises `AttributeError`, which says what is here, where contrib has no such name.
    """
    package = f"tensorflow_probability.{part}"
    if name.startswith("__"):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    try:
        return getattr(contrib, name)
    except AttributeError:
        there = "tf.contrib.distributions" + (".bijectors" if part == "bijectors" else "")
        raise AttributeError(
            f"{package}.{name} is not part of dataflow. Here are those of {there}, and "
            f"{', '.join(later)}."
        ) from None
