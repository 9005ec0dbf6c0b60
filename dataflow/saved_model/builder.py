"""``tf.saved_model.builder``."""

from dataflow.train.saved_models import SavedModelBuilder

__all__ = ["SavedModelBuilder"]
