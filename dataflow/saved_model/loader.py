"""``tf.saved_model.loader``."""

from dataflow.train.saved_model_loader import load, maybe_saved_model_directory

__all__ = ["load", "maybe_saved_model_directory"]
