"""Names of TensorFlow's private module of mixed precision: those with a version at the end."""

from dataflow.train.mixed_precision import (
    disable_mixed_precision_graph_rewrite,
    enable_mixed_precision_graph_rewrite,
)

__all__ = ["disable_mixed_precision_graph_rewrite_v1", "enable_mixed_precision_graph_rewrite_v1"]

disable_mixed_precision_graph_rewrite_v1 = disable_mixed_precision_graph_rewrite
enable_mixed_precision_graph_rewrite_v1 = enable_mixed_precision_graph_rewrite
