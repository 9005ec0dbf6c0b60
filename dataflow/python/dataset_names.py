"""Names of ``tensorflow.python.data.ops.dataset_ops`` for what `tf.data` has under others."""

from __future__ import annotations

from dataflow.data import Dataset, FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from dataflow.data.dataset import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from dataflow.data.iterators import (
    get_output_classes as get_legacy_output_classes,
    get_output_shapes as get_legacy_output_shapes,
    get_output_types as get_legacy_output_types,
)
from dataflow.data.structure import DatasetSpec

__all__ = [
    "INFINITE",
    "UNKNOWN",
    "DatasetSpec",
    "DatasetV1",
    "DatasetV2",
    "FixedLengthRecordDatasetV1",
    "FixedLengthRecordDatasetV2",
    "TFRecordDatasetV1",
    "TFRecordDatasetV2",
    "TextLineDatasetV1",
    "TextLineDatasetV2",
    "get_legacy_output_classes",
    "get_legacy_output_shapes",
    "get_legacy_output_types",
]

INFINITE, UNKNOWN = INFINITE_CARDINALITY, UNKNOWN_CARDINALITY

#: Libraries ask ``isinstance(features, (DatasetV1, DatasetV2))``; one class answers both here.
DatasetV1 = DatasetV2 = Dataset
FixedLengthRecordDatasetV1 = FixedLengthRecordDatasetV2 = FixedLengthRecordDataset
TFRecordDatasetV1 = TFRecordDatasetV2 = TFRecordDataset
TextLineDatasetV1 = TextLineDatasetV2 = TextLineDataset
