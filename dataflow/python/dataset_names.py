"""Names of ``tensorflow.python.data.ops.dataset_ops`` for what `tf.data` has under others."""

from __future__ import annotations

from dataflow.data import Dataset
from dataflow.data.iterators import (
    get_output_classes as get_legacy_output_classes,
    get_output_shapes as get_legacy_output_shapes,
    get_output_types as get_legacy_output_types,
)

__all__ = [
    "DatasetV1",
    "DatasetV2",
    "get_legacy_output_classes",
    "get_legacy_output_shapes",
    "get_legacy_output_types",
]

#: Libraries ask ``isinstance(features, (DatasetV1, DatasetV2))``; one class answers both here.
DatasetV1 = DatasetV2 = Dataset
