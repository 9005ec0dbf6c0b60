"""``tf.saved_model.builder``."""

from dataflow.train.saved_models import SavedModelBuilder

_SavedModelBuilder = SavedModelBuilder

__all__ = ["SavedModelBuilder"]
