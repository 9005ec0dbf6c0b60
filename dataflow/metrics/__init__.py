"""``tf.metrics``: metrics that are kept up over batches, in local variables.

Each function gives two tensors: the value so far, and the op that takes a batch in. The variables
start with ``tf.local_variables_initializer()``.
"""

from __future__ import annotations

from dataflow.metrics.counts import (
    false_negatives,
    false_positives,
    mean_iou,
    mean_per_class_accuracy,
    precision,
    recall,
    true_negatives,
    true_positives,
)
from dataflow.metrics.means import (
    accuracy,
    mean,
    mean_absolute_error,
    mean_cosine_distance,
    mean_relative_error,
    mean_squared_error,
    mean_tensor,
    percentage_below,
    root_mean_squared_error,
)
from dataflow.metrics.ranking import (
    average_precision_at_k,
    average_precision_at_k as sparse_average_precision_at_k,
    precision_at_k,
    precision_at_k as sparse_precision_at_k,
    precision_at_top_k,
    recall_at_k,
    recall_at_top_k,
)
from dataflow.metrics.thresholds import (
    auc,
    false_negatives_at_thresholds,
    false_positives_at_thresholds,
    precision_at_thresholds,
    recall_at_thresholds,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    true_negatives_at_thresholds,
    true_positives_at_thresholds,
)
