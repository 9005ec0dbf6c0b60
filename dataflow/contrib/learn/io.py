"""``tf.contrib.learn.io``: input functions of arrays, frames and generators, and readers of files."""

from __future__ import annotations

from dataflow.contrib.learn.frames import (
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
    numpy_input_fn,
    pandas_input_fn,
)
from dataflow.contrib.learn.generators import generator_input_fn
from dataflow.contrib.learn.graph_io import (
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_features,
)

__all__ = [
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "generator_input_fn",
    "numpy_input_fn",
    "pandas_input_fn",
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_features",
]
