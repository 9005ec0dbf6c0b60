"""``tf.estimator.experimental``: receivers for exports that train and evaluate."""

from dataflow.estimator.export import build_raw_supervised_input_receiver_fn

__all__ = ["build_raw_supervised_input_receiver_fn"]
