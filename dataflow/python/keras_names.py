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
from dataflow.ops.assertions import assert_equal
from dataflow.ops.control_flow import with_dependencies
from dataflow.ops.ragged_tensor import RaggedTensor
from dataflow.ops.reshape import expand_dims
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
    "generate_placeholders_from_shape",
    "have_all_keras_metadata",
    "parse_init_thresholds",
    "ragged_assert_compatible_and_get_flat_values",
]

OptimizerV2 = Optimizer
ReductionV2 = Reduction
NEG_INF = -1e10
_filter_top_k = filter_top_k


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


def ragged_assert_compatible_and_get_flat_values(values: Any, mask: Any = None) -> Any:
    """(values, mask); of ragged tensors their ``flat_values``, with an axis of 1 behind, once their rows are as long.

    ``values`` is one tensor or a list of them. Raises `TypeError` where only some are ragged, `ValueError` where they
    have other numbers of ragged axes.
    """
    listed = values if isinstance(values, list) else [values]
    ragged = [isinstance(one, RaggedTensor) for one in listed]
    if not any(ragged) and not isinstance(mask, RaggedTensor):
        return values, mask
    if not all(ragged) or not (mask is None or isinstance(mask, RaggedTensor)):
        raise TypeError("Ragged and dense tensors: values and mask must all be ragged, or none.")
    splits = [one.nested_row_splits for one in (*listed, *([] if mask is None else [mask]))]
    if len({len(one) for one in splits}) > 1:
        raise ValueError(
            f"Inputs must have identical ragged splits, got {[len(s) for s in splits]} ragged axes."
        )
    same = [
        assert_equal(a, b, message="Inputs must have identical ragged splits")
        for other in splits[1:]
        for a, b in zip(splits[0], other, strict=True)
    ]

    def flat(one: Any) -> Any:
        return expand_dims(
            with_dependencies([op for op in same if op is not None], one.flat_values), -1
        )

    found = [flat(one) for one in listed]
    return found if isinstance(values, list) else found[0], None if mask is None else flat(mask)


def create_keras_history(tensors: Any) -> None:
    """Makes the operations between layers and ``tensors`` layers, each once."""
    complete_history(nest.flatten(tensors))


def have_all_keras_metadata(tensors: Any) -> bool:
    """Whether each of the tensors came out of a layer, or is the input of a model."""
    return all(tag_of(tensor, "history") is not None for tensor in nest.flatten(tensors))


def generate_placeholders_from_shape(shape: Any) -> Any:
    """A placeholder of float32 of this shape."""
    return placeholder("float32", shape)
