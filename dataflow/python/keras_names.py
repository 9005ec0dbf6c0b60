"""Names of private modules of ``tensorflow.python.keras`` that tests and libraries use: keys, wrappers, helpers."""

from __future__ import annotations

import enum
from typing import Any

from dataflow.graph import nest
from dataflow.keras.base_optimizer import Optimizer
from dataflow.keras.call_nodes import tag_of
from dataflow.keras.confusion_metrics import filter_top_k
from dataflow.keras.losses import Reduction
from dataflow.keras.op_layers import complete_history
from dataflow.keras.precision_policies import has_version2_dtypes, use_version2_dtypes
from dataflow.keras.ragged_values import flat_values_of_same_rows
from dataflow.ops.sources import placeholder

__all__ = [
    "NEG_INF",
    "AUCCurve",
    "AUCSummationMethod",
    "ConfusionMatrix",
    "OptimizerV2",
    "ReductionV2",
    "assert_thresholds_range",
    "create_keras_history",
    "disable_v2_dtype_behavior",
    "enable_v2_dtype_behavior",
    "generate_placeholders_from_shape",
    "have_all_keras_metadata",
    "parse_init_thresholds",
    "ragged_assert_compatible_and_get_flat_values",
    "v2_dtype_behavior_enabled",
]

OptimizerV2 = Optimizer
ReductionV2 = Reduction
NEG_INF = -1e10
_filter_top_k = filter_top_k
ragged_assert_compatible_and_get_flat_values = flat_values_of_same_rows


class _Named(enum.StrEnum):
    """A name that is one of a few."""

    @classmethod
    def from_str(cls, key: str) -> Any:
        """The one of this name, in any case; raises `ValueError` for another."""
        for one in cls:
            if key.lower() == one.value.lower():
                return one
        raise ValueError(
            f"Invalid {cls.__name__} {key!r}: it is one of {[one.value for one in cls]}."
        )


class AUCCurve(_Named):
    """Which curve an area is under."""

    ROC = "ROC"
    PR = "PR"


class AUCSummationMethod(_Named):
    """How an area between two thresholds is estimated."""

    INTERPOLATION = "interpolation"
    MAJORING = "majoring"
    MINORING = "minoring"


class ConfusionMatrix(enum.Enum):
    """The four counts of a guess with two outcomes."""

    TRUE_POSITIVES = "tp"
    FALSE_POSITIVES = "fp"
    TRUE_NEGATIVES = "tn"
    FALSE_NEGATIVES = "fn"


def assert_thresholds_range(thresholds: Any) -> None:
    """Raises `ValueError` for thresholds that are None, below 0 or above 1."""
    wrong = [t for t in thresholds or () if t is None or t < 0 or t > 1]
    if wrong:
        raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {wrong}")


def parse_init_thresholds(thresholds: Any, default_threshold: float = 0.5) -> list[Any]:
    """The thresholds as a list: the default for None, one for a number; see `assert_thresholds_range`."""
    if thresholds is None:
        return [default_threshold]
    listed = list(thresholds) if isinstance(thresholds, (list, tuple)) else [thresholds]
    assert_thresholds_range(listed)
    return listed


v2_dtype_behavior_enabled = has_version2_dtypes


def enable_v2_dtype_behavior() -> None:
    """Gives layers to come TensorFlow 2's dtypes: float32, and not that of their input."""
    use_version2_dtypes(True)


def disable_v2_dtype_behavior() -> None:
    """Gives layers to come the dtype of their input."""
    use_version2_dtypes(False)


def create_keras_history(tensors: Any) -> None:
    """Makes the operations between layers and ``tensors`` layers, each once."""
    complete_history(nest.flatten(tensors))


def have_all_keras_metadata(tensors: Any) -> bool:
    """Whether each of the tensors came out of a layer, or is the input of a model."""
    return all(tag_of(tensor, "history") is not None for tensor in nest.flatten(tensors))


def generate_placeholders_from_shape(shape: Any) -> Any:
    """A placeholder of float32 of this shape."""
    return placeholder("float32", shape)
