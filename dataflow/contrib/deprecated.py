"""``tf.contrib.deprecated``: summaries as they were called before TensorFlow 1.0."""

from dataflow.namespaces import explain_absent
from dataflow.ops.summary import (
    audio_summary,
    histogram_summary,
    image_summary,
    merge_all_summaries,
    merge_summary,
    scalar_summary,
)

__all__ = [
    "audio_summary",
    "histogram_summary",
    "image_summary",
    "merge_all_summaries",
    "merge_summary",
    "scalar_summary",
]

__getattr__ = explain_absent(__name__)
