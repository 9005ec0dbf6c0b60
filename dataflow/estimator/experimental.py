"""``tf.estimator.experimental``: early stopping, k-means, the logits of canned models, receivers for exports."""

from dataflow.estimator.early_stopping import (
    make_early_stopping_hook,
    make_stop_at_checkpoint_step_hook,
    stop_if_higher_hook,
    stop_if_lower_hook,
    stop_if_no_decrease_hook,
    stop_if_no_increase_hook,
)
from dataflow.estimator.export import build_raw_supervised_input_receiver_fn
from dataflow.estimator.in_memory_evaluator import InMemoryEvaluatorHook
from dataflow.estimator.kmeans import KMeans
from dataflow.estimator.logit_functions import (
    call_logit_fn,
    dnn_logit_fn_builder,
    linear_logit_fn_builder,
)
from dataflow.namespaces import explain_absent

__all__ = [
    "InMemoryEvaluatorHook",
    "KMeans",
    "build_raw_supervised_input_receiver_fn",
    "call_logit_fn",
    "dnn_logit_fn_builder",
    "linear_logit_fn_builder",
    "make_early_stopping_hook",
    "make_stop_at_checkpoint_step_hook",
    "stop_if_higher_hook",
    "stop_if_lower_hook",
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
]

__getattr__ = explain_absent(__name__)
