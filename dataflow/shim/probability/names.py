"""Names that a module of TensorFlow Probability shares with its module in `tf.contrib.distributions`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

#: Files of TensorFlow Probability that are not called as the one class in them.
_FILES = (
    "deprecated_linalg",
    "half_normal",
    "kullback_leibler",
    "mvn_diag",
    "mvn_diag_plus_low_rank",
    "mvn_full_covariance",
    "mvn_linear_operator",
    "mvn_tril",
    "normal_conjugate_posteriors",
)


def _is_file(name: str, classes: set[str]) -> bool:
    """Whether TensorFlow Probability has a file ``name``, for one class: ``normal``, ``onehot_categorical``."""
    letters = name.replace("_", "")
    return name.islower() and (name in _FILES or letters in {c.lower() for c in classes})


def name_of(contrib: ModuleType, part: str, name: str, later: Sequence[str]) -> Any:
    """``contrib.name``, for ``tensorflow_probability.part``; ``later`` are the names that only that has.

    The file of a class, ``bijectors.tanh``, is the module of all of them.

    Raises `AttributeError`, which says what is here, where contrib has no such name.
    """
    package = f"tensorflow_probability.{part}"
    if name.startswith("__"):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    if _is_file(name, {*dir(contrib), *later}):
        return sys.modules[f"{__package__}.{part}"]
    try:
        return getattr(contrib, name)
    except AttributeError:
        there = "tf.contrib.distributions" + (".bijectors" if part == "bijectors" else "")
        raise AttributeError(
            f"{package}.{name} is not part of dataflow. Here are those of {there}, and "
            f"{', '.join(later)}."
        ) from None
